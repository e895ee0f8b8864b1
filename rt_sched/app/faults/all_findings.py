"""What every monitor and every supervision finds in a run with faults, in the time of the drive without them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from rt_sched.app.faults.prepared import Struck
from rt_sched.faults.reaching import Reaching
from rt_sched.faults.schedule import losses
from rt_sched.faults.supervision import loss_findings, task_findings
from rt_sched.faults.watching import Finding, sensor_findings
from rt_sched.lowering.outages import sensor_outages
from rt_sched.model import FaultKind
from rt_sched.runtime.signs_of_life import watching_device
from safety.monitors.pictures import LookAt, look_at


def all_findings(struck: Struck, sensors: Collection[str] | None = None, look: LookAt = look_at) -> Iterator[Finding]:
    """In no particular order. `sensors`: whose messages are looked at; None: of all that the recording holds.

    `look`: how a picture is looked at.
    """
    drive, topics = struck.drive, struck.drive.mapping.sensor_to_topic
    silent = sensor_outages(drive.system, losses(struck.strikes))
    reaching = Reaching(struck.faulted, {topics[name]: spans for name, spans in silent.items() if name in topics})
    yield from sensor_findings(drive.system, reaching, topics, topics if sensors is None else sensors, look)
    for finding in loss_findings(
        drive.system, struck.timeline.samples, struck.losses, topics, struck.horizon_ns, struck.over_ns
    ):
        yield replace(finding, time_ns=finding.time_ns - struck.shift_ns)
    targets = {strike.fault.target for strike in struck.strikes} & set(drive.task_names)
    unwatched = _unwatched_device(struck)
    arbiter = drive.system.safety.arbiter if unwatched and drive.system.safety else ""
    if targets or arbiter:
        for finding in task_findings(drive.system, struck.schedule(), {*targets, arbiter}, struck.over_ns):
            there = replace(finding, time_ns=finding.time_ns - struck.shift_ns)
            if finding.what in targets:
                yield there
            if finding.what == arbiter and unwatched:
                yield replace(there, what=unwatched)


def _unwatched_device(struck: Struck) -> str | None:
    """The arbiter's device, where it is lost: it watches all others, and who gets its commands watches it."""
    watching = watching_device(struck.drive.system)
    lost = {fault.target for fault in struck.losses if fault.kind is FaultKind.DEVICE}
    return watching if watching in lost else None
