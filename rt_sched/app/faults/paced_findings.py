"""What is noticed in a paced run with faults: by supervisors and the actuators' side while it goes on, and by monitors.

Supervisors write down when they notice ends, stops and silence. The monitors of messages see afterwards what was really
published, at the instant at which it was; deadlines and used up budgets stand in the records of jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rt_sched.analysis.faults.takeover_detection import heartbeat_timeout_ns
from rt_sched.app.faults.paced_strikes import PacedStruck
from rt_sched.faults.declared import ENDING_NS, SUPERVISION_NS, lock_wait_ns
from rt_sched.faults.recording import FaultedRecording
from rt_sched.faults.supervision import alive_timeout_ns, loss_findings, task_findings
from rt_sched.faults.watching import Finding, sensor_findings
from rt_sched.model import System
from rt_sched.ports import RecordedMessage
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.alerts import AlertKind
from rt_sched.runtime.paced.order import PacedOutcome
from rt_sched.trace.records import SampleStatus, SampleTable, Trace


def paced_findings(struck: PacedStruck, trace: Trace, outcome: PacedOutcome) -> list[Finding]:
    """In order of time, in the time of the drive without faults."""
    system, topics = struck.drive.system, struck.drive.mapping.sensor_to_topic
    delivered = AsPublished(struck, outcome)
    there = _delivered(trace.samples)
    over_ns = min(struck.drive.timeline.last_arrival_ns + struck.shift_ns, struck.horizon_ns)
    targets = {fault.target for fault in struck.script.faults}
    found = [
        *loss_findings(system, there, (), topics, struck.horizon_ns, over_ns),
        *_of_supervisors(system, outcome),
        *_of_devices(system, outcome),
        *(one for one in task_findings(system, trace, targets) if one.monitor == "deadline"),
        *_of_budgets(system, trace, targets),
        *_of_actuators(outcome),
        *_of_locks(system, outcome),
    ]
    found = [replace(one, time_ns=one.time_ns - struck.shift_ns) for one in found]
    found += sensor_findings(system, delivered, topics, topics)
    return sorted(found, key=lambda one: (one.time_ns, one.monitor))


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


def _of_budgets(system: System, trace: Trace, targets: set[str]) -> Iterator[Finding]:
    """Jobs that have used up their budgets: known when they were stopped for it, or had ended."""
    jobs = trace.jobs
    for row in np.flatnonzero(jobs.overrun & (jobs.start_ns >= 0)):
        task = system.tasks[int(jobs.task[row])]
        if task.name in targets and jobs.finish_ns[row] >= 0:
            worst_ns = alive_timeout_ns(system, task) or task.separation_ns + task.deadline_ns
            reason = f"its job {int(jobs.number[row])} has used up its budget"
            yield Finding(int(jobs.finish_ns[row]), "budget", task.name, worst_ns, reason)


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
