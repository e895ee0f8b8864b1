"""A system as a placement problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rt_sched.lowering import Role, input_role
from rt_sched.lowering.routes import Routes
from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import Input, Policy, ProcessingElement, Protocol, System, Task
from rt_sched.planner.energy import EnergyModel, energy_model
from rt_sched.planner.placing.problem import WHOLE_CORE, Hop, PlacementProblem

#: Elements whose cycles name the tasks that run there.
_BY_CYCLE = (Policy.TIME_SLICED, Policy.TABLE)


def placement_problem(system: System) -> PlacementProblem:
    """Tasks in the order of the system, processing elements as places, devices as groups.

    A task may go to its element and its candidates; not away from a fixed core, and not to or from an element whose
    cycle names its tasks. Hops are the inputs that activate; a job cannot begin before its sensor's sample has come,
    which takes that sensor's latency and jitter. Loads count two switches a job, as the analysis does.
    """
    elements = [(device.name, pe) for device in system.devices for pe in device.processing_elements]
    devices = [device.name for device in system.devices]
    routes = Routes(system)
    index_of = {task.name: index for index, task in enumerate(system.tasks)}
    places_of = [_places(task, elements) for task in system.tasks]
    wcet_ns = tuple(
        tuple(longest_demand_ns(task, pe) if place in places else None for place, (_, pe) in enumerate(elements))
        for task, places in zip(system.tasks, places_of, strict=True)
    )
    hops: list[Hop] = []
    ways: list[Hop] = []
    for task in system.tasks:
        for given in task.inputs:
            if given.source in index_of:
                hop = Hop(index_of[given.source], index_of[task.name], _costs(task, given, devices, routes))
                (ways if input_role(task.activation, given) is Role.READ else hops).append(hop)
    model = energy_model(system)
    return PlacementProblem(
        tasks=tuple(index_of),
        places=tuple(f"{device}.{pe.name}" for device, pe in elements),
        cores=tuple(pe.cores for _, pe in elements),
        group_of=tuple(devices.index(device) for device, _ in elements),
        wcet_ns=wcet_ns,
        hops=tuple(hops),
        entry_ns=tuple(
            tuple(_entry_ns(system, task, device, routes) for device, _ in elements) for task in system.tasks
        ),
        load=tuple(
            tuple(_load(task, pe, cost) for (_, pe), cost in zip(elements, row, strict=True))
            for task, row in zip(system.tasks, wcet_ns, strict=True)
        ),
        memory_bytes=tuple(task.memory_bytes or 0 for task in system.tasks),
        memory_limits=tuple(device.memory_bytes for device in system.devices),
        together=bundles(system, frozenset(one.name for one in system.resources if one.protocol is not Protocol.MSRP)),
        ends=_ends(system, index_of),
        busy_mw=_powers(elements, model, busy=True),
        idle_mw=_powers(elements, model, busy=False),
        ways=tuple(ways),
    )


def _places(task: Task, elements: list[tuple[str, ProcessingElement]]) -> set[int]:
    wanted = {task.pe} if task.core is not None else {task.pe, *task.candidates}
    home = next(pe for device, pe in elements if (device, pe.name) == task.pe)
    if home.policy in _BY_CYCLE:
        wanted = {task.pe}
    return {
        place
        for place, (device, pe) in enumerate(elements)
        if (device, pe.name) in wanted and (pe.policy not in _BY_CYCLE or (device, pe.name) == task.pe)
    }


def _costs(task: Task, given: Input, devices: list[str], routes: Routes) -> tuple[tuple[int | None, ...], ...]:
    return tuple(tuple(routes.cost_ns(task, given, (sent,), here) for here in devices) for sent in devices)


def _entry_ns(system: System, task: Task, device: str, routes: Routes) -> int | None:
    sensors = {sensor.name: sensor for sensor in system.sensors}
    entry_ns = 0
    for given in task.inputs:
        sensor = sensors.get(given.source)
        if sensor is None:
            continue
        cost_ns = routes.cost_ns(task, given, sensor.attached_to, device)
        if cost_ns is None:
            return None
        if input_role(task.activation, given) is not Role.READ:
            entry_ns = max(entry_ns, sensor.latency_ns + sensor.jitter_ns + cost_ns)
    return entry_ns


def _load(task: Task, element: ProcessingElement, cost_ns: int | None) -> int:
    switches = 2 if element.preemptive else 1
    return -(-((cost_ns or 0) + switches * element.switch_cost_ns) * WHOLE_CORE // task.separation_ns)


def bundles(system: System, resources: Collection[str]) -> tuple[tuple[int, ...], ...]:
    """Tasks that share one of `resources`, whose protocols work on one core, with all that these share with others."""
    index_of = {task.name: index for index, task in enumerate(system.tasks)}
    group_of = list(range(len(system.tasks)))
    for resource in system.resources:
        if resource.name not in resources:
            continue
        users = [index_of[t.name] for t in system.tasks if any(one.resource == resource.name for one in t.sections)]
        joined = {group_of[user] for user in users}
        group_of = [min(joined) if group in joined else group for group in group_of]
    found: dict[int, list[int]] = {}
    for task, group in enumerate(group_of):
        found.setdefault(group, []).append(task)
    return tuple(tuple(bundle) for bundle in found.values() if len(bundle) > 1)


def _ends(system: System, index_of: Mapping[str, int]) -> tuple[tuple[int, int], ...]:
    """The last task of every part of a chain that one arrival sets off; without chains, of every such part at all."""
    tasks = {task.name: task for task in system.tasks}
    weight: dict[int, int] = {}
    for chain in system.chains:
        path = [name for name in chain.path if name in tasks]
        for name, following in zip(path, [*path[1:], None], strict=True):
            if following is None or not _activates(tasks[following], name):
                weight[index_of[name]] = weight.get(index_of[name], 0) + 1
    if not weight:
        followed = {given.source for task in system.tasks for given in task.inputs if _activates(task, given.source)}
        weight = {index: 1 for name, index in index_of.items() if name not in followed}
    return tuple(sorted(weight.items()))


def _activates(task: Task, source: str) -> bool:
    return any(given.source == source and input_role(task.activation, given) is not Role.READ for given in task.inputs)


def _powers(elements: list[tuple[str, ProcessingElement]], model: EnergyModel, *, busy: bool) -> tuple[int, ...]:
    found = (model.of[device, pe.name] for device, pe in elements)
    return tuple(one.busy_mw if busy else one.idle_mw for one in found)
