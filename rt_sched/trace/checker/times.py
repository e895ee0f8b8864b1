"""Arrivals, releases, deadlines, misses and separations (semantics 1, 3, 16 to 18)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rt_sched.trace.checker.draws import JITTER, SEPARATION, bits_of, up_to
from rt_sched.trace.checker.ends import expired_jobs
from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import NEVER_NS, History
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.modes import active_spans
from rt_sched.trace.records import EventKind, JobStatus
from rt_sched.trace.setup import TaskRow


def check_times(history: History, locks: LockHistory, found: Findings) -> None:
    """All of them."""
    _timed_arrivals(history, found)
    _releases(history, found)
    _order(history, found)
    _misses(history, locks, found)
    _separations(history, found)


def _timed_arrivals(history: History, found: Findings) -> None:
    for index, task in enumerate(history.setup.tasks):
        if not task.timed:
            continue
        mine = history.jobs_of_task[index]
        expected = _expected_arrivals(history, index, task)
        actual = history.trace.jobs.arrival_ns[mine].tolist()
        for number, (is_ns, should_ns) in enumerate(zip(actual, expected, strict=False)):
            if is_ns != should_ns:
                found.add(Rule.ARRIVALS, is_ns, f"{task.name} #{number}", f"arrival at {should_ns} ns, not {is_ns} ns")
                break
        else:
            if len(actual) < len(expected):
                at_ns = expected[len(actual)]
                found.add(Rule.ARRIVALS, at_ns, f"{task.name} #{len(actual)}", "a job that arrives now; there is none")
            elif len(actual) > len(expected):
                at_ns = actual[len(expected)]
                found.add(Rule.ARRIVALS, at_ns, f"{task.name} #{len(expected)}", "no arrival here")


def _expected_arrivals(history: History, index: int, task: TaskRow) -> list[int]:
    horizon_ns = history.trace.horizon_ns
    extras = sorted(extra.time_ns for extra in history.setup.extra_arrivals if extra.task == index)
    expected: list[int] = []
    for begin_ns, end_ns, first in active_spans(history.setup, index):
        last_ns = min(end_ns, horizon_ns)
        more = [at for at in extras if begin_ns <= at < last_ns]
        if more:
            origin_ns = task.offset_ns if first else begin_ns
            expected += _with_extras(history, index, (origin_ns, begin_ns, last_ns), more, len(expected))
        elif task.explicit_arrivals_ns is not None:
            expected.extend(at for at in task.explicit_arrivals_ns if begin_ns <= at < last_ns)
        elif task.rate_hz is not None:
            origin_ns = task.offset_ns if first else begin_ns
            expected.extend(_rate_arrivals(history, index, task, origin_ns, last_ns, len(expected)))
    return expected


def _with_extras(
    history: History, index: int, span: tuple[int, int, int], extras: list[int], first_number: int
) -> list[int]:
    """Arrivals of a span, given as its origin, begin and end, with additional ones behind the task's own.

    What an arrival draws for the distance to the next goes by the number of the job after it, of whatever kind.
    """
    origin_ns, begin_ns, last_ns = span
    found: list[int] = []
    extras = list(extras)
    for at_ns in _own_arrivals(history, index, origin_ns, begin_ns, found, first_number):
        while extras and extras[0] < min(at_ns, last_ns):
            found.append(extras.pop(0))
        if at_ns >= last_ns:
            break
        found.append(at_ns)
    return found + extras


def _own_arrivals(
    history: History, index: int, origin_ns: int, begin_ns: int, found: list[int], first_number: int
) -> Iterator[int]:
    """Those that the activation asks for, one after the other; `found`: all arrivals so far."""
    task = history.setup.tasks[index]
    if task.rate_hz is None:
        yield from (at for at in task.explicit_arrivals_ns or () if at >= begin_ns)
        return
    late_ns = count = 0
    while True:
        yield origin_ns + count * task.rate_hz.denominator * 10**9 // task.rate_hz.numerator + late_ns
        count += 1
        number = np.array([first_number + len(found)], np.int64)
        late_ns += int(up_to(task.extra_separation_ns, bits_of(history.trace.seed, index, number, SEPARATION))[0])


def _rate_arrivals(
    history: History, index: int, task: TaskRow, origin_ns: int, last_ns: int, first_number: int
) -> list[int]:
    """Arrivals at origin + floor(k / rate), each delayed by what it and those before it drew, before `last_ns`."""
    rate = task.rate_hz
    if rate is None or origin_ns >= last_ns:
        return []
    step, per = rate.denominator * 10**9, rate.numerator
    count = (last_ns - origin_ns) * per // step + 2
    nominal = [origin_ns + k * step // per for k in range(count)]
    if task.extra_separation_ns:
        numbers = np.arange(first_number, first_number + count, dtype=np.int64)
        bits = bits_of(history.trace.seed, index, numbers, SEPARATION)
        extra = up_to(task.extra_separation_ns, bits).tolist()
        extra[0] = 0
        late_ns = 0
        for k, more_ns in enumerate(extra):
            late_ns += more_ns
            nominal[k] += late_ns
    return [at for at in nominal if at < last_ns]


def _releases(history: History, found: Findings) -> None:
    jobs = history.trace.jobs
    expected = jobs.arrival_ns.astype(np.int64).copy()
    for index, task in enumerate(history.setup.tasks):
        mine = history.jobs_of_task[index]
        if not len(mine) or not (task.jitter_ns or task.explicit_jitters_ns):
            continue
        jitter = up_to(task.jitter_ns, bits_of(history.trace.seed, index, jobs.number[mine], JITTER))
        given = np.array(task.explicit_jitters_ns[: len(mine)], np.int64)
        jitter[: len(given)] = given
        expected[mine] += jitter
    for job in np.flatnonzero(jobs.release_ns != expected).tolist():
        text = f"release at {int(expected[job])} ns, not {int(jobs.release_ns[job])} ns"
        rule = Rule.RANDOMNESS if history.task_row(job).jitter_ns else Rule.TIMES
        found.add(rule, int(jobs.arrival_ns[job]), history.job_name(job), text)


def _order(history: History, found: Findings) -> None:
    jobs = history.trace.jobs
    expected_ns = jobs.arrival_ns + history.per_job(lambda task: task.deadline_ns)
    for job in np.flatnonzero(jobs.deadline_ns != expected_ns).tolist():
        text = f"absolute deadline {int(expected_ns[job])} ns, not {int(jobs.deadline_ns[job])} ns"
        found.add(Rule.TIMES, int(jobs.arrival_ns[job]), history.job_name(job), text)
    late = (jobs.start_ns >= 0) & (jobs.start_ns < jobs.release_ns)
    late |= (jobs.finish_ns >= 0) & (jobs.finish_ns <= jobs.start_ns)
    late |= (jobs.finish_ns >= 0) & (jobs.start_ns < 0)
    for job in np.flatnonzero(late).tolist():
        text = "arrival <= release <= start < finish"
        found.add(Rule.TIMES, int(jobs.arrival_ns[job]), history.job_name(job), text)
    wrong = (
        ((jobs.finish_ns >= 0) != (jobs.status == JobStatus.COMPLETED)) | (jobs.finish_ns < -1) | (jobs.start_ns < -1)
    )
    for job in np.flatnonzero(wrong).tolist():
        text = "a finish exactly when it completed"
        found.add(Rule.TIMES, int(jobs.arrival_ns[job]), history.job_name(job), text)
    horizon_ns = history.trace.horizon_ns
    beyond = (jobs.arrival_ns >= horizon_ns) | (jobs.start_ns >= horizon_ns) | (jobs.finish_ns > horizon_ns)
    for job in np.flatnonzero(beyond | (jobs.arrival_ns < 0)).tolist():
        text = f"arrival and start before the horizon at {horizon_ns} ns, finish not after it"
        found.add(Rule.HORIZON, int(jobs.arrival_ns[job]), history.job_name(job), text)


def _misses(history: History, locks: LockHistory, found: Findings) -> None:
    jobs = history.trace.jobs
    expected = np.zeros(len(jobs), np.bool_)
    expected[expired_jobs(history, locks)] = True
    for job in np.flatnonzero(jobs.missed != expected).tolist():
        says = "missed" if expected[job] else "not missed"
        deadline_ns = int(jobs.deadline_ns[job])
        found.add(Rule.TIMES, deadline_ns, history.job_name(job), f"its deadline at {deadline_ns} ns counts as {says}")


def _separations(history: History, found: Findings) -> None:
    jobs = history.trace.jobs
    before = history.before
    least_ns = history.per_job(lambda task: task.separation_ns or 0)
    distance_ns = np.where(before >= 0, jobs.arrival_ns - jobs.arrival_ns[before], NEVER_NS)
    expected = {int(job): int(distance_ns[job]) for job in np.flatnonzero(distance_ns < least_ns)}
    for time_ns, job, value, _ in history.events(EventKind.SEPARATION):
        if expected.pop(job, None) != value or time_ns != jobs.arrival_ns[job]:
            text = (
                f"the distance from the arrival before is {int(distance_ns[job])} ns, declared {int(least_ns[job])} ns"
            )
            found.add(Rule.TIMES, time_ns, history.job_name(job), text)
    for job, value in expected.items():
        text = f"a separation of only {value} ns is flagged"
        found.add(Rule.TIMES, int(jobs.arrival_ns[job]), history.job_name(job), text)
