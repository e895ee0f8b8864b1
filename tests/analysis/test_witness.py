"""The run that brings about a worst case does so to the last nanosecond, and is a legal one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from random_cases import random_case

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods.fixed_priority import NAME as FP_NAME
from rt_sched.analysis.methods.offsets import NAME as OFFSETS_NAME
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.system.critical_runs import critical_run
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Periodic, Plan, Policy, Sporadic, System

#: Systems of all kinds; some whose worst job is not the first; some whose offsets are known and nothing jitters.
_LATER = (738, 1326, 1611, 1677, 2598, 2835, 5172, 8037, 8895, 9579, 9855, 10074)
_OFFSETS = (193, 333, 376, 435, 657, 706, 1018, 1065, 1107, 1134, 1209, 1335)
_SEEDS = tuple(sorted({*range(0, 450, 3), *range(1, 150, 3), *_LATER, *_OFFSETS}))


def _with_deadline(system: System, name: str, deadline_ns: int) -> System:
    tasks = tuple(replace(task, deadline_ns=deadline_ns) if task.name == name else task for task in system.tasks)
    return replace(system, tasks=tasks)


def test_one_nanosecond_less_than_an_exact_bound_is_missed() -> None:
    met: Counter[str] = Counter()
    for seed in _SEEDS:
        system, plan = random_case(seed)
        if check_plan(system, plan):
            continue
        for result in analyze(system, plan).modes[0].tasks:
            bound = result.bound
            # A deadline is part of the order under EDF, so that a shorter one asks another question.
            by_deadline = next(p for p in plan.processors if p.name == result.processor).policy is Policy.EDF
            if bound is None or not bound.exact or bound.value_ns < 2 or by_deadline:
                continue
            tight = analyze(_with_deadline(system, result.task, bound.value_ns), plan).task(result.task)
            missed = analyze(_with_deadline(system, result.task, bound.value_ns - 1), plan).task(result.task)
            assert tight.verdict is Verdict.SCHEDULABLE, (seed, result.task)
            assert missed.verdict is Verdict.UNSCHEDULABLE, (seed, result.task, missed.reason)
            assert missed.witness is not None
            end_ns = missed.witness.horizon_ns if missed.witness.finish_ns is None else missed.witness.finish_ns
            assert end_ns > missed.witness.deadline_ns
            met[bound.method] += 1
            met["later job"] += bound.job > 0
    assert met[FP_NAME] > 40
    assert met[OFFSETS_NAME] >= 10
    assert met["later job"] >= 10


@pytest.mark.parametrize("first", range(3))
def test_runs_at_the_worst_case_are_legal(first: int) -> None:
    moved = 0
    for seed in range(first, 240, 3):
        system, plan = random_case(seed)
        if not check_plan(system, plan):
            moved += _check_legal(system, plan)
    assert moved > 100


def _check_legal(system: System, plan: Plan) -> int:
    """How many tasks were moved; offsets, separations and jitter are what the system says."""
    mode = mode_loads(system, plan)[0]
    horizon_ns, moved = 500, 0
    given = lower(system, plan, nominal_samples(system, horizon_ns), horizon_ns=horizon_ns, execution=Execution.WCET)
    free = [isinstance(task.activation, Sporadic) for task in system.tasks]
    for load in mode.loads:
        for task in load.tasks:
            run = critical_run(given, free, load, task, None)
            for row, before, declared in zip(run.tasks, given.tasks, system.tasks, strict=True):
                assert max(row.explicit_jitters_ns, default=0) <= before.jitter_ns
                if isinstance(declared.activation, Periodic):
                    assert (row.rate_hz, row.offset_ns) == (before.rate_hz, before.offset_ns)
                if row.explicit_arrivals_ns is not None:
                    assert isinstance(declared.activation, Sporadic)
                    least_ns = before.separation_ns
                    assert least_ns is not None
                    assert all(b - a >= least_ns for a, b in pairwise(row.explicit_arrivals_ns))
                    moved += 1
    return moved
