"""What a method for one processor is: when it applies, and the bounds that it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.result import Bound, Refusal
from rt_sched.analysis.theory.fixed_points import NotConverged
from rt_sched.model import Policy


@dataclass(frozen=True, slots=True)
class Found:
    """What a method says of one task: a bound on its response from the arrival, or the reason why there is none.

    `unbounded`: the reason is a proof that no bound exists for some legal run, not a limit of the method.
    `since_source_ns`: a bound on the time from the arrival of what sets off the graph of the task until the job ends.
    `ends_ns`: least and largest time from the earliest arrival of a job, the least delay behind its grid, to its end,
    where its arrivals have one grid; the job with the longest response has seldom arrived latest.
    """

    bound: Bound | None
    reason: str = ""
    unbounded: bool = False
    since_source_ns: int | None = None
    ends_ns: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """One analysis. `policies`: for which it is meant; `refuse`: why it does not apply to a load, None when it does;
    `respond`: what it finds for each task of the load, in their order.
    """

    name: str
    source: str
    policies: tuple[Policy, ...]
    refuse: Callable[[ProcessorLoad], Refusal | None]
    respond: Callable[[ProcessorLoad], list[Found]]

    def find(self, load: ProcessorLoad) -> list[Found]:
        """As `respond`; a window that does not end within the limits leaves no bound to any task."""
        try:
            return self.respond(load)
        except NotConverged as error:
            return [Found(None, str(error)) for _ in load.tasks]


#: The name of a method, or a way out in words; where it depends on the load, a function of that.
Instead = str | Callable[[ProcessorLoad], str] | None


@dataclass(frozen=True, slots=True)
class Need:
    """An assumption of a method: the check, which gives words when it fails, and what applies instead.

    `purpose`: it is what the method is there for, so that a load without it is another situation, not an obstacle.
    """

    holds: Callable[[ProcessorLoad], str | None]
    instead: Instead
    purpose: bool = False

    def way_out(self, load: ProcessorLoad) -> str | None:
        """What applies to this load instead."""
        return self.instead(load) if callable(self.instead) else self.instead


def refusal_by(name: str, needs: Sequence[Need], *, curves: bool = False) -> Callable[[ProcessorLoad], Refusal | None]:
    """A `refuse` that names the first need that does not hold, those of its purpose before all others.

    Few methods take arrival `curves`; all others refuse.
    """
    asked = needs if curves else (NO_CURVES, *needs)
    ordered = sorted(asked, key=lambda need: not need.purpose)

    def refuse(load: ProcessorLoad) -> Refusal | None:
        for need in ordered:
            reason = need.holds(load)
            if reason is not None:
                return Refusal(name, reason, need.way_out(load), need.purpose)
        return None

    return refuse


def first_task(load: ProcessorLoad, wrong: Callable[[LoadTask], bool], text: Callable[[LoadTask], str]) -> str | None:
    """Words for the first task of which `wrong` holds."""
    return next((text(task) for task in load.tasks if wrong(task)), None)


_PREFIX = {Policy.FIXED_PRIORITY: "fp", Policy.EDF: "edf", Policy.FIFO: "fifo"}


def plain_method(load: ProcessorLoad) -> str:
    """The response time analysis for the policy, of one core or of several."""
    policy = load.policy
    if policy in _PREFIX:
        return f"{_PREFIX[policy]}_response_time" if load.row.cores == 1 else global_method(load)
    return "slice_supply" if policy is Policy.TIME_SLICED else "table_entries"


def curve_method(load: ProcessorLoad) -> str:
    """The response time analysis for the policy where curves say how jobs arrive."""
    if load.policy in _PREFIX and load.row.cores == 1:
        return f"{_PREFIX[load.policy]}_curve_response_time"
    return "periods or separations in place of curves"


def suspension_method(load: ProcessorLoad) -> str:
    """The analysis of jobs that wait inside."""
    return "self_suspension" if load.policy is Policy.FIXED_PRIORITY else "suspension_oblivious"


def global_method(load: ProcessorLoad) -> str:
    """The analysis of one queue of several cores."""
    known = {Policy.FIXED_PRIORITY: "global_fp", Policy.EDF: "global_edf"}
    return known.get(load.policy, "placing every task on one core")


#: Arrivals are periodic or sporadic, with or without jitter.
NO_CURVES = Need(
    lambda load: first_task(
        load,
        lambda t: any(stream.curve is not None for stream in t.streams),
        lambda t: f"the arrivals of task {t.name} are given by a curve",
    ),
    curve_method,
)
#: Methods that try every arrival take too long for very many tasks.
MOST_TASKS = 1000
FEW_TASKS = Need(
    lambda load: (
        f"{len(load.tasks)} tasks on one core; the method takes at most {MOST_TASKS}"
        if len(load.tasks) > MOST_TASKS
        else None
    ),
    None,
)
#: One core serves the queue.
ONE_CORE = Need(
    lambda load: None if load.row.cores == 1 else f"{load.row.cores} cores serve one queue",
    global_method,
)
#: No job waits inside.
NO_SUSPENSION = Need(
    lambda load: first_task(load, lambda t: t.suspensions > 0, lambda t: f"task {t.name} suspends itself"),
    suspension_method,
)
#: Sections block for a bounded time.
BOUNDED_BLOCKING = Need(
    lambda load: first_task(load, lambda t: t.blocking is None, lambda t: t.unblockable),
    None,
)
#: A throttled job never needs more than one budget.
ONE_BUDGET = Need(
    lambda load: first_task(
        load, lambda t: t.throttled_beyond, lambda t: f"task {t.name} may need more than one budget and is throttled"
    ),
    None,
)
#: Jobs can be preempted anywhere, or never.
WHOLE_OR_FREE = Need(
    lambda load: (
        "jobs can be preempted at declared points only"
        if load.row.preemptive and any(task.region_ns > max(1, load.row.switch_ns) for task in load.tasks)
        else None
    ),
    None,
)
