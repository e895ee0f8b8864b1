"""What supervision of tasks, devices and links notices in a schedule: alive, deadline, budget, heartbeat, silence."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from rt_sched.analysis.faults.takeover_detection import detection_of_losses
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.faults.watching import Finding
from rt_sched.lowering import Role, input_role
from rt_sched.model import Fault, FaultKind, OnMessage, Periodic, SensorKind, System, Task
from rt_sched.runtime.signs_of_life import notices
from rt_sched.trace.records import EventKind, JobStatus, SampleTable, Trace
from rt_sched.units import NS_PER_S, ceil_int
from safety.monitors.alive import silent_at

_SENSOR_KINDS = {kind.value for kind in SensorKind}


def loss_findings(
    system: System,
    samples: SampleTable,
    faults: Sequence[Fault],
    recorded: Collection[str],
    horizon_ns: int,
    over_ns: int,
) -> Iterator[Finding]:
    """Silence of sensors and of devices and links, as takeovers notice it.

    `samples`: what arrives where `faults` are not injected; `over_ns`: when the last message would come without any
    other fault.
    """
    for notice in notices(system, samples, faults, recorded, horizon_ns, over_ns):
        kind, _, name = notice.what.partition(":")
        if notice.lost:
            worst_ns = detection_of_losses(system, [Fault(FaultKind(kind), name, 0)]).value_ns
            reason = "nothing comes from it" if kind in _SENSOR_KINDS else "its signs of life are missing"
            yield Finding(notice.time_ns, notice.by, name, worst_ns, reason)


def task_findings(system: System, trace: Trace, tasks: Collection[str], over_ns: int = 0) -> Iterator[Finding]:
    """Of each of `tasks`: outputs that stay away, deadlines that pass, and budgets that are used up.

    That nothing comes any more when the recording is over is no finding; `over_ns`: when its last message would come
    without any fault, where that is later.
    """
    jobs, events = trace.jobs, trace.events
    over_ns = max(over_ns, int(trace.samples.arrival_ns.max(initial=0)))
    for index, task in enumerate(system.tasks):
        if task.name not in tasks:
            continue
        mine = jobs.task == index
        timeout_ns = alive_timeout_ns(system, task)
        if timeout_ns is not None:
            done_ns = jobs.finish_ns[mine & (jobs.status == JobStatus.COMPLETED)].tolist()
            for time_ns in silent_at(done_ns, timeout_ns, over_ns):
                yield Finding(time_ns, "alive", task.name, timeout_ns, "no job of it ends")
        worst_ns = timeout_ns or task.separation_ns + task.deadline_ns
        for row in np.flatnonzero(mine & jobs.missed):
            job = int(jobs.number[row])
            yield Finding(int(jobs.deadline_ns[row]), "deadline", task.name, worst_ns, f"its job {job} is late", job)
        for row in np.flatnonzero((events.kind == EventKind.OVERRUN) & (events.task == index)):
            job = int(jobs.number[events.job[row]])
            reason = f"its job {job} has used up its budget"
            yield Finding(int(events.time_ns[row]), "budget", task.name, worst_ns, reason, job)


def alive_timeout_ns(system: System, task: Task) -> int | None:
    """Longest time between two ends of jobs in health, none of which misses its deadline; None: it has no rate.

    That is the longest distance of what begins its path and the sum of all deadlines and latencies on it, by which one
    job may be sooner and the next one later.
    """
    gap_ns, late_ns = _gap_and_way(system, task, frozenset())
    return None if gap_ns is None else gap_ns + late_ns


def _gap_and_way(system: System, task: Task, above: frozenset[str]) -> tuple[int | None, int]:
    if isinstance(task.activation, Periodic):
        # A clock that drifts by a thousandth is far outside what any device has.
        period_ns = ceil_int(NS_PER_S / task.activation.rate_hz * 1001 / 1000)
        return period_ns + task.activation.jitter_ns, task.activation.offset_ns % period_ns + task.deadline_ns
    if not isinstance(task.activation, OnMessage) or task.name in above:
        return None, 0
    sensors = {sensor.name: sensor for sensor in system.sensors}
    tasks = {other.name: other for other in system.tasks}
    link_ns = 2 * max((link.latency_ns for link in system.links), default=0)
    longest: tuple[int | None, int] = (None, 0)
    for port in task.inputs:
        if input_role(task.activation, port) is Role.READ:
            continue
        if port.source in sensors:
            sensor = sensors[port.source]
            found: tuple[int | None, int] = (sensor_gap_ns(sensor), sensor.latency_ns + sensor.jitter_ns)
        else:
            found = _gap_and_way(system, tasks[port.source], above | {task.name})
        if found[0] is not None and sum(filter(None, found)) > sum(filter(None, longest)):
            longest = found
    return longest[0], longest[1] + task.deadline_ns + task.activation.jitter_ns + link_ns
