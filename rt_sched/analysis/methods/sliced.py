"""Responses where a cycle of slices says which tasks may run."""

from __future__ import annotations

from itertools import accumulate

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    Found,
    Method,
    Need,
    refusal_by,
)
from rt_sched.analysis.methods.rows import arrival_term, interference, own_terms
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing
from rt_sched.analysis.theory.slices import SlicedCase, Supply, sliced_worst_case
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy

NAME = "slice_supply"
SOURCE = "Shin, Lee 2003 (supply); Tindell, Burns, Wellings 1994 (responses)"

_BOUNDED_BLOCKING = Need(BOUNDED_BLOCKING.holds, "slices whose tasks share no resources")
_NO_SUSPENSION = Need(NO_SUSPENSION.holds, "splitting the task at its waits")


def supply_for(load: ProcessorLoad, task: LoadTask) -> Supply:
    """What the slices of a task leave after their switch and that of the first job that they resume.

    Raises AnalysisNotApplicable when they leave nothing.
    """
    row = load.row
    ends_ns = list(accumulate(piece.length_ns for piece in row.slices))
    windows = [
        (end_ns - piece.length_ns + piece.switch_ns + row.switch_ns, end_ns)
        for piece, end_ns in zip(row.slices, ends_ns, strict=True)
        if task.index in piece.tasks and piece.switch_ns + row.switch_ns < piece.length_ns
    ]
    return Supply(ends_ns[-1], tuple(windows))


def _slices_of(load: ProcessorLoad, task: LoadTask) -> frozenset[int]:
    return frozenset(number for number, piece in enumerate(load.row.slices) if task.index in piece.tasks)


def _respond(load: ProcessorLoad) -> list[Found]:
    found: dict[int, Found] = {}
    for task in load.tasks:
        try:
            found[task.index] = _task(load, task, found)
        except (NotConverged, AnalysisNotApplicable) as error:
            found[task.index] = Found(None, f"task {task.name}: {error}")
    return [found[task.index] for task in load.tasks]


def _task(load: ProcessorLoad, mine: LoadTask, found: dict[int, Found]) -> Found:
    """Jobs of tasks that may use every slice of `mine` delay it from the begin of a busy period on.

    Those that may use only some of them can be pending while less urgent jobs start, so they count as long as their
    response lets them reach into the time from a release of `mine` to its end.
    """
    slices = _slices_of(load, mine)
    before: list[tuple[LoadTask, Timing, int]] = []
    for other in load.tasks:
        theirs = _slices_of(load, other)
        if other is mine or other.level > mine.level or not slices & theirs:
            continue
        reach_ns = 0
        if not slices <= theirs:
            known = found.get(other.index)
            if known is None or known.bound is None:
                return Found(None, f"no bound on {other.name}, which may use some of the slices of {mine.name}")
            reach_ns = known.bound.value_ns + load.row.switch_ns
        for stream in other.streams:
            jitter_ns = stream.jitter_ns + (reach_ns or other.release_jitter_ns)
            before.append((other, Timing(other.cost_ns, stream.period_ns, other.deadline_ns), jitter_ns))
    supply, blocking_ns = supply_for(load, mine), _blocking_ns(load, mine, slices)
    worst: Bound | None = None
    for place, stream in enumerate(mine.streams):
        jitter_ns = stream.jitter_ns + mine.release_jitter_ns
        timing = Timing(mine.cost_ns, stream.period_ns, mine.deadline_ns, jitter_ns)
        same = [
            (mine, Timing(mine.cost_ns, s.period_ns, mine.deadline_ns), s.jitter_ns + mine.release_jitter_ns)
            for number, s in enumerate(mine.streams)
            if number != place
        ]
        counted = [*before, *same]
        higher = [(t, extra_ns) for _, t, extra_ns in counted]
        case = sliced_worst_case(timing, higher, blocking_ns, supply, mine.release_jitter_ns)
        bound = _bound(mine, [task for task, _, _ in counted], case, blocking_ns)
        worst = bound if worst is None or bound.value_ns > worst.value_ns else worst
    return Found(worst)


def _blocking_ns(load: ProcessorLoad, mine: LoadTask, slices: frozenset[int]) -> int:
    """A less urgent job in a slice of `mine` keeps it while it may not be preempted, at most to the end of the slice.

    With slack sharing any other job may be in the middle of a switch there.
    """
    lengths_ns = [piece.length_ns - piece.switch_ns for piece in load.row.slices]
    longest_ns = 1
    for other in load.tasks:
        shared = slices & _slices_of(load, other)
        if other.level > mine.level and shared:
            part_ns = other.region_ns if load.row.preemptive else other.cost_ns
            longest_ns = max(longest_ns, min(part_ns, max(lengths_ns[number] for number in shared)))
    return longest_ns - 1 + (load.row.switch_ns if load.row.slack_sharing else 0)


def _bound(mine: LoadTask, others: list[LoadTask], case: SlicedCase, blocking_ns: int) -> Bound:
    counted = list(zip(others, case.jobs, strict=True))
    same = sum(jobs for other, jobs in counted if other is mine)
    terms = [
        *own_terms(mine, case.job + 1 + same),
        *interference([(other, jobs) for other, jobs in counted if other is not mine]),
        *([Term(TermKind.BLOCKING, blocking_ns, "a job that had started in the slice")] if blocking_ns else []),
    ]
    supply_ns = case.window_ns - sum(term.value_ns for term in terms)
    terms += [
        *([Term(TermKind.SUPPLY, supply_ns, "slices of others")] if supply_ns else []),
        *arrival_term(case.arrival_ns),
    ]
    return Bound(case.window_ns - case.arrival_ns, tuple(terms), NAME, SOURCE, False, case.job, case.window_ns)


SLICE_SUPPLY = Method(
    NAME, SOURCE, (Policy.TIME_SLICED,), refusal_by(NAME, (_NO_SUSPENSION, _BOUNDED_BLOCKING, ONE_BUDGET)), _respond
)
