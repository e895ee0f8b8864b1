"""Range checks: every number of a machine's input that the kernel could not take, each named, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from rt_sched.errors import ConfigError
from rt_sched.kernels import tables
from rt_sched.lowering.machine_changes import check_task_changes
from rt_sched.lowering.machine_input import (
    LIMIT_FREQUENCY_KHZ,
    LIMIT_NS,
    LIMIT_PLACES,
    LIMIT_RATE,
    EdgeKind,
    EdgeRow,
    FaultTarget,
    MachineInput,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    Role,
    TaskRow,
)
from rt_sched.lowering.machine_problems import MachineProblems

_MOST_CORES = 2**12

#: How often one job of a throttled task may use up its budget under edf: each time fills two rows of the log.
LIMIT_POSTPONEMENTS = 10_000


def check_machine_input(given: MachineInput) -> None:
    """Raise ConfigError with every number that is out of range and every index that leads nowhere."""
    problems = MachineProblems()
    problems.within("horizon_ns", given.horizon_ns, 1, LIMIT_NS)
    problems.within("seed", given.seed, 0, 2**64 - 1)
    for number, processor in enumerate(given.processors):
        _check_processor(problems, f"processors[{number}] ({processor.name})", number, processor, given.tasks)
    activated = {edge.target for edge in given.edges if edge.role != Role.READ}
    for number, task in enumerate(given.tasks):
        path = f"tasks[{number}] ({task.name})"
        _check_task(problems, path, task, given)
        if task.timed and number in activated:
            problems.say(f"{path}.rate_hz", "a timed task has an activating input; give it inputs that are only read")
    for number, edge in enumerate(given.edges):
        _check_edge(problems, f"edges[{number}] ({edge.input})", edge, given)
    problems.within("edges: places of all queues together", sum(e.depth for e in given.edges), 0, LIMIT_PLACES)
    _check_resources(problems, given)
    for number, link in enumerate(given.links):
        problems.within(f"links[{number}] ({link.name}).latency_ns", link.latency_ns, 0, LIMIT_NS)
        if link.bytes_per_s <= 0:
            problems.say(f"links[{number}] ({link.name}).bytes_per_s", f"{link.bytes_per_s} is not positive")
    _check_changes(problems, given)
    check_task_changes(problems, given, _check_task)
    _check_samples(problems, given)
    if problems.found:
        raise ConfigError(problems.found)


def _check_processor(
    problems: MachineProblems, path: str, number: int, processor: ProcessorRow, tasks: Sequence[TaskRow]
) -> None:
    problems.within(f"{path}.cores", processor.cores, 1, _MOST_CORES)
    problems.within(f"{path}.switch_ns", processor.switch_ns, 0, LIMIT_NS)
    problems.within(f"{path}.migration_ns", processor.migration_ns, 0, LIMIT_NS)
    problems.within(f"{path}.frequency_khz", processor.frequency_khz, 1, LIMIT_FREQUENCY_KHZ)
    sliced, by_table = processor.policy is Policy.TIME_SLICED, processor.policy is Policy.TABLE
    if (sliced or by_table) and processor.cores != 1:
        problems.say(f"{path}.cores", "a time_sliced or table processor has one core")
    if sliced != bool(processor.slices):
        problems.say(f"{path}.slices", "a time_sliced processor needs slices, and no other has them")
    if by_table != bool(processor.cycle_ns):
        problems.say(f"{path}.cycle_ns", "a table processor needs a cycle, and no other has one")
    in_turn = bool(processor.slices or processor.table)
    placed = {index for index, task in enumerate(tasks) if task.processor == number} if in_turn else set()
    for position, piece in enumerate(processor.slices):
        problems.within(f"{path}.slices[{position}].length_ns", piece.length_ns, 1, LIMIT_NS)
        problems.within(f"{path}.slices[{position}].switch_ns", piece.switch_ns, 0, piece.length_ns - 1)
        if not placed.issuperset(piece.tasks):
            problems.say(f"{path}.slices[{position}].tasks", f"{list(piece.tasks)} are not all on this processor")
    if by_table:
        problems.within(f"{path}.cycle_ns", processor.cycle_ns, 1, LIMIT_NS)
    end_ns = 0
    for position, entry in enumerate(processor.table):
        entry_path = f"{path}.table[{position}]"
        problems.within(f"{entry_path}.start_ns", entry.start_ns, end_ns, processor.cycle_ns)
        end_ns = entry.start_ns + entry.length_ns
        problems.within(f"{entry_path}.length_ns", entry.length_ns, 1, processor.cycle_ns - entry.start_ns)
        if entry.task not in placed:
            problems.say(f"{entry_path}.task", f"{entry.task} is not on this processor")


def _check_task(problems: MachineProblems, path: str, task: TaskRow, given: MachineInput) -> None:
    problems.within(f"{path}.deadline_ns", task.deadline_ns, 1, LIMIT_NS)
    problems.within(f"{path}.level", task.level, 0, LIMIT_NS)
    for name, value in (
        ("offset_ns", task.offset_ns),
        ("tolerance_ns", task.tolerance_ns),
        ("jitter_ns", task.jitter_ns),
        ("extra_separation_ns", task.extra_separation_ns),
        ("memory_ns", task.memory_ns),
        ("start_latency_ns", task.start_latency_ns),
    ):
        problems.within(f"{path}.{name}", value, 0, LIMIT_NS)
    problems.within(f"{path}.every", task.every, 1, LIMIT_NS)
    for name, limit in (
        ("budget_ns", task.budget_ns),
        ("low_budget_ns", task.low_budget_ns),
        ("separation_ns", task.separation_ns),
        ("degraded_demand_ns", task.degraded_demand_ns),
    ):
        if limit is not None:
            problems.within(f"{path}.{name}", limit, 1, LIMIT_NS)
    for value in task.explicit_jitters_ns:
        problems.within(f"{path}.explicit_jitters_ns", value, 0, LIMIT_NS)
    _check_arrivals(problems, path, task)
    _check_demand(problems, path, task)
    _check_budget(problems, path, task, given)
    _check_program(problems, path, task, len(given.resources))
    if problems.index(f"{path}.processor", task.processor, len(given.processors)):
        _check_rescaling(problems, path, task, given)
    if task.weakly_hard is not None and not 1 <= task.weakly_hard[0] <= task.weakly_hard[1]:
        problems.say(f"{path}.weakly_hard", f"{task.weakly_hard} is not (m, k) with 1 <= m <= k")


def _check_arrivals(problems: MachineProblems, path: str, task: TaskRow) -> None:
    if task.explicit_arrivals_ns is not None:
        if task.rate_hz is not None:
            problems.say(f"{path}.explicit_arrivals_ns", "a task has either a rate or explicit arrivals")
        for value in task.explicit_arrivals_ns:
            problems.within(f"{path}.explicit_arrivals_ns", value, 0, LIMIT_NS)
        if any(later < earlier for earlier, later in pairwise(task.explicit_arrivals_ns)):
            problems.say(f"{path}.explicit_arrivals_ns", "arrivals must not descend")
    if task.rate_hz is None:
        return
    if task.rate_hz <= 0:
        problems.say(f"{path}.rate_hz", f"{task.rate_hz} Hz is not positive")
    else:
        problems.within(f"{path}.rate_hz numerator", task.rate_hz.numerator, 1, LIMIT_RATE)
        problems.within(f"{path} period in ns", int(10**9 / task.rate_hz), 1, LIMIT_NS)


def _check_demand(problems: MachineProblems, path: str, task: TaskRow) -> None:
    quantiles = (task.demand_ns,) if isinstance(task.demand_ns, int) else task.demand_ns
    if len(quantiles) not in (1, tables.QUANTILES):
        problems.say(f"{path}.demand_ns", f"{len(quantiles)} quantiles; give one value or {tables.QUANTILES}")
    if any(later < earlier for earlier, later in pairwise(quantiles)):
        problems.say(f"{path}.demand_ns", "quantiles must not descend")
    for value in (*quantiles, *task.explicit_demands_ns):
        problems.within(f"{path}.demand_ns", value, 1, LIMIT_NS)


def _check_budget(problems: MachineProblems, path: str, task: TaskRow, given: MachineInput) -> None:
    problems.within(f"{path}.budget_granularity_ns", task.budget_granularity_ns, 1, LIMIT_NS)
    processor = given.processors[task.processor] if 0 <= task.processor < len(given.processors) else None
    by_table = processor is not None and processor.policy is Policy.TABLE
    if task.overrun_action is not OverrunAction.LOG and task.budget_ns is None and not by_table:
        problems.say(f"{path}.overrun_action", "an overrun action needs a budget_ns")
    if task.overrun_action is OverrunAction.DEGRADE and task.degraded_demand_ns is None:
        problems.say(f"{path}.degraded_demand_ns", "the overrun action degrade needs a degraded demand")
    by_edf = processor is not None and processor.policy is Policy.EDF
    if task.overrun_action is OverrunAction.THROTTLE and by_edf and task.separation_ns is None:
        problems.say(f"{path}.separation_ns", "throttling under edf postpones deadlines by the separation; give one")
    if task.overrun_action is OverrunAction.THROTTLE and by_edf and task.budget_ns and task.budget_granularity_ns > 0:
        _check_postponements(problems, path, task, given)
    if task.low_budget_ns is not None and not task.high_criticality:
        problems.say(f"{path}.low_budget_ns", "only a task of high criticality has a C_LO")


def _check_postponements(problems: MachineProblems, path: str, task: TaskRow, given: MachineInput) -> None:
    """Each use of the budget is recorded, so a job may use it up only so often."""
    grain_ns = task.budget_granularity_ns
    enforced_ns = -(-(task.budget_ns or 1) // grain_ns) * grain_ns
    demand_ns = _largest_demand_ns(task, given)
    if demand_ns > LIMIT_POSTPONEMENTS * enforced_ns:
        text = (
            f"a demand of {demand_ns} ns uses up a budget of {enforced_ns} ns {demand_ns // enforced_ns} times, each "
            f"of which is recorded; at most {LIMIT_POSTPONEMENTS} times a job: raise the budget or its granularity"
        )
        problems.say(f"{path}.budget_ns", text)


def _check_program(problems: MachineProblems, path: str, task: TaskRow, resources: int) -> None:
    for number, section in enumerate(task.sections):
        section_path = f"{path}.sections[{number}]"
        problems.index(f"{section_path}.resource", section.resource, resources)
        problems.within(f"{section_path}.start_ns", section.start_ns, 0, LIMIT_NS)
        problems.within(f"{section_path}.end_ns", section.end_ns, section.start_ns + 1, LIMIT_NS)
        for other in task.sections[number + 1 :]:
            first, second = sorted((section, other), key=lambda one: (one.start_ns, -one.end_ns))
            overlap = second.start_ns < first.end_ns
            if overlap and (second.end_ns > first.end_ns or first.resource == second.resource):
                problems.say(section_path, f"overlaps {other} without nesting, or locks the same resource twice")
    earlier_ns = 0
    for number, wait in enumerate(task.suspensions):
        wait_path = f"{path}.suspensions[{number}]"
        problems.within(f"{wait_path}.offset_ns", wait.offset_ns, earlier_ns + 1, LIMIT_NS)
        earlier_ns = wait.offset_ns
        problems.within(f"{wait_path}.min_ns", wait.min_ns, 0, LIMIT_NS)
        problems.within(f"{wait_path}.max_ns", wait.max_ns, max(wait.min_ns, 1), LIMIT_NS)
        for value in wait.explicit_ns:
            problems.within(f"{wait_path}.explicit_ns", value, 0, LIMIT_NS)
        if any(section.start_ns < wait.offset_ns < section.end_ns for section in task.sections):
            problems.say(wait_path, "a job does not suspend inside a critical section")
    points = task.preemption_points_ns or ()
    for value in points:
        problems.within(f"{path}.preemption_points_ns", value, 1, LIMIT_NS)
    if any(later <= earlier for earlier, later in pairwise(points)):
        problems.say(f"{path}.preemption_points_ns", "points must ascend")


def _check_rescaling(problems: MachineProblems, path: str, task: TaskRow, given: MachineInput) -> None:
    slowest_khz, fastest_khz = _frequencies(task, given)
    if not 0 < slowest_khz < given.processors[task.processor].frequency_khz:
        return
    last_ns = max(_declared_demand_ns(task), *(section.end_ns for section in task.sections), 0)
    problems.within(f"{path}.demand_ns at {slowest_khz} kHz", last_ns * fastest_khz // slowest_khz, 1, LIMIT_NS)


def _frequencies(task: TaskRow, given: MachineInput) -> tuple[int, int]:
    """Least and largest frequency that a task's processor ever has."""
    changed = [c.frequency_khz for c in given.frequency_changes if c.processor == task.processor]
    every = [given.processors[task.processor].frequency_khz, *changed]
    return min(every), max(every)


def _declared_demand_ns(task: TaskRow) -> int:
    quantiles = (task.demand_ns,) if isinstance(task.demand_ns, int) else task.demand_ns
    return max((*quantiles, *task.explicit_demands_ns), default=0)


def _largest_demand_ns(task: TaskRow, given: MachineInput) -> int:
    """What a job may execute in the run: the largest declared demand, at the slowest frequency."""
    slowest_khz, _ = _frequencies(task, given)
    declared_khz = given.processors[task.processor].frequency_khz
    demand_ns = _declared_demand_ns(task)
    if 0 < slowest_khz < declared_khz:
        demand_ns = demand_ns * declared_khz // slowest_khz
    return min(demand_ns, given.horizon_ns)


def _check_edge(problems: MachineProblems, path: str, edge: EdgeRow, given: MachineInput) -> None:
    problems.index(f"{path}.target", edge.target, len(given.tasks))
    problems.within(f"{path}.depth", edge.depth, 1, LIMIT_PLACES)
    if (edge.sensor is None) == (edge.task is None):
        problems.say(path, "an edge starts at either a sensor or a task")
    if edge.sensor is not None:
        problems.index(f"{path}.sensor", edge.sensor, len(given.sensors))
    if edge.task is not None:
        problems.index(f"{path}.task", edge.task, len(given.tasks))
    if edge.role == Role.PAIRED and edge.kind != EdgeKind.QUEUE:
        problems.say(path, "paired inputs wait for each other and need a queue")
    problems.within(f"{path}.size_bytes", edge.size_bytes, 1, LIMIT_NS)
    if edge.link is not None:
        _check_route(problems, path, edge, edge.link, given)


def _check_route(problems: MachineProblems, path: str, edge: EdgeRow, link: int, given: MachineInput) -> None:
    if problems.index(f"{path}.link", link, len(given.links)):
        bandwidth = given.links[link].bytes_per_s
        if bandwidth > 0:
            transfer_ns = int(Fraction(edge.size_bytes * 10**9) / bandwidth)
            problems.within(f"{path}.size_bytes: time on the link", transfer_ns, 0, LIMIT_NS - 1)


def _check_resources(problems: MachineProblems, given: MachineInput) -> None:
    for number, resource in enumerate(given.resources):
        path = f"resources[{number}] ({resource.name})"
        users = {
            task.processor
            for task in (*given.tasks, *(change.row for change in given.task_changes))
            if 0 <= task.processor < len(given.processors)
            and any(section.resource == number for section in task.sections)
        }
        policies = {given.processors[user].policy for user in users}
        if resource.protocol is Protocol.PRIORITY_CEILING:
            if len(users) > 1 or any(given.processors[user].cores > 1 for user in users):
                problems.say(path, "priority_ceiling works on one core; across cores use msrp or priority_inheritance")
            if not policies <= {Policy.FIXED_PRIORITY, Policy.EDF}:
                problems.say(path, "priority_ceiling needs fixed_priority or edf")
        if resource.protocol is Protocol.MSRP and policies & {Policy.TIME_SLICED, Policy.TABLE}:
            problems.say(path, "msrp spins without preemption, which slices and table entries do not allow")


def _check_changes(problems: MachineProblems, given: MachineInput) -> None:
    kinds = {
        FaultTarget.PROCESSOR: given.processors,
        FaultTarget.SENSOR: given.sensors,
        FaultTarget.LINK: given.links,
    }
    gone: dict[tuple[FaultTarget, int], int] = {}
    for number, fault in sorted(enumerate(given.faults), key=lambda one: (one[1].time_ns, one[0])):
        path = f"faults[{number}]"
        problems.within(f"{path}.time_ns", fault.time_ns, 0, LIMIT_NS)
        problems.index(f"{path}.target", fault.target, len(kinds[fault.kind]))
        if fault.until_ns is not None:
            problems.within(f"{path}.until_ns", fault.until_ns, fault.time_ns + 1, LIMIT_NS)
        if gone.get((fault.kind, fault.target), -1) >= fault.time_ns:
            problems.say(f"{path}.time_ns", "it is lost already, or returns only now; give one fault for both")
        gone[fault.kind, fault.target] = LIMIT_NS if fault.until_ns is None else fault.until_ns
    for number, change in enumerate(given.frequency_changes):
        path = f"frequency_changes[{number}]"
        problems.within(f"{path}.time_ns", change.time_ns, 0, LIMIT_NS)
        problems.index(f"{path}.processor", change.processor, len(given.processors))
        problems.within(f"{path}.frequency_khz", change.frequency_khz, 1, LIMIT_FREQUENCY_KHZ)
    for number, route in enumerate(given.route_changes):
        path = f"route_changes[{number}]"
        problems.within(f"{path}.time_ns", route.time_ns, 0, LIMIT_NS)
        if problems.index(f"{path}.edge", route.edge, len(given.edges)) and route.link is not None:
            _check_route(problems, path, given.edges[route.edge], route.link, given)
        if any((route.time_ns, route.edge) == (other.time_ns, other.edge) for other in given.route_changes[:number]):
            problems.say(path, "the edge gets two routes at one instant")
    active = {number for number, task in enumerate(given.tasks) if task.active}
    for number, mode in sorted(enumerate(given.mode_changes), key=lambda one: (one[1].time_ns, one[0])):
        path = f"mode_changes[{number}]"
        problems.within(f"{path}.time_ns", mode.time_ns, 0, LIMIT_NS)
        for task in (*mode.removed, *mode.added):
            problems.index(path, task, len(given.tasks))
        if not active.issuperset(mode.removed):
            problems.say(f"{path}.removed", f"{sorted(set(mode.removed) - active)} are not there to be removed")
        active -= set(mode.removed)
        if active & set(mode.added):
            problems.say(f"{path}.added", f"{sorted(active & set(mode.added))} are there already")
        active |= set(mode.added)


def _check_samples(problems: MachineProblems, given: MachineInput) -> None:
    samples = given.samples
    if not len(samples.arrival_ns) == len(samples.sensor) == len(samples.capture_ns):
        problems.say("samples", "arrival_ns, sensor and capture_ns differ in length")
    elif len(samples.arrival_ns):
        problems.within("samples.arrival_ns", int(samples.arrival_ns.min()), 0, LIMIT_NS)
        problems.within("samples.arrival_ns", int(samples.arrival_ns.max()), 0, LIMIT_NS)
        problems.within("samples.capture_ns", int(samples.capture_ns.min()), -LIMIT_NS, LIMIT_NS)
        problems.within("samples.capture_ns", int(samples.capture_ns.max()), -LIMIT_NS, LIMIT_NS)
        problems.index("samples.sensor", int(samples.sensor.min()), len(given.sensors))
        problems.index("samples.sensor", int(samples.sensor.max()), len(given.sensors))
