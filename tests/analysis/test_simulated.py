"""No simulated response exceeds its bound, and where a method is exact the worst case is simulated to the last ns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from textbook import Task, busy_period

from rt_sched.analysis.batch import BatchResult, Status, edf_response_times, edf_schedulable, fp_response_times
from rt_sched.analysis.theory.blocking import region_blocking_ns
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.global_tests import global_edf_response_times, global_fp_response_times
from rt_sched.analysis.theory.mixed_criticality import DualTiming, amc_max, amc_rtb
from rt_sched.analysis.theory.slices import sliced_response_times, supply_of_slices
from rt_sched.analysis.theory.suspension import suspending_response_times
from rt_sched.lowering.machine_input import (
    MachineInput,
    OverrunAction,
    Policy,
    ProcessorRow,
    SuspensionRow,
    TaskRow,
    TimeSlice,
)
from rt_sched.sim import Simulation

PREEMPTION = pytest.mark.parametrize("preemptive", [True, False])


def random_set(rng: np.random.Generator, load: float, most: int = 5, longest: int = 40) -> list[Task]:
    count = int(rng.integers(2, most + 1))
    shares = rng.dirichlet(np.ones(count)) * load
    tasks = []
    for share in shares:
        period = int(rng.integers(4, longest))
        wcet = max(1, int(share * period))
        tasks.append(Task(wcet, period, int(rng.integers(wcet, 2 * period + 1))))
    return tasks


def worst(
    tasks: Sequence[Task],
    processor: ProcessorRow,
    offsets: Sequence[int],
    horizon: int,
    more: Sequence[dict[str, object]] | None = None,
    seed: int = 0,
) -> list[int]:
    """Largest response of each task; unfinished jobs count as long as they were seen."""
    rows = []
    for position, (task, offset) in enumerate(zip(tasks, offsets, strict=True)):
        row = TaskRow(f"t{position}", 0, task.D, task.C, position, rate_hz=Fraction(10**9, task.T), offset_ns=offset)
        rows.append(replace(row, **more[position]) if more else row)
    simulation = Simulation(MachineInput((processor,), (), tuple(rows), (), horizon_ns=horizon, seed=seed))
    simulation.run()
    jobs = simulation.trace().jobs
    response = np.where(jobs.finish_ns >= 0, jobs.finish_ns, horizon) - jobs.arrival_ns
    return [int(response[jobs.task == position].max(initial=0)) for position in range(len(tasks))]


def bounds(analyse: object, tasks: Sequence[Task], **more: object) -> BatchResult:
    assert callable(analyse)
    jitter = [[task.J for task in tasks]]
    table = [[[getattr(task, name) for task in tasks]] for name in "CTD"]
    result = analyse(*table, jitter_ns=jitter, **more)
    assert isinstance(result, BatchResult)
    return result


def settled(rng: np.random.Generator, load: float, **more: int) -> list[Task]:
    """A set whose load is below 1, so that all bounds exist."""
    while True:
        tasks = random_set(rng, load, **more)
        if sum(Fraction(task.C, task.T) for task in tasks) < 1:
            return tasks


@PREEMPTION
@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_random_offsets_and_jitter_stay_below_the_bound(policy: Policy, preemptive: bool) -> None:
    rng = np.random.default_rng(21)
    analyse = fp_response_times if policy is Policy.FIXED_PRIORITY else edf_response_times
    attained = total = 0
    for seed in range(120):
        tasks = settled(rng, float(rng.choice([0.8, 0.95, 0.99])))
        if seed % 2:
            tasks = [replace(task, J=int(rng.integers(0, task.T))) for task in tasks]
        result = bounds(analyse, tasks, preemptive=preemptive)
        assert (result.status == Status.OK).all()
        offsets = [int(rng.integers(0, task.T)) for task in tasks] if seed % 3 else [0] * len(tasks)
        more = [{"jitter_ns": task.J} for task in tasks]
        seen = worst(tasks, ProcessorRow("cpu", policy, preemptive), offsets, 3000, more, seed)
        assert (np.array(seen) <= result.response_ns[0]).all(), tasks
        attained += int((np.array(seen) == result.response_ns[0]).sum())
        total += len(tasks)
    assert attained > total // 8


def test_preemptive_fixed_priority_bounds_are_attained() -> None:
    rng = np.random.default_rng(22)
    later_jobs = 0
    for _ in range(100):
        tasks = [replace(task, J=int(rng.integers(0, 2) * rng.integers(0, task.T))) for task in settled(rng, 0.97)]
        result = bounds(fp_response_times, tasks)
        together = max(task.J for task in tasks)
        length = busy_period(tasks)
        assert length is not None
        more = [{"jitter_ns": task.J, "explicit_jitters_ns": (task.J, *[0] * 200)} for task in tasks]
        cpu = ProcessorRow("cpu", Policy.FIXED_PRIORITY, True)
        seen = worst(tasks, cpu, [together - task.J for task in tasks], together + 3 * length + 200, more)
        assert seen == result.response_ns[0].tolist()
        later_jobs += sum(response > task.T for response, task in zip(seen, tasks, strict=True))
    assert later_jobs > 20


def test_non_preemptive_fixed_priority_bounds_are_attained() -> None:
    rng = np.random.default_rng(23)
    cpu = ProcessorRow("cpu", Policy.FIXED_PRIORITY, False)
    blocked = 0
    for _ in range(60):
        tasks = settled(rng, 0.98)
        result = bounds(fp_response_times, tasks, preemptive=False)
        length = 2 * (busy_period(tasks) or 0) + 200
        for own in range(len(tasks)):
            longest = max(range(own + 1, len(tasks)), key=lambda k: tasks[k].C, default=None)  # type: ignore[arg-type]
            offsets = [0 if longest == k else 1 for k in range(len(tasks))]
            blocked += longest is not None and tasks[longest].C > 1
            assert worst(tasks, cpu, offsets, length)[own] == result.response_ns[0, own]
    assert blocked > 80


@PREEMPTION
def test_edf_bounds_are_attained_up_to_ties(preemptive: bool) -> None:
    rng = np.random.default_rng(24)
    cpu = ProcessorRow("cpu", Policy.EDF, preemptive)
    equal = beyond_synchronous = 0
    for _ in range(12):
        tasks = settled(rng, 0.95, most=3, longest=14)
        length = busy_period(tasks) or 0
        result = bounds(edf_response_times, tasks, preemptive=preemptive)
        together = worst(tasks, cpu, [1] * len(tasks), 2 * length + 60)
        for own in range(len(tasks)):
            bound = int(result.response_ns[0, own])
            seen = 0
            for phase in range(tasks[own].T):
                for early in [None] if preemptive else [None, *(k for k in range(len(tasks)) if k != own)]:
                    offsets = [1 + phase if k == own else int(k != early) for k in range(len(tasks))]
                    seen = max(seen, worst(tasks, cpu, offsets, 2 * length + 60)[own])
            assert bound - 1 <= seen <= bound
            equal += seen == bound
            beyond_synchronous += together[own] < bound - 1
    assert equal > 15
    assert beyond_synchronous > 0


@PREEMPTION
def test_edf_verdicts_show_in_the_synchronous_run(preemptive: bool) -> None:
    rng = np.random.default_rng(25)
    cpu = ProcessorRow("cpu", Policy.EDF, preemptive)
    verdicts = []
    for _ in range(150):
        tasks = [replace(task, D=int(rng.integers(task.C, task.T + 1))) for task in settled(rng, 0.7)]
        schedulable = bool(bounds(edf_schedulable, tasks, preemptive=preemptive).schedulable[0])
        horizon = 2 * (busy_period(tasks) or 0) + 200
        missed = False
        for early in [None, *range(len(tasks))]:
            seen = worst(tasks, cpu, [int(k != early) for k in range(len(tasks))], horizon)
            missed |= any(response > task.D for response, task in zip(seen, tasks, strict=True))
        assert missed != schedulable
        verdicts.append(schedulable)
    assert 20 < sum(verdicts) < 130


def test_fifo() -> None:
    rng = np.random.default_rng(26)
    cpu = ProcessorRow("cpu", Policy.FIFO, False)
    for seed in range(60):
        tasks = [replace(task, J=int(rng.integers(0, task.T))) for task in settled(rng, 0.95)]
        bound = fifo_response_times([Timing(t.C, t.T, t.D, t.J) for t in tasks])
        offsets = [int(rng.integers(0, t.T)) for t in tasks]
        seen = worst(tasks, cpu, offsets, 3000, [{"jitter_ns": t.J} for t in tasks], seed)
        assert all(response <= limit for response, limit in zip(seen, bound, strict=True))


def test_fifo_bounds_are_attained_by_the_task_that_loses_ties() -> None:
    rng = np.random.default_rng(30)
    cpu = ProcessorRow("cpu", Policy.FIFO, False)
    for _ in range(25):
        tasks = settled(rng, 0.95, most=4, longest=20)
        last = len(tasks) - 1
        bound = fifo_response_times([Timing(t.C, t.T, t.D) for t in tasks])[last]
        horizon = 2 * (busy_period(tasks) or 0) + 100
        phases = range(tasks[last].T)
        assert max(worst(tasks, cpu, [*[0] * last, phase], horizon)[last] for phase in phases) == bound


def test_time_slices() -> None:
    rng = np.random.default_rng(27)
    close = 0
    for seed in range(60):
        first = settled(rng, 0.25, most=3)
        second = settled(rng, 0.2, most=2)
        lengths, switches = (int(rng.integers(4, 12)), int(rng.integers(4, 12))), (1, 2)
        groups = (tuple(range(len(first))), tuple(range(len(first), len(first) + len(second))))
        slices = tuple(TimeSlice(*row) for row in zip(lengths, groups, switches, strict=True))
        cpu = ProcessorRow("gpu", Policy.TIME_SLICED, True, slices=slices)
        every = [*first, *second]
        offsets = [int(rng.integers(0, task.T)) for task in every]
        seen = worst(every, cpu, offsets, 4000, None, seed)
        for mine, group in ((first, 0), (second, 1)):
            supply = supply_of_slices(lengths, switches, [group == 0, group == 1])
            load = sum(Fraction(t.C, t.T) for t in mine)
            if load >= Fraction(supply.per_cycle_ns, supply.cycle_ns):
                continue
            bound = sliced_response_times([Timing(t.C, t.T, t.D) for t in mine], supply)
            got = [seen[position] for position in groups[group]]
            assert all(response <= limit for response, limit in zip(got, bound, strict=True))
            close += sum(2 * response >= limit for response, limit in zip(got, bound, strict=True))
    assert close > 60


def test_suspending_tasks() -> None:
    rng = np.random.default_rng(28)
    judged = 0
    for seed in range(100):
        tasks = [replace(task, D=task.T) for task in settled(rng, 0.6)]
        waits = [int(rng.integers(0, task.T // 3 + 1)) if task.C > 1 else 0 for task in tasks]
        bound = suspending_response_times([Timing(t.C, t.T, t.D) for t in tasks], waits)
        more = [
            {"suspensions": (SuspensionRow(int(rng.integers(1, task.C)), 0, wait),) if wait else ()}
            for task, wait in zip(tasks, waits, strict=True)
        ]
        offsets = [int(rng.integers(0, task.T)) for task in tasks]
        seen = worst(tasks, ProcessorRow("cpu", Policy.FIXED_PRIORITY, True), offsets, 3000, more, seed)
        for response, limit in zip(seen, bound, strict=True):
            if limit is None:
                break
            assert response <= limit
            judged += 1
    assert judged > 150


def test_mixed_criticality() -> None:
    rng = np.random.default_rng(29)
    judged = switched = 0
    for seed in range(100):
        tasks = [replace(task, D=task.T) for task in settled(rng, 0.5)]
        high = rng.integers(0, 2, len(tasks)).astype(bool)
        above = [
            task.C + int(rng.integers(0, task.T // 4 + 1)) if up else task.C
            for task, up in zip(tasks, high, strict=True)
        ]
        dual = [DualTiming(t.C, t.T, t.D, most if up else None) for t, up, most in zip(tasks, high, above, strict=True)]
        if sum(Fraction(most, t.T) for most, t in zip(above, tasks, strict=True)) >= 1:
            continue
        rtb, most = amc_rtb(dual), amc_max(dual)
        if any(bound.worst_ns is None for bound in rtb):
            continue
        demands = [tuple(int(rng.choice([t.C, top])) for _ in range(300)) for t, top in zip(tasks, above, strict=True)]
        more = [
            {"high_criticality": bool(up), "low_budget_ns": t.C if up else None, "demand_ns": top,
             "explicit_demands_ns": drawn, "overrun_action": OverrunAction.LOG}
            for t, up, top, drawn in zip(tasks, high, above, demands, strict=True)
        ]  # fmt: skip
        offsets = [int(rng.integers(0, task.T)) for task in tasks] if seed % 2 else [0] * len(tasks)
        seen = worst(tasks, ProcessorRow("cpu", Policy.FIXED_PRIORITY, True), offsets, 1500, more, seed)
        for response, first, second, up in zip(seen, rtb, most, high, strict=True):
            assert second.worst_ns <= first.worst_ns
            if up:
                assert response <= second.worst_ns
                switched += response > second.low_ns
                judged += 1
    assert judged > 30
    assert switched > 5


def test_fixed_preemption_points() -> None:
    rng = np.random.default_rng(31)
    attained = total = tighter = 0
    for seed in range(80):
        tasks = settled(rng, 0.9)
        points = [sorted({int(rng.integers(1, t.C)) for _ in range(2)}) if t.C > 1 else [] for t in tasks]
        regions = [[b - a for a, b in itertools.pairwise([0, *cut, t.C])] for cut, t in zip(points, tasks, strict=True)]
        blocking = region_blocking_ns([max(parts) for parts in regions])
        last = [[parts[-1] for parts in regions]]
        fixed = bounds(fp_response_times, tasks, blocking_ns=[blocking], last_region_ns=last)
        floating = bounds(fp_response_times, tasks, blocking_ns=[blocking])
        good = fixed.status[0] == Status.OK
        assert good[-1]
        more = [{"preemption_points_ns": tuple(cut)} for cut in points]
        for longest in range(len(tasks)):
            cpu = ProcessorRow("cpu", Policy.FIXED_PRIORITY, True)
            offsets = [0 if k == longest else 1 for k in range(len(tasks))]
            if longest == 0:
                offsets = [int(rng.integers(0, task.T)) for task in tasks]
            seen = np.array(worst(tasks, cpu, offsets, 2000, more, seed))
            assert (seen <= fixed.response_ns[0])[good].all()
            assert (seen <= floating.response_ns[0])[good].all()
            attained += int((seen == fixed.response_ns[0])[good].sum())
            total += int(good.sum())
        tighter += int((fixed.response_ns < floating.response_ns).sum())
    assert attained > total // 3
    assert tighter > 10


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_global_bounds(policy: Policy) -> None:
    rng = np.random.default_rng(32)
    analyse = global_fp_response_times if policy is Policy.FIXED_PRIORITY else global_edf_response_times
    judged = close = 0
    for seed in range(150):
        tasks = [task for task in random_set(rng, 1.3, 7) if task.C <= task.T]
        tasks = [replace(task, D=int(rng.integers(task.C, task.T + 1))) for task in tasks]
        found = analyse([Timing(t.C, t.T, t.D) for t in tasks], 2)
        cpu = ProcessorRow("cpu", policy, True, cores=2)
        offsets = [int(rng.integers(0, task.T)) for task in tasks] if seed % 2 else [0] * len(tasks)
        if policy is Policy.EDF and None in found:
            continue
        seen = worst(tasks, cpu, offsets, 3000)
        for response, bound in zip(seen, found, strict=True):
            if bound is not None:
                assert response <= bound
                judged += 1
                close += 2 * response >= bound
    assert judged > 80
    assert close > judged // 2


def test_one_core_is_no_better_globally() -> None:
    rng = np.random.default_rng(33)
    equal = 0
    for _ in range(60):
        tasks = [replace(task, D=task.T) for task in settled(rng, 0.7)]
        found = global_fp_response_times([Timing(t.C, t.T, t.D) for t in tasks], 1)
        exact = bounds(fp_response_times, tasks).response_ns[0].tolist()
        for bound, response in zip(found, exact, strict=True):
            assert bound is None or bound >= response
            equal += bound == response
    assert equal > 60
