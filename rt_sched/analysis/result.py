"""What an analysis says: bounds term by term, verdicts with their reason, and everything that was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Verdict(str, Enum):
    """SCHEDULABLE is proven; UNSCHEDULABLE has a witness or fails a necessary test; INCONCLUSIVE has a reason."""

    SCHEDULABLE = "schedulable"
    UNSCHEDULABLE = "unschedulable"
    INCONCLUSIVE = "inconclusive"


def worst_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """UNSCHEDULABLE as soon as one is, then INCONCLUSIVE; SCHEDULABLE for none."""
    for verdict in (Verdict.UNSCHEDULABLE, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.SCHEDULABLE


class TermKind(str, Enum):
    """What a part of a bound stands for.

    `earlier_arrival`: negative, for a job of a busy period that arrived after its begin. `rounding`: the fraction of a
    nanosecond, or of a core, that whole numbers leave out. Of chains: `sensor`, from capture to arrival; `response` of
    a task; `transfer` over a link; `partner`, the wait for what a message is paired with; `sampling`, the wait for the
    next read; `clock`, the errors of two devices' clocks. `overrun`: what jobs that a fault lets overrun need beyond
    their worst case.
    """

    OWN_EXECUTION = "own_execution"
    OVERHEAD = "overhead"
    INTERFERENCE = "interference"
    BLOCKING = "blocking"
    NON_PREEMPTIVE_REGION = "non_preemptive_region"
    SPIN = "spin"
    SUSPENSION = "suspension"
    RELEASE_JITTER = "release_jitter"
    SUPPLY = "supply"
    EARLIER_ARRIVAL = "earlier_arrival"
    SENSOR = "sensor"
    RESPONSE = "response"
    TRANSFER = "transfer"
    PARTNER = "partner"
    SAMPLING = "sampling"
    CLOCK = "clock"
    START_DELAY = "start_delay"
    LEAST_AGE = "least_age"
    ROUNDING = "rounding"
    OVERRUN = "overrun"


@dataclass(frozen=True, slots=True)
class Term:
    """`value_ns` of a bound; `by`: the task, resource or slice behind it; `jobs` of `each_ns` where it is counted."""

    kind: TermKind
    value_ns: int
    by: str | None = None
    jobs: int | None = None
    each_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ReadingInstant:
    """Where the worst walk along a chain reads: `reader` at instant `number` of its grid first_ns + floor(k / rate_hz).

    `at_ns`: that instant, as the clock of the reader's device shows it without error.
    """

    reader: str
    rate_hz: Fraction
    first_ns: int
    number: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Bound:
    """No legal run exceeds `value_ns`, the sum of its `terms`.

    `method`, `source`: how it was found and who proved that. `exact`: some legal arrivals attain it; otherwise it is
    only sufficient. `job`: number of the worst job in its busy period; `window_ns`: length from the begin of that
    to the instant up to which interference counts. `assumptions`: keys of `AnalysisReport.assumptions`. `reads`: where
    known phases were used, the instants at which the waits are those of the bound.
    """

    value_ns: int
    terms: tuple[Term, ...]
    method: str
    source: str
    exact: bool
    job: int = 0
    window_ns: int | None = None
    assumptions: tuple[str, ...] = ()
    reads: tuple[ReadingInstant, ...] = ()

    def __post_init__(self) -> None:
        total_ns = sum(term.value_ns for term in self.terms)
        if total_ns != self.value_ns:
            raise ValueError(f"the terms of a bound of {self.value_ns} ns add up to {total_ns} ns")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A method that does not apply to a processor, the assumption that fails, and what would apply (None: nothing).

    `elsewhere`: the processor lacks what the method is there for, such as waits inside of jobs.
    """

    method: str
    reason: str
    instead: str | None = None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Witness:
    """A legal run in which the kernel saw job `job` of a task finish (or be unfinished) after its deadline.

    Of a task with a weakly-hard deadline: the job with which more of the last ones have missed than that allows.
    `arrival_ns`, `finish_ns`: in that run, `finish_ns` None when unfinished at `horizon_ns`. `how`: what the run does.
    """

    how: str
    job: int
    arrival_ns: int
    finish_ns: int | None
    deadline_ns: int
    horizon_ns: int


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that is taken for granted. `tasks`: whose bounds rest on it; `check`: how a run can tell it broke."""

    key: str
    text: str
    tasks: tuple[str, ...]
    check: str


@dataclass(frozen=True, slots=True)
class Misses:
    """At most `at_most` of any `k` consecutive jobs of a task miss their deadline (None: not known, for the `reason`).

    `allowed`: by its weakly-hard deadline, None where it has none. `verdict`: on that.
    """

    task: str
    at_most: int | None
    k: int
    allowed: int | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task in one mode. `bound`: on its response, None where none was found; `reason`: of the verdict.

    `lost_work`: what becomes of jobs that a budget ends; the bound holds for what is left of them. `misses`: of a task
    with a weakly-hard deadline, which the verdict then is on.
    """

    task: str
    mode: str
    processor: str
    deadline_ns: int
    bound: Bound | None
    verdict: Verdict
    reason: str
    refusals: tuple[Refusal, ...] = ()
    witness: Witness | None = None
    lost_work: str | None = None
    misses: Misses | None = None


class Quantity(str, Enum):
    """What is bounded: see `trace.chains`."""

    REACTION = "reaction"
    LATENCY = "latency"
    DATA_AGE = "data_age"


@dataclass(frozen=True, slots=True)
class ChainResult:
    """One chain in one mode: its bounds, None for the `reason`, and the verdict over the limits that it has."""

    chain: str
    mode: str
    path: tuple[str, ...]
    reaction: Bound | None
    latency: Bound | None
    data_age: Bound | None
    limits_ns: tuple[tuple[Quantity, int], ...]
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class DisparityResult:
    """By how much the capture stamps that one job of a task reads differ, at most; the verdict on the task's limit.

    `older`, `younger`: the inputs between which the difference is largest.
    """

    task: str
    mode: str
    bound: Bound | None
    limit_ns: int | None
    verdict: Verdict
    reason: str
    older: str | None = None
    younger: str | None = None


@dataclass(frozen=True, slots=True)
class WaitResult:
    """A wait inside the jobs of a task, after so much executed time, for the `element` that serves it.

    `declared_ns`: the longest that bounds assume; `waited_ns`: what follows from all that ask the element, None for the
    `reason`.
    """

    task: str
    mode: str
    element: str
    after_ns: int
    declared_ns: int
    waited_ns: int | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessorResult:
    """One processor in one mode: its exact load as numerator and denominator, and the tests of the load alone."""

    processor: str
    mode: str
    policy: str
    load: tuple[int, int]
    tests: tuple[tuple[str, Verdict, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ModeResult:
    """All tasks and chains of one mode. `verdict`: the worst of tasks, waits, and chains and disparities with limits.

    `disparities`: of the tasks with several inputs. `waits`: inside jobs, of which it is said who serves them.
    """

    name: str
    verdict: Verdict
    tasks: tuple[TaskResult, ...]
    processors: tuple[ProcessorResult, ...]
    chains: tuple[ChainResult, ...] = ()
    disparities: tuple[DisparityResult, ...] = ()
    waits: tuple[WaitResult, ...] = ()


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """The verdict on a system under a plan, mode by mode, and what it rests on."""

    system: str
    policy: str
    verdict: Verdict
    modes: tuple[ModeResult, ...]
    assumptions: tuple[Assumption, ...]

    def task(self, name: str, mode: str | None = None) -> TaskResult:
        """The result of a task, by default in the first mode. Raises KeyError for an unknown name."""
        for result in self.modes:
            if mode in (None, result.name):
                for one in result.tasks:
                    if one.task == name:
                        return one
        raise KeyError(name)
