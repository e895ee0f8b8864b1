"""How much time a braking chain has: from the first sight of an obstacle to the command that stops before it."""

from __future__ import annotations

from rt_sched.model import BrakingCase
from rt_sched.units import NS_PER_S, floor_int


def time_to_command_ns(case: BrakingCase) -> int:
    """The longest time from the first sight to the command after which the vehicle still stops in range, rounded down.

    Until the brakes act the vehicle closes in at v; from then on it needs v^2 / (2 a). So of the range d remain
    d - v^2 / (2 a), which take (d - v^2 / (2 a)) / v; the actuation goes off that. Constant deceleration on a straight
    line is assumed. Negative where the actuation alone takes longer.
    """
    stopping_m = case.closing_speed_m_s**2 / (2 * case.deceleration_m_s2)
    left_s = (case.range_m - stopping_m) / case.closing_speed_m_s
    return floor_int(left_s * NS_PER_S) - case.actuation_ns
