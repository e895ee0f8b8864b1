"""One monitor per assumption: whether a trace kept what the bounds take for granted, job by job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from rt_sched import model
from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.measured.declared_jobs import declared_jobs, with_changes
from rt_sched.analysis.measured.deviation import Deviation, Looked, compared
from rt_sched.analysis.measured.observed import bounds_end_ns
from rt_sched.analysis.measured.processor_checks import clock_errors, supply_errors, switch_costs
from rt_sched.analysis.system.propagation import sensor_gap_ns, sensor_streams
from rt_sched.lowering.machine_input import Role
from rt_sched.trace.checker.declared import Routes
from rt_sched.trace.records import Bools, DropReason, EventKind, Int64s, JobStatus, Trace
from rt_sched.units import NS_PER_S, ceil_int

#: Deviations that one monitor names; all are counted.
_MOST_NAMED = 5
#: Monitors whose values are no times.
_COUNTED = {"queues": "messages", "partners": "messages", "outputs": "jobs"}


#: Key, words, relation and check of a monitor.
Check = tuple[str, str, str, Callable[[], Looked]]


@dataclass(frozen=True, slots=True)
class Monitor:
    """What a trace says of assumption `key`: how many values were checked, how many broke it, the first of them.

    `relation`: what every value has to be towards its limit, "at most" or "at least". `unit`: of values, "ns" or what
    is counted.
    """

    key: str
    text: str
    relation: str
    checked: int
    broken: int
    first: tuple[Deviation, ...]
    unit: str = "ns"

    @property
    def holds(self) -> bool:
        """Whether nothing broke it."""
        return self.broken == 0


#: Monitors of single jobs, which may look at a part of a run only.
_OF_JOBS = (
    "execution",
    "budget",
    "best_case",
    "separation",
    "max_separation",
    "jitter",
    "suspension",
    "outputs",
    "sections",
)


def monitor(mode: ModeLoad, trace: Trace, silent: Sequence[int] = ()) -> tuple[Monitor, ...]:
    """All monitors over a trace of the system in this mode, with the tasks, sensors and links of that mode's setup.

    Executed times and arrivals of jobs that are there when the mode or a frequency changes, or come later, are left
    out: `monitor_jobs` looks at them.
    `silent`: rows of completed jobs that published nothing, because their stage refused its input or had none.
    """
    until_ns, jobs = bounds_end_ns(trace), trace.jobs
    completed = jobs.status == JobStatus.COMPLETED
    covered = np.where(completed, jobs.finish_ns < until_ns, until_ns > trace.horizon_ns)
    return _found(_Watch(mode, trace, silent, covered).checks())


def monitor_jobs(mode: ModeLoad, trace: Trace, covered: Bools, silent: Sequence[int] = ()) -> tuple[Monitor, ...]:
    """The monitors of single jobs, over some jobs of a trace: bool[n_jobs]."""
    checks = _Watch(mode, trace, silent, covered).checks()
    return _found(tuple(check for check in checks if check[0] in _OF_JOBS))


def together(parts: Sequence[Sequence[Monitor]]) -> tuple[Monitor, ...]:
    """What the monitors say of several parts of one run."""
    found: dict[str, Monitor] = {}
    for one in (one for part in parts for one in part):
        known = found.get(one.key)
        if known is None:
            found[one.key] = one
            continue
        first = sorted((*known.first, *one.first), key=lambda deviation: deviation.time_ns)[:_MOST_NAMED]
        found[one.key] = replace(
            known, checked=known.checked + one.checked, broken=known.broken + one.broken, first=tuple(first)
        )
    return tuple(found.values())


def _found(checks: Sequence[Check]) -> tuple[Monitor, ...]:
    found = []
    for key, text, relation, check in checks:
        checked, deviations = 0, []
        for many, some in check():
            checked += many
            deviations += some
        deviations.sort(key=lambda one: (one.time_ns, one.who))
        if checked:
            found.append(
                Monitor(
                    key,
                    text,
                    relation,
                    checked,
                    len(deviations),
                    tuple(deviations[:_MOST_NAMED]),
                    _COUNTED.get(key, "ns"),
                )
            )
    return tuple(found)


def monitor_of(key: str, text: str, check: Callable[[], Looked]) -> Monitor | None:
    """One more monitor, whose values are times that have a most; None where there is nothing to check."""
    return next(iter(_found([(key, text, "at most", check)])), None)


class _Watch:
    """The checks over one trace."""

    def __init__(self, mode: ModeLoad, trace: Trace, silent: Sequence[int], covered: Bools) -> None:
        self._mode, self._trace, self._silent, self._covered = mode, trace, silent, covered
        self._tasks: list[LoadTask] = [task for load in mode.loads for task in load.tasks]

    def checks(self) -> tuple[Check, ...]:
        """Key, words, relation and check of each."""
        mode, trace = self._mode, self._trace
        return (
            ("execution", "executed time of jobs", "at most", lambda: self._executed(enforced=False)),
            (
                "budget",
                "executed time of jobs with an enforced budget",
                "at most",
                lambda: self._executed(enforced=True),
            ),
            ("best_case", "executed time of jobs that may be done too early", "at least", self._shortest),
            ("separation", "distance of arrivals", "at least", self._separations),
            ("max_separation", "distance of sporadic arrivals", "at most", self._largest_separations),
            ("jitter", "release after arrival", "at most", self._jitters),
            ("clocks", "distance of arrivals from their instants", "at most", lambda: clock_errors(mode, trace)),
            ("supply", "distance of slices and entries from theirs", "at most", lambda: supply_errors(mode, trace)),
            ("switches", "time of a switch", "at most", lambda: switch_costs(mode, trace)),
            ("sensor_rate", "arrivals of samples ahead of their rate", "at most", self._sensor_rates),
            ("sensor_latency", "deviation of arrival from capture and latency", "at most", self._sensor_latencies),
            ("sensor_gap", "distance of captures", "at most", self._sensor_gaps),
            ("suspension", "total wait inside jobs", "at most", self._suspensions),
            ("sections", "executed time inside critical sections", "at most", self._sections),
            ("links", "time on the link", "at most", self._transfers),
            ("queues", "messages lost to full queues", "at most", self._drops),
            ("partners", "messages without a partner", "at most", self._unmatched),
            ("outputs", "completed jobs without an output", "at most", self._silences),
        )

    def _of(self, task: LoadTask) -> Int64s:
        return np.flatnonzero((self._trace.jobs.task == task.index) & self._covered)

    def _executed(self, *, enforced: bool) -> Looked:
        jobs = self._trace.jobs
        for task in self._tasks:
            if task.enforced is enforced:
                rows = self._of(task)
                executed = jobs.executed_ns[rows]
                yield compared(task.name, jobs.number[rows], jobs.release_ns[rows], executed, self._most_ns(task))

    def _most_ns(self, task: LoadTask) -> int:
        """What a job may execute in all; a throttled one goes on with its next budget."""
        demand_ns = self._mode.setup.tasks[task.index].demand_ns
        longest_ns = demand_ns if isinstance(demand_ns, int) else max(demand_ns)
        return max(task.wcet_ns, longest_ns) if task.throttled_beyond else task.wcet_ns

    def _shortest(self) -> Looked:
        """Jobs that are done early publish early: what they activate, or send over a link that others share, may come
        in a denser burst, and inputs that are read beside theirs be older in comparison.
        """
        jobs, edges = self._trace.jobs, [edge for edge in self._mode.setup.edges if self._mode.active[edge.target]]
        inputs = Counter(edge.target for edge in edges)
        watched = {edge.task for edge in edges if edge.role is not Role.READ or inputs[edge.target] > 1}
        watched |= {edge.task for edge in self._mode.setup.edges if edge.link is not None}
        watched |= {index for index, count in inputs.items() if count > 1}
        for task in self._tasks:
            if task.index in watched:
                rows = self._of(task)
                rows = rows[jobs.status[rows] == JobStatus.COMPLETED]
                executed = jobs.executed_ns[rows]
                yield compared(task.name, jobs.number[rows], jobs.release_ns[rows], executed, task.bcet_ns, least=True)

    def _separations(self) -> Looked:
        """Distances from the arrivals before; several in a row may be shorter by rounding only."""
        jobs = self._trace.jobs
        for task in self._tasks:
            if not task.message_activated:
                rows = self._of(task)
                arrivals = jobs.arrival_ns[rows]
                least = min(stream.period_ns for stream in task.streams)
                yield compared(task.name, jobs.number[rows][1:], arrivals[1:], np.diff(arrivals), least, least=True)

    def _largest_separations(self) -> Looked:
        """Distances of sporadic arrivals of neighbouring numbers, where a largest one is declared."""
        jobs = self._trace.jobs
        for task in self._tasks:
            activation, row = self._mode.system.tasks[task.index].activation, self._mode.setup.tasks[task.index]
            if isinstance(activation, model.Sporadic) and activation.max_separation_ns and row.rate_hz:
                rows = self._of(task)
                rows, before = rows[1:], rows[:-1]
                neighbours = jobs.number[rows] == jobs.number[before] + 1
                rows, before = rows[neighbours], before[neighbours]
                apart, most_ns = jobs.arrival_ns[rows] - jobs.arrival_ns[before], ceil_int(NS_PER_S / row.rate_hz)
                limit_ns = most_ns + row.extra_separation_ns
                yield compared(task.name, jobs.number[rows], jobs.arrival_ns[rows], apart, limit_ns)

    def _jitters(self) -> Looked:
        jobs = self._trace.jobs
        for task in self._tasks:
            rows = self._of(task)
            rows = rows[jobs.release_ns[rows] >= 0]
            late = jobs.release_ns[rows] - jobs.arrival_ns[rows]
            yield compared(task.name, jobs.number[rows], jobs.arrival_ns[rows], late, task.release_jitter_ns)

    def _samples(self, *, sent: bool = True) -> Iterator[tuple[int, model.Sensor, Int64s]]:
        """Sensors that some task of the mode or of the run reads; with `sent` also what only travels on a link."""
        samples, edges = self._trace.samples, self._mode.setup.edges
        here = {*np.flatnonzero(self._mode.active).tolist(), *np.unique(self._trace.jobs.task).tolist()}
        activating = {edge.sensor for edge in edges if edge.target in here or (sent and edge.link is not None)}
        for index, sensor in enumerate(self._mode.system.sensors):
            rows = np.flatnonzero(samples.sensor == index)
            if index in activating and len(rows):
                yield index, sensor, rows

    def _sensor_rates(self) -> Looked:
        """How far an arrival may come ahead of the grid that earlier ones define: the width of the declared jitter."""
        streams = sensor_streams(self._mode.system)
        samples = self._trace.samples
        for index, sensor, rows in self._samples():
            arrivals = samples.arrival_ns[rows]
            behind = arrivals - np.arange(len(rows)) * streams[index].period_ns
            ahead = np.maximum.accumulate(behind) - behind
            limit_ns = streams[index].jitter_ns
            yield compared(sensor.name, samples.number[rows], arrivals, ahead, limit_ns)

    def _sensor_latencies(self) -> Looked:
        samples = self._trace.samples
        for _, sensor, rows in self._samples():
            off = np.abs(samples.arrival_ns[rows] - samples.capture_ns[rows] - sensor.latency_ns)
            yield compared(sensor.name, samples.number[rows], samples.arrival_ns[rows], off, sensor.jitter_ns)

    def _sensor_gaps(self) -> Looked:
        samples = self._trace.samples
        for _, sensor, rows in self._samples(sent=False):
            captures, limit_ns = np.sort(samples.capture_ns[rows]), sensor_gap_ns(sensor)
            numbers = samples.number[rows]
            # What should have arrived while others still did, and before the end, is missing, too.
            last_ns = min(int(samples.arrival_ns.max()), self._trace.horizon_ns)
            silent_since_ns = last_ns - sensor.latency_ns - sensor.jitter_ns
            if silent_since_ns > captures[-1] + limit_ns:
                captures, numbers = np.append(captures, silent_since_ns), np.append(numbers, numbers[-1] + 1)
            yield compared(sensor.name, numbers[1:], captures[1:], np.diff(captures), limit_ns)

    def _suspensions(self) -> Looked:
        events, jobs = self._trace.events, self._trace.jobs
        waits = np.flatnonzero(events.kind == EventKind.SUSPEND)
        for task in self._tasks:
            if task.suspensions:
                mine = waits[events.task[waits] == task.index]
                mine = mine[self._covered[events.job[mine]]]
                rows, place = np.unique(events.job[mine], return_inverse=True)
                total = np.zeros(len(rows), np.int64)
                np.add.at(total, place, events.value[mine])
                limit_ns = task.suspension_ns
                yield compared(task.name, jobs.number[rows], jobs.arrival_ns[rows], total, limit_ns)

    def _sections(self) -> Looked:
        events, jobs, setup = self._trace.events, self._trace.jobs, self._mode.setup
        program = {
            job: row.sections
            for index in range(len(setup.tasks))
            for row, rows in declared_jobs(setup, self._trace, index)
            if row.sections
            for job in rows.tolist()
        }
        begun: dict[tuple[int, int], int] = {}
        kinds = (EventKind.LOCK, EventKind.UNLOCK, EventKind.OWNER_DEAD)
        for place in np.flatnonzero(np.isin(events.kind, kinds)):
            job, resource = int(events.job[place]), int(events.value[place])
            if events.kind[place] == EventKind.LOCK:
                begun[job, resource] = int(events.time_ns[place])
                continue
            start_ns = begun.pop((job, resource), None)
            if start_ns is None or not self._covered[job]:
                continue
            task, end_ns = int(jobs.task[job]), int(events.time_ns[place])
            mine = (one for one in program.get(job, ()) if one.resource == resource)
            limit_ns = max((one.end_ns - one.start_ns for one in mine), default=0)
            held_ns = end_ns - start_ns
            if held_ns > limit_ns:
                held_ns = self._executed_between(job, start_ns, end_ns)
            number = int(jobs.number[job])
            wrong = (
                [Deviation(setup.tasks[task].name, number, start_ns, held_ns, limit_ns)] if held_ns > limit_ns else []
            )
            yield 1, wrong

    def _executed_between(self, job: int, start_ns: int, end_ns: int) -> int:
        slices = self._trace.slices
        mine = np.flatnonzero((slices.job == job) & (slices.kind == 0))
        within = np.minimum(slices.end_ns[mine], end_ns) - np.maximum(slices.start_ns[mine], start_ns)
        return int(np.maximum(within, 0).sum())

    def _transfers(self) -> Looked:
        transfers, setup = self._trace.transfers, with_changes(self._mode.setup, self._trace)
        for number, edge in enumerate(setup.edges):
            sent = np.flatnonzero((transfers.edge == number) & (transfers.delivered_ns >= 0))
            taken = Routes(setup, number).links_at(transfers.queued_ns[sent])
            for index, link in enumerate(setup.links):
                rows = sent[taken == index]
                limit_ns = ceil_int(Fraction(edge.size_bytes * NS_PER_S) / link.bytes_per_s) + link.latency_ns
                spent = transfers.delivered_ns[rows] - transfers.start_ns[rows]
                yield compared(link.name, rows, transfers.start_ns[rows], spent, limit_ns)

    def _drops(self) -> Looked:
        """Full queues lose messages, so chains through them may wait longer than their bounds say."""
        return self._dropped((DropReason.FULL_OLDEST, DropReason.FULL_NEWEST), paired=False)

    def _unmatched(self) -> Looked:
        return self._dropped((DropReason.UNMATCHED,), paired=True)

    def _dropped(self, reasons: Sequence[DropReason], *, paired: bool) -> Looked:
        drops, setup = self._trace.drops, self._mode.setup
        if paired and not any(edge.role is Role.PAIRED for edge in setup.edges):
            return
        full = np.flatnonzero(np.isin(drops.reason, reasons))
        jobs = self._trace.jobs
        published = int(np.count_nonzero(jobs.status == JobStatus.COMPLETED))
        wrong = []
        for place in full:
            edge = setup.edges[int(drops.edge[place])]
            who = f"{setup.tasks[edge.target].name}.{edge.input}"
            wrong.append(Deviation(who, int(drops.message[place]), int(drops.time_ns[place]), 1, 0))
        # Where every message is lost no job completes.
        yield max(published, len(wrong)), wrong

    def _silences(self) -> Looked:
        """A chain through a task that publishes nothing goes on with older data."""
        jobs, rows = self._trace.jobs, np.array(sorted(self._silent), np.int64)
        rows, completed = rows[self._covered[rows]], self._covered & (jobs.status == JobStatus.COMPLETED)
        for task in self._tasks:
            mine = rows[jobs.task[rows] == task.index]
            ones = np.ones(len(mine), np.int64)
            _, wrong = compared(task.name, jobs.number[mine], jobs.finish_ns[mine], ones, 0)
            yield int(np.count_nonzero(completed & (jobs.task == task.index))), wrong


def first_broken(monitors: Sequence[Monitor]) -> Monitor | None:
    """The monitor that tripped first in time, None when all held."""
    broken = [one for one in monitors if not one.holds]
    return min(broken, key=lambda one: one.first[0].time_ns, default=None)
