"""The analysis of a whole system under a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.assumptions import assumptions_of
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.lost_work import lost_work
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.methods.load_tests import TestResult, judge_load
from rt_sched.analysis.result import (
    AnalysisReport,
    ModeResult,
    ProcessorResult,
    TaskResult,
    Verdict,
    Witness,
    worst_verdict,
)
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.analysis.system.ties import counted_of_equals
from rt_sched.analysis.system.witness import find_witnesses
from rt_sched.analysis.theory.fixed_points import exact_sum
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import check_plan
from rt_sched.units import format_ns


def analyze(system: model.System, plan: model.Plan, *, methods: Sequence[str] | None = None) -> AnalysisReport:
    """Bounds on all response times of `system` under `plan`, in every mode, with verdicts.

    `methods`: names of those to use, default all. A task is SCHEDULABLE when its bound is at most its deadline,
    UNSCHEDULABLE when a legal run that misses was found by the kernel or its processor is asked for more than it has,
    else INCONCLUSIVE.

    Raises AnalysisNotApplicable for a plan that does not fit the system, or an unknown method.
    """
    problems = check_plan(system, plan)
    if problems:
        raise AnalysisNotApplicable("the plan does not fit the system: " + "; ".join(problems))
    chosen = chosen_methods(methods)
    modes = tuple(analyze_mode(mode, chosen) for mode in mode_loads(system, plan))
    verdict = worst_verdict([mode.verdict for mode in modes])
    return AnalysisReport(system.name, plan.policy, verdict, modes, assumptions_of(system))


def chosen_methods(names: Sequence[str] | None) -> tuple[Method, ...]:
    """The methods of these names, None for all; raises AnalysisNotApplicable for an unknown one."""
    if names is None:
        return METHODS
    known = {method.name: method for method in METHODS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise AnalysisNotApplicable(f"unknown method {', '.join(unknown)}; there are: {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def analyze_mode(mode: ModeLoad, methods: Sequence[Method] = METHODS, *, search_witnesses: bool = True) -> ModeResult:
    """All tasks and chains of one mode; without `search_witnesses` no task is found to be UNSCHEDULABLE."""
    bounds = mode_bounds(mode, methods)
    open_tasks = [
        index for index, one in bounds.items() if one.bound is None or one.bound.value_ns > one.task.deadline_ns
    ]
    witnesses = find_witnesses(mode, bounds, open_tasks) if search_witnesses else {}
    place = {task.index: load for load in mode.loads for task in load.tasks}
    tests = {load.processor.name: _tests(load, bounds) for load in mode.loads}
    tasks = tuple(
        replace(
            task_result(mode.name, place[i], bounds[i], witnesses.get(i), tests[place[i].processor.name]),
            lost_work=lost_work(mode.setup.tasks[i]),
        )
        for i in sorted(bounds)
    )
    processors = tuple(
        processor_result(mode.name, load, _needed(load, bounds), tests[load.processor.name])
        for load in mode.loads
        if load.tasks
    )
    chains = chain_results(mode, bounds)
    disparities = disparity_results(mode, bounds)
    limited = [one.verdict for one in chains if one.limits_ns]
    limited += [one.verdict for one in disparities if one.limit_ns is not None]
    overloaded = [one[1] for found in tests.values() for one in found if one[1] is Verdict.UNSCHEDULABLE]
    verdict = worst_verdict([*(one.verdict for one in tasks), *limited, *overloaded])
    return ModeResult(mode.name, verdict, tasks, processors, chains, disparities)


def _needed(load: ProcessorLoad, bounds: dict[int, TaskBound]) -> Fraction:
    return exact_sum(bounds[task.index].task.load for task in load.tasks)


def processor_result(
    mode: str, load: ProcessorLoad, needed: Fraction, tests: tuple[TestResult, ...]
) -> ProcessorResult:
    """What is said of a processor as a whole; `needed`: share of one core."""
    total = (needed.numerator, needed.denominator)
    return ProcessorResult(load.processor.name, mode, load.policy.value, total, tests)


def _tests(load: ProcessorLoad, bounds: dict[int, TaskBound]) -> tuple[TestResult, ...]:
    """Tests of a processor as a whole; none where some arrivals have no bound."""
    found = [bounds[task.index] for task in load.tasks]
    if any(one.lost for one in found):
        return ()
    present = replace(load, tasks=tuple(one.task for one in found if one.task.streams))
    return judge_load(present)


def task_result(
    mode: str, load: ProcessorLoad, one: TaskBound, witness: Witness | None, tests: Sequence[TestResult]
) -> TaskResult:
    """The verdict on one task, from its bound, a run in which it misses, and the tests of its processor."""
    task, bound = one.task, one.bound
    proof = next((f"{name}: {text}" for name, verdict, text in tests if verdict is Verdict.SCHEDULABLE), None)
    if bound is not None and bound.value_ns <= task.deadline_ns:
        verdict, reason = Verdict.SCHEDULABLE, "the bound is within the deadline"
    elif proof is not None:
        verdict, reason = Verdict.SCHEDULABLE, proof
    elif witness is not None:
        verdict, reason = Verdict.UNSCHEDULABLE, f"a legal run misses: {witness.how}"
    elif bound is None:
        verdict, reason = Verdict.INCONCLUSIVE, one.reason
    else:
        over = format_ns(bound.value_ns - task.deadline_ns)
        verdict = Verdict.INCONCLUSIVE
        reason = f"the bound exceeds the deadline by {over}, and no run that misses was found"
        reason += counted_of_equals(load, task, bound.value_ns - task.deadline_ns)
    return TaskResult(
        task.name, mode, load.processor.name, task.deadline_ns, bound, verdict, reason, one.refusals, witness
    )
