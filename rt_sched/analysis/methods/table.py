"""Responses of the tasks of a table: the entries of its cycle that a job has to wait for and that it uses."""

from __future__ import annotations

from fractions import Fraction

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
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.analysis.theory.tables import (
    MOST_JOBS,
    Entries,
    ServedJob,
    earliest_of_known_phase,
    worst_of_known_phase,
)
from rt_sched.model import Policy
from rt_sched.units import NS_PER_S

NAME = "table_entries"
SOURCE = "definition of the table: a job starts with the first entry at whose begin it is released"

_BOUNDED_BLOCKING = Need(BOUNDED_BLOCKING.holds, "a table on which no tasks share resources")
_NO_SUSPENSION = Need(NO_SUSPENSION.holds, "splitting the task at its waits")


def entries_of(load: ProcessorLoad, task: LoadTask) -> Entries:
    """Every entry begins with a switch."""
    mine = [entry for entry in load.row.table if entry.task == task.index]
    usable_ns = tuple(max(0, entry.length_ns - load.row.switch_ns) for entry in mine)
    return Entries(load.row.cycle_ns, tuple(entry.start_ns for entry in mine), usable_ns)


def _respond(load: ProcessorLoad) -> list[Found]:
    return [_task(load, task) for task in load.tasks]


def _task(load: ProcessorLoad, task: LoadTask) -> Found:
    entries = entries_of(load, task)
    if not sum(entries.usable_ns):
        return Found(None, f"no entry of the table leaves {task.name} time beside the switch")
    known = _known_phase(load, task)
    rate_hz = task.rate_hz if known is None else known[0]
    rate = sum((stream.rate for stream in task.streams), Fraction(0)) if rate_hz is None else rate_hz / NS_PER_S
    if rate > entries.jobs_per_ns(task.wcet_ns):
        return Found(None, f"jobs of {task.name} arrive faster than its entries serve them")
    if known is not None:
        rate_hz, offset_ns, late_ns = known
        served = worst_of_known_phase(entries, task.wcet_ns, load.row.switch_ns, rate_hz, offset_ns, late_ns)
        if served is not None:
            least_ns = earliest_of_known_phase(entries, task.bcet_ns, load.row.switch_ns, rate_hz, offset_ns)
            attained = _bound_of_known_phase(load, task, served, late_ns)
            return Found(attained, ends_ns=(least_ns, attained.value_ns))
    worst = Found(None)
    for own in range(len(task.streams)):
        for phase in range(len(entries.starts_ns)):
            bound = _backlog(load, task, entries, own, phase)
            if bound is None:
                return Found(None, f"a backlog of {task.name} did not end within {MOST_JOBS} jobs")
            if worst.bound is None or bound.value_ns > worst.bound.value_ns:
                worst = Found(bound)
    return worst


def _known_phase(load: ProcessorLoad, task: LoadTask) -> tuple[Fraction, int, int] | None:
    """Rate, offset of the earliest arrivals and largest delay from there to the release, on the clock of the table.

    Messages have them, too, where all go back to jobs that this clock, or one that shows the same, makes arrive.
    """
    if task.offset_ns is not None and task.rate_hz is not None:
        return task.rate_hz, task.offset_ns, task.release_jitter_ns
    if len(task.streams) != 1:
        return None
    stream, phase = task.streams[0], task.streams[0].phase
    if phase is None or phase.rate_hz is None:
        return None
    if phase.origin != f"clock {load.processor.device}" and not (load.one_clock and phase.origin.startswith("clock ")):
        return None
    return phase.rate_hz, phase.offset_ns, stream.jitter_ns + task.release_jitter_ns


def _backlog(load: ProcessorLoad, task: LoadTask, entries: Entries, own: int, phase: int) -> Bound | None:
    """The worst job of stream `own` in a backlog that begins 1 ns after entry `phase` did; None when it does not end.

    An entry takes up the oldest job if that is released at its begin, and no other after it. A job that its entry does
    not suffice for goes on with the next one. What follows a job depends on its first entry's place in the cycle and on
    how late that is after the release, so nothing worse follows one that is not later than another at that place was.
    """
    begin_ns = entries.start_ns(phase)
    firsts = [phase + 1]
    mine = task.streams[own]
    others = [stream for place, stream in enumerate(task.streams) if place != own]
    worst: Bound | None = None
    latest_ns: dict[int, int] = {}
    ahead = 0
    for job in range(MOST_JOBS):
        while True:
            while len(firsts) <= ahead:
                firsts.append(entries.serve(firsts[-1], task.wcet_ns)[0] + 1)
            waited_ns = entries.start_ns(firsts[ahead]) - begin_ns
            more = sum(-(-(waited_ns + s.jitter_ns + task.release_jitter_ns) // s.period_ns) for s in others)
            if job + more <= ahead:
                break
            ahead = job + more
            if ahead > MOST_JOBS:
                return None
        if not others and job * mine.period_ns >= mine.jitter_ns:
            place, late_ns = firsts[job] % len(entries.starts_ns), waited_ns - job * mine.period_ns
            if late_ns <= latest_ns.get(place, late_ns - 1):
                return worst
            latest_ns[place] = late_ns
        last, left_ns, used = entries.serve(firsts[ahead], task.wcet_ns)
        done_ns = entries.start_ns(last) + load.row.switch_ns + left_ns - begin_ns - 1
        released_ns = job * mine.period_ns - mine.jitter_ns - task.release_jitter_ns
        arrival_ns = max(released_ns, -task.release_jitter_ns)
        if worst is None or done_ns - arrival_ns > worst.value_ns:
            worst = _bound(load, task, done_ns, arrival_ns, used, job)
        if released_ns + mine.period_ns > entries.start_ns(last) - begin_ns - 1:
            return worst
        ahead = max(ahead, job + 1)
    return None


def _bound(load: ProcessorLoad, task: LoadTask, done_ns: int, arrival_ns: int, used: int, job: int) -> Bound:
    overhead_ns = used * load.row.switch_ns
    parts = (
        (TermKind.OWN_EXECUTION, task.wcet_ns, task.name),
        (TermKind.OVERHEAD, overhead_ns, f"{used} entries" if used > 1 else "one entry"),
        (TermKind.SUPPLY, done_ns - task.wcet_ns - overhead_ns, "waiting for the entries of this job and those before"),
        (TermKind.RELEASE_JITTER if arrival_ns < 0 else TermKind.EARLIER_ARRIVAL, -arrival_ns, None),
    )
    terms = tuple(Term(kind, value_ns, by) for kind, value_ns, by in parts if value_ns)
    return Bound(done_ns - arrival_ns, terms, NAME, SOURCE, False, job, done_ns)


def _bound_of_known_phase(load: ProcessorLoad, task: LoadTask, served: ServedJob, late_ns: int) -> Bound:
    """Its `job` counts from the first of the run. It is released `late_ns` after the earliest arrival, from which the
    response counts. Attained by timed tasks unless something may be left out of that run.
    """
    overhead_ns = served.used * load.row.switch_ns
    waited_ns = served.response_ns - late_ns - task.wcet_ns - overhead_ns
    parts = (
        (TermKind.OWN_EXECUTION, task.wcet_ns, task.name),
        (TermKind.OVERHEAD, overhead_ns, f"{served.used} entries" if served.used > 1 else "one entry"),
        (TermKind.SUPPLY, waited_ns, "waiting for the entries of this job and those before"),
        (TermKind.RELEASE_JITTER, late_ns, None),
    )
    terms = tuple(Term(kind, value_ns, by) for kind, value_ns, by in parts if value_ns)
    happens = not (task.message_activated or load.row.switch_ns or load.switches_mode or task.sheds or task.enforced)
    return Bound(served.response_ns, terms, NAME, SOURCE, happens, served.job, served.response_ns)


def shown_by_ns(task: LoadTask, bound: Bound | None) -> int:
    """When a run has shown the response that attains `bound`, if a table attains it; else 0."""
    if bound is None or bound.method != NAME or not bound.exact or task.rate_hz is None:
        return 0
    arrival_ns = (task.offset_ns or 0) + int(bound.job * NS_PER_S / task.rate_hz)
    return arrival_ns + max(bound.value_ns, task.deadline_ns) + 1


TABLE_ENTRIES = Method(
    NAME, SOURCE, (Policy.TABLE,), refusal_by(NAME, (_NO_SUSPENSION, _BOUNDED_BLOCKING, ONE_BUDGET)), _respond
)
