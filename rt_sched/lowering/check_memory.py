"""Whether tasks fit into the memory of the devices where a plan places them."""

from __future__ import annotations

from rt_sched import model


def check_memory(system: model.System, plan: model.Plan) -> list[str]:
    """Every device whose tasks declare more memory than it has."""
    used: dict[str, int] = {}
    for task, placement in zip(system.tasks, plan.placements, strict=True):
        device = plan.processors[placement.processor].device
        used[device] = used.get(device, 0) + (task.memory_bytes or 0)
    return [
        f"device {device.name}: its tasks need {used[device.name]} bytes of memory, and it has {device.memory_bytes}"
        for device in system.devices
        if device.memory_bytes is not None and used.get(device.name, 0) > device.memory_bytes
    ]
