"""What is legal in a system but worth a second look."""

from __future__ import annotations

from rt_sched.model import Sensor, System, Task
from rt_sched.units import format_ns


def system_notes(system: System) -> tuple[str, ...]:
    """One sentence each, in the order of the system."""
    read = {item.source for task in system.tasks for item in task.inputs}
    final = {chain.path[-1] for chain in system.chains} | ({system.safety.arbiter} if system.safety else set())
    sensors = {sensor.name: sensor for sensor in system.sensors}
    notes = [f"sensor {name}: no task reads it" for name in sensors if name not in read]
    for task in system.tasks:
        notes += _timing_notes(task) + _attachment_notes(task, sensors) + _preemption_notes(task, system)
        if task.name not in read and task.name not in final:
            notes.append(f"task {task.name}: no task reads its output and no chain ends there")
    return tuple(notes)


def _timing_notes(task: Task) -> list[str]:
    notes = []
    if task.deadline_ns > task.separation_ns:
        deadline, separation = format_ns(task.deadline_ns), format_ns(task.separation_ns)
        notes.append(f"task {task.name}: the deadline {deadline} is above the period {separation}; jobs may queue up")
    if task.execution.bcet_ns > task.deadline_ns:
        bcet, deadline = format_ns(task.execution.bcet_ns), format_ns(task.deadline_ns)
        notes.append(f"task {task.name}: even the best case {bcet} is above the deadline {deadline}; every job misses")
    if task.execution.wcet_ns > task.separation_ns:
        wcet, separation = format_ns(task.execution.wcet_ns), format_ns(task.separation_ns)
        notes.append(
            f"task {task.name}: the worst case {wcet} is above the period {separation}; one core cannot keep up"
        )
    return notes


def _preemption_notes(task: Task, system: System) -> list[str]:
    points_only = any(
        element.points_only
        for device in system.devices
        for element in device.processing_elements
        if (device.name, element.name) == task.pe
    )
    if task.preemption_points_ns and not points_only:
        pe = ".".join(task.pe)
        return [f"task {task.name}: its preemption points mean nothing, {pe} has not preemption: at_points"]
    return []


def _attachment_notes(task: Task, sensors: dict[str, Sensor]) -> list[str]:
    notes = []
    for item in task.inputs:
        sensor = sensors.get(item.source)
        if sensor is not None and item.link is None and task.pe[0] not in sensor.attached_to:
            devices = ", ".join(sensor.attached_to)
            notes.append(f"task {task.name}: runs on {task.pe[0]}, but {sensor.name} is attached to {devices} only")
    return notes
