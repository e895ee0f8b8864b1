"""From checked machine input to the tables of the state machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes, tables
from rt_sched.kernels.tables import Machine
from rt_sched.lowering.machine_input import (
    MachineInput,
    OverrunAction,
    Policy,
    Protocol,
    TaskRow,
    edge_slots,
)
from rt_sched.sim.planned import planned_changes, transfer_ns
from rt_sched.sim.timer_sections import Timers
from rt_sched.sim.waiting_lists import ordered_processors

Int64s = npt.NDArray[np.int64]


def sample_order(given: MachineInput) -> Int64s:
    """Positions of the given samples in the order in which they arrive: by time, sensor, position."""
    return np.lexsort((given.samples.sensor, given.samples.arrival_ns)).astype(np.int64)


def build_machine(given: MachineInput, order: Int64s, rows: int) -> Machine:
    """The machine before its first instant; `order` from `sample_order`, `rows`: first size of the growing tables."""
    links, steps, explicit = _Lists(), _Lists(), _Lists()
    timers = Timers(given)
    slots = edge_slots(given.edges)
    spans = np.zeros(sum(len(p.slices) + len(p.table) for p in given.processors), tables.SPAN)
    tasks = _tasks(given, links, steps, explicit, timers)
    declarations = _declarations(given, steps, explicit)
    changes = planned_changes(given)
    processors = _processors(given, links, spans, timers)
    sensors = _sensors(given, links)
    clock = _clock(given, timers, len(steps.flat), len(changes))
    clock["first_locker"], clock["last_locker"] = links.add(_lockers(given))
    return Machine(
        clock=clock,
        timers=timers.values,
        soonest=timers.soonest(),
        processors=processors,
        cores=_cores(given),
        tasks=tasks,
        declarations=declarations,
        edges=_edges(given, slots),
        sensors=sensors,
        steps=np.array(steps.flat, tables.STEP) if steps.flat else np.zeros(0, tables.STEP),
        spans=spans,
        resources=_resources(given),
        lanes=_lanes(given),
        links=np.array(links.flat, np.int64),
        quantiles=_quantiles(given),
        explicit=np.array(explicit.flat, np.int64),
        samples=_samples(given, order),
        changes=changes,
        rings=np.zeros(sum(edge.depth for edge in given.edges), np.int64),
        jobs=np.zeros(rows, tables.JOB),
        inputs=np.full((rows, max(slots, default=0) + 1), codes.NONE, np.int64),
        slices=np.zeros(rows, tables.SLICE),
        drops=np.zeros(rows, tables.DROP),
        transfers=np.zeros(rows if given.links else 0, tables.TRANSFER),
        log=np.zeros(rows, tables.EVENT),
        events=np.zeros(rows, tables.EVENT),
    )


class _Lists:
    """Lists, one after the other in one array."""

    def __init__(self) -> None:
        self.flat: list[object] = []

    def add(self, items: Iterable[object]) -> tuple[int, int]:
        first = len(self.flat)
        self.flat.extend(items)
        return first, len(self.flat)


def _grouped(owners: Sequence[int | None], count: int) -> list[list[int]]:
    """Per owner, 0 ... count - 1, the positions at which it stands in `owners`, ascending."""
    groups: list[list[int]] = [[] for _ in range(count)]
    for position, owner in enumerate(owners):
        if owner is not None:
            groups[owner].append(position)
    return groups


def _clock(given: MachineInput, timers: Timers, steps: int, changes: int) -> npt.NDArray[np.void]:
    clock = np.zeros(1, tables.CLOCK)
    clock["horizon_ns"] = given.horizon_ns
    clock["seed"] = np.uint64(given.seed)
    clock["deadline_timers"], clock["arrival_timers"] = timers.deadlines, timers.arrivals
    clock["rest_timers"], clock["last_timer"] = timers.rest, timers.last
    clock["first_top"], clock["top_bits"] = timers.first_top, timers.top_bits
    clock["message_timers"], clock["check_timers"] = timers.messages, timers.checks
    clock["wake_timers"], clock["let_timers"] = timers.wake, timers.let
    clock["lane_timers"], clock["span_timers"] = timers.lanes, timers.spans
    clock["burst"] = max((_burst(task) for task in given.tasks), default=1) + bool(given.extra_arrivals)
    clock["log_room"] = 5 * steps + 12 * len(given.tasks) + 4 * len(given.processors) + changes
    return clock


def _burst(task: TaskRow) -> int:
    """Most jobs of a timed task that arrive at one instant."""
    return max(Counter(task.explicit_arrivals_ns or ()).values(), default=1)


def _processors(
    given: MachineInput, links: _Lists, spans: npt.NDArray[np.void], timers: Timers
) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.processors), tables.PROCESSOR)
    cores = filled = 0
    placed = _grouped([task.processor for task in given.tasks], len(given.processors))
    visitors = _visitors(given)
    ordered = ordered_processors(given)
    ceilings = {
        given.tasks[user].processor
        for number, resource in enumerate(given.resources)
        if resource.protocol == Protocol.PRIORITY_CEILING
        for user in _users(given, number)
    }
    for row, (index, processor) in zip(table, enumerate(given.processors), strict=True):
        row["policy"] = processor.policy
        row["preemptive"] = processor.preemptive and processor.policy != Policy.FIFO
        row["first_task"], row["last_task"] = links.add(placed[index])
        links.add([codes.NONE] * len(visitors[index]))
        row["first_waiting"], _ = links.add([codes.NONE] * (len(placed[index]) + len(visitors[index])))
        row["ordered"] = index in ordered
        row["first_core"], row["last_core"] = cores, cores + processor.cores
        cores += processor.cores
        row["switch_ns"], row["migration_ns"] = processor.switch_ns, processor.migration_ns
        row["khz"] = row["declared_khz"] = processor.frequency_khz
        row["slack_sharing"] = processor.slack_sharing
        row["special"] = bool(processor.slices or processor.policy == Policy.TABLE) or (
            processor.policy == Policy.EDF and index in ceilings
        )
        row["ceiling_ns"] = codes.NEVER_NS
        row["entry_job"] = codes.NONE
        row["span_timer"] = timers.span_of.get(index, codes.NONE)
        row["first_span"] = row["span"] = filled
        row["cycle_ns"] = processor.cycle_ns
        start_ns = 0
        for piece in processor.slices:
            bounds = (start_ns, start_ns + piece.length_ns)
            spans[filled] = (*bounds, piece.switch_ns, *links.add(sorted(set(piece.tasks))))
            start_ns += piece.length_ns
            filled += 1
        if processor.slices:
            row["cycle_ns"] = start_ns
            timers.values[row["span_timer"]] = 0
        for entry in processor.table:
            spans[filled] = (entry.start_ns, entry.start_ns + entry.length_ns, 0, *links.add([entry.task]))
            filled += 1
        if processor.table:
            timers.values[row["span_timer"]] = processor.table[0].start_ns
        row["last_span"] = filled
    return table


def _visitors(given: MachineInput) -> list[set[int]]:
    """Per processor the tasks that are there at some time, but not at the start."""
    visitors: list[set[int]] = [set() for _ in given.processors]
    for change in given.task_changes:
        if change.row.processor != given.tasks[change.task].processor:
            visitors[change.row.processor].add(change.task)
    return visitors


def _cores(given: MachineInput) -> npt.NDArray[np.void]:
    owners = [index for index, processor in enumerate(given.processors) for _ in range(processor.cores)]
    table = np.zeros(len(owners), tables.CORE)
    table["processor"] = owners
    table["running"] = codes.NONE
    return table


def _tasks(given: MachineInput, links: _Lists, steps: _Lists, explicit: _Lists, timers: Timers) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.tasks), tables.TASK)
    inputs = _grouped([edge.target for edge in given.edges], len(given.tasks))
    outputs = _grouped([edge.task for edge in given.edges], len(given.tasks))
    for row, (index, task) in zip(table, enumerate(given.tasks), strict=True):
        _declare(row, task, given, steps, explicit)
        row["deadline_ns"] = task.deadline_ns
        row["deadline_action"] = task.deadline_action
        row["tolerance_ns"] = task.tolerance_ns
        row["let"], row["high"], row["active"] = task.let, task.high_criticality, task.active
        row["extra_ns"], row["jitter_ns"] = task.extra_separation_ns, task.jitter_ns
        row["separation_ns"] = task.separation_ns or 0
        row["activation"] = codes.TIMED if task.timed else codes.ON_MESSAGE
        _set_arrivals(row, index, task, timers)
        row["first_input"], row["last_input"] = links.add(inputs[index])
        row["first_output"], row["last_output"] = links.add(outputs[index])
        for name, values in (("jitter", task.explicit_jitters_ns), ("arrival", task.explicit_arrivals_ns or ())):
            row[f"first_{name}"], _ = explicit.add(values)
            row[f"explicit_{name}s"] = len(values)
        for name in ("head_job", "tail_job", "deadline_job", "let_job", "core", "waits_for", "last_arrival_ns"):
            row[name] = codes.NONE
        row["hold"] = codes.HOLD_NO_JOB
    return table


def _declarations(given: MachineInput, steps: _Lists, explicit: _Lists) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.task_changes), tables.TASK)
    for row, change in zip(table, given.task_changes, strict=True):
        _declare(row, change.row, given, steps, explicit)
    return table


def _declare(row: np.void, task: TaskRow, given: MachineInput, steps: _Lists, explicit: _Lists) -> None:
    """What a task change may replace."""
    policy = given.processors[task.processor].policy
    row["processor"] = task.processor
    row["level"] = task.level
    row["memory_ns"] = task.memory_ns
    row["every"] = task.every
    row["limited"] = task.preemption_points_ns is not None
    row["in_slice"] = policy != Policy.TIME_SLICED
    row["special"] = bool(
        task.separation_ns
        or task.jitter_ns
        or task.explicit_jitters_ns
        or task.let
        or task.overrun_action == OverrunAction.THROTTLE
        or task.every > 1
    )
    _set_budgets(row, task, policy)
    row["first_demand"], _ = explicit.add(task.explicit_demands_ns)
    row["explicit_demands"] = len(task.explicit_demands_ns)
    row["first_step"], row["last_step"] = steps.add(_program(task, explicit))


def _set_budgets(row: np.void, task: TaskRow, policy: Policy) -> None:
    row["budget_ns"] = codes.NONE if task.budget_ns is None else task.budget_ns
    row["low_budget_ns"] = codes.NONE if task.low_budget_ns is None else task.low_budget_ns
    row["degraded_ns"] = task.degraded_demand_ns or 0
    row["overrun_action"] = task.overrun_action
    row["enforced_ns"] = row["enforce_ns"] = codes.NEVER_NS
    if task.budget_ns is None and task.overrun_action == OverrunAction.THROTTLE:
        row["overrun_action"] = OverrunAction.LOG
    if task.budget_ns is not None and task.overrun_action != OverrunAction.LOG:
        row["enforced_ns"] = -(-task.budget_ns // task.budget_granularity_ns) * task.budget_granularity_ns
    limits = (task.budget_ns, task.low_budget_ns, int(row["enforced_ns"]))
    row["first_limit_ns"] = min(limit for limit in limits if limit is not None)
    row["server_ns"] = -codes.NEVER_NS if policy == Policy.EDF else -1


def _set_arrivals(row: np.void, index: int, task: TaskRow, timers: Timers) -> None:
    first_ns = None
    if task.rate_hz is not None:
        row["rate_numerator"] = task.rate_hz.numerator
        row["period_ns"], row["period_rest"] = divmod(task.rate_hz.denominator * 10**9, task.rate_hz.numerator)
        first_ns = task.offset_ns
    elif task.explicit_arrivals_ns:
        first_ns = task.explicit_arrivals_ns[0]
    if task.active and first_ns is not None:
        timers.values[timers.arrivals + index] = first_ns


def _program(task: TaskRow, explicit: _Lists) -> list[tuple[int, ...]]:
    """Steps of a task's jobs in order: by executed time, kind; outer sections lock first and unlock last.

    Of sections with the same bounds that on the first resource is the outer one.
    """
    steps = []
    for section in task.sections:
        length_ns = section.end_ns - section.start_ns
        resource = section.resource
        steps.append((section.start_ns, codes.STEP_LOCK, -length_ns, resource, resource, 0, 0, 0))
        steps.append((section.end_ns, codes.STEP_UNLOCK, length_ns, -resource, resource, 0, 0, 0))
    for number, wait in enumerate(task.suspensions):
        first, _ = explicit.add(wait.explicit_ns)
        steps.append((wait.offset_ns, codes.STEP_SUSPEND, 0, 0, number, wait.min_ns, wait.max_ns, first))
    steps.extend((point_ns, codes.STEP_POINT, 0, 0, 0, 0, 0, 0) for point_ns in task.preemption_points_ns or ())
    return [
        (
            int(kind),
            argument,
            at_ns,
            min_ns,
            max_ns,
            at_ns,
            first,
            len(task.suspensions[argument].explicit_ns) if kind == codes.STEP_SUSPEND else 0,
        )
        for at_ns, kind, _, _, argument, min_ns, max_ns, first in sorted(steps)
    ]


def _users(given: MachineInput, resource: int) -> list[int]:
    return [
        number
        for number, task in enumerate(given.tasks)
        if any(section.resource == resource for section in task.sections)
    ]


def _lockers(given: MachineInput) -> list[int]:
    """The tasks that lock resources, on whatever processor they are."""
    changed = {change.task for change in given.task_changes if change.row.sections}
    return [number for number, task in enumerate(given.tasks) if task.sections or number in changed]


def _resources(given: MachineInput) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.resources), tables.RESOURCE)
    for row, (index, resource) in zip(table, enumerate(given.resources), strict=True):
        row["protocol"] = resource.protocol
        row["owner"] = codes.NONE
        users = [given.tasks[user] for user in _users(given, index)]
        row["level"] = min((user.level for user in users), default=int(codes.NEVER_NS))
        row["deadline_ns"] = min((user.deadline_ns for user in users), default=int(codes.NEVER_NS))
    return table


def _edges(given: MachineInput, slots: tuple[int, ...]) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.edges), tables.EDGE)
    places = 0
    for row, (index, edge), slot in zip(table, enumerate(given.edges), slots, strict=True):
        row["target"] = edge.target
        row["slot"] = slot
        row["kind"] = edge.kind
        row["depth"] = edge.depth
        row["drop_policy"] = edge.overflow
        row["required"] = edge.required
        row["role"] = edge.role
        row["first_place"] = places
        row["register"] = codes.NONE
        row["lane"] = codes.NONE if edge.link is None else edge.link
        row["transfer_ns"] = transfer_ns(given, index, edge.link)
        places += edge.depth
    return table


def _lanes(given: MachineInput) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.links), tables.LANE)
    for row, link in zip(table, given.links, strict=True):
        row["latency_ns"] = link.latency_ns
        row["next"] = row["newest"] = codes.NONE
    return table


def _sensors(given: MachineInput, links: _Lists) -> npt.NDArray[np.void]:
    table = np.zeros(len(given.sensors), tables.SENSOR)
    outputs = _grouped([edge.sensor for edge in given.edges], len(given.sensors))
    for row, edges in zip(table, outputs, strict=True):
        row["first_output"], row["last_output"] = links.add(edges)
    return table


def _quantiles(given: MachineInput) -> Int64s:
    declared = (*given.tasks, *(change.row for change in given.task_changes))
    table = np.zeros((len(declared), tables.QUANTILES), np.int64)
    for row, task in zip(table, declared, strict=True):
        row[:] = task.demand_ns
    return table


def _samples(given: MachineInput, order: Int64s) -> npt.NDArray[np.void]:
    table = np.zeros(len(order), tables.SAMPLE)
    table["arrival_ns"] = given.samples.arrival_ns[order]
    table["sensor"] = given.samples.sensor[order]
    table["capture_ns"] = given.samples.capture_ns[order]
    table["status"] = codes.SAMPLE_WAITING
    return table
