"""The analysis of a whole system under a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.analysis.assumptions import assumptions_of
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.chains.disparity import disparity_results
from rt_sched.analysis.contended import softened
from rt_sched.analysis.loads.contention import is_stretched, without_contention
from rt_sched.analysis.loads.load import ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.lost_work import lost_work
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.methods.load_tests import BACKLOG, TestResult, judge_load
from rt_sched.analysis.result import (
    AnalysisReport,
    ModeResult,
    ProcessorResult,
    Verdict,
    worst_verdict,
)
from rt_sched.analysis.system.engine import Known, TaskBound, mode_bounds
from rt_sched.analysis.system.misses import steady_misses
from rt_sched.analysis.system.verdicts import proof_of, settled, task_result
from rt_sched.analysis.system.waits import wait_results
from rt_sched.analysis.system.witness import find_witnesses
from rt_sched.analysis.theory.fixed_points import exact_sum
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import check_plan
from rt_sched.lowering.routes import routed


def analyze(system: model.System, plan: model.Plan, *, methods: Sequence[str] | None = None) -> AnalysisReport:
    """Bounds on all response times of `system` under `plan`, in every mode, with verdicts.

    `methods`: names of those to use, default all. A task is SCHEDULABLE when its bound is at most its deadline,
    UNSCHEDULABLE when a legal run that misses was found by the kernel or its processor is asked for more than it has,
    else INCONCLUSIVE. One with a weakly-hard deadline may miss as often as that allows: it is SCHEDULABLE when a bound
    on its misses says so, and UNSCHEDULABLE when a legal run has more.

    Raises AnalysisNotApplicable for a plan that does not fit the system, or an unknown method.
    """
    problems = check_plan(system, plan)
    if problems:
        raise AnalysisNotApplicable("the plan does not fit the system: " + "; ".join(problems))
    chosen = chosen_methods(methods)
    modes = tuple(analyze_mode(mode, chosen) for mode in mode_loads(system, plan))
    verdict = worst_verdict([mode.verdict for mode in modes])
    if verdict is Verdict.UNSCHEDULABLE and is_stretched(system, plan):
        alone = without_contention(system)
        modes = softened(modes, [analyze_mode(mode, chosen) for mode in mode_loads(alone, plan)])
        verdict = worst_verdict([mode.verdict for mode in modes])
    return AnalysisReport(system.name, plan.policy, verdict, modes, assumptions_of(routed(system, plan)))


def chosen_methods(names: Sequence[str] | None) -> tuple[Method, ...]:
    """The methods of these names, None for all; raises AnalysisNotApplicable for an unknown one."""
    if names is None:
        return METHODS
    known = {method.name: method for method in METHODS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise AnalysisNotApplicable(f"unknown method {', '.join(unknown)}; there are: {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def analyze_mode(
    mode: ModeLoad, methods: Sequence[Method] = METHODS, *, search_witnesses: bool = True, known: Known | None = None
) -> ModeResult:
    """All tasks and chains of one mode; without `search_witnesses` no task is found to be UNSCHEDULABLE.

    `known`: as of `mode_bounds`.
    """
    bounds = mode_bounds(mode, methods, known)
    place = {task.index: load for load in mode.loads for task in load.tasks}
    tests = {load.processor.name: _tests(mode, load, bounds) for load in mode.loads}
    proofs = {index: proof_of(tests[place[index].processor.name]) for index in bounds}
    misses = steady_misses(mode, bounds, [index for index, proof in proofs.items() if proof is not None])
    open_tasks = [index for index, one in bounds.items() if not settled(one, misses.get(index))]
    witnesses = find_witnesses(mode, bounds, open_tasks) if search_witnesses else {}
    tasks = tuple(
        replace(
            task_result(mode.name, place[i], bounds[i], witnesses.get(i), proofs[i], misses.get(i)),
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
    waits = wait_results(mode, bounds)
    limited = [*(one.verdict for one in waits), *(one.verdict for one in chains if one.limits_ns)]
    limited += [one.verdict for one in disparities if one.limit_ns is not None]
    overloaded = [one[1] for found in tests.values() for one in found if one[1] is Verdict.UNSCHEDULABLE]
    verdict = worst_verdict([*(one.verdict for one in tasks), *limited, *overloaded])
    return ModeResult(mode.name, verdict, tasks, processors, chains, disparities, waits)


def _needed(load: ProcessorLoad, bounds: dict[int, TaskBound]) -> Fraction:
    return exact_sum(bounds[task.index].task.load for task in load.tasks)


def processor_result(
    mode: str, load: ProcessorLoad, needed: Fraction, tests: tuple[TestResult, ...]
) -> ProcessorResult:
    """What is said of a processor as a whole; `needed`: share of one core."""
    total = (needed.numerator, needed.denominator)
    return ProcessorResult(load.processor.name, mode, load.policy.value, total, tests)


def _tests(mode: ModeLoad, load: ProcessorLoad, bounds: dict[int, TaskBound]) -> tuple[TestResult, ...]:
    """Tests of a processor as a whole; none where some arrivals have no bound.

    That some job may miss, as the demand shows, is no verdict where a task may. A backlog that grows without end is.
    """
    found = [bounds[task.index] for task in load.tasks]
    if any(one.lost for one in found):
        return ()
    tests = judge_load(replace(load, tasks=tuple(one.task for one in found if one.task.streams)))
    allowing = [task.name for task in load.tasks if mode.setup.tasks[task.index].weakly_hard is not None]
    if not allowing:
        return tests
    return tuple(
        (name, Verdict.INCONCLUSIVE, f"{text}, which {allowing[0]} is allowed to miss for")
        if verdict is Verdict.UNSCHEDULABLE and name != BACKLOG
        else (name, verdict, text)
        for name, verdict, text in tests
    )
