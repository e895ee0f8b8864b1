"""Exact responses of periodic tasks whose offsets are known, by a run that is followed until it repeats itself.

Preemptive schedules of independent jobs with fixed keys are predictable: no job ends later when others, or itself,
need less (Ha, Liu 1994). So the run with all worst cases shows the largest response of every job.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import ONE_BUDGET, Found, Method, Need, first_task, plain_method, refusal_by
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.lowering.machine_input import MachineInput, TaskRow
from rt_sched.model import Policy
from rt_sched.sim import Simulation
from rt_sched.trace.records import SliceKind, Trace
from rt_sched.units import NS_PER_S

NAME = "offset_simulation"
SOURCE = "Leung, Merrill 1980 (periodic schedules); Ha, Liu 1994 (predictability)"

#: Most jobs of a run that is followed.
_MOST_JOBS = 50_000
#: Most hyperperiods of a run.
MOST_CYCLES = 4


def _not_plain(task: LoadTask) -> bool:
    disturbed = task.overhead_ns or task.spin_ns or task.suspensions or task.release_jitter_ns or task.region_ns > 1
    return bool(disturbed) or task.blocking is None or task.blocking.total_ns > 0


SEVERAL = Need(
    lambda load: None if len(load.tasks) > 1 else "one task alone has no phase to others",
    plain_method,
    purpose=True,
)
PERIODIC = Need(
    lambda load: first_task(
        load,
        lambda t: t.offset_ns is None or t.rate_hz is None,
        lambda t: f"the arrivals of task {t.name} are not known",
    ),
    plain_method,
    purpose=True,
)
PLAIN = Need(
    lambda load: (
        "jobs are not preempted"
        if not load.row.preemptive
        else first_task(
            load, _not_plain, lambda t: f"task {t.name} jitters, waits, blocks, is blocked or costs switches"
        )
    ),
    plain_method,
)
SHORT = Need(
    lambda load: (
        None
        if _jobs(load, MOST_CYCLES) <= _MOST_JOBS
        else f"the schedule repeats after {hyperperiod_ns(load)} ns, which are too many jobs to look at"
    ),
    plain_method,
)


def hyperperiod_ns(load: ProcessorLoad) -> int:
    """Least whole number of nanoseconds after which all arrivals repeat; every task has a rate."""
    periods = [NS_PER_S / Fraction(task.rate_hz or 1) for task in load.tasks]
    exact = Fraction(lcm(*(p.numerator for p in periods)), reduce(gcd, (p.denominator for p in periods)))
    return exact.numerator


def _jobs(load: ProcessorLoad, cycles: int) -> int:
    """How many jobs arrive up to some hyperperiods after the last offset."""
    length_ns = cycles * hyperperiod_ns(load) + max(task.offset_ns or 0 for task in load.tasks)
    return sum(length_ns // task.streams[0].period_ns + 1 for task in load.tasks)


def _respond(load: ProcessorLoad) -> list[Found]:
    needed = sum((task.wcet_ns * (task.rate_hz or 0) / NS_PER_S for task in load.tasks), Fraction(0))
    if needed > load.row.cores:
        return [Found(None, "the processor is asked for more than it has", unbounded=True) for _ in load.tasks]
    first_ns, cycle_ns = max(task.offset_ns or 0 for task in load.tasks), hyperperiod_ns(load)
    for cycles in range(2, MOST_CYCLES + 1):
        end_ns = first_ns + cycles * cycle_ns
        run = _Run(load, end_ns)
        if run.repeats(end_ns - cycle_ns, end_ns):
            return [Found(run.bound(place)) for place in range(len(load.tasks))]
    return [Found(None, f"the schedule had not repeated itself after {MOST_CYCLES} hyperperiods") for _ in load.tasks]


class _Run:
    """The run of a load in which every job needs its worst case."""

    def __init__(self, load: ProcessorLoad, end_ns: int) -> None:
        self._load = load
        # Ties go by the task's index in the system, so the order of the rows is that.
        order = sorted(load.tasks, key=lambda task: task.index)
        self._row_of = [order.index(task) for task in load.tasks]
        rows = tuple(
            TaskRow(t.name, 0, t.deadline_ns, t.wcet_ns, t.level, rate_hz=t.rate_hz, offset_ns=t.offset_ns or 0)
            for t in order
        )
        simulation = Simulation(MachineInput((load.row,), (), rows, (), horizon_ns=end_ns))
        simulation.run()
        self._trace: Trace = simulation.trace()

    def repeats(self, before_ns: int, after_ns: int) -> bool:
        """Whether the same jobs wait at both instants, have executed as much, and have ended in between."""
        jobs = self._trace.jobs
        waited = (jobs.arrival_ns < before_ns) & ((jobs.finish_ns < 0) | (jobs.finish_ns > before_ns))
        if (jobs.finish_ns[waited] < 0).any():
            return False
        return self._state(before_ns) == self._state(after_ns)

    def _state(self, at_ns: int) -> list[tuple[int, int, int, bool]]:
        jobs, slices = self._trace.jobs, self._trace.slices
        waits = np.flatnonzero((jobs.arrival_ns < at_ns) & ((jobs.finish_ns < 0) | (jobs.finish_ns > at_ns)))
        parts = np.clip(np.minimum(slices.end_ns, at_ns) - slices.start_ns, 0, None)
        executed = np.bincount(slices.job, parts, minlength=len(jobs.task)).astype(np.int64)
        running = set(slices.job[(slices.start_ns < at_ns) & (slices.end_ns >= at_ns)].tolist())
        return sorted(
            (int(jobs.task[job]), int(jobs.arrival_ns[job]) - at_ns, int(executed[job]), int(job) in running)
            for job in waits
        )

    def bound(self, place: int) -> Bound:
        """The largest response of a task, and who executed meanwhile."""
        jobs = self._trace.jobs
        ended = np.flatnonzero((jobs.task == self._row_of[place]) & (jobs.finish_ns >= 0))
        worst = int(ended[np.argmax(jobs.finish_ns[ended] - jobs.arrival_ns[ended])])
        arrival_ns, finish_ns = int(jobs.arrival_ns[worst]), int(jobs.finish_ns[worst])
        task = self._load.tasks[place]
        terms = [Term(TermKind.OWN_EXECUTION, task.wcet_ns, task.name, 1, task.wcet_ns)]
        rest_ns = finish_ns - arrival_ns - task.wcet_ns
        if self._load.row.cores > 1:
            terms += (
                [Term(TermKind.INTERFERENCE, rest_ns, f"others, on {self._load.row.cores} cores")] if rest_ns else []
            )
        else:
            terms += self._others(worst, arrival_ns, finish_ns)
        # Work that is left out by a budget, at a deadline or after a switch may keep this run from happening.
        happens = not self._load.switches_mode and not any(one.sheds or one.enforced for one in self._load.tasks)
        return Bound(finish_ns - arrival_ns, tuple(terms), NAME, SOURCE, happens, 0, finish_ns - arrival_ns)

    def _others(self, worst: int, arrival_ns: int, finish_ns: int) -> list[Term]:
        slices: npt.NDArray[np.int64] = self._trace.slices.job
        table = self._trace.slices
        parts = np.clip(np.minimum(table.end_ns, finish_ns) - np.maximum(table.start_ns, arrival_ns), 0, None)
        parts[(slices == worst) | (table.kind != SliceKind.EXECUTE)] = 0
        by_task = np.bincount(self._trace.jobs.task[slices], parts, minlength=len(self._load.tasks)).astype(np.int64)
        return [
            Term(TermKind.INTERFERENCE, int(by_task[row]), other.name)
            for other, row in zip(self._load.tasks, self._row_of, strict=True)
            if by_task[row]
        ]


OFFSET_SIMULATION = Method(
    NAME,
    SOURCE,
    (Policy.FIXED_PRIORITY, Policy.EDF),
    refusal_by(NAME, (SEVERAL, PERIODIC, PLAIN, ONE_BUDGET, SHORT)),
    _respond,
)
