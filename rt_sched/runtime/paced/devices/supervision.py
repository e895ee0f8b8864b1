"""What supervisors take from tasks where devices are watched: they stand above them, beat, look, and answer losses.

Elsewhere a supervisor wakes up for a child that has ended, or some ten times a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rt_sched.model import Plan
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.seats.wakeups import Wakeups
from rt_sched.units import NS_PER_MS, NS_PER_US, ceil_int

#: How often the watch looks between two beats whether a supervisor has ended.
LOOKS_PER_BEAT = 2
#: To wake up, look after all children, and beat or look: twice of what slow virtual machines need.
_WAKE_NS = 300 * NS_PER_US
#: To say who goes on, end what is left of a device, and look until that gives its memory back.
_ANSWER_NS = 3 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class Supervision:
    """Of one device, whose supervisor runs on the cores of some `processors` of the plan, by their indices."""

    device: str
    processors: tuple[int, ...]
    wakeups: tuple[Wakeups, ...]


def supervision(plan: Plan, failover: DeviceFailover, rate: Fraction) -> tuple[Supervision, ...]:
    """Of every device that is watched, or watches. `rate`: run time per host time.

    No more than one device is lost, or comes back, in the time after which one is trusted again.
    """
    wake_ns, answer_ns = ceil_int(_WAKE_NS * rate), ceil_int(_ANSWER_NS * rate)
    answers = Wakeups("answers", answer_ns, max(failover.trust_ns, answer_ns))
    found = []
    for device in failover.devices:
        processors = tuple(index for index, one in enumerate(plan.processors) if one.device == device)
        beats = Wakeups("beats", wake_ns, failover.period_ns)
        looks = Wakeups("looks", wake_ns, failover.period_ns // LOOKS_PER_BEAT)
        wakeups = (beats, looks, answers) if device == failover.watcher else (beats,)
        found.append(Supervision(device, processors, wakeups))
    return tuple(found)
