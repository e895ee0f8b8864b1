"""Which takeovers a run has, decided before it from what its sensors send and what is injected.

Durations are modelled, so nothing that a stage computes can change when a loss is noticed: see
docs/decisions/schedule-first.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from rt_sched.analysis.faults.takeover_detection import decision_ns
from rt_sched.lowering.routes import as_placed
from rt_sched.model import Fault, Plan, PlanChange, System, Takeover
from rt_sched.planner.failover.admission import Admission, AdmissionTest
from rt_sched.runtime.signs_of_life import Notice, notices
from rt_sched.trace.records import SampleTable


@dataclass(frozen=True, slots=True)
class Decision:
    """What a change of the losses led to.

    `notices`: what was noticed at `noticed_ns`. `losses`: all that count then. `in_force_ns`: when `takeover` is in
    force (None: the nominal placement); None where there is no answer, so that everything stays as it was, for the
    `reason`. `before`: what was in force when it was decided.
    """

    noticed_ns: int
    notices: tuple[Notice, ...]
    losses: tuple[str, ...]
    in_force_ns: int | None
    takeover: Takeover | None
    before: Takeover | None
    reason: str


@dataclass(frozen=True, slots=True)
class Detection:
    """All decisions of a run, in order. `not_watched`: sensors that the recording does not hold."""

    decisions: tuple[Decision, ...] = ()
    not_watched: tuple[str, ...] = ()

    @property
    def plan_changes(self) -> tuple[PlanChange, ...]:
        """What the schedule has to follow."""
        return tuple(PlanChange(one.in_force_ns, one.takeover) for one in self.decisions if one.in_force_ns is not None)


NOTHING_LOST = Detection()


def detect(
    system: System,
    plan: Plan,
    samples: SampleTable,
    faults: Sequence[Fault],
    recorded: Collection[str],
    horizon_ns: int,
    over_ns: int = 0,
) -> Detection:
    """What is noticed in a run and what the plan does about it; nothing where the plan has no takeovers.

    `recorded`: sensors that the recording holds. `over_ns`: when the last message would come if nothing were injected,
    where that is after those of `samples`. What the plan's table lacks is put to the admission test.
    """
    if not plan.takeovers:
        return NOTHING_LOST
    seen = notices(as_placed(system, plan), samples, faults, recorded, horizon_ns, over_ns)
    table = _Table(system, plan)
    lost: set[str] = set()
    in_force: Takeover | None = None
    answered: tuple[str, ...] = ()
    decisions = []
    for time_ns in sorted({one.time_ns for one in seen}):
        now = tuple(one for one in seen if one.time_ns == time_ns)
        lost |= {one.what for one in now if one.lost}
        lost -= {one.what for one in now if not one.lost}
        losses = tuple(sorted(lost - _explained(system, lost)))
        if losses == answered:
            continue
        answer = table.answer(losses)
        goes = answer.takeover is not None or not losses
        decisions.append(
            Decision(
                time_ns,
                now,
                losses,
                time_ns + decision_ns(system) if goes else None,
                answer.takeover if goes else in_force,
                in_force,
                answer.reason,
            )
        )
        answered = losses
        in_force = answer.takeover if goes else in_force
    not_watched = tuple(sensor.name for sensor in system.sensors if sensor.name not in recorded)
    return Detection(tuple(decisions), not_watched)


def _explained(system: System, lost: Collection[str]) -> set[str]:
    """Sensors whose silence is that of the devices that they are attached to, all of which are known to be lost."""
    return {
        what
        for sensor in system.sensors
        if (what := f"{sensor.kind.value}:{sensor.name}") in lost
        and sensor.attached_to
        and all(f"device:{device}" in lost for device in sensor.attached_to)
    }


class _Table:
    """The takeovers of a plan; the admission test is made when a combination is asked for that it lacks."""

    def __init__(self, system: System, plan: Plan) -> None:
        self._make: Callable[[], AdmissionTest] = lambda: AdmissionTest(system, plan)
        self._table = {one.losses: one for one in plan.takeovers}
        self._test: AdmissionTest | None = None

    def answer(self, losses: tuple[str, ...]) -> Admission:
        if not losses:
            return Admission(None, "nothing is lost any more")
        if losses in self._table:
            return Admission(self._table[losses], "it is in the table")
        self._test = self._test or self._make()
        return self._test.admit(losses)
