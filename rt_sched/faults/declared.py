"""Within what time each monitor must find a kind of fault, as a system file declares it."""

from __future__ import annotations

from collections.abc import Iterator

from rt_sched.analysis.faults.takeover_detection import detection_of_losses
from rt_sched.faults.kinds import Kind, Strikes, held_back_ns
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.faults.watching import monitors_of
from rt_sched.model import Fault, FaultKind, System, Task
from rt_sched.runtime.health_order import LOOK_NS, PATIENCE_NS
from rt_sched.runtime.spares import keeps_spare
from rt_sched.units import NS_PER_MS, floor_int
from safety.actuator import ActuatorPolicy

#: How long a supervisor of a paced run may take to notice what happens to a process: the kernel calls it at once, and
#: it looks as often as this by itself.
SUPERVISION_NS = 50 * NS_PER_MS
#: How long a process that is killed may take to give its memory back; only then its end is told.
ENDING_NS = 50 * NS_PER_MS
#: How long a spare may take, once it is called, until it serves its task. It takes its place as an ordinary process, so
#: its core has to leave those enough.
HANDOVER_NS = 50 * NS_PER_MS
#: How long the watch over sensors may take to start: an ordinary process that loads its monitors.
WATCH_START_NS = 500 * NS_PER_MS


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
        arbiters = _arbiters(system)
        if system.safety is None or not arbiters:
            return None
        return ActuatorPolicy.of(system.safety, arbiters[0].separation_ns).bound_ns
    declared_ns = declared_worst_ns(system, kind, monitor)
    if monitor == "alive" and declared_ns is not None:
        return declared_ns + SUPERVISION_NS
    return declared_ns


def health_age_limit_ns(system: System) -> int | None:
    """How old the last report of the sensors' monitors may be; None where the arbiter asks for none."""
    limit_ms = next((dict(task.parameters).get("health_age_limit_ms") for task in _arbiters(system)), None)
    return None if limit_ms is None else floor_int(limit_ms * NS_PER_MS)


def watch_declared_ns(system: System, monitor: str) -> int | None:
    """Within what time a supervisor notices that the watch over sensors has ended (`exit`) or stands still (`alive`).

    None for a standstill where the arbiter asks for no reports: then their period decides, which a recording does.
    """
    if monitor == "exit":
        return ENDING_NS + SUPERVISION_NS
    limit_ns = health_age_limit_ns(system)
    return None if limit_ns is None else limit_ns + SUPERVISION_NS


def watch_reaction_ns(system: System) -> int | None:
    """From the last report on until the arbiter goes on without: its age limit, and the next job; None as above."""
    limit_ns = health_age_limit_ns(system)
    gap_ns = max((alive_timeout_ns(system, task) or 0 for task in _arbiters(system)), default=0)
    return None if limit_ns is None else limit_ns + gap_ns


def watch_return_ns(age_limit_ns: int, delay_ns: int, *, is_killed: bool) -> int:
    """For how long no sensor is watched where the watch ends (`is_killed`), or stands still for good.

    From its last report, which was up to two cycles before it ended, to the first one of the process that takes its
    place, which starts as declared and reports within two cycles. One that stands still is ended when its supervisor
    has waited for twice `age_limit_ns`, and for no less than `PATIENCE_NS`. `delay_ns`: two cycles. A process that ends
    again before it reports has no bound.
    """
    before_ns = delay_ns if is_killed else max(PATIENCE_NS, 2 * age_limit_ns) + LOOK_NS + SUPERVISION_NS
    return before_ns + ENDING_NS + SUPERVISION_NS + WATCH_START_NS + delay_ns


def recovery_ns(system: System, task: Task, *, is_killed: bool, restart_ns: int | None = None) -> int | None:
    """Within what time a task is served again after its process was killed, or stands still for good.

    A process that stands still is ended after the longest time between two ends of jobs in health. None without a
    spare: a new process takes as long as its stage does.
    """
    if not keeps_spare(task):
        return None
    still_ns = 0 if is_killed else (alive_timeout_ns(system, task) or task.deadline_ns) + SUPERVISION_NS
    return max(still_ns + ENDING_NS + SUPERVISION_NS, restart_ns or 0) + HANDOVER_NS


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
                mine = (one.worst_case_ns for one in monitors_of(system, sensor) if one.name == monitor)
                yield from (worst_ns + held_back_ns(kind.name, monitor, worst_ns) for worst_ns in mine)


def _arbiters(system: System) -> list[Task]:
    return [task for task in system.tasks if _is_arbiter(system, task.name)]


def _is_arbiter(system: System, task: str) -> bool:
    return system.safety is not None and system.safety.arbiter == task
