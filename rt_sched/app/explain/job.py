"""`explain`: how the bound of one task comes about, as one document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import AnalysisReport, TaskResult
from rt_sched.analysis.system.derivation import Derivation, JobStep, derive
from rt_sched.analysis.system.engine import loads_with_arrivals
from rt_sched.analysis.task_sets import analyze_task_set, task_set_load
from rt_sched.app.analyze.job import TaskSetRequest, load_and_plan
from rt_sched.app.analyze.rows import refusal_rows, terms_rows
from rt_sched.app.explain.chain import chain_explanation
from rt_sched.config.problems import unknown
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy, System

EXPLANATION_SCHEMA = "rt-sched/explanation/1"

#: Before the name of a chain, where a task has the same.
CHAIN_PREFIX = "chain:"


def explained_in_system(
    name: str,
    argument: str,
    policy: str | None,
    mode: str | None,
    plan_file: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """How the bound of task `name`, or the bounds of chain `name`, come about, in `mode` or the first one.

    A task goes before a chain of the same name, which `chain:NAME` stands for. `plan_file`: the plan that places the
    tasks; `tell` hears where it is out of date.

    Raises ConfigError with every problem of a file, AnalysisNotApplicable for an unknown name, mode or policy.
    """
    _, system, plan = load_and_plan(argument, policy, plan_file, tell)
    modes = mode_loads(system, plan)
    names = [one.name for one in modes]
    if mode is not None and mode not in names:
        raise AnalysisNotApplicable(unknown("mode", mode, names))
    place = 0 if mode is None else names.index(mode)
    chain = _chain_named(system, name)
    if chain is not None:
        return chain_explanation(system, modes[place], chain)
    return explanation(analyze(system, plan), name, names[place], loads_with_arrivals(modes[place], METHODS))


def _chain_named(system: System, name: str) -> str | None:
    """The chain that is meant, None where it is a task."""
    chains = [chain.name for chain in system.chains]
    if name.startswith(CHAIN_PREFIX):
        wanted = name.removeprefix(CHAIN_PREFIX)
        if wanted not in chains:
            raise AnalysisNotApplicable(unknown("chain", wanted, chains))
        return wanted
    tasks = [task.name for task in system.tasks]
    if name in tasks:
        return None
    if name not in chains:
        raise AnalysisNotApplicable(unknown("task or chain", name, [*tasks, *chains]))
    return name


def explained_set_task(task: str, request: TaskSetRequest) -> dict[str, Any]:
    """How the bound of a task of a set comes about; raises as `explained_in_system` does."""
    task_set = request.load()
    return explanation(analyze_task_set(task_set), task, None, (task_set_load(task_set),))


def explanation(report: AnalysisReport, name: str, mode: str | None, loads: Sequence[ProcessorLoad]) -> dict[str, Any]:
    """The document on task `name`; `loads`: those of the mode, with arrivals."""
    try:
        result = report.task(name, mode)
    except KeyError:
        raise AnalysisNotApplicable(_no_such_task(report, name, mode)) from None
    place = next(((load, task) for load in loads for task in load.tasks if task.name == name), None)
    bound = result.bound
    steps = None if place is None or bound is None else derive(*place, bound)
    return {
        "schema": EXPLANATION_SCHEMA,
        "system": report.system,
        "task": name,
        "mode": result.mode,
        "processor": result.processor,
        "policy": None if place is None else place[0].policy.value,
        "preemptive": None if place is None else place[0].row.preemptive,
        "deadline_ns": result.deadline_ns,
        "response_bound_ns": None if bound is None else bound.value_ns,
        "verdict": result.verdict.value,
        "reason": result.reason,
        "lost_work": result.lost_work,
        "method": None if bound is None else bound.method,
        "source": None if bound is None else bound.source,
        "exact": None if bound is None else bound.exact,
        "window_ns": None if bound is None else bound.window_ns,
        "worst_job": None if bound is None else bound.job,
        "own": None if place is None else _own(place[1]),
        "others": []
        if place is None
        else [_other(one, place[1], place[0].policy) for one in place[0].tasks if one is not place[1]],
        "terms": terms_rows(bound),
        "derivation": None if steps is None else _derivation(steps),
        "refusals": refusal_rows(result.refusals),
        "witness": _witness(result),
        "assumptions": [
            {"key": one.key, "text": one.text, "check": one.check} for one in report.assumptions if name in one.tasks
        ],
    }


def _no_such_task(report: AnalysisReport, name: str, mode: str | None) -> str:
    """Why there is nothing to say of `name` in `mode`: it exists in other modes only, or nowhere."""
    elsewhere = [found.name for found in report.modes if any(one.task == name for one in found.tasks)]
    if elsewhere:
        return (
            f"task {name} does not exist in mode {mode}; it does in {', '.join(elsewhere)}: "
            f"add --mode {elsewhere[0]} to explain it there"
        )
    return unknown("task", name, dict.fromkeys(one.task for found in report.modes for one in found.tasks))


def _own(task: LoadTask) -> dict[str, Any]:
    blocking = task.blocking
    return {
        "wcet_ns": task.wcet_ns,
        "overhead_ns": task.overhead_ns,
        "spin_ns": task.spin_ns,
        "cost_ns": task.cost_ns,
        "suspension_ns": task.suspension_ns,
        "level": task.level,
        "last_region_ns": task.last_region_ns,
        "release_jitter_ns": task.release_jitter_ns,
        "arrivals": _arrivals(task),
        "blocking_ns": None if blocking is None else blocking.total_ns,
        "blocked_by": [{"by": by, "value_ns": part_ns} for by, part_ns in (() if blocking is None else blocking.by)],
    }


def _other(other: LoadTask, task: LoadTask, policy: Policy) -> dict[str, Any]:
    return {
        "name": other.name,
        "level": other.level,
        "urgency": _urgency(other, task, policy),
        "cost_ns": other.cost_ns,
        "deadline_ns": other.deadline_ns,
        "region_ns": other.region_ns,
        "release_jitter_ns": other.release_jitter_ns,
        "arrivals": _arrivals(other),
    }


def _urgency(other: LoadTask, task: LoadTask, policy: Policy) -> str:
    """Of jobs of `other` beside one of `task` that arrives with them: by level, under EDF by relative deadline."""
    by_deadline = policy is Policy.EDF
    theirs, mine = (other.deadline_ns, task.deadline_ns) if by_deadline else (other.level, task.level)
    return "same" if theirs == mine else "more" if theirs < mine else "less"


def _arrivals(task: LoadTask) -> list[dict[str, Any]]:
    return [
        {
            "separation_ns": None if stream.curve is not None else stream.period_ns,
            "jitter_ns": stream.jitter_ns,
            "curve": None
            if stream.curve is None
            else {"horizon_ns": stream.curve.horizon_ns, "steps": [list(step) for step in stream.curve.steps]},
        }
        for stream in task.streams
    ]


def _derivation(steps: Derivation) -> dict[str, Any]:
    return {
        "busy_period_ns": list(steps.busy_ns),
        "last_region_ns": steps.last_region_ns,
        "all_jobs": steps.complete,
        "jobs": [_job(step) for step in steps.jobs],
    }


def _job(step: JobStep) -> dict[str, Any]:
    return {
        "job": step.job,
        "arrival_ns": step.arrival_ns,
        "blocking_ns": step.blocking_ns,
        "windows_ns": list(step.windows_ns),
        "iterations": step.iterations,
        "finish_ns": step.finish_ns,
        "response_ns": step.response_ns,
    }


def _witness(result: TaskResult) -> dict[str, Any] | None:
    witness = result.witness
    if witness is None:
        return None
    return {"how": witness.how, "job": witness.job, "arrival_ns": witness.arrival_ns, "finish_ns": witness.finish_ns}
