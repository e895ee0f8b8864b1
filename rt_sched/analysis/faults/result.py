"""What the analysis of faults says: what each scenario takes, what goes on, and how long it takes to handle it."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.analysis.faults.takeover_recovery import Recovery
from rt_sched.analysis.faults.transitions.loads import Presence
from rt_sched.analysis.result import Bound, ChainResult, Misses, TaskResult, Verdict, WaitResult, Witness
from rt_sched.model import Takeover


@dataclass(frozen=True, slots=True)
class TransitionTask:
    """One task across a change of mode. `bound`: on the response of every job that the change may touch.

    Jobs of a removed task are aborted; its bound is that of those that end before. `before_ns`, `after_ns`: its bounds
    in the two modes, None where it has none there. `misses`: of a task with a weakly-hard deadline that goes on or
    comes, with one change among any k of its jobs; the verdict then is on these.
    """

    task: str
    presence: Presence
    deadline_ns: int
    bound: Bound | None
    before_ns: int | None
    after_ns: int | None
    verdict: Verdict
    reason: str
    witness: Witness | None = None
    misses: Misses | None = None


@dataclass(frozen=True, slots=True)
class TransitionResult:
    """A change of mode. `chains`: those whose tasks exist on both sides of it; `waits`: inside jobs of either side."""

    old: str
    new: str
    verdict: Verdict
    tasks: tuple[TransitionTask, ...]
    chains: tuple[ChainResult, ...]
    waits: tuple[WaitResult, ...] = ()

    @property
    def name(self) -> str:
        """Such as normal->limp."""
        return f"{self.old}->{self.new}"


@dataclass(frozen=True, slots=True)
class Detection:
    """Within `value_ns` of a fault task `by` has to notice it.

    That is the age limit of what it watches (`watched`), the largest distance of its jobs, the response of the job that
    notices, and the errors of the clocks that an age is measured with.
    """

    value_ns: int
    by: str
    watched: str
    age_limit_ns: int
    gap_ns: int
    response_ns: int
    clock_ns: int


@dataclass(frozen=True, slots=True)
class Handling:
    """The time from a fault until it is handled: detection + reaction, and the margin that is left (ISO 26262).

    `detection_ns`: what counts, the larger of declared and derived. `decision_ns`: from the detection (from the fault
    where that is not known) to the change of mode; `start_latency_ns`: of the tasks that it adds; `first_output_ns`:
    from then to the first output of the `path` that goes on; `reaction_ns`: these together, None where no bound is
    known. `limit_ns`, `margin_ns`: None without a limit. `longest_detection_ns`: the largest detection that keeps the
    limit if the mode changes as declared, None where none does.
    """

    detection_declared_ns: int | None
    derived: Detection | None
    detection_ns: int | None
    decision_ns: int
    start_latency_ns: int
    first_output_ns: int | None
    path: str | None
    reaction_ns: int | None
    reaction_declared_ns: int | None
    limit_ns: int | None
    margin_ns: int | None
    longest_detection_ns: int | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class TakeoverTask:
    """One task under a takeover. `bound`: once it is in force; `across`: while it comes into force.

    `late`, `late_across`: why either is not known to keep the deadline; empty when it does.
    """

    task: str
    processor: str
    deadline_ns: int
    moved: bool
    bound: Bound | None
    across: Bound | None
    late: str = ""
    late_across: str = ""


@dataclass(frozen=True, slots=True)
class TakeoverCase:
    """The takeover that answers a loss. `recoveries`: of every path that the loss had cut, from the switch on.
    `chains_across`: bounds for what is read from the switch on, while it comes into force.

    `recovered_ns`: from the loss until all paths have recovered to which the limit applies; None: no bound.
    """

    takeover: Takeover
    tasks: tuple[TakeoverTask, ...]
    recoveries: tuple[Recovery, ...]
    recovered_ns: int | None
    chains_across: tuple[ChainResult, ...]


@dataclass(frozen=True, slots=True)
class FaultCase:
    """A scenario that strikes in mode `old` and leads to mode `new`, which may be the same.

    `lost_tasks`: name and reason; `stale_tasks`: name and the inputs that bring nothing new; `lost_chains`: of `new`.
    `tasks`, `chains`: of the state after it, or while jobs overrun. `transition`: name of the change of mode, if any.
    `takeover`: what the plan answers it with, if anything.
    """

    old: str
    new: str
    lost_sensors: tuple[str, ...]
    lost_tasks: tuple[tuple[str, str], ...]
    stale_tasks: tuple[tuple[str, tuple[str, ...]], ...]
    lost_chains: tuple[str, ...]
    tasks: tuple[TaskResult, ...]
    chains: tuple[ChainResult, ...]
    misses: tuple[Misses, ...]
    transition: str | None
    handling: Handling | None
    verdict: Verdict
    reason: str
    takeover: TakeoverCase | None = None


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """A declared fault scenario in every mode in which it may strike."""

    name: str
    effect: str
    target: str
    cases: tuple[FaultCase, ...]
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class FaultReport:
    """All scenarios and changes of mode that were asked for. `misses`: of tasks with weakly-hard deadlines, by mode."""

    verdict: Verdict
    scenarios: tuple[ScenarioResult, ...]
    transitions: tuple[TransitionResult, ...]
    misses: tuple[tuple[str, Misses], ...]
