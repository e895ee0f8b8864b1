"""From checked machine input to the tables of the state machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import tables
from rt_sched.kernels.tables import Machine
from rt_sched.lowering.machine_input import EdgeRow, MachineInput, Policy, edge_slots

Int64s = npt.NDArray[np.int64]


def sample_order(given: MachineInput) -> Int64s:
    """Positions of the given samples in the order in which they arrive: by time, sensor, position."""
    return np.lexsort((given.samples.sensor, given.samples.arrival_ns)).astype(np.int64)


def build_machine(given: MachineInput, order: Int64s, rows: int) -> Machine:
    """The machine before its first instant; `order` from `sample_order`, `rows`: first size of the growing tables."""
    links = _Links()
    clock = np.zeros(1, tables.CLOCK)
    clock["horizon_ns"] = given.horizon_ns
    clock["seed"] = np.uint64(given.seed)
    tasks = _tasks(given, links)
    slots = edge_slots(given.edges)
    return Machine(
        clock=clock,
        processors=_processors(given, links),
        tasks=tasks,
        edges=_edges(given.edges, slots),
        sensors=_sensors(given, links),
        links=np.array(links.flat, np.int64),
        quantiles=_quantiles(given),
        demands=np.array([d for task in given.tasks for d in task.explicit_demands_ns], np.int64),
        samples=_samples(given, order),
        faults=_faults(given),
        rings=np.zeros(sum(edge.depth for edge in given.edges), np.int64),
        jobs=np.zeros(rows, tables.JOB),
        inputs=np.full((rows, max(slots, default=0) + 1), tables.NONE, np.int64),
        slices=np.zeros(rows, tables.SLICE),
        drops=np.zeros(rows, tables.DROP),
        events=np.zeros(rows, tables.EVENT),
    )


class _Links:
    """Index lists, one after the other in one array."""

    def __init__(self) -> None:
        self.flat: list[int] = []

    def add(self, indices: list[int]) -> tuple[int, int]:
        first = len(self.flat)
        self.flat.extend(indices)
        return first, len(self.flat)


def _processors(given: MachineInput, links: _Links) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.processors), tables.PROCESSOR)
    for row, (index, processor) in zip(table, enumerate(given.processors), strict=True):
        row["policy"] = processor.policy
        row["preemptive"] = processor.preemptive and processor.policy != Policy.FIFO
        placed = [number for number, task in enumerate(given.tasks) if task.processor == index]
        row["first_task"], row["last_task"] = links.add(placed)
        row["running"] = tables.NONE
        row["completion_ns"] = row["overrun_ns"] = tables.NEVER_NS
    return table


def _tasks(given: MachineInput, links: _Links) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.tasks), tables.TASK)
    demands = 0
    for row, (index, task) in zip(table, enumerate(given.tasks), strict=True):
        row["processor"] = task.processor
        row["level"] = task.level
        row["deadline_ns"] = task.deadline_ns
        row["offset_ns"] = task.offset_ns
        row["budget_ns"] = tables.NONE if task.budget_ns is None else task.budget_ns
        row["deadline_action"] = task.deadline_action
        row["tolerance_ns"] = task.tolerance_ns
        row["next_arrival_ns"] = tables.NEVER_NS
        row["activation"] = tables.ON_MESSAGE
        if task.rate_hz is not None:
            row["activation"] = tables.TIMED
            row["next_arrival_ns"] = task.offset_ns
            row["rate_numerator"] = task.rate_hz.numerator
            row["period_ns"], row["period_rest"] = divmod(task.rate_hz.denominator * 10**9, task.rate_hz.numerator)
        inputs = [number for number, edge in enumerate(given.edges) if edge.target == index]
        outputs = [number for number, edge in enumerate(given.edges) if edge.task == index]
        row["first_input"], row["last_input"] = links.add(inputs)
        row["first_output"], row["last_output"] = links.add(outputs)
        row["first_demand"], row["explicit_demands"] = demands, len(task.explicit_demands_ns)
        demands += len(task.explicit_demands_ns)
        row["head_job"] = row["tail_job"] = row["deadline_job"] = tables.NONE
        row["next_deadline_ns"] = tables.NEVER_NS
    return table


def _edges(edges: tuple[EdgeRow, ...], slots: tuple[int, ...]) -> npt.NDArray[np.void]:
    table = np.zeros(len(edges), tables.EDGE)
    places = 0
    for row, edge, slot in zip(table, edges, slots, strict=True):
        row["target"] = edge.target
        row["slot"] = slot
        row["kind"] = edge.kind
        row["depth"] = edge.depth
        row["drop_policy"] = edge.overflow
        row["required"] = edge.required
        row["role"] = edge.role
        row["first_place"] = places
        row["register"] = tables.NONE
        places += edge.depth
    return table


def _sensors(given: MachineInput, links: _Links) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.sensors), tables.SENSOR)
    for row, index in zip(table, range(len(given.sensors)), strict=True):
        outputs = [number for number, edge in enumerate(given.edges) if edge.sensor == index]
        row["first_output"], row["last_output"] = links.add(outputs)
    return table


def _quantiles(given: MachineInput) -> Int64s:
    table = np.zeros((len(given.tasks), tables.QUANTILES), np.int64)
    for row, task in zip(table, given.tasks, strict=True):
        row[:] = task.demand_ns
    return table


def _samples(given: MachineInput, order: Int64s) -> npt.NDArray[np.void]:
    table = np.zeros(len(order), tables.SAMPLE)
    table["arrival_ns"] = given.samples.arrival_ns[order]
    table["sensor"] = given.samples.sensor[order]
    table["capture_ns"] = given.samples.capture_ns[order]
    table["status"] = tables.SAMPLE_WAITING
    return table


def _faults(given: MachineInput) -> npt.NDArray[np.void]:
    ordered = sorted(given.faults, key=lambda fault: (fault.time_ns, fault.kind, fault.target))
    table = np.zeros(len(ordered), tables.FAULT)
    for row, fault in zip(table, ordered, strict=True):
        row["time_ns"], row["kind"], row["target"] = fault.time_ns, fault.kind, fault.target
    return table
