"""What is noticed in a paced run with faults: while it goes on, in its records, and by monitors put to it afterwards.

Supervisors write down when they notice ends, stops and silence, and `rt-health` what the monitors of messages find.
Deadlines and used up budgets stand in the records of jobs. What never reached the devices, as it was quarantined, is
put before the monitors afterwards, and so is what came while nobody watched, at the instants at which it was published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rt_sched.analysis.faults.takeover_detection import detection_of_losses, heartbeat_timeout_ns
from rt_sched.app.faults.paced_strikes import PacedStruck
from rt_sched.faults.declared import ENDING_NS, SUPERVISION_NS, lock_wait_ns
from rt_sched.faults.kinds import WATCH
from rt_sched.faults.recording import FaultedRecording
from rt_sched.faults.supervision import alive_timeout_ns, loss_findings, task_findings
from rt_sched.faults.watching import Finding, sensor_findings
from rt_sched.model import Fault, FaultKind, System
from rt_sched.ports import RecordedMessage
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.alerts import AlertKind
from rt_sched.runtime.paced.order import PacedOutcome
from rt_sched.trace.records import SampleStatus, SampleTable, Trace


def found_in_run(struck: PacedStruck, outcome: PacedOutcome) -> list[Finding]:
    """What was noticed while the run went on, in order of time, in the time of the drive without faults."""
    system = struck.drive.system
    found = [
        *_of_health(outcome),
        *_of_supervisors(system, outcome),
        *_of_devices(system, outcome),
        *_of_links(system, outcome),
        *_of_actuators(outcome),
        *_of_locks(system, outcome),
    ]
    return _in_order(replace(one, time_ns=one.time_ns - struck.shift_ns) for one in found)


def found_in_records(struck: PacedStruck, trace: Trace) -> list[Finding]:
    """What the records of jobs tell once the run has ended; in the same order and time."""
    system, targets = struck.drive.system, {fault.target for fault in struck.script.faults}
    found = [
        *(one for one in task_findings(system, trace, targets) if one.monitor == "deadline"),
        *_of_budgets(system, trace, targets),
    ]
    return _in_order(replace(one, time_ns=one.time_ns - struck.shift_ns) for one in found)


def found_afterwards(struck: PacedStruck, trace: Trace, outcome: PacedOutcome) -> list[Finding]:
    """What the monitors of messages find in everything that was sent; in the same order and time."""
    system, topics = struck.drive.system, struck.drive.mapping.sensor_to_topic
    over_ns = min(struck.drive.timeline.last_arrival_ns + struck.shift_ns, struck.horizon_ns)
    silent = loss_findings(system, _delivered(trace.samples), (), topics, struck.horizon_ns, over_ns)
    found = [replace(one, time_ns=one.time_ns - struck.shift_ns) for one in silent]
    return _in_order([*found, *sensor_findings(system, AsPublished(struck, outcome), topics, topics)])


def _in_order(found: Iterable[Finding]) -> list[Finding]:
    return sorted(found, key=lambda one: (one.time_ns, one.monitor))


def _of_health(outcome: PacedOutcome) -> Iterator[Finding]:
    """Of the monitors of messages, when they were known to find something, and of whoever watches the process."""
    health = outcome.health
    for one in () if health is None else health.noticed:
        worst_ns = one.worst_case_ns + health.order.delay_ns  # type: ignore[union-attr]
        yield Finding(one.time_ns, one.monitor, one.sensor, worst_ns, one.reason)
    for loss in () if health is None else health.losses:
        if loss.still:
            worst_ns = health.order.age_limit_ns + SUPERVISION_NS  # type: ignore[union-attr]
            yield Finding(loss.noticed_ns, "alive", WATCH, worst_ns, "it looks at no sensor any more")
        else:
            yield Finding(loss.noticed_ns, "exit", WATCH, ENDING_NS + SUPERVISION_NS, "its process has ended")


class AsPublished:
    """The recording with faults, its messages at the instants at which they were published, less the shift."""

    def __init__(self, struck: PacedStruck, outcome: PacedOutcome) -> None:
        self._faulted: FaultedRecording = struck.faulted
        self._struck = struck
        rows = np.flatnonzero(outcome.published_ns >= 0)
        self._published_ns = dict(
            zip(struck.timeline.file_index[rows].tolist(), outcome.published_ns[rows].tolist(), strict=True)
        )

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Those that are due before the end of the run."""
        end_ns = self._struck.horizon_ns - self._struck.shift_ns
        return (one for one in self._faulted.messages(topics) if self._faulted.arrival_ns(one) < end_ns)

    def decode(self, message: RecordedMessage) -> Any:
        """With what faults do to it."""
        return self._faulted.decode(message)

    def arrival_ns(self, message: RecordedMessage) -> int:
        """When it was published, or was due where nobody reads it."""
        published_ns = self._published_ns.get(message.index)
        return self._faulted.arrival_ns(message) if published_ns is None else published_ns - self._struck.shift_ns

    def capture_ns(self, message: RecordedMessage) -> int | None:
        """Its stamp."""
        return self._faulted.capture_ns(message)


def _delivered(samples: SampleTable) -> SampleTable:
    there = samples.status == SampleStatus.DELIVERED
    columns = (samples.sensor, samples.number, samples.arrival_ns, samples.capture_ns, samples.status)
    return SampleTable(*(column[there] for column in columns))


def _of_supervisors(system: System, outcome: PacedOutcome) -> Iterator[Finding]:
    for loss in outcome.losses:
        if loss.noticed_ns >= 0 and not loss.by_budget and not loss.with_device:
            name = system.tasks[loss.task].name
            yield Finding(loss.noticed_ns, "exit", name, ENDING_NS + SUPERVISION_NS, "its process has ended")
    for alert in outcome.alerts:
        task = system.tasks[alert.task]
        if alert.kind is AlertKind.STOPPED:
            yield Finding(alert.time_ns, "stop", task.name, SUPERVISION_NS, "its process stands still")
        else:
            worst_ns = (alive_timeout_ns(system, task) or 0) + SUPERVISION_NS
            yield Finding(alert.time_ns, "alive", task.name, worst_ns, "no job of it ends")


def _of_devices(system: System, outcome: PacedOutcome) -> Iterator[Finding]:
    """Devices that were lost, as the supervisor of the arbiter's device noticed it."""
    for notice in outcome.notices:
        if notice.is_back:
            continue
        is_end = notice.sign is Sign.PROCESS_END
        reason = "its supervisor has ended" if is_end else "its signs of life are missing"
        name = "process_end" if is_end else "heartbeat"
        yield Finding(notice.noticed_ns, name, notice.device, heartbeat_timeout_ns(system), reason)


def _of_links(system: System, outcome: PacedOutcome) -> Iterator[Finding]:
    """Links that were lost, as the supervisor of the arbiter's device noticed it."""
    for name, notice in outcome.link_notices:
        worst_ns = detection_of_losses(system, [Fault(FaultKind.LINK, name, 0)]).value_ns
        yield Finding(notice.noticed_ns, "heartbeat", name, worst_ns, "its signs of life are missing")


def _of_budgets(system: System, trace: Trace, targets: set[str]) -> Iterator[Finding]:
    """Jobs that have used up their budgets: known when they were stopped for it, or had ended."""
    jobs = trace.jobs
    for row in np.flatnonzero(jobs.overrun & (jobs.start_ns >= 0)):
        task = system.tasks[int(jobs.task[row])]
        if task.name in targets and jobs.finish_ns[row] >= 0:
            worst_ns = alive_timeout_ns(system, task) or task.separation_ns + task.deadline_ns
            job = int(jobs.number[row])
            reason = f"its job {job} has used up its budget"
            yield Finding(int(jobs.finish_ns[row]), "budget", task.name, worst_ns, reason, job)


def _of_actuators(outcome: PacedOutcome) -> Iterator[Finding]:
    side = outcome.actuator
    for risk in () if side is None else side.record().risks:
        reason = "no command younger than the limit has come: MINIMAL_RISK"
        yield Finding(risk.since_ns, "actuator", side.task, side.policy.bound_ns, reason)  # type: ignore[union-attr]


def _of_locks(system: System, outcome: PacedOutcome) -> Iterator[Finding]:
    for one in outcome.sections.long_waits:
        resource, task = system.resources[one.resource].name, system.tasks[one.task]
        reason = f"job {one.job} of {task.name} waits for it too long for its deadline"
        yield Finding(one.time_ns, "lock", resource, lock_wait_ns(system, resource) or 0, reason)
