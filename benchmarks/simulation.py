"""Simulation beside SimSo 0.8.5 in one run: the same completions, jobs a second; and what a large simulation costs.

    python benchmarks/simulation.py [--sets N] [--seconds S] [--runs N]

Ten periodic tasks on two processors, EDF and rate-monotonic, partitioned and global. Periods, offsets of arrival and
execution times are whole nanoseconds, so that both count alike; every completion of every job must be equal. Under
global EDF a set in which two waiting jobs have the same deadline has no single right answer: such sets are counted and
left out. Times are processor time of one thread, the best of three for rt-sched.

Before that `--runs` runs of 60 s of examples/quad_orin.yaml on all cores, and events a second of the scheduling
kernel. What a job costs among more and more tasks: simulation_scaling.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import resource
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from kernel_speed import lowered
from simso.configuration import Configuration
from simso.core import Model

from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.progress import Quiet
from rt_sched.app.simulate.runs import Case, run_all
from rt_sched.config import load_system
from rt_sched.lowering import Execution
from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow
from rt_sched.sim import Simulation
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples

QUAD_ORIN = Path(__file__).resolve().parents[1] / "examples" / "quad_orin.yaml"
TASKS, PROCESSORS, LOAD = 10, 2, 1.4
NS_PER_MS = 10**6
SCHEDULERS = {
    ("edf", "partitioned"): "simso.schedulers.P_EDF",
    ("rm", "partitioned"): "simso.schedulers.P_RM",
    ("edf", "global"): "simso.schedulers.EDF",
    ("rm", "global"): "simso.schedulers.RM",
}


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """In ns; the deadline is the period."""

    offset_ns: int
    period_ns: int
    wcet_ns: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Completions of every task's jobs in order, jobs that arrived, and seconds."""

    completions: list[list[int]]
    jobs: int
    seconds: float


def _representable(value_ns: float) -> int:
    """A time near `value_ns` that SimSo, which computes in float milliseconds, turns back into the same ns."""
    whole = max(1, round(value_ns))
    while int(whole / NS_PER_MS * NS_PER_MS) != whole:
        whole += 1
    return whole


def draw_set(seed: int) -> list[PeriodicTask]:
    """Periods from 5 to 100 ms, log-uniform; shares of the load by the stick-breaking of UUniFast, each below 0.7."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    while True:
        shares, left = [], LOAD
        for remaining in range(TASKS - 1, 0, -1):
            rest = left * rng.random() ** (1 / remaining)
            shares.append(left - rest)
            left = rest
        shares.append(left)
        if max(shares) < 0.7:
            break
    tasks = []
    for share in shares:
        period_ns = _representable(5e6 * 20 ** rng.random())
        tasks.append(PeriodicTask(_representable(rng.random() * 1e7), period_ns, _representable(share * period_ns)))
    return tasks


def simso(tasks: list[PeriodicTask], scheduler: str, duration_ns: int) -> tuple[Outcome, list[int]]:
    """What SimSo makes of a set, and on which processor it has put each task."""
    configuration = Configuration()
    configuration.duration = duration_ns
    configuration.cycles_per_ms = NS_PER_MS
    for number, task in enumerate(tasks, start=1):
        configuration.add_task(
            name=f"t{number}",
            identifier=number,
            period=task.period_ns / NS_PER_MS,
            activation_date=task.offset_ns / NS_PER_MS,
            wcet=task.wcet_ns / NS_PER_MS,
            deadline=task.period_ns / NS_PER_MS,
            abort_on_miss=False,
        )
    for number in range(1, PROCESSORS + 1):
        configuration.add_processor(name=f"p{number}", identifier=number)
    configuration.scheduler_info.clas = scheduler
    configuration.check_all()
    model = Model(configuration)
    began = time.thread_time()
    with contextlib.redirect_stdout(io.StringIO()):
        model.run_model()
    seconds = time.thread_time() - began
    completions = [[int(job.end_date) for job in task.jobs if job.end_date is not None] for task in model.task_list]
    jobs = sum(len(task.jobs) for task in model.task_list)
    return Outcome(completions, jobs, seconds), [task.cpu.internal_id for task in model.task_list]


def machine_input(tasks: list[PeriodicTask], policy: str, where: list[int] | None, duration_ns: int) -> MachineInput:
    """The same set for the kernel; `where` None: one global queue."""
    kind = Policy.EDF if policy == "edf" else Policy.FIXED_PRIORITY
    processors = [ProcessorRow("all", kind, True, cores=PROCESSORS)]
    if where is not None:
        processors = [ProcessorRow(f"p{number}", kind, True) for number in range(PROCESSORS)]
    order = sorted(range(len(tasks)), key=lambda number: tasks[number].period_ns)
    rows = [
        TaskRow(
            f"t{number}",
            0 if where is None else where[number],
            task.period_ns,
            task.wcet_ns,
            order.index(number),
            rate_hz=Fraction(10**9, task.period_ns),
            offset_ns=task.offset_ns,
        )
        for number, task in enumerate(tasks)
    ]
    return MachineInput(tuple(processors), (), tuple(rows), (), horizon_ns=duration_ns)


def ours(given: MachineInput) -> Outcome:
    """Completions from a trace, seconds from a bulk run with its statistics."""
    simulation = Simulation(given)
    simulation.run()
    jobs = simulation.trace().jobs
    completions = [
        jobs.finish_ns[(jobs.task == number) & (jobs.finish_ns >= 0)].tolist() for number in range(len(given.tasks))
    ]
    bulk = BulkSimulation(given, Questions())
    seconds = []
    for run in range(4):
        began = time.thread_time()
        bulk.run(run, 0, GivenSamples(given))
        seconds.append(time.thread_time() - began)
    return Outcome(completions, len(jobs), min(seconds[1:]))


def has_equal_keys(given: MachineInput) -> bool:
    """Whether two jobs with the same absolute deadline are ever there together."""
    simulation = Simulation(given)
    simulation.run()
    jobs = simulation.trace().jobs
    order = np.lexsort((jobs.arrival_ns, jobs.deadline_ns))
    deadline_ns, arrival_ns = jobs.deadline_ns[order], jobs.arrival_ns[order]
    end_ns = np.where(jobs.finish_ns >= 0, jobs.finish_ns, given.horizon_ns)[order]
    return bool(((deadline_ns[1:] == deadline_ns[:-1]) & (arrival_ns[1:] < end_ns[:-1])).any())


def compare(sets: int, duration_ns: int) -> bool:
    """Prints a row for every policy and kind of queue; whether all completions were equal."""
    print(f"{TASKS} tasks, {PROCESSORS} processors, {duration_ns / 1e9:g} s, load {LOAD}, {sets} sets each")
    rates = f"{'SimSo job/s':>12} {'rt-sched job/s':>15} {'ratio':>7}"
    print(f"{'policy':<18} {'jobs':>7} {'equal':>7} {'left out':>9} {rates}")
    equal = True
    for (policy, queue), scheduler in SCHEDULERS.items():
        jobs = compared = left_out = 0
        theirs_s = ours_s = 0.0
        for seed in range(sets):
            tasks = draw_set(seed)
            other, where = simso(tasks, scheduler, duration_ns)
            given = machine_input(tasks, policy, where if queue == "partitioned" else None, duration_ns)
            if queue == "global" and has_equal_keys(given):
                left_out += 1
                continue
            mine = ours(given)
            jobs, theirs_s, ours_s = jobs + mine.jobs, theirs_s + other.seconds, ours_s + mine.seconds
            same = mine.completions == other.completions
            compared += same
            equal &= same
        shown = f"{compared}/{sets - left_out}"
        if jobs:
            rates = f"{jobs / theirs_s:>12.0f} {jobs / ours_s:>15.0f} {theirs_s / ours_s:>7.0f}"
            print(f"{policy + ' ' + queue:<18} {jobs:>7} {shown:>7} {left_out:>9} {rates}")
    return equal


def many_runs(runs: int) -> None:
    """Prints what `runs` runs of a minute of quad_orin take."""
    system = load_system(QUAD_ORIN, stages=ImportedStages())
    plan, _ = plan_for(system, None, None)
    case = Case(system, plan, (), Execution.PROFILE, 60 * 10**9, 0)
    run_all(case, Questions(), 1, None, None, Quiet())
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, cpu = time.perf_counter(), time.process_time()
    counts = run_all(case, Questions(), runs, None, None, Quiet()).counts
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    jobs = sum(task.jobs for task in counts.tasks)
    print(f"{runs} runs of 60 s of quad_orin: {jobs} jobs in {wall:.1f} s on {os.cpu_count()} cores,")
    memory = f"memory {before_mb:.0f} -> {after_mb:.0f} MB"
    print(f"  {cpu:.1f} s of processor time, {jobs / cpu / 1e6:.2f} M job/s a core; {memory}")


def kernel_speed() -> None:
    """Prints events a second of the kernel that replays use, on one core; events are those that it can emit."""
    given = lowered(QUAD_ORIN, 20 * 10**9, Execution.PROFILE)
    counting = Simulation(given)
    events = 0
    while (rows := counting.step(1000)) is not None:
        events += len(rows)
    seconds = []
    for _ in range(5):
        simulation = Simulation(given, 2 * len(counting.jobs) + 4096)
        began = time.thread_time()
        simulation.run()
        seconds.append(time.thread_time() - began)
    print(f"scheduling kernel on quad_orin: {events / min(seconds) / 1e6:.1f} M event/s on one core")


def main() -> int:
    """Measure and print; 1 when a completion differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.runs:
        many_runs(arguments.runs)
    kernel_speed()
    equal = compare(arguments.sets, arguments.seconds * 10**9)
    return 0 if equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
