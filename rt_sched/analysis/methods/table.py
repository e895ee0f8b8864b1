"""Responses of the tasks of a table: the entries of its cycle that a job has to wait for and that it uses."""

from __future__ import annotations

from dataclasses import dataclass
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
from rt_sched.model import Policy

NAME = "table_entries"
SOURCE = "definition of the table: a job starts with the first entry at whose begin it is released"

#: Jobs of one backlog before it counts as not ending.
_MOST_JOBS = 20_000
_BOUNDED_BLOCKING = Need(BOUNDED_BLOCKING.holds, "a table on which no tasks share resources")
_NO_SUSPENSION = Need(NO_SUSPENSION.holds, "splitting the task at its waits")


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of one task: start and usable length of each, from the begin of the cycle of `cycle_ns`."""

    cycle_ns: int
    starts_ns: tuple[int, ...]
    usable_ns: tuple[int, ...]

    def start_ns(self, number: int) -> int:
        """Start of entry `number`, counted on through the cycles."""
        cycles, place = divmod(number, len(self.starts_ns))
        return cycles * self.cycle_ns + self.starts_ns[place]

    def serve(self, first: int, work_ns: int) -> tuple[int, int, int]:
        """A job of `work_ns` that begins with entry `first`: its last entry, what that gives it, how many it uses."""
        per_cycle_ns, count = sum(self.usable_ns), len(self.starts_ns)
        cycles = (work_ns - 1) // per_cycle_ns
        number, left_ns = first + cycles * count, work_ns - cycles * per_cycle_ns
        while left_ns > (usable_ns := self.usable_ns[number % count]):
            left_ns, number = left_ns - usable_ns, number + 1
        return number, left_ns, number - first + 1

    def jobs_per_ns(self, work_ns: int) -> Fraction:
        """How many jobs of `work_ns` the entries serve in the long run."""
        seen: dict[int, int] = {}
        first = 0
        while (place := first % len(self.starts_ns)) not in seen:
            seen[place] = first
            first = self.serve(first, work_ns)[0] + 1
        cycles = (first - seen[place]) // len(self.starts_ns)
        jobs = len(seen) - list(seen).index(place)
        return Fraction(jobs, cycles * self.cycle_ns)


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
    too_many = f"jobs of {task.name} arrive faster than its entries serve them"
    if sum(Fraction(1, stream.period_ns) for stream in task.streams) > entries.jobs_per_ns(task.wcet_ns):
        return Found(None, too_many)
    worst = Found(None)
    for own in range(len(task.streams)):
        for phase in range(len(entries.starts_ns)):
            bound = _backlog(load, task, entries, own, phase)
            if bound is None:
                return Found(None, too_many)
            if worst.bound is None or bound.value_ns > worst.bound.value_ns:
                worst = Found(bound)
    return worst


def _backlog(load: ProcessorLoad, task: LoadTask, entries: Entries, own: int, phase: int) -> Bound | None:
    """The worst job of stream `own` in a backlog that begins 1 ns after entry `phase` did; None when it does not end.

    An entry takes up the oldest job if that is released at its begin, and no other after it. A job that its entry does
    not suffice for goes on with the next one.
    """
    begin_ns = entries.start_ns(phase)
    firsts = [phase + 1]
    mine = task.streams[own]
    others = [stream for place, stream in enumerate(task.streams) if place != own]
    worst: Bound | None = None
    ahead = 0
    for job in range(_MOST_JOBS):
        while True:
            while len(firsts) <= ahead:
                firsts.append(entries.serve(firsts[-1], task.wcet_ns)[0] + 1)
            waited_ns = entries.start_ns(firsts[ahead]) - begin_ns
            more = sum(-(-(waited_ns + s.jitter_ns + task.release_jitter_ns) // s.period_ns) for s in others)
            if job + more <= ahead:
                break
            ahead = job + more
            if ahead > _MOST_JOBS:
                return None
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


TABLE_ENTRIES = Method(
    NAME, SOURCE, (Policy.TABLE,), refusal_by(NAME, (_NO_SUSPENSION, _BOUNDED_BLOCKING, ONE_BUDGET)), _respond
)
