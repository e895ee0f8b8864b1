"""Why a plan is as it is: each task's place, the critical path, loads, speed-up, and frames that overlap."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import Plan, System
from rt_sched.planner.objectives import Costs, Objective, core_loads
from rt_sched.planner.placing.heft import critical_path, heft
from rt_sched.planner.placing.problem import WHOLE_CORE
from rt_sched.planner.planned import Planned
from rt_sched.units import format_ms


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a task is where it is, and for each other element that it may run on, why not there."""

    task: str
    processor: str
    why: str
    instead: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FrameFigures:
    """One frame through the plan: one job of every task at its worst case, as early as list scheduling puts it.

    `makespan_ns`: until the last job is done; `path`, `path_ns`: the critical path, and its length without any wait for
    a core. `work_ns`: all jobs one after the other; `speed_up`: that over the makespan; `efficiency`: that for each
    core in use. `imbalance`: load of the fullest core over the mean of those in use. `period_ns`: between frames of
    the critical path; `frames_at_once`: frames on their way at one time. `fullest`: the core that limits the
    throughput, `throughput_hz`: frames a second when it never idles; `bubbles`: the share of time that cores in use
    idle, `bubbles_fullest`: that the fullest one does.
    """

    makespan_ns: int
    path: tuple[str, ...]
    path_ns: int
    work_ns: int
    speed_up: float
    efficiency: float
    imbalance: float
    period_ns: int
    frames_at_once: int
    fullest: str
    throughput_hz: float
    bubbles: float
    bubbles_fullest: float


def frame_figures(system: System, planned: Planned) -> FrameFigures | None:
    """The figures of one frame; None without a plan."""
    best = planned.best
    if best is None or best.plan is None:
        return None
    problem = planned.problem
    schedule = heft(problem, fixed=best.place)
    if schedule is None:
        return None
    path, path_ns = critical_path(problem, best.place)
    work_ns = sum(problem.wcet_ns[task][p] or 0 for task, p in enumerate(best.place))
    begin_ns = min((schedule.start_ns[task] for task in range(len(problem.tasks))), default=0)
    span_ns = max(1, schedule.makespan_ns - begin_ns)
    loads = core_loads(system, best.plan)
    used = [
        (load, processor.name, processor.cores)
        for load, processor in zip(loads, best.plan.processors, strict=True)
        if load
    ]
    cores = sum(count for _, _, count in used)
    mean = sum(load * count for load, _, count in used) / cores
    fullest, name, _ = max(used)
    period_ns = min(system.tasks[task].separation_ns for task in path)
    return FrameFigures(
        schedule.makespan_ns,
        tuple(problem.tasks[task] for task in path),
        path_ns,
        work_ns,
        work_ns / span_ns,
        work_ns / span_ns / cores,
        fullest / mean,
        period_ns,
        -(-schedule.makespan_ns // period_ns),
        name,
        1e9 / period_ns * WHOLE_CORE / fullest,
        1 - mean / WHOLE_CORE,
        1 - fullest / WHOLE_CORE,
    )


def reasons(system: System, planned: Planned) -> tuple[Reason, ...]:
    """A reason for every task, in the order of the system; nothing without a plan."""
    if planned.best is None or planned.best.plan is None:
        return ()
    camera_of = {
        name: camera
        for camera, names in (planned.grouping.tasks_of if planned.grouping else {}).items()
        for name in names
    }
    beside = {one.second: one for one in planned.fused}
    bundles = {task: bundle for bundle in planned.problem.together for task in bundle}
    plan, problem = planned.best.plan, planned.problem
    processor_of = {one.task: plan.processors[one.processor] for one in plan.placements}
    found = []
    for index, task in enumerate(system.tasks):
        others = [p for p in problem.open_places[index] if p != planned.best.place[index]]
        place = problem.places[planned.best.place[index]]
        if not others:
            why = f"bound to core {task.core}" if task.core is not None else "the only element it may run on"
        elif task.name in camera_of and planned.best.method.startswith("grouped"):
            why = f"with camera {camera_of[task.name]} on {place.partition('.')[0]}"
        elif index in bundles:
            mates = ", ".join(problem.tasks[one] for one in bundles[index] if one != index)
            why = f"shares a resource on one core with {mates}"
        else:
            why = f"best for {planned.objective.value} of {len(others) + 1} elements"
        fused = beside.get(task.name)
        if fused is not None and processor_of[fused.first] == processor_of[task.name]:
            share = f"{float(100 * fused.share):.0f} %"
            why += f"; on the core of {fused.first}: a hand-over costs {share} of the smaller of the two"
        instead = tuple((problem.places[p], _why_not(system, planned, index, p)) for p in others)
        found.append(Reason(task.name, processor_of[task.name].name, why, instead))
    return tuple(found)


def _why_not(system: System, planned: Planned, task: int, place: int) -> str:
    """What speaks against moving just this task to another place."""
    best = planned.best
    assert best is not None  # noqa: S101  # `reasons` has asked
    assert best.costs is not None  # noqa: S101
    tried = planned.beside.get((task, place))
    if tried is not None and tried.costs is None:
        return tried.refused
    if tried is not None and tried.costs is not None:
        return _compared(planned.objective, best.costs, tried.costs)
    problem = planned.problem
    here, there = problem.wcet_ns[task][best.place[task]] or 0, problem.wcet_ns[task][place] or 0
    loads = sum(problem.load[t][p] for t, p in enumerate(best.place) if p == place)
    then = (loads + problem.load[task][place]) / problem.cores[place] / (WHOLE_CORE / 100)
    words = "" if here == there else f"takes {format_ms(there)} ms there, not {format_ms(here)}; "
    if not problem.reached(task, place, {t: p for t, p in enumerate(best.place) if t != task}):
        return words + "its messages find no way there"
    grouping = planned.grouping
    name = system.tasks[task].name
    camera = next((c for c, names in grouping.tasks_of.items() if name in names), None) if grouping else None
    together = grouping is not None and camera is not None and best.method.startswith("grouped")
    if together and grouping and problem.places[place].partition(".")[0] != grouping.device_of[camera or ""]:
        return words + f"apart from the other tasks of camera {camera}"
    return words + f"not looked at; that element would carry {then:.0f} %"


def _compared(objective: Objective, best: Costs, tried: Costs) -> str:
    if not tried.accepted and best.accepted:
        return f"the analysis does not accept it: bounds exceed limits by {float(100 * tried.late):.1f} % in all"
    if tried.latency_ns is None:
        return "some chain would have no bound"
    what, then, now, sign = {
        Objective.LATENCY: ("mean latency", tried.latency_ns / 1e6, (best.latency_ns or 0) / 1e6, " ms"),
        Objective.ENERGY: ("power", tried.power_mw / 1e3, best.power_mw / 1e3, ""),
        Objective.BALANCE: ("fullest core", tried.peak / 1e4, best.peak / 1e4, " %"),
        Objective.MARGIN: ("least margin", float(100 * tried.margin), float(100 * best.margin), " %"),
    }[objective]
    if then == now:
        return f"{what} would be the same, and what comes after it no better"
    return f"{what} would be {then:.3f} instead of {now:.3f}{sign}"


def loads_of_elements(system: System, plan: Plan) -> dict[str, float]:
    """Element -> the share of all its cores' time that worst-case execution takes."""
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    found = {f"{device}.{name}": Fraction(0) for device, name in elements}
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        processor = plan.processors[placement.processor]
        element = elements[processor.device, processor.pe]
        work = Fraction(longest_demand_ns(task, element), task.separation_ns * element.cores)
        found[f"{processor.device}.{processor.pe}"] += work
    return {name: float(load) for name, load in found.items()}
