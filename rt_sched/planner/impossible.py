"""What no plan can change: proofs that a system has no plan that keeps its deadlines and limits.

Only what holds for every placement, policy and order counts, in runs that the system file allows: jobs that all need
their worst case, arrivals at their declared rates. So loads are rounded down and hold no switches; what may be shed
counts with what is left of it, or not at all. A plan that a method fails to find is no proof.
"""

from __future__ import annotations

from dataclasses import replace

from rt_sched.analysis.result import AnalysisReport, Verdict
from rt_sched.lowering import Role, input_role
from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import Join, OnMessage, OverrunAction, ProcessingElement, Protocol, System, Task
from rt_sched.planner.placing.cp import Status, solve
from rt_sched.planner.placing.frame_model import Goal
from rt_sched.planner.placing.from_system import bundles
from rt_sched.planner.placing.problem import WHOLE_CORE, PlacementProblem
from rt_sched.planner.placing.stopping import Stop
from rt_sched.units import format_ns

#: What the question to the solver may take; without an answer nothing is proved.
_QUESTION_S = 5.0


def impossibilities(system: System, problem: PlacementProblem) -> tuple[str, ...]:
    """Sentences, each a proof; nothing where none is found. `problem`: that of the system, not a part of it."""
    least_ns = _least_demands_ns(system, problem)
    found = [*_too_long_tasks(system, least_ns), *_too_long_chains(system, least_ns)]
    necessary = _necessary(system, problem)
    if solve(necessary, Goal.PEAK, Stop(_QUESTION_S)).status is Status.INFEASIBLE:
        found.append("no placement keeps loads, memory and the ways of messages, whatever the order of tasks")
    return tuple(found)


def only_plan_misses(system: System, problem: PlacementProblem, policy: str, report: AnalysisReport) -> tuple[str, ...]:
    """That the plan of `report` is shown to miss, where `policy` was asked for and leaves no other plan."""
    cores = {
        (device.name, pe.name): pe.cores // pe.queue_cores
        for device in system.devices
        for pe in device.processing_elements
    }
    bound = all(
        len(places) == 1 and (task.core is not None or cores[task.pe] == 1)
        for task, places in zip(system.tasks, problem.open_places, strict=True)
    )
    if not bound or policy == "opa" or report.verdict is not Verdict.UNSCHEDULABLE:
        return ()
    return (f"no task has a choice, and under {policy} a run is known that misses",)


def _least_demands_ns(system: System, problem: PlacementProblem) -> dict[str, int]:
    """The worst case of each task where it is shortest; not of those that have no element."""
    return {
        task.name: min(problem.wcet_ns[index][place] or 0 for place in problem.open_places[index])
        for index, task in enumerate(system.tasks)
        if problem.open_places[index]
    }


def _too_long_tasks(system: System, least_ns: dict[str, int]) -> list[str]:
    return [
        f"task {task.name}: it takes {format_ns(least_ns[task.name])} wherever it runs, longer than its deadline of "
        f"{format_ns(task.deadline_ns)}"
        for task in system.tasks
        if not _sheds(task) and least_ns.get(task.name, 0) > task.deadline_ns
    ]


def _too_long_chains(system: System, least_ns: dict[str, int]) -> list[str]:
    shed = {task.name for task in system.tasks if _sheds(task)}
    found = []
    for chain in system.chains:
        sum_ns = sum(least_ns.get(name, 0) for name in chain.path if name not in shed)
        if chain.max_latency_ns is not None and sum_ns > chain.max_latency_ns:
            found.append(
                f"chain {chain.name}: its tasks take {format_ns(sum_ns)} one after the other wherever they run, longer "
                f"than its limit of {format_ns(chain.max_latency_ns)}"
            )
    return found


def _necessary(system: System, problem: PlacementProblem) -> PlacementProblem:
    """The problem with nothing in it but what every plan has to keep."""
    elements = [pe for device in system.devices for pe in device.processing_elements]
    in_all_modes = set.intersection(*(set(mode.tasks) for mode in system.modes)) if system.modes else None
    load = tuple(
        tuple(_least_load(task, pe, cost, counts=in_all_modes is None or task.name in in_all_modes) for pe, cost in row)
        for task, row in (
            (task, zip(elements, costs, strict=True)) for task, costs in zip(system.tasks, problem.wcet_ns, strict=True)
        )
    )
    ceilings = frozenset(one.name for one in system.resources if one.protocol is Protocol.PRIORITY_CEILING)
    return replace(problem, load=load, together=bundles(system, ceilings), hops=(), ways=(*problem.hops, *problem.ways))


def _least_load(task: Task, element: ProcessingElement, wcet_ns: int | None, *, counts: bool) -> int:
    """In millionths of one core, rounded down; nothing of what may be shed."""
    if not counts or wcet_ns is None or _sheds(task) or _pairs(task):
        return 0
    low_ns = task.execution.wcet_lo_ns
    whole_ns = longest_demand_ns(task, element)
    return (whole_ns if low_ns is None else min(whole_ns, low_ns)) * WHOLE_CORE // (task.separation_ns + 1)


def _sheds(task: Task) -> bool:
    """Whether a job may legally be late, or be cut short."""
    return task.miss_limit is not None or (task.budget_ns is not None and task.budget.action is not OverrunAction.LOG)


def _pairs(task: Task) -> bool:
    """Whether messages that find no partner make no job."""
    activation = task.activation
    activating = [one for one in task.inputs if input_role(activation, one) is not Role.READ]
    return isinstance(activation, OnMessage) and activation.join is Join.ALL and len(activating) > 1
