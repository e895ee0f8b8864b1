"""What a search for takeovers stands on: a system and its plan, with the bounds of every mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

from rt_sched.analysis.faults.takeovers import Takeovers
from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, load_task, mode_loads
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.system.engine import Known, TaskBound, mode_bounds
from rt_sched.lowering.lower import input_role, uses_let
from rt_sched.lowering.machine_input import Role
from rt_sched.lowering.task_rows import Execution, task_row
from rt_sched.model import (
    ExecutionTime,
    Placement,
    Plan,
    ProcessingElement,
    Processor,
    System,
    Task,
    Variant,
)
from rt_sched.planner.failover.levels import Levels


class Ground:
    """`plan`: with room between its levels. `modes`, `bounds`: of every mode. `judge`: of takeovers.

    `grids`: distance and jitter of the arrivals of every task, None where they are not those of one grid.
    """

    def __init__(self, system: System, plan: Plan, methods: Sequence[Method] = METHODS) -> None:
        self.system = system
        self.levels = Levels.of(system, plan)
        self.plan = replace(self.levels.spread(plan), takeovers=())
        self.tasks: Mapping[str, Task] = {task.name: task for task in system.tasks}
        self.index_of = {task.name: index for index, task in enumerate(system.tasks)}
        self.home = {placement.task: placement.processor for placement in plan.placements}
        self.elements: Mapping[tuple[str, str], ProcessingElement] = {
            (device.name, pe.name): pe for device in system.devices for pe in device.processing_elements
        }
        known: Known = {}
        self.modes: Mapping[str, ModeLoad] = {mode.name: mode for mode in mode_loads(system, self.plan)}
        self.bounds = {name: mode_bounds(mode, methods, known) for name, mode in self.modes.items()}
        verdicts = {(name, one.task.name): _verdict(one) for name, all_ in self.bounds.items() for one in all_.values()}
        self.judge = Takeovers(system, self.modes, self.bounds, verdicts, methods, known)
        self.residents = self._residents()
        self.grids = {task.name: self._grid(task.name) for task in system.tasks}
        self.feeders = {task.name: tuple(dict.fromkeys(one.source for one in task.inputs)) for task in system.tasks}
        self.readers: dict[str, list[str]] = {}
        for task in system.tasks:
            for source in self.feeders[task.name]:
                self.readers.setdefault(source, []).append(task.name)

    def device_of(self, processor: int) -> str:
        """The device of a processor of the plan."""
        return self.plan.processors[processor].device

    def element_of(self, processor: Processor) -> ProcessingElement:
        """The element of a processor of the plan."""
        return self.elements[processor.device, processor.pe]

    def activating(self, task: str) -> tuple[str, ...]:
        """What activates a task: sensors and tasks."""
        one = self.tasks[task]
        return tuple(p.source for p in one.inputs if input_role(one.activation, p) is not Role.READ)

    def sets_off(self, task: str) -> frozenset[str]:
        """A task with all that its messages activate in turn."""
        found, open_names = {task}, [task]
        while open_names:
            name = open_names.pop()
            for reader in self.readers.get(name, ()):
                if reader not in found and name in self.activating(reader):
                    found.add(reader)
                    open_names.append(reader)
        return frozenset(found)

    def with_grids(self, grids: Mapping[str, tuple[int, int] | None]) -> Ground:
        """The same ground with other distances and jitters of arrivals."""
        other = copy(self)
        other.grids = dict(grids)
        return other

    def is_in_time(self, task: str) -> bool:
        """Whether a task keeps its deadline in every mode without any loss."""
        index = self.index_of[task]
        found = [all_[index] for all_ in self.bounds.values() if index in all_]
        return all(_verdict(one) is Verdict.SCHEDULABLE for one in found)

    def _grid(self, task: str) -> tuple[int, int] | None:
        """Distance and jitter of the arrivals of a task without losses, in the mode that is worst; None: not known."""
        index = self.index_of[task]
        found = [all_[index].streams for all_ in self.bounds.values() if index in all_]
        streams = [stream for one in found for stream in one]
        if not streams or any(len(one) != 1 for one in found):
            return None
        return min(s.period_ns for s in streams), max(s.jitter_ns for s in streams)

    def as_loaded(self, task: str, processor: int, variant: Variant | None) -> LoadTask:
        """A task as a processor would see it."""
        one = self.tasks[task]
        if variant is not None:
            one = replace(one, execution=variant.execution, execution_by_kind=variant.execution_by_kind)
        place = self.plan.processors[processor]
        placement = Placement(task, processor, self.levels.standby(self.index_of[task], processor))
        clock = next(device.clock for device in self.system.devices if device.name == place.device)
        longest, shortest = (
            task_row(
                one,
                placement,
                self.element_of(place),
                clock,
                execution=execution,
                let=uses_let(self.system, one),
                active=True,
                resource_of={resource.name: number for number, resource in enumerate(self.system.resources)},
            )
            for execution in (Execution.WCET, Execution.BCET)
        )
        setup = next(iter(self.modes.values())).setup
        return load_task(self.index_of[task], longest, setup.processors[processor], shortest, one, False)

    def times_on(self, task: Task, element: ProcessingElement) -> ExecutionTime:
        """The declared execution time on an element of this kind."""
        return dict(task.execution_by_kind).get(element.kind, task.execution)

    def has_time(self, task: Task, how: Task | Variant, element: ProcessingElement) -> bool:
        """Whether a task, or its variant, has an execution time on an element: for that kind, or that of its own."""
        return element.kind in dict(how.execution_by_kind) or element.kind is self.elements[task.pe].kind

    def _residents(self) -> list[list[LoadTask]]:
        """By processor, every task at home there, as the mode sees it in which it takes longest."""
        found: list[dict[int, LoadTask]] = [{} for _ in self.plan.processors]
        for mode in self.modes.values():
            for here, load in zip(found, mode.loads, strict=True):
                for task in load.tasks:
                    if task.index not in here or here[task.index].cost_ns < task.cost_ns:
                        here[task.index] = task
        return [list(here.values()) for here in found]


def _verdict(one: TaskBound) -> Verdict:
    in_time = one.bound is not None and one.bound.value_ns <= one.task.deadline_ns
    return Verdict.SCHEDULABLE if in_time else Verdict.INCONCLUSIVE
