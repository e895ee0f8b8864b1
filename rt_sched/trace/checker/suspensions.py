"""Suspension (semantics 10): jobs suspend where they declare it, for the given or drawn time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.trace.checker.draws import FIRST_SUSPENSION, bits_of, up_to
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, EventRow, History
from rt_sched.trace.checker.rescaling import Offsets
from rt_sched.trace.records import EventKind, Int64s, JobStatus
from rt_sched.trace.setup import SuspensionRow

#: How a job may have ended before it suspended at its very offset.
_ENDED = (int(JobStatus.LOST), int(JobStatus.ABORTED), int(JobStatus.COMPLETED))


def check_suspensions(history: History, found: Findings) -> None:
    """Every suspension with its executed time and length, and that nothing runs meanwhile."""
    told = history.events_of_jobs(EventKind.SUSPEND)
    woken = history.events_of_jobs(EventKind.WAKE)
    offsets = Offsets(history)
    for stay in history.stays:
        index, task, mine = stay.task, stay.row, stay.jobs
        if not task.suspensions:
            mine = np.intersect1d(mine, [*told, *woken]).astype(np.int64)
        numbers = history.trace.jobs.number[mine]
        lengths = [
            _lengths(one, numbers, bits_of(history.trace.seed, index, numbers, FIRST_SUSPENSION + i))
            for i, one in enumerate(task.suspensions)
        ]
        for number, job in enumerate(mine.tolist()):
            declared = [
                (offsets.of(job, one.offset_ns), int(lengths[i][number])) for i, one in enumerate(task.suspensions)
            ]
            expected = [(at_ns, length_ns) for at_ns, length_ns in declared if length_ns > 0]
            if expected or job in told or job in woken:
                _job(history, job, expected, told.get(job, []), woken.get(job, []), found)


def _lengths(one: SuspensionRow, numbers: Int64s, bits: npt.NDArray[np.uint64]) -> Int64s:
    """How long jobs with these numbers wait: given for the first ones, drawn for the others."""
    drawn = one.min_ns + up_to(one.max_ns - one.min_ns, bits)
    given = np.array(one.explicit_ns, np.int64)
    first = numbers < len(given)
    drawn[first] = given[numbers[first]]
    return drawn


def _job(
    history: History,
    job: int,
    expected: list[tuple[int, int]],
    told: list[EventRow],
    woken: list[EventRow],
    found: Findings,
) -> None:
    where, executed_ns = history.job_name(job), int(history.executed_ns[job])
    ended_ns, horizon_ns = int(history.end_ns[job]), history.trace.horizon_ns
    for place, (time_ns, _, value, _) in enumerate(told):
        if place >= len(expected):
            found.add(Rule.SUSPENSION, time_ns, where, "it does not suspend here")
            return
        at_ns, length_ns = expected[place]
        is_ns = history.executed_at(job, time_ns)
        if is_ns != at_ns:
            text = f"it suspends when it has executed {at_ns} ns, not {is_ns} ns"
            found.add(Rule.SUSPENSION, time_ns, where, text)
        if value != length_ns:
            text = f"it suspends for {length_ns} ns, not {value} ns"
            found.add(Rule.RANDOMNESS, time_ns, where, text)
        until_ns = time_ns + length_ns
        wakes_ns = woken[place][0] if place < len(woken) else NEVER_NS
        due = until_ns < horizon_ns and until_ns < ended_ns
        if (due and wakes_ns != until_ns) or (not due and wakes_ns not in (NEVER_NS, until_ns)):
            found.add(Rule.SUSPENSION, min(until_ns, horizon_ns), where, f"it wakes at {until_ns} ns")
        if history.executed_at(job, min(until_ns, horizon_ns)) != is_ns:
            text = f"it does not run before it wakes at {until_ns} ns"
            found.add(Rule.SUSPENSION, time_ns, where, text)
    if len(woken) > len(told):
        found.add(Rule.SUSPENSION, woken[len(told)][0], where, "it wakes only from a suspension")
    # At its very offset a job suspends, unless it completes there or goes for another reason.
    passed = [at_ns for at_ns, _ in expected if at_ns < executed_ns]
    if history.trace.jobs.status[job] in _ENDED:
        missing = len(told) < len(passed)
    else:
        missing = len(told) < len([at_ns for at_ns in passed if history.reached_ns(job, at_ns) <= horizon_ns])
    if missing:
        at_ns = expected[len(told)][0]
        text = f"it suspends when it has executed {at_ns} ns"
        found.add(Rule.SUSPENSION, history.reached_ns(job, at_ns), where, text)
