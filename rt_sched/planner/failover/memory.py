"""Memory of devices: what runs there, and what stands by there, ready to take over."""

from __future__ import annotations

from collections.abc import Iterable

from rt_sched.model import Plan, System


class Memory:
    """Residents and standbys of every device. A standby is there all the time, so it counts once for all takeovers."""

    def __init__(self, system: System, plan: Plan) -> None:
        self._needed = {task.name: task.memory_bytes or 0 for task in system.tasks}
        self._limit = {device.name: device.memory_bytes for device in system.devices}
        self._there: dict[str, set[str]] = {device.name: set() for device in system.devices}
        for placement in plan.placements:
            self._there[plan.processors[placement.processor].device].add(placement.task)

    def has_room(self, task: str, device: str, others: Iterable[str] = ()) -> bool:
        """Whether a task fits on a device beside what is there and `others` that are about to come."""
        limit = self._limit[device]
        return limit is None or sum(self._needed[one] for one in self._there[device] | {task, *others}) <= limit

    def keep(self, task: str, device: str) -> None:
        """From now on a task stands by on a device."""
        self._there[device].add(task)
