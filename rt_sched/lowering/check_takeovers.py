"""Whether the takeovers of a plan can be carried out on its system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rt_sched import model
from rt_sched.lowering.routes import check_routes
from rt_sched.lowering.takeovers import placement_under, plan_under

#: Elements with these policies run only what their cycle was made for.
_BY_CYCLE = (model.Policy.TIME_SLICED, model.Policy.TABLE)


def check_takeovers(system: model.System, plan: model.Plan) -> list[str]:
    """Every reason why a takeover of `plan` cannot be carried out. The nominal placements have passed their checks."""
    problems = []
    for losses, count in Counter(frozenset(takeover.losses) for takeover in plan.takeovers).items():
        if count > 1:
            problems.append(f"{count} takeovers answer the loss of {', '.join(sorted(losses)) or 'nothing'}")
    for takeover in plan.takeovers:
        checked = _Takeover(system, plan, takeover)
        problems += [f"takeover of {', '.join(takeover.losses) or 'nothing'}: {text}" for text in checked.problems()]
    return problems or _check_memory(system, plan)


def _check_memory(system: model.System, plan: model.Plan) -> list[str]:
    """Devices without the memory for their tasks and those that are ready to take over there. The former fit alone."""
    there: dict[str, set[str]] = {device.name: set() for device in system.devices}
    for placement in (*plan.placements, *(move for takeover in plan.takeovers for move in takeover.moves)):
        there[plan.processors[placement.processor].device].add(placement.task)
    problems = []
    for device in system.devices:
        needed = sum(task.memory_bytes or 0 for task in system.tasks if task.name in there[device.name])
        if plan.takeovers and device.memory_bytes is not None and needed > device.memory_bytes:
            problems.append(
                f"device {device.name}: its tasks and those that are ready to take over need {needed} bytes of memory, "
                f"and it has {device.memory_bytes}"
            )
    return problems


class _Takeover:
    """One takeover, checked against its system and the nominal plan."""

    def __init__(self, system: model.System, plan: model.Plan, takeover: model.Takeover) -> None:
        self._system, self._plan, self._takeover = system, plan, takeover
        self._tasks = {task.name: task for task in system.tasks}
        self._elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
        self._nominal = {placement.task: placement for placement in plan.placements}
        self._moved = {placement.task for placement in takeover.moves}
        self._lost = {loss.removeprefix("device:") for loss in takeover.losses if loss.startswith("device:")}

    def problems(self) -> list[str]:
        """All of them."""
        takeover = self._takeover
        found = [*self._losses(), *self._weights()]
        for what, names in (
            ("moved", [placement.task for placement in takeover.moves]),
            ("dropped", takeover.dropped),
            ("redone", takeover.redone),
            ("at once", [name for name, _ in takeover.at_once]),
            ("in a variant", [name for name, _ in takeover.variants]),
        ):
            found += [f"task {name} is {what}, but there is no such task" for name in names if name not in self._tasks]
            found += [f"task {name} is {what} {count} times" for name, count in Counter(names).items() if count > 1]
        if not found:
            found = [*self._places(), *self._levels(), *self._sharing(), *self._dropped(), *self._arrivals()]
            found += self._variants()
        return found or check_routes(self._system, plan_under(takeover, self._plan), self._lost)

    def _losses(self) -> Iterable[str]:
        losses = self._takeover.losses
        known = {f"{sensor.kind.value}:{sensor.name}" for sensor in self._system.sensors}
        known |= {f"device:{device.name}" for device in self._system.devices}
        known |= {f"link:{link.name}" for link in self._system.links}
        if not losses:
            yield "it names no loss"
        yield from (
            f"{loss} is nothing that can be lost; there are: {_listed(known)}" for loss in losses if loss not in known
        )
        yield from (f"{loss} is lost {count} times" for loss, count in Counter(losses).items() if count > 1)
        if list(losses) != sorted(losses):
            yield "its losses are not in order"

    def _weights(self) -> Iterable[str]:
        known = {sensor.name for sensor in self._system.sensors}
        names = [name for name, _ in self._takeover.weights]
        yield from (f"sensor {name} has a weight, but there is no such sensor" for name in names if name not in known)
        yield from (f"sensor {name} has {count} weights" for name, count in Counter(names).items() if count > 1)
        yield from (f"sensor {name} has the weight {weight}" for name, weight in self._takeover.weights if weight < 0)

    def _places(self) -> Iterable[str]:
        """Whether each moved task may be, and has a known execution time, where it goes."""
        for placement in self._takeover.moves:
            task = self._tasks[placement.task]
            if not 0 <= placement.processor < len(self._plan.processors):
                yield f"task {task.name} moves to processor {placement.processor} of {len(self._plan.processors)}"
                continue
            old = self._plan.processors[self._nominal[task.name].processor]
            new = self._plan.processors[placement.processor]
            place = (new.device, new.pe)
            alike = self._elements[place].kind is self._elements[task.pe].kind
            if place not in (task.pe, *task.candidates) and (task.candidates or not alike):
                places = " or ".join(".".join(pe) for pe in (task.pe, *task.candidates))
                yield f"task {task.name} belongs on {places}, not on {new.name}"
            elif place == task.pe and task.core is not None and not new.core <= task.core < new.core + new.cores:
                yield f"task {task.name} is bound to core {task.core}, not to {new.name}"
            elif not self._has_time(task, place):
                kind = self._elements[place].kind.value
                yield f"task {task.name} has no execution time on a {kind}, as {new.name} is"
            if new.device in self._lost:
                yield f"task {task.name} moves to {new.name}, which is lost"
            if new == old:
                yield f"task {task.name} moves to {new.name}, where it is"
            yield from (
                f"task {task.name} moves {way} {one.name}, which is {one.policy.value}: its cycle is fixed"
                for way, one in (("from", old), ("to", new))
                if one.policy in _BY_CYCLE
            )

    def _has_time(
        self, one: model.Task | model.Variant, place: tuple[str, str], home: tuple[str, str] | None = None
    ) -> bool:
        """Whether an execution time is declared for the element: of its kind, or of that of the task's own element."""
        kind = self._elements[place].kind
        home = one.pe if isinstance(one, model.Task) else home
        return kind in dict(one.execution_by_kind) or (home is not None and self._elements[home].kind is kind)

    def _levels(self) -> Iterable[str]:
        """Levels on every processor: those of tasks that stay, unless they are dropped, and of those that come."""
        there: dict[tuple[int, int], str] = {}
        staying = [
            placement
            for placement in self._plan.placements
            if placement.task not in self._moved and placement.task not in self._takeover.dropped
        ]
        for placement in (*staying, *self._takeover.moves):
            if placement.level < 0:
                yield f"task {placement.task} has the level {placement.level}; levels count from 0"
            other = there.setdefault((placement.processor, placement.level), placement.task)
            if other != placement.task and 0 <= placement.processor < len(self._plan.processors):
                name = self._plan.processors[placement.processor].name
                yield f"tasks {other} and {placement.task} share level {placement.level} on {name}"

    def _sharing(self) -> Iterable[str]:
        """Ceilings hold on the core for which they are computed."""
        protocols = {resource.name: resource.protocol for resource in self._system.resources}
        for name in sorted(self._moved):
            for section in self._tasks[name].sections:
                if protocols.get(section.resource) is model.Protocol.PRIORITY_CEILING:
                    yield (
                        f"task {name} holds {section.resource}, whose priority_ceiling works on one core; it stays "
                        "there, or use priority_inheritance or msrp"
                    )

    def _dropped(self) -> Iterable[str]:
        takeover = self._takeover
        for what, names in (
            ("moved", self._moved),
            ("redone", takeover.redone),
            ("at once", [name for name, _ in takeover.at_once]),
            ("in a variant", [name for name, _ in takeover.variants]),
        ):
            yield from (f"task {name} is dropped and {what}" for name in takeover.dropped if name in names)

    def _arrivals(self) -> Iterable[str]:
        for name in self._takeover.redone:
            if name not in self._moved:
                yield f"task {name} is redone, but does not move"
            if self._tasks[name].is_timed:
                yield f"task {name} is redone, but no message activates it"
        for name, delay_ns in self._takeover.at_once:
            if not self._tasks[name].is_timed:
                yield f"task {name} is at once, but messages activate it; that is what redone is for"
            if delay_ns < 0:
                yield f"task {name} is at once {-delay_ns} ns before the switch"

    def _variants(self) -> Iterable[str]:
        for name, wanted in self._takeover.variants:
            task = self._tasks[name]
            variant = next((one for one in task.variants if one.name == wanted), None)
            if variant is None:
                known = _listed(one.name for one in task.variants) or "none"
                yield f"task {name} has no variant {wanted}; there are: {known}"
                continue
            index = placement_under(self._takeover, self._nominal[name]).processor
            if variant.every < 1:
                yield f"variant {wanted} of task {name} does one of {variant.every} arrivals"
            if not 0 <= index < len(self._plan.processors):
                continue
            processor = self._plan.processors[index]
            if not self._has_time(variant, (processor.device, processor.pe), task.pe):
                yield f"variant {wanted} of task {name} has no execution time on {processor.name}"
            if variant.execution.wcet_lo_ns is not None:
                yield f"variant {wanted} of task {name} has a C_LO; that of a task never changes"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
