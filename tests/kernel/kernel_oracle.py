"""A schedule computed tick by tick in plain Python, written from the scheduling semantics and not from the kernel.

One tick is one nanosecond; use small numbers. `simulate` returns plain rows, so that a difference is easy to read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rt_sched.lowering.machine_input import (
    DeadlineAction,
    EdgeKind,
    FaultTarget,
    MachineInput,
    Overflow,
    Policy,
    Role,
)

WORD = 2**64


def mix(word: int) -> int:
    """SplitMix64: add the golden gamma, then the finaliser."""
    word = (word + 0x9E3779B97F4A7C15) % WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % WORD
    return word ^ (word >> 31)


def draw(seed: int, task: int, number: int, purpose: int) -> int:
    word = mix(seed)
    for part in (task, number, purpose):
        word = mix(word ^ part)
    return word


def interpolate(quantiles: tuple[int, ...], bits: int) -> int:
    segment, fraction = bits >> 59, (bits >> 29) % 2**30
    step = quantiles[segment + 1] - quantiles[segment]
    return max(1, quantiles[segment] + step * fraction // 2**30)


@dataclass(eq=False)
class Job:
    task: int
    number: int
    arrival: int
    deadline: int
    demand: int
    capture: int
    inputs: list[int]
    index: int = -1
    start: int = -1
    finish: int = -1
    executed: int = 0
    status: str = "UNFINISHED"
    missed: bool = False
    overrun: bool = False
    activator: int | None = None


@dataclass
class Result:
    """`jobs`, `slices`, `drops`, `samples`: rows as tuples; `met`: how often each feature occurred."""

    jobs: list[tuple]
    slices: list[tuple]
    drops: list[tuple]
    samples: list[str]
    met: Counter = field(default_factory=Counter)


class Oracle:
    def __init__(self, given: MachineInput) -> None:
        self.g = given
        self.now = 0
        self.jobs: list[Job] = []
        self.backlog: list[list[Job]] = [[] for _ in given.tasks]
        self.timed_arrivals = [self._timed_arrivals(task) for task in given.tasks]
        self.slot_of: list[int] = []
        self.edges_into: list[list[int]] = [[] for _ in given.tasks]
        for number, edge in enumerate(given.edges):
            self.slot_of.append(len(self.edges_into[edge.target]))
            self.edges_into[edge.target].append(number)
        self.width = max((len(edges) for edges in self.edges_into), default=0) or 1
        self.newest = [-1] * len(given.edges)
        self.waiting: list[list[int]] = [[] for _ in given.edges]
        self.owed = [0] * len(given.edges)
        self.running: list[Job | None] = [None] * len(given.processors)
        self.ticks: list[list[Job | None]] = [[] for _ in given.processors]
        self.lost_processors: set[int] = set()
        self.lost_sensors: set[int] = set()
        s = given.samples
        order = sorted(range(len(s.sensor)), key=lambda i: (s.arrival_ns[i], s.sensor[i], i))
        self.samples = [(int(s.arrival_ns[i]), int(s.sensor[i]), int(s.capture_ns[i])) for i in order]
        self.sample_status = ["WAITING"] * len(order)
        self.drops: list[tuple] = []
        self.met: Counter = Counter()

    def _timed_arrivals(self, task) -> set[int]:
        if task.rate_hz is None:
            return set()
        p, q = task.rate_hz.numerator, task.rate_hz.denominator
        arrivals, k = set(), 0
        while (at := task.offset_ns + k * q * 10**9 // p) < self.g.horizon_ns:
            arrivals.add(at)
            k += 1
        return arrivals

    # messages

    def capture_of(self, message: int) -> int:
        return self.jobs[message].capture if message >= 0 else self.samples[-2 - message][2]

    def drop(self, edge: int, message: int, reason: str) -> None:
        self.drops.append((self.now, edge, message, reason))
        self.met[reason] += 1

    def deliver(self, edges: list[int], message: int) -> None:
        for number in edges:
            edge = self.g.edges[number]
            if edge.kind == EdgeKind.QUEUE:
                if len(self.waiting[number]) == edge.depth:
                    if edge.overflow == Overflow.DROP_NEWEST:
                        self.drop(number, message, "FULL_NEWEST")
                        continue
                    self.drop(number, self.waiting[number].pop(0), "FULL_OLDEST")
                self.waiting[number].append(message)
            elif edge.role == Role.EACH:
                self.owed[number] += 1
            self.newest[number] = message

    # jobs

    def arrive(self, task: int, activator: int | None, bound: dict[int, int], capture: int) -> None:
        """A job arrives now; `bound`: message by edge."""
        row = self.g.tasks[task]
        number = sum(1 for job in self.jobs if job.task == task)
        if number < len(row.explicit_demands_ns):
            demand = row.explicit_demands_ns[number]
        elif isinstance(row.demand_ns, int):
            demand = row.demand_ns
        else:
            demand = interpolate(row.demand_ns, draw(self.g.seed, task, number, 1))
        inputs = [-1] * self.width
        for edge in self.edges_into[task]:
            if edge in bound:
                inputs[self.slot_of[edge]] = bound[edge]
            elif self.g.edges[edge].role == Role.READ and self.waiting[edge]:
                inputs[self.slot_of[edge]] = self.waiting[edge].pop(0)
                self.met["queue read"] += 1
        job = Job(task, number, self.now, self.now + row.deadline_ns, demand, capture, inputs, len(self.jobs))
        job.activator = activator
        self.jobs.append(job)
        if row.processor in self.lost_processors:
            job.status = "LOST"
            self.met["LOST on arrival"] += 1
        else:
            self.backlog[task].append(job)

    def end(self, job: Job, status: str) -> None:
        job.status = status
        self.backlog[job.task].remove(job)
        processor = self.g.tasks[job.task].processor
        if self.running[processor] is job:
            self.running[processor] = None
        self.met[status] += 1

    # phases

    def faults(self) -> None:
        for fault in sorted(self.g.faults, key=lambda f: (f.kind, f.target)):
            if fault.time_ns == self.now and fault.kind == FaultTarget.PROCESSOR:
                self.lost_processors.add(fault.target)
                for jobs in self.backlog:
                    for job in list(jobs):
                        if self.g.tasks[job.task].processor == fault.target:
                            self.end(job, "LOST")
            elif fault.time_ns == self.now:
                self.lost_sensors.add(fault.target)

    def completions(self) -> None:
        done = [job for job in self.running if job is not None and job.executed == job.demand]
        for job in sorted(done, key=lambda j: (j.task, j.number)):
            job.finish = self.now
            self.end(job, "COMPLETED")
            self.met["at deadline"] += job.finish == job.deadline
            self.met["at budget"] += self.g.tasks[job.task].budget_ns == job.demand
            self.deliver([n for n, edge in enumerate(self.g.edges) if edge.task == job.task], job.index)

    def deliveries(self) -> None:
        for number, (arrival, sensor, _) in enumerate(self.samples):
            if arrival == self.now:
                if sensor in self.lost_sensors:
                    self.sample_status[number] = "LOST"
                    self.met["sample LOST"] += 1
                else:
                    self.sample_status[number] = "DELIVERED"
                    self.deliver([n for n, edge in enumerate(self.g.edges) if edge.sensor == sensor], -2 - number)

    def expiries(self) -> None:
        for task, jobs in enumerate(self.backlog):
            budget = self.g.tasks[task].budget_ns
            for job in jobs:
                if budget is not None and job.executed == budget < job.demand and not job.overrun:
                    job.overrun = True
                    self.met["overrun"] += 1
        for task, jobs in enumerate(self.backlog):
            for job in list(jobs):
                if job.deadline == self.now:
                    job.missed = True
                    self.met["missed"] += 1
                    if self.g.tasks[task].deadline_action == DeadlineAction.ABORT:
                        self.end(job, "ABORTED")

    def arrivals(self) -> None:
        for task, instants in enumerate(self.timed_arrivals):
            if self.now in instants:
                self.arrive(task, None, {}, self.now)
        for task in range(len(self.g.tasks)):
            for edge in self.edges_into[task]:
                if self.g.edges[edge].role != Role.EACH:
                    continue
                for _ in range(self.owed[edge]):
                    self.arrive(task, edge, {}, self.capture_of(self.newest[edge]))
                    self.met["activated by latest"] += 1
                self.owed[edge] = 0
                while self.g.edges[edge].kind == EdgeKind.QUEUE and self.waiting[edge]:
                    message = self.waiting[edge].pop(0)
                    self.arrive(task, edge, {edge: message}, self.capture_of(message))
                    self.met["activated by queue"] += 1
            self.pair(task, [e for e in self.edges_into[task] if self.g.edges[e].role == Role.PAIRED])

    def pair(self, task: int, edges: list[int]) -> None:
        while edges and all(self.waiting[edge] for edge in edges):
            captures = {edge: self.capture_of(self.waiting[edge][0]) for edge in edges}
            newest = max(captures.values())
            late = [edge for edge in edges if newest - captures[edge] > self.g.tasks[task].tolerance_ns]
            for edge in late:
                self.drop(edge, self.waiting[edge].pop(0), "UNMATCHED")
            if not late:
                bound = {edge: self.waiting[edge].pop(0) for edge in edges}
                self.arrive(task, None, bound, min(captures.values()))
                self.met["paired"] += len(edges) > 1

    def key(self, processor: int, job: Job) -> int:
        policy = self.g.processors[processor].policy
        if policy == Policy.FIXED_PRIORITY:
            return self.g.tasks[job.task].level
        return job.deadline if policy == Policy.EDF else job.arrival

    def dispatch(self, processor: int) -> None:
        row = self.g.processors[processor]
        while True:
            running = self.running[processor]
            if running is not None and (row.policy == Policy.FIFO or not row.preemptive):
                return
            heads = [jobs[0] for t, jobs in enumerate(self.backlog) if jobs and self.g.tasks[t].processor == processor]
            if not heads:
                return
            best = min(heads, key=lambda j: (self.key(processor, j), j is not running, j.arrival, j.task))
            self.met["tie"] += sum(self.key(processor, j) == self.key(processor, best) for j in heads) > 1
            if best is running:
                return
            if best.start == -1 and not self.snapshot(best):
                self.end(best, "SKIPPED")
                continue
            self.met["preemption"] += running is not None
            if best.start == -1:
                best.start = self.now
            self.running[processor] = best
            return

    def snapshot(self, job: Job) -> bool:
        """Read the inputs at first dispatch; whether all required ones are there."""
        complete, captures = True, []
        for edge in self.edges_into[job.task]:
            row, slot = self.g.edges[edge], self.slot_of[edge]
            read_at_dispatch = row.kind == EdgeKind.LATEST or (row.role == Role.EACH and job.activator != edge)
            if read_at_dispatch:
                job.inputs[slot] = self.newest[edge]
            if job.inputs[slot] == -1:
                complete = complete and not row.required
                continue
            captures.append(self.capture_of(job.inputs[slot]))
            if edge == job.activator:
                job.capture = captures[-1]
        if self.g.tasks[job.task].rate_hz is not None and captures:
            job.capture = min(captures)
        return complete

    def run(self) -> Result:
        for now in range(self.g.horizon_ns + 1):
            self.now = now
            at_horizon = self.now == self.g.horizon_ns
            self.faults()
            self.completions()
            if not at_horizon:
                self.deliveries()
            self.expiries()
            if at_horizon:
                break
            self.arrivals()
            for processor in range(len(self.running)):
                self.dispatch(processor)
                job = self.running[processor]
                self.ticks[processor].append(job)
                if job is not None:
                    job.executed += 1
        self.met["backlog"] += sum(len(jobs) > 1 for jobs in self.backlog)
        return Result([self.job_row(job) for job in self.jobs], self.slices(), self.drops, self.sample_status, self.met)

    def job_row(self, job: Job) -> tuple:
        times = (job.arrival, job.arrival, job.start, job.finish, job.deadline, job.demand, job.executed, job.capture)
        return (job.task, job.number, *times, job.status, job.missed, job.overrun, tuple(job.inputs))

    def slices(self) -> list[tuple]:
        """(processor, job, start, end), by end and processor."""
        found = []
        for processor, ticks in enumerate(self.ticks):
            for time, job in enumerate(ticks):
                if job is not None and (time == 0 or ticks[time - 1] is not job):
                    end = time
                    while end < len(ticks) and ticks[end] is job:
                        end += 1
                    found.append((processor, job.index, time, end))
        return sorted(found, key=lambda row: (row[3], row[0]))


def simulate(given: MachineInput) -> Result:
    """The schedule of `given`, by the semantics."""
    return Oracle(given).run()
