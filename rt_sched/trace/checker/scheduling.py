"""Who had the cores (semantics 4 to 7): priority compliance, work conservation, preemption, costs of switching."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from rt_sched.trace.checker.core_choice import check_core_choice
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.handover import check_overheads, check_skips, check_stops
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.intervals import Intervals, running, waiting, with_keys
from rt_sched.trace.checker.keys import key_at, preempts
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.ranges import largest_in, smallest_over
from rt_sched.trace.checker.rescaling import Offsets
from rt_sched.trace.checker.windows import SLACK_KEY, SliceWindows, TableWindows, below_ceiling, check_ceilings
from rt_sched.trace.records import EventKind, Int64s, SliceKind
from rt_sched.trace.setup import Policy

#: Key of what may not be preempted: worse than nothing.
_NEVER_WORSE = -(2**62)


def check_scheduling(history: History, own: Int64s, locks: LockHistory, found: Findings) -> None:
    """All of it, processor by processor."""
    if not len(history.task):
        return
    wait, stopped = waiting(history, own, locks)
    run = running(history, own, locks)
    left = _leavers(history)
    check_stops(history, locks, own, left, wait.of(stopped >= 0), stopped[stopped >= 0], found)
    wait, run = with_keys(wait, locks.keys, own), with_keys(run, locks.keys, own)
    wait_row, run_row = history.row[wait.job], history.row_of_core[run.core]
    for row, processor in enumerate(history.setup.processors):
        mine = wait.of(wait_row == row)
        cores = run.of(run_row == row)
        edges = np.zeros(0, np.int64)
        if processor.policy is Policy.TIME_SLICED:
            windows = SliceWindows(history, row)
            windows.check(row, cores, found)
            edges = windows.spans.usable_ns
            mine, cores = windows.narrowed(mine), windows.narrowed(cores)
            _open_slack(cores, locks)
        elif processor.policy is Policy.TABLE:
            table = TableWindows(history, row, locks)
            table.check(row, cores, found)
            mine = table.narrowed(mine)
        mine = below_ceiling(history, row, mine, locks)
        if len(mine):
            _priorities(history, row, mine, cores, found)
            _points(history, locks, mine, cores, found)
        _dispatches(history, edges, mine, cores, locks, found)
        if processor.cores > 1:
            check_core_choice(
                history,
                row,
                mine,
                cores,
                left,
                locks,
                lambda job, time_ns: key_at(locks.keys.get(job), int(own[job]), time_ns),
                found,
            )
    check_skips(history, own, wait, run, locks, found)
    check_ceilings(history, locks, found)
    check_overheads(history, left, found)


def _leavers(history: History) -> dict[int, set[int]]:
    """Per job the instants at which it gave up its core by itself: to suspend, wait for a lock, or for its budget."""
    left: dict[int, set[int]] = defaultdict(set)
    for kind in (EventKind.SUSPEND, EventKind.REQUEST, EventKind.THROTTLE):
        for time_ns, job, _, _ in history.events(kind):
            left[job].add(time_ns)
    return left


def _open_slack(run: Intervals, locks: LockHistory) -> None:
    """Those that share the slack of a slice may be preempted by the slice's own wherever they execute."""
    slack = (run.key >= SLACK_KEY) & (run.kind == SliceKind.EXECUTE) & ~run.open
    for place in np.flatnonzero(slack & np.isin(run.job, list(locks.fixed))).tolist():
        slack[place] = not locks.fixed_at(int(run.job[place]), int(run.begin_ns[place]))
    run.open = run.open | slack
    run.key = np.where(slack, SLACK_KEY, run.key)


def _priorities(history: History, row: int, wait: Intervals, run: Intervals, found: Findings) -> None:
    """While a job waits, every core of its processor is busy, with nothing that it should preempt."""
    first_core = int(history.first_core[row])
    for core in range(first_core, first_core + int(history.cores[row])):
        mine = run.of(run.core == core)
        order = np.argsort(mine.begin_ns, kind="stable")
        mine = mine.of(order)
        first = np.searchsorted(mine.end_ns, wait.begin_ns, side="right")
        last = np.searchsorted(mine.begin_ns, wait.end_ns, side="left")
        _idle(history, core, wait, mine, first, last, found)
        some = np.flatnonzero(last > first)
        if not len(some):
            continue
        key = np.where(mine.open, mine.key, _NEVER_WORSE)
        worst = largest_in(key, first[some], last[some])
        for bad in np.flatnonzero(key[worst] > wait.key[some]).tolist():
            place, other = int(some[bad]), int(worst[bad])
            at_ns = max(int(wait.begin_ns[place]), int(mine.begin_ns[other]))
            text = _better(history, wait, place, mine, other)
            found.add(Rule.PRIORITY, at_ns, history.core_name(core), text)


def _better(history: History, wait: Intervals, place: int, run: Intervals, other: int) -> str:
    one, two = history.job_name(int(wait.job[place])), history.job_name(int(run.job[other]))
    return f"{one} (key {int(wait.key[place])}) runs rather than {two} (key {int(run.key[other])})"


def _idle(
    history: History, core: int, wait: Intervals, run: Intervals, first: Int64s, last: Int64s, found: Findings
) -> None:
    length = run.end_ns - run.begin_ns
    before = np.concatenate([[0], np.cumsum(length)])
    busy_ns = before[np.maximum(last, first)] - before[first]
    some = np.flatnonzero(last > first)
    busy_ns[some] -= np.maximum(wait.begin_ns[some] - run.begin_ns[first[some]], 0)
    busy_ns[some] -= np.maximum(run.end_ns[last[some] - 1] - wait.end_ns[some], 0)
    for place in np.flatnonzero(busy_ns < wait.end_ns - wait.begin_ns).tolist():
        at_ns = int(wait.begin_ns[place])
        for other in range(int(first[place]), int(last[place])):
            if run.begin_ns[other] > at_ns:
                break
            at_ns = max(at_ns, int(run.end_ns[other]))
        text = f"{history.job_name(int(wait.job[place]))} is ready: the core does not idle"
        found.add(Rule.WORK_CONSERVATION, at_ns, history.core_name(core), text)


def _best_waiting(history: History, wait: Intervals, at_ns: Int64s) -> Int64s:
    """int64[n]: the interval of the best job that waits from each instant on, or -1; instants ascend."""
    jobs = history.trace.jobs
    order = np.lexsort((history.task[wait.job], jobs.release_ns[wait.job], wait.key))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first = np.searchsorted(at_ns, wait.begin_ns, side="left")
    last = np.searchsorted(at_ns, wait.end_ns, side="left")
    return smallest_over(len(at_ns), rank, first, last)


def _beats(history: History, one: Intervals, place: int, other: Intervals, at: int) -> bool:
    """Whether the first comes before the second among waiting jobs: by key, release, task."""
    jobs = history.trace.jobs
    mine, theirs = int(one.job[place]), int(other.job[at])
    left = (int(one.key[place]), int(jobs.release_ns[mine]), int(history.task[mine]))
    return left < (int(other.key[at]), int(jobs.release_ns[theirs]), int(history.task[theirs]))


def _in_any_round(history: History, wait: Intervals, fresh: Intervals, place: int, locks: LockHistory) -> bool:
    """Whether some waiting job comes before one that gets a core in every round of that instant."""
    at_ns = int(fresh.begin_ns[place])
    some = wait.of((wait.begin_ns <= at_ns) & (wait.end_ns > at_ns))
    one = fresh.of(np.array([place]))
    for intervals, extreme in ((some, max), (one, min)):
        for index, (job, key) in enumerate(zip(intervals.job.tolist(), intervals.key.tolist(), strict=True)):
            behind = SLACK_KEY if key >= SLACK_KEY else 0
            before = locks.in_rounds.get((job, at_ns), ())
            intervals.key[index] = extreme([key, *(behind + earlier for earlier in before)])
    return any(_beats(history, some, other, one, 0) for other in range(len(some)))


def _dispatches(
    history: History, edges: Int64s, wait: Intervals, run: Intervals, locks: LockHistory, found: Findings
) -> None:
    """The job that gets a core is better than every job that is left waiting.

    In which round of its instant it got it is not recorded: where keys change from round to round it is taken to have
    had its best, and the others their worst.
    """
    order = np.lexsort((run.begin_ns, run.core))
    run = run.of(order)
    new = np.ones(len(run), np.bool_)
    new[1:] = (run.core[1:] != run.core[:-1]) | (run.job[1:] != run.job[:-1]) | (run.begin_ns[1:] != run.end_ns[:-1])
    if len(edges):
        new |= np.isin(run.begin_ns, edges)
    fresh = run.of(new)
    fresh = fresh.of(np.argsort(fresh.begin_ns, kind="stable"))
    best = _best_waiting(history, wait, fresh.begin_ns) if len(wait) and len(fresh) else np.full(len(fresh), -1)
    for place in np.flatnonzero(best >= 0).tolist():
        at = int(best[place])
        if _beats(history, wait, at, fresh, place) and _in_any_round(history, wait, fresh, place, locks):
            where = history.core_name(int(fresh.core[place]))
            found.add(Rule.DISPATCH, int(fresh.begin_ns[place]), where, _better(history, wait, at, fresh, place))


def _points(history: History, locks: LockHistory, wait: Intervals, run: Intervals, found: Findings) -> None:
    """Where a job may be preempted at points only, it is, when a better one waits at one of them."""
    offsets = Offsets(history)
    places: list[int] = []
    instants: list[int] = []
    for place in np.flatnonzero(history.limited[run.job] & (run.kind == SliceKind.EXECUTE)).tolist():
        job, begin_ns = int(run.job[place]), int(run.begin_ns[place])
        if not preempts(history.setup.processors[int(history.row[job])]):
            continue
        before = history.executed_at(job, begin_ns)
        for point_ns in history.task_row(job).preemption_points_ns or ():
            at_ns = begin_ns + offsets.of(job, point_ns) - before
            if begin_ns <= at_ns < int(run.end_ns[place]) and not locks.fixed_at(job, at_ns):
                places.append(place)
                instants.append(at_ns)
    if not places:
        return
    order = np.argsort(np.array(instants), kind="stable")
    at = np.array(instants, np.int64)[order]
    best = _best_waiting(history, wait, at)
    for index in np.flatnonzero(best >= 0).tolist():
        place, other = int(best[index]), places[int(order[index])]
        if wait.key[place] < run.key[other]:
            where = history.core_name(int(run.core[other]))
            found.add(Rule.PRIORITY, int(at[index]), where, _better(history, wait, place, run, other))
