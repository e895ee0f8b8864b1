"""Why there is no plan that is accepted: which constraint stands in the way, and what would have to give."""

from __future__ import annotations

from dataclasses import replace

from rt_sched.analysis.result import Bound, ChainResult, Quantity, TermKind, Verdict
from rt_sched.model import System
from rt_sched.planner.objectives import core_loads
from rt_sched.planner.placing.cp import Status, solve
from rt_sched.planner.placing.frame_model import Goal
from rt_sched.planner.placing.problem import WHOLE_CORE, PlacementProblem
from rt_sched.planner.placing.stopping import Stop
from rt_sched.planner.planned import Planned
from rt_sched.units import format_ns

#: What each of the few questions to the solver may take.
_QUESTION_S = 5.0


def obstacles(system: System, planned: Planned) -> tuple[str, ...]:
    """Sentences, the hardest obstacle first; nothing where the plan is accepted."""
    if planned.verdict is Verdict.SCHEDULABLE:
        return ()
    problem = planned.problem
    found = [
        f"task {name}: no element that it may run on gets its data; add candidates, a link, or attach its sensors there"
        for name, places in zip(problem.tasks, problem.open_places, strict=True)
        if not places
    ]
    found = found or _structural(problem)
    refused = {one.refused for one in planned.proposals if one.plan is None and one.refused}
    if planned.best is None or planned.report is None:
        return tuple(found) or tuple(sorted(refused))
    return (*found, *_rejected(system, planned))


def _structural(problem: PlacementProblem) -> list[str]:
    """What makes every placement impossible, whatever the analysis says."""
    found = []
    plain = solve(problem, Goal.PEAK, Stop(_QUESTION_S))
    if plain.status is not Status.INFEASIBLE:
        return []
    roomy = replace(problem, memory_limits=())
    if solve(roomy, Goal.PEAK, Stop(_QUESTION_S)).status is not Status.INFEASIBLE:
        found.append(_memory(problem))
    apart = replace(problem, together=())
    if problem.together and solve(apart, Goal.PEAK, Stop(_QUESTION_S)).status is not Status.INFEASIBLE:
        bundles = " and of ".join(", ".join(problem.tasks[task] for task in bundle) for bundle in problem.together)
        found.append(
            f"resources: no element may run all of {bundles}, which share a resource whose protocol works on one core; "
            "give them a common candidate, or the resource the protocol msrp"
        )
    open_ways = replace(problem, hops=(), ways=())
    if solve(open_ways, Goal.PEAK, Stop(_QUESTION_S)).status is not Status.INFEASIBLE:
        found.append("links: no placement lets every message find a way; add a link, or candidates on one device")
    # Cores that may carry anything: what the lowest peak is then says how much is missing.
    over = solve(problem, Goal.PEAK, Stop(_QUESTION_S), limit=1000 * WHOLE_CORE)
    if over.place and over.value > WHOLE_CORE:
        loads = [0.0] * len(problem.places)
        for task, place in enumerate(over.place):
            loads[place] += problem.load[task][place] / problem.cores[place]
        fullest = problem.places[loads.index(max(loads))]
        tasks = ", ".join(
            problem.tasks[t]
            for t, p in enumerate(over.place)
            if loads[p] == max(loads) or problem.load[t][p] > WHOLE_CORE
        )
        found.append(
            f"load: even the best placement fills {fullest} to {over.value / 1e4:.0f} %; execution times of {tasks} "
            f"would have to fall to {100 * WHOLE_CORE / over.value:.0f} %, or their rates, or one of them needs "
            "further candidates"
        )
    return found or ["loads, memory and links exclude each other: each alone could be kept, but not all at once"]


def _memory(problem: PlacementProblem) -> str:
    """What does not fit: single tasks, all of them, or only whole tasks into what each device has."""
    limits = problem.memory_limits
    for task, need in enumerate(problem.memory_bytes):
        most = [limits[problem.group_of[place]] for place in problem.open_places[task]]
        known = [one for one in most if one is not None]
        if most and len(known) == len(most) and need > max(known):
            return (
                f"memory: task {problem.tasks[task]} needs {_size(need)}, and no device that it may run on has more "
                f"than {_size(max(known))}; give a device more, or the task further candidates"
            )
    need, have = sum(problem.memory_bytes), sum(most for most in limits if most is not None)
    where = "where they may run" if need <= have else "at all"
    return (
        f"memory: the tasks do not fit into the devices {where}; they need {_size(need)}, the devices have "
        f"{_size(have)}; give a device more, or a task further candidates"
    )


def _size(count: int) -> str:
    """Such as 1.5 GB."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= factor:
            return f"{count / factor:g} {unit}"
    return f"{count} B"


def _rejected(system: System, planned: Planned) -> list[str]:
    """What the analysis does not accept of the best plan, and what contributes most to each bound that is too long."""
    found = []
    assert planned.report is not None  # noqa: S101  # `obstacles` has asked
    full = _overloaded(system, planned)
    for mode in planned.report.modes:
        found += [
            f"task {task.task} on {task.processor}: {task.reason}{_largest(task.bound)}{full.get(task.processor, '')}"
            for task in mode.tasks
            if task.verdict is not Verdict.SCHEDULABLE
        ]
        found += [
            f"chain {chain.chain}: {chain.reason}{_over(chain)}"
            for chain in mode.chains
            if chain.limits_ns and chain.verdict is not Verdict.SCHEDULABLE
        ]
        found += [
            f"disparity of {one.task}: {one.reason}"
            for one in mode.disparities
            if one.limit_ns is not None and one.verdict is not Verdict.SCHEDULABLE
        ]
    return found


def _over(chain: ChainResult) -> str:
    """By how much the bounds of a chain exceed its limits, and the largest part of each."""
    said = ""
    bounds = {Quantity.REACTION: chain.reaction, Quantity.LATENCY: chain.latency, Quantity.DATA_AGE: chain.data_age}
    for quantity, limit_ns in chain.limits_ns:
        bound = bounds[quantity]
        if bound is not None and bound.value_ns > limit_ns:
            worst = max(bound.terms, key=lambda term: term.value_ns)
            said += (
                f"; {quantity.value.replace('_', ' ')} {format_ns(bound.value_ns)} of {format_ns(limit_ns)}, "
                f"{format_ns(worst.value_ns)} of it {worst.kind.value.replace('_', ' ')} of {worst.by}"
            )
    return said


def _overloaded(system: System, planned: Planned) -> dict[str, str]:
    """Cores of the plan that are asked for more time than there is, with what is on them."""
    plan = None if planned.best is None else planned.best.plan
    found = {}
    for index, load in enumerate(() if plan is None else core_loads(system, plan)):
        if plan is not None and load > WHOLE_CORE:
            here = ", ".join(one.task for one in plan.placements if one.processor == index)
            found[plan.processors[index].name] = f"; {here} fill it to {load / 1e4:.0f} %"
    return found


def _largest(bound: Bound | None) -> str:
    if bound is None:
        return ""
    others = [t for t in bound.terms if t.kind is not TermKind.OWN_EXECUTION and t.by is not None and t.value_ns > 0]
    if not others:
        return "; its own execution is what takes so long"
    worst = max(others, key=lambda term: term.value_ns)
    return f"; {format_ns(worst.value_ns)} of it are {worst.kind.value.replace('_', ' ')} by {worst.by}"
