"""Within what time each monitor must find a kind of fault, as a system file declares it."""

from __future__ import annotations

from collections.abc import Iterator

from rt_sched.analysis.faults.takeover_detection import detection_of_losses
from rt_sched.faults.kinds import Kind, Strikes
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.faults.watching import monitors_of
from rt_sched.model import Fault, FaultKind, System
from rt_sched.units import NS_PER_MS
from safety.actuator import ActuatorPolicy

#: How long a supervisor of a paced run may take to notice what happens to a process: the kernel calls it at once, and
#: it looks as often as this by itself.
SUPERVISION_NS = 50 * NS_PER_MS
#: How long a process that is killed may take to give its memory back; only then its end is told.
ENDING_NS = 50 * NS_PER_MS


def declared_worst_ns(system: System, kind: Kind, monitor: str) -> int | None:
    """The longest over everything in the system that the kind may strike; None where it has nothing to strike."""
    return max(_declared(system, kind, monitor), default=None)


def declared_paced_ns(system: System, kind: Kind, monitor: str) -> int | None:
    """The same for a paced run, where supervisors and the actuators' side watch too."""
    if monitor == "process_end":
        return declared_worst_ns(system, kind, "heartbeat")
    if monitor == "lock":
        return max((lock_wait_ns(system, one.name) or 0 for one in system.resources), default=0) or None
    if monitor in ("exit", "stop"):
        return SUPERVISION_NS + (ENDING_NS if monitor == "exit" else 0)
    if monitor == "actuator":
        arbiters = [task for task in system.tasks if _is_arbiter(system, task.name)]
        if system.safety is None or not arbiters:
            return None
        return ActuatorPolicy.of(system.safety, arbiters[0].separation_ns).bound_ns
    declared_ns = declared_worst_ns(system, kind, monitor)
    if monitor == "alive" and declared_ns is not None:
        return declared_ns + SUPERVISION_NS
    return declared_ns


def lock_wait_ns(system: System, resource: str) -> int | None:
    """Within what time a job has waited for a resource that is held for too long, so long that its deadline is lost.

    That is the longest time to the next job of one of its users, and what that job may wait; None where nobody has one.
    """
    users = [task for task in system.tasks if any(one.resource == resource for one in task.sections)]
    return min(
        (
            (alive_timeout_ns(system, task) or task.separation_ns + task.deadline_ns)
            + max(task.deadline_ns - task.execution.wcet_ns, 0)
            for task in users
        ),
        default=None,
    )


def _declared(system: System, kind: Kind, monitor: str) -> Iterator[int]:
    if kind.strikes in (Strikes.TASK, Strikes.ARBITER):
        for task in system.tasks:
            timeout_ns = alive_timeout_ns(system, task)
            if timeout_ns is not None and (kind.strikes is Strikes.TASK or _is_arbiter(system, task.name)):
                yield timeout_ns
    elif kind.strikes is Strikes.DEVICE and monitor == "alive":
        yield from (alive_timeout_ns(system, task) or 0 for task in system.tasks if _is_arbiter(system, task.name))
    elif kind.strikes in (Strikes.DEVICE, Strikes.LINK):
        for one in system.devices if kind.strikes is Strikes.DEVICE else system.links:
            yield detection_of_losses(system, [Fault(FaultKind(kind.strikes.value), one.name, 0)]).value_ns
    elif kind.strikes is not Strikes.RESOURCE:
        for sensor in system.sensors:
            if kind.strikes in (Strikes.SENSOR, sensor.kind.value):
                if monitor == "silence":
                    yield detection_of_losses(system, [Fault(FaultKind(sensor.kind.value), sensor.name, 0)]).value_ns
                yield from (one.worst_case_ns for one in monitors_of(system, sensor) if one.name == monitor)


def _is_arbiter(system: System, task: str) -> bool:
    return system.safety is not None and system.safety.arbiter == task
