"""Responses of CPU tasks whose jobs wait for an accelerator that they share: processors and accelerator together.

A job executes on its core, asks the accelerator, waits without its core until it is served, and goes on. How long it
waits depends on what others ask for, how densely they ask depends on their responses, and those on their waits: the
least fixed point of both sides is sought from below. No job is cut in two here, so the window of a job is paid once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rt_sched.analysis.theory.fixed_points import NotConverged, Timing, fixed_point_within
from rt_sched.analysis.theory.suspension import suspending_worst_cases
from rt_sched.errors import AnalysisNotApplicable

#: Rounds over both sides before responses count as not settling.
_MOST_ROUNDS = 10_000


class Queue(str, Enum):
    """Whom an accelerator serves next, to the end: the most urgent task that waits, or the one that asked first."""

    FIXED_PRIORITY = "fixed_priority"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True)
class AskingTask:
    """A task and the requests of one of its jobs to the accelerator, each by its longest service, in any order.

    `timing`: of its execution on `core`. `level`: on the accelerator, lower is more urgent; None: as on its core.
    """

    timing: Timing
    core: int = 0
    requests_ns: tuple[int, ...] = ()
    level: int | None = None


@dataclass(frozen=True, slots=True)
class JointCase:
    """A job ends at most `response_ns` after its release and waits at most `served_ns[k]` for request k."""

    response_ns: int
    served_ns: tuple[int, ...]


def joint_response_times(tasks: Sequence[AskingTask], queue: Queue = Queue.FIXED_PRIORITY) -> list[JointCase | None]:
    """Bounds for tasks under preemptive fixed priorities on one core each, the most urgent first; None: no bound.

    A task has a bound as long as its jobs end before the next is released: response + jitter <= period. Of each task at
    most one request is open at a time. First come, first served, a request waits for at most one of every other task.
    By priority it waits for one that is less urgent or of its own task and has begun, and for those of more urgent
    tasks, as many as their jobs ask for that can be pending; nobody else uses the accelerator, and no request is
    preempted.

    Source: Chen, Nelissen, Huang 2016 for the cores (suspension, not split); Davis, Burns, Bril, Lukkien 2007 for the
    accelerator (start times without preemption, jitter).

    Raises AnalysisNotApplicable for a request below 1 ns, or two tasks of one level on the accelerator; NotConverged.
    """
    levels = [place if task.level is None else task.level for place, task in enumerate(tasks)]
    _require(tasks, levels, queue)
    responses: list[int | None] = [task.timing.wcet_ns + sum(task.requests_ns) for task in tasks]
    for _ in range(_MOST_ROUNDS):
        served = [_served_ns(tasks, levels, responses, own, queue) for own in range(len(tasks))]
        found = _on_cores(tasks, [None if one is None else sum(one) for one in served])
        if found == responses:
            return [
                None if response_ns is None or one is None else JointCase(response_ns, one)
                for response_ns, one in zip(responses, served, strict=True)
            ]
        responses = found
    raise NotConverged(f"responses had not settled after {_MOST_ROUNDS} rounds")


def _require(tasks: Sequence[AskingTask], levels: Sequence[int], queue: Queue) -> None:
    for place, task in enumerate(tasks):
        if any(service_ns < 1 for service_ns in task.requests_ns):
            raise AnalysisNotApplicable(f"tasks[{place}]: a request takes at least 1 ns on the accelerator")
    asking = [level for level, task in zip(levels, tasks, strict=True) if task.requests_ns]
    if queue is Queue.FIXED_PRIORITY and len(set(asking)) < len(asking):
        raise AnalysisNotApplicable("tasks share a level on the accelerator; give each its own, or serve them FIFO")


def _served_ns(
    tasks: Sequence[AskingTask], levels: Sequence[int], responses: Sequence[int | None], own: int, queue: Queue
) -> tuple[int, ...] | None:
    """How long a job of task `own` waits for each of its requests, given all responses; None when that has no bound."""
    mine = tasks[own]
    others = [(place, task) for place, task in enumerate(tasks) if place != own and task.requests_ns]
    if queue is Queue.FIFO:
        before_ns = sum(max(task.requests_ns) for _, task in others)
        return tuple(before_ns + service_ns for service_ns in mine.requests_ns)
    if not mine.requests_ns:
        return ()
    higher: list[tuple[Timing, int, int]] = []
    for place, task in others:
        if levels[place] < levels[own]:
            response_ns = responses[place]
            if response_ns is None:
                return None
            higher.append((task.timing, response_ns, sum(task.requests_ns)))
    lower_ns = [max(task.requests_ns) for place, task in others if levels[place] > levels[own]]
    blocked_ns = max(*lower_ns, *mine.requests_ns, 1) - 1

    def start(begin_ns: int) -> int:
        return blocked_ns + sum(
            ((begin_ns + response_ns + timing.jitter_ns) // timing.period_ns + 1) * asked_ns
            for timing, response_ns, asked_ns in higher
        )

    begin_ns = fixed_point_within(start, blocked_ns, mine.timing.period_ns)
    return None if begin_ns is None else tuple(begin_ns + service_ns for service_ns in mine.requests_ns)


def _on_cores(tasks: Sequence[AskingTask], waits_ns: Sequence[int | None]) -> list[int | None]:
    """Responses of all tasks given their longest waits; below a task without a bound its core has none."""
    found: list[int | None] = [None] * len(tasks)
    for core in dict.fromkeys(task.core for task in tasks):
        here = [place for place, task in enumerate(tasks) if task.core == core]
        known: list[int] = []
        for place in here:
            wait_ns = waits_ns[place]
            if wait_ns is None:
                break
            known.append(wait_ns)
        cases = suspending_worst_cases([tasks[place].timing for place in here[: len(known)]], known)
        for place, case in zip(here, cases, strict=False):
            found[place] = None if case is None else case.window_ns
    return found
