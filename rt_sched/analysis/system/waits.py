"""How long jobs wait for an accelerator that serves them in the middle, beside the wait that they declare.

Bounds on responses take the declared waits for granted; the waits follow from how densely all tasks ask, and that from
their responses. If every wait that follows is within what is declared, all of it holds: the first wait that were longer
would have had only jobs before it, and around it, that kept to their bounds. So both sides are a fixed point.

Of each task at most one request is open at a time, as its jobs run one after the other. By priority a request waits for
one that is less urgent and has begun, and for those of more urgent tasks, as many as their jobs can ask for until it is
served; first come, first served, for at most one of every other task. No request is preempted. A service takes as much
longer as compute work does on the element: at a lower frequency than at the start of a run, and while others slow it
down.

Source: Davis, Burns, Bril, Lukkien 2007 (start times without preemption, jitter); Chen, Nelissen, Huang 2016 (waits as
suspension).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.loads.contention import factors_of
from rt_sched.analysis.loads.load import Stream
from rt_sched.analysis.loads.resolve import ModeLoad, Place
from rt_sched.analysis.result import Verdict, WaitResult
from rt_sched.analysis.system.engine import TaskBound
from rt_sched.analysis.system.propagation import as_arrivals
from rt_sched.analysis.theory.fixed_points import fixed_point_within
from rt_sched.units import ceil_int, format_ns


@dataclass(frozen=True, slots=True)
class _Asking:
    """A task and its requests to one element. `response_ns`: None where it has no bound."""

    index: int
    name: str
    level: int
    streams: tuple[Stream, ...]
    response_ns: int | None
    services_ns: tuple[int, ...]


def wait_results(
    mode: ModeLoad, bounds: Mapping[int, TaskBound], doubts: Mapping[Place, str] | None = None
) -> tuple[WaitResult, ...]:
    """Every wait of the mode of which it is said who serves it. `doubts`: elements of whose queue nothing is known, and
    why.
    """
    found: list[WaitResult] = []
    for place in served_places(mode):
        askers = [_asking(mode, one, place) for index, one in sorted(bounds.items()) if _requests(mode, index, place)]
        problem = (doubts or {}).get(place) or _problem(mode, place)
        found += [
            _judged(mode, place, asker, wait, askers, problem)
            for asker in askers
            for wait in mode.system.tasks[asker.index].suspensions
            if wait.on == place
        ]
    return tuple(found)


def late_wait(waits: Sequence[WaitResult]) -> WaitResult | None:
    """The first wait that may be longer than declared: no bound holds where there is one."""
    return next((one for one in waits if one.verdict is not Verdict.SCHEDULABLE), None)


def served_places(mode: ModeLoad) -> list[Place]:
    """The elements that serve waits of tasks of the mode."""
    waits = (
        wait for task, here in zip(mode.system.tasks, mode.active, strict=True) if here for wait in task.suspensions
    )
    return list(dict.fromkeys(wait.on for wait in waits if wait.on is not None))


def _requests(mode: ModeLoad, index: int, place: Place) -> tuple[int, ...]:
    """Times of service of the requests of a job."""
    waits = mode.system.tasks[index].suspensions if index < len(mode.system.tasks) else ()
    return tuple(_service_ns(mode, wait, place) for wait in waits if wait.on == place)


def _service_ns(mode: ModeLoad, wait: model.Suspension, place: Place) -> int:
    longer = mode.slower.get(place, Fraction(1)) * factors_of(mode.system, mode.plan).get(place, Fraction(1))
    return ceil_int((wait.service_ns or 1) * longer)


def _asking(mode: ModeLoad, one: TaskBound, place: Place) -> _Asking:
    streams = as_arrivals(one.streams)
    response_ns = None if one.bound is None or not streams else one.bound.value_ns
    services_ns = _requests(mode, one.task.index, place)
    return _Asking(one.task.index, one.task.name, one.task.level, streams, response_ns, services_ns)


def _problem(mode: ModeLoad, place: Place) -> str | None:
    """Why nothing is known of what an element serves besides; None where it serves these waits alone."""
    element = _element(mode, place)
    name = ".".join(place)
    others = [
        task.name for load in mode.loads if (load.processor.device, load.processor.pe) == place for task in load.tasks
    ]
    if others:
        return f"task {others[0]} runs on {name} besides; write jobs that use it as tasks of their own"
    if element.cores > 1:
        return f"{name} has {element.cores} cores"
    if element.policy not in (model.Policy.FIXED_PRIORITY, model.Policy.FIFO):
        return f"{name} serves by {element.policy.value}; fixed_priority and fifo have an analysis"
    if element.preemptive and element.policy is not model.Policy.FIFO:
        return f"{name} preempts what it serves"
    return None


def _element(mode: ModeLoad, place: Place) -> model.ProcessingElement:
    device = next(one for one in mode.system.devices if one.name == place[0])
    return next(one for one in device.processing_elements if one.name == place[1])


def _judged(
    mode: ModeLoad, place: Place, mine: _Asking, wait: model.Suspension, askers: Sequence[_Asking], problem: str | None
) -> WaitResult:
    others = [one for one in askers if one is not mine]
    service_ns = _service_ns(mode, wait, place)
    waited_ns: int | None = None
    reason = problem or ""
    if not reason:
        if _element(mode, place).policy is model.Policy.FIFO:
            waited_ns = sum(max(one.services_ns) for one in others) + service_ns
        else:
            without = next((one for one in others if one.level <= mine.level and one.response_ns is None), None)
            if without is not None:
                reason = f"task {without.name}, which goes first, has no bound"
            else:
                waited_ns = _by_priority_ns(mine, others, service_ns, wait.max_ns)
                reason = "" if waited_ns is not None else f"the queue may take longer than {format_ns(wait.max_ns)}"
    if waited_ns is not None and not reason:
        kept = waited_ns <= wait.max_ns
        reason = f"{'within' if kept else 'above'} the declared {format_ns(wait.max_ns)}"
    verdict = Verdict.SCHEDULABLE if waited_ns is not None and waited_ns <= wait.max_ns else Verdict.INCONCLUSIVE
    return WaitResult(mine.name, mode.name, ".".join(place), wait.after_ns, wait.max_ns, waited_ns, verdict, reason)


def _by_priority_ns(mine: _Asking, others: Sequence[_Asking], service_ns: int, limit_ns: int) -> int | None:
    """Tasks of one level delay each other in full; None above the limit."""
    later = [max(one.services_ns) for one in others if one.level >= mine.level]
    blocked_ns = max(*later, *mine.services_ns, 1) - 1
    first = [one for one in others if one.level <= mine.level]

    def start(begin_ns: int) -> int:
        return blocked_ns + sum(
            ((begin_ns + (one.response_ns or 0) + stream.jitter_ns) // stream.period_ns + 1) * sum(one.services_ns)
            for one in first
            for stream in one.streams
        )

    begin_ns = fixed_point_within(start, blocked_ns, limit_ns)
    return None if begin_ns is None else begin_ns + service_ns
