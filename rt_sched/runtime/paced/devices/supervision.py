"""What supervisors take from tasks where devices or links are watched: above these they beat, look, and answer.

Elsewhere a supervisor wakes up for a child that has ended, or some ten times a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rt_sched.analysis.faults.takeover_detection import concept_of
from rt_sched.model import Plan, System
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.seats.wakeups import Wakeups
from rt_sched.runtime.signs_of_life import watching_device
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


def supervision(
    system: System, plan: Plan, failover: DeviceFailover | None, rate: Fraction, *, links: bool
) -> tuple[Supervision, ...]:
    """Of every device that is watched, or watches devices or, with `links`, links. `rate`: run time per host time.

    No more than one device is lost, or comes back, in the time after which one is trusted again.
    """
    wake_ns, answer_ns = ceil_int(_WAKE_NS * rate), ceil_int(_ANSWER_NS * rate)
    found: dict[str, list[Wakeups]] = {}
    if failover is not None:
        beats = Wakeups("beats", wake_ns, failover.period_ns)
        looks = Wakeups("looks", wake_ns, failover.period_ns // LOOKS_PER_BEAT)
        answers = Wakeups("answers", answer_ns, max(failover.trust_ns, answer_ns))
        for device in failover.devices:
            found[device] = [beats, looks, answers] if device == failover.watcher else [beats]
    watcher = watching_device(system)
    if links and watcher is not None:
        # Once a link is lost it looks in between, and regularly from then on.
        look_ns = concept_of(system).heartbeat.period_ns // LOOKS_PER_BEAT
        found.setdefault(watcher, []).append(Wakeups("looks at links", wake_ns, look_ns, look_ns))
    return tuple(
        Supervision(
            device, tuple(place for place, one in enumerate(plan.processors) if one.device == device), tuple(wakeups)
        )
        for device, wakeups in found.items()
    )
