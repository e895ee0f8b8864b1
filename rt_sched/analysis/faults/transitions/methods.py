"""Responses across a change of mode, for every position of the change in a busy period.

A busy period that contains the change begins some time x before it. Tasks that the change removes release jobs only
before x, those that it adds only from x + their start latency on; all others release as ever. Between two releases of
removed tasks a later change is worse as long as the removed work keeps the processor busy until then, since what
follows is only shifted, and better from then on, since the added tasks have less time. So the responses for x at the
end of the removed work, for no removed work at all, and for no change at all bound those for every x.

Source: Tindell, Burns, Wellings 1992; Pedro, Burns 1998 (position of the change).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from rt_sched.analysis.faults.transitions.arrivals import BEFORE, MOST_JOBS, NEVER, Arrivals, Position
from rt_sched.analysis.faults.transitions.loads import Presence, Transition
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods import Found, Method
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    NO_SUSPENSION,
    ONE_BUDGET,
    ONE_CORE,
    Need,
    refusal_by,
)
from rt_sched.analysis.methods.rows import (
    Row,
    arrival_term,
    lock_terms,
    longest_lower_regions_ns,
    own_terms,
    region_term,
    rows_of,
)
from rt_sched.analysis.result import Bound
from rt_sched.analysis.theory.fixed_points import NotConverged, least_fixed_point
from rt_sched.model import Policy

FP_NAME, BUSY_NAME = "fp_mode_change", "busy_period_mode_change"
FP_SOURCE = "Tindell, Burns, Wellings 1992; Pedro, Burns 1998 (response across a change of mode)"
BUSY_SOURCE = "Real, Crespo 2004 (busy period across a change of mode)"

_NEEDS = (ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, ONE_BUDGET)


def split_methods(change: Transition) -> tuple[Method, ...]:
    """The methods that look at the position of this change; they refuse processors on which no task comes or goes."""
    changes = Need(
        lambda load: (
            "no task is removed or added here"
            if all(change.presence.get(task.index, Presence.KEPT) is Presence.KEPT for task in load.tasks)
            else None
        ),
        None,
    )
    needs = (changes, *_NEEDS)
    return (
        Method(
            FP_NAME, FP_SOURCE, (Policy.FIXED_PRIORITY,), refusal_by(FP_NAME, needs), partial(_fixed_priority, change)
        ),
        Method(
            BUSY_NAME,
            BUSY_SOURCE,
            (Policy.EDF, Policy.FIFO),
            refusal_by(BUSY_NAME, needs),
            partial(_busy_periods, change),
        ),
    )


def _fixed_priority(change: Transition, load: ProcessorLoad) -> list[Found]:
    rows, arrivals = rows_of(load), Arrivals(change.presence, change.latency_ns)
    regions = longest_lower_regions_ns(load)
    found: dict[int, Found] = {}
    for row in rows:
        one = _FixedPriorityRow(load, rows, row, regions[row.place], arrivals).worst()
        old = found.get(row.place)
        if old is None or (old.bound is not None and (one.bound is None or one.bound.value_ns > old.bound.value_ns)):
            found[row.place] = one
    return [found[place] for place in range(len(load.tasks))]


class _FixedPriorityRow:
    """One stream of one task under fixed priorities."""

    def __init__(self, load: ProcessorLoad, rows: Sequence[Row], mine: Row, region_ns: int, arrivals: Arrivals) -> None:
        self._load, self._mine, self._arrivals, self._region_ns = load, mine, arrivals, region_ns
        self._rows = [row for row in rows if row.task.level <= mine.task.level]
        self._others = [row for row in self._rows if row is not mine]
        blocking = mine.task.blocking
        self._blocked_ns = region_ns + (0 if blocking is None else blocking.total_ns)

    def worst(self) -> Found:
        """The largest response over all positions of the change."""
        try:
            bounds = [bound for position in self._positions() for bound in self._responses(position)]
        except NotConverged as error:
            return Found(None, str(error))
        return Found(max(bounds, key=lambda bound: bound.value_ns))

    def by_position(self) -> list[list[int]]:
        """The responses of all jobs of the busy period, for every position of the change."""
        return [[bound.value_ns for bound in self._responses(position)] for position in self._positions()]

    def _positions(self) -> Iterator[Position]:
        presence = self._arrivals.presence(self._mine)
        # Jobs of a removed task that complete do so before the change.
        if presence is not Presence.ADDED:
            yield NEVER
        if presence is Presence.REMOVED:
            return
        yield BEFORE
        if not any(self._arrivals.presence(row) is not Presence.KEPT for row in self._rows):
            return
        reach_ns = self._arrivals.busy_ns(self._rows, self._blocked_ns, NEVER)
        yield from self._arrivals.positions(self._rows, reach_ns, self._load.row.switch_ns)

    def _responses(self, position: Position) -> Iterator[Bound]:
        """Every job of the busy period."""
        mine, task = self._mine, self._mine.task
        # Where messages make it arrive, an added task is taken to release at any instant.
        late = self._arrivals.presence(mine) is Presence.ADDED and not position.begun and not mine.stream.jitter_ns
        free = None if late else mine
        busy_ns = self._arrivals.busy_ns(self._rows, self._blocked_ns, position, free)
        for job in range(self._arrivals.jobs(mine, busy_ns, position, free)):
            if job == MOST_JOBS:
                raise NotConverged(f"more than {MOST_JOBS} jobs of one busy period have to be looked at")
            if late:
                arrival_ns = self._arrivals.first_ns(mine, position) + job * mine.stream.period_ns
            else:
                arrival_ns = max(job * mine.stream.period_ns - mine.jitter_ns, -task.release_jitter_ns)
            yield self._response(position, job, arrival_ns)

    def _response(self, position: Position, job: int, arrival_ns: int) -> Bound:
        task = self._mine.task
        before_ns = self._blocked_ns + (job + 1) * task.cost_ns - task.last_region_ns

        def begun_ns(start_ns: int) -> int:
            return before_ns + self._arrivals.work_ns(self._others, start_ns + 1, position)

        window_ns = least_fixed_point(begun_ns, max(before_ns, 0)) + 1
        same = [row for row in self._others if row.task is task]
        others = [row for row in self._others if row.task is not task]
        lower = (other for other in self._load.tasks if other.level > task.level)
        terms = (
            *own_terms(task, job + 1 + sum(self._arrivals.jobs(row, window_ns, position) for row in same)),
            *self._arrivals.terms(others, window_ns, position),
            *lock_terms(task),
            *region_term(lower, self._region_ns),
            *arrival_term(arrival_ns),
        )
        value_ns = sum(term.value_ns for term in terms)
        return Bound(value_ns, terms, FP_NAME, FP_SOURCE, exact=False, job=job, window_ns=window_ns)


def _busy_periods(change: Transition, load: ProcessorLoad) -> list[Found]:
    """No job is longer there than the busy period of its processor."""
    rows, arrivals = rows_of(load), Arrivals(change.presence, change.latency_ns)
    lengths = _busy_lengths(rows, arrivals, load.row.switch_ns)
    return [Found(_longest(task, rows, arrivals, lengths)) for task in load.tasks]


def _busy_lengths(rows: Sequence[Row], arrivals: Arrivals, switch_ns: int) -> dict[Position, int]:
    """Length of the busy period of a processor, for every position of a change in it."""
    lengths = {position: arrivals.busy_ns(rows, 0, position) for position in (NEVER, BEFORE)}
    for position in arrivals.positions(rows, lengths[NEVER], switch_ns):
        lengths[position] = arrivals.busy_ns(rows, 0, position)
    return lengths


def _longest(task: LoadTask, rows: Sequence[Row], arrivals: Arrivals, lengths: Mapping[Position, int]) -> Bound:
    """The longest busy period that may hold a job of `task`, from its earliest release there."""
    mine = [row for row in rows if row.task is task]
    presence = arrivals.presence(mine[0])
    late = presence is Presence.ADDED and not any(row.stream.jitter_ns for row in mine)
    bounds = []
    for position, length_ns in lengths.items():
        if (presence is Presence.REMOVED) != (position is NEVER) and presence is not Presence.KEPT:
            continue
        first_ns = arrivals.first_ns(mine[0], position) if late and not position.begun else 0
        if first_ns >= length_ns:
            continue
        own = sum(arrivals.jobs(row, length_ns, position) for row in mine)
        others = [row for row in rows if row.task is not task]
        terms = (
            *own_terms(task, own),
            *arrivals.terms(others, length_ns, position),
            *arrival_term(first_ns - (0 if first_ns else task.release_jitter_ns)),
        )
        value_ns = sum(term.value_ns for term in terms)
        bounds.append(Bound(value_ns, terms, BUSY_NAME, BUSY_SOURCE, exact=False, window_ns=length_ns))
    return max(bounds, key=lambda bound: bound.value_ns)


def responses_of_busy_period(load: ProcessorLoad, index: int) -> list[int] | str:
    """Bound on the response of each job of task `index` in its longest busy period, or why none is known."""
    found = _by_position(load, index, Arrivals({}, {}))
    return found if isinstance(found, str) else max(found, key=len)


def responses_across(change: Transition, load: ProcessorLoad, index: int) -> list[list[int]] | str:
    """The same of a busy period that contains a change of mode, for every position of it that counts."""
    return _by_position(load, index, Arrivals(change.presence, change.latency_ns))


def _by_position(load: ProcessorLoad, index: int, arrivals: Arrivals) -> list[list[int]] | str:
    """Where keys do not order tasks for good, every job of the busy period of the whole processor has the length of
    that.
    """
    for need in _NEEDS:
        reason = need.holds(load)
        if reason is not None:
            return reason
    if load.policy not in (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO):
        return f"{load.policy.value} has no busy periods that are looked at here"
    rows = rows_of(load)
    mine = [row for row in rows if row.task.index == index]
    try:
        if load.policy is Policy.FIXED_PRIORITY and len(mine) == 1:
            region_ns = longest_lower_regions_ns(load)[mine[0].place]
            return _FixedPriorityRow(load, rows, mine[0], region_ns, arrivals).by_position()
        lengths = _busy_lengths(rows, arrivals, load.row.switch_ns)
    except NotConverged as error:
        return str(error)
    return [
        [length_ns + mine[0].task.release_jitter_ns] * sum(arrivals.jobs(row, length_ns, position) for row in mine)
        for position, length_ns in lengths.items()
    ]
