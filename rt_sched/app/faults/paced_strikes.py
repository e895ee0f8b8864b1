"""The faults of a script as a paced run carries them out: on messages, in stages, and on processes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from rt_sched.app.faults.prepared import Drive, complaints, strikes_process
from rt_sched.app.inputs.log_inputs import horizon_of
from rt_sched.errors import ConfigError
from rt_sched.faults.clocks import arriving_at
from rt_sched.faults.kinds import BY_NAME, KINDS
from rt_sched.faults.moments import known_ns, root_of
from rt_sched.faults.outcomes import Decisions
from rt_sched.faults.recording import ON_MESSAGES, FaultedRecording
from rt_sched.faults.script import Event, FaultScript, Injection, Strike, Trigger
from rt_sched.model import Periodic
from rt_sched.ports import JobContext, Recording, Stage
from rt_sched.runtime.paced.faults.injector import Blow, Deed, Landed, Moment
from rt_sched.runtime.paced.order import PacedOutcome
from rt_sched.runtime.signs_of_life import watching_device
from rt_sched.runtime.timeline import Timeline, build_timeline
from rt_sched.trace.records import Trace
from rt_sched.units import NS_PER_S, floor_int, format_ns

#: Losses of sensors take their messages away.
_SILENT = frozenset({"camera.loss", "lidar.loss", "imu.loss"})
_DEEDS = {
    "process.kill": Deed.KILL,
    "arbiter.kill": Deed.KILL,
    "process.stall": Deed.STALL,
    "device.loss": Deed.LOSE,
    "resource.hold": Deed.HOLD,
    "link.loss": Deed.CUT,
}
_AHEAD = (
    "messages are changed as they are decoded, up to 2 s before they are due, and nobody knows so early when this job "
    "begins; set it off by a time, a message, or a job that the clock releases"
)


class PacedStruck:
    """A drive with the faults of a script, as `run_paced` takes them. `duration_ns`: of the run, None for the log's.

    Times of strikes are those of the drive without faults.
    """

    def __init__(self, drive: Drive, script: FaultScript, file: str, duration_ns: int | None) -> None:
        """Raises ConfigError for faults that paced runs do not carry out, that never begin, or that strike nothing."""
        why_not = {kind.name: kind.not_paced for kind in KINDS}
        self.drive, self.script = drive, script
        self._problems = complaints(drive, script, file, why_not, "in paced runs")
        self._file, self._end_ns = file, min(drive.horizon_ns, duration_ns or drive.horizon_ns)
        self._roots = {fault.name: root_of(script, fault.trigger) for fault in script.faults}
        found = [self._on_messages(fault) for fault in script.faults]
        self.on_messages = [strike for strike in found if strike is not None]
        for fault in script.faults:
            self._check_instant(fault)
        if self._problems:
            raise ConfigError(self._problems)
        self.faulted = self.recording(drive.recording)
        topics = drive.mapping.sensor_to_topic
        self.timeline = self._as_sent(build_timeline(self.faulted, drive.system.sensors, topics))
        #: By how much times of the run with faults are larger: its first message may be another one.
        self.shift_ns = drive.timeline.origin_ns - self.timeline.origin_ns
        self.horizon_ns = min(horizon_of(drive.system, self.timeline), duration_ns or self.drive.horizon_ns)
        self._struck = [fault for fault in script.faults if fault.kind_name in _DEEDS]
        self.seen: tuple[Trace, PacedOutcome, Decisions] | None = None

    def _as_sent(self, timeline: Timeline) -> Timeline:
        """Messages whose stamps step arrive when they did: a time line takes none for there before its stamp."""
        topics = {
            self.drive.mapping.sensor_to_topic[one.fault.target]
            for one in self.on_messages
            if one.fault.kind_name == "clock.step"
        }
        if not topics:
            return timeline
        shift_ns = self.drive.timeline.origin_ns - timeline.origin_ns
        sent_ns = {one.index: self.faulted.arrival_ns(one) + shift_ns for one in self.faulted.messages(sorted(topics))}
        return arriving_at(timeline, sent_ns)

    def recording(self, recording: Recording) -> FaultedRecording:
        """What the sensors send instead."""
        drive, topics = self.drive, self.drive.mapping.sensor_to_topic
        silenced = BY_NAME["message.drop"].name
        strikes = [
            replace(one, fault=replace(one.fault, kind_name=silenced)) if one.fault.kind_name in _SILENT else one
            for one in self.on_messages
        ]
        return FaultedRecording(recording, drive.system.sensors, topics, strikes, drive.clocks, self.script.seed)

    def stage(self, index: int, stage: Stage, rate: Fraction) -> Stage:
        """The stage of a task; jobs that overrun take their CPU time in it."""
        demands: dict[int, int] = {}
        for fault in self.script.faults:
            if fault.kind_name == "overrun" and fault.target == self.drive.task_names[index]:
                demands |= dict.fromkeys(fault.jobs, floor_int(fault.demand_ns / rate))
        return _Overrunning(stage, demands) if demands else stage  # type: ignore[return-value]

    def blows(self) -> Sequence[Blow]:
        """What strikes processes."""
        return [self._blow(fault) for fault in self._struck]

    def _blow(self, fault: Injection) -> Blow:
        moment, deed = self._moment(self._roots[fault.name]), _DEEDS[fault.kind_name]
        if deed is Deed.LOSE:
            return Blow(moment, deed, lasts_ns=fault.lasts_ns, device=fault.target)
        if deed is Deed.CUT:
            return Blow(moment, deed, lasts_ns=fault.lasts_ns, link=fault.target)
        if deed is Deed.HOLD:
            names = [one.name for one in self.drive.system.resources]
            return Blow(moment, deed, lasts_ns=fault.by_ns, resource=names.index(fault.target))
        lasts_ns = fault.stall_ns if deed is Deed.STALL else fault.restart_ns
        if strikes_process(self.drive, fault):
            return Blow(moment, deed, lasts_ns=lasts_ns, process=fault.target)
        return Blow(moment, deed, self.drive.task_names.index(fault.target), lasts_ns)

    @property
    def loses_devices(self) -> bool:
        """Whether the run has to go on without a device."""
        return any(fault.kind_name == "device.loss" for fault in self._struck)

    def ended(self, trace: Trace, outcome: PacedOutcome, decisions: Decisions) -> None:
        """Keeps what became of the run."""
        self.seen = trace, outcome, decisions

    def strikes(self) -> list[Strike]:
        """Every fault that began, with the instants at which it did, once the run has ended, in order of these."""
        if self.seen is None:
            return []
        trace, outcome, _ = self.seen
        found = [*self.on_messages]
        for fault, landed in zip(self._struck, outcome.landed, strict=True):
            if landed.time_ns is not None and landed.hit:
                back = _watch_back_ns if strikes_process(self.drive, fault) else _back_ns
                begin_ns, back_ns = landed.time_ns - self.shift_ns, back(fault, landed, outcome)
                end_ns = None if back_ns is None else back_ns - self.shift_ns
                if fault.kind_name == "resource.hold":
                    end_ns = begin_ns + fault.by_ns
                if _DEEDS[fault.kind_name] is Deed.CUT and fault.lasts_ns is not None:
                    end_ns = begin_ns + fault.lasts_ns
                found.append(Strike(fault, begin_ns, end_ns))
        found += [
            Strike(fault, begun[0][1], None, begun)
            for fault in self.script.faults
            if fault.kind_name == "overrun" and (begun := self._begun(trace, fault))
        ]
        return sorted(found, key=lambda strike: strike.begin_ns)

    def _begun(self, trace: Trace, fault: Injection) -> tuple[tuple[int, int], ...]:
        """The jobs that overrun, of those that began, with the instants at which they did, in order of these."""
        jobs = trace.jobs
        task = self.drive.task_names.index(fault.target)
        rows = np.flatnonzero((jobs.task == task) & np.isin(jobs.number, fault.jobs) & (jobs.start_ns >= 0))
        found = ((int(jobs.number[row]), int(jobs.start_ns[row]) - self.shift_ns) for row in rows)
        return tuple(sorted(found, key=lambda one: one[1]))

    def _on_messages(self, fault: Injection) -> Strike | None:
        if fault.kind_name not in ON_MESSAGES | _SILENT:
            return None
        root = self._roots[fault.name]
        begin_ns = known_ns(root, self.drive.sample_ns, self._timed_job_ns)
        if begin_ns is None and root.event is Event.JOB:
            self._refuse(fault, _AHEAD)
        if begin_ns is None:
            return None
        return Strike(fault, begin_ns, None if fault.lasts_ns is None else begin_ns + fault.lasts_ns)

    def _check_instant(self, fault: Injection) -> None:
        if fault.kind_name == "device.loss" and fault.target == watching_device(self.drive.system):
            self._refuse(
                fault, f"{fault.target} is the device of the arbiter, which watches all others; use arbiter.kill"
            )
        if fault.kind_name == "resource.hold":
            tasks = self.drive.system.tasks
            if not any(one.resource == fault.target for task in tasks for one in task.sections):
                self._refuse(fault, f"no task has a section of {fault.target}, so nobody waits for it")
        if strikes_process(self.drive, fault):
            read = {port.source for task in self.drive.system.tasks for port in task.inputs}
            if not read & self.drive.mapping.sensor_to_topic.keys():
                self._refuse(fault, "no task reads a sensor of the recording, so none is watched")
        root = self._roots[fault.name]
        if root.event is Event.SAMPLE and self.drive.sample_ns(root.of, root.number) is None:
            self._refuse(fault, "what sets it off does not happen in this run")
            return
        begin_ns = known_ns(root, self.drive.sample_ns, self._timed_job_ns)
        if begin_ns is not None and begin_ns >= self._end_ns:
            self._refuse(fault, f"it begins at {format_ns(begin_ns)}; the run ends at {format_ns(self._end_ns)}")

    def _refuse(self, fault: Injection, reason: str) -> None:
        self._problems.append(fault.problem(self._file, reason))

    def _timed_job_ns(self, task: str, number: int) -> int | None:
        activation = next(one.activation for one in self.drive.system.tasks if one.name == task)
        if not isinstance(activation, Periodic):
            return None
        return activation.offset_ns + floor_int(number * NS_PER_S / activation.rate_hz)

    def _moment(self, root: Trigger) -> Moment:
        """In the time of the run with faults. A message that is taken away still sets off what it would have."""
        if root.event is Event.JOB:
            return Moment(root.time_ns, job=(self.drive.task_names.index(root.of), root.number))
        if root.event is None:
            return Moment(root.time_ns + self.shift_ns)
        drive = self.drive
        samples = drive.timeline.samples
        sensor = [one.name for one in drive.system.sensors].index(root.of)
        row = int(np.flatnonzero((samples.sensor == sensor) & (samples.number == root.number))[0])
        there = np.flatnonzero(self.timeline.file_index == drive.timeline.file_index[row])
        if len(there) and any(port.source == root.of for task in drive.system.tasks for port in task.inputs):
            return Moment(root.time_ns, sample=int(there[0]))
        return Moment(int(samples.arrival_ns[row]) + root.time_ns + self.shift_ns)


def _back_ns(fault: Injection, landed: Landed, outcome: PacedOutcome) -> int | None:
    """When what was killed, or ended as it stood still, was there again: a worker at its post, a device that beats."""
    deed = _DEEDS[fault.kind_name]
    if deed in (Deed.KILL, Deed.STALL):
        loss = next((one for one in outcome.losses if one.pid == landed.pid), None)
        return None if loss is None or _went_on(fault, landed, loss.noticed_ns) else loss.back_ns
    signs_ns = [one.last_sign_ns for one in outcome.notices if one.is_back and one.device == fault.target]
    later_ns = [sign_ns for sign_ns in signs_ns if landed.time_ns is not None and sign_ns > landed.time_ns]
    return min(later_ns, default=None) if deed is Deed.LOSE else None


def _watch_back_ns(fault: Injection, landed: Landed, outcome: PacedOutcome) -> int | None:
    """When the watch over sensors, lost since, reported again."""
    losses = () if outcome.health is None else outcome.health.losses
    loss = next((one for one in losses if landed.time_ns is not None and one.noticed_ns >= landed.time_ns), None)
    return None if loss is None or _went_on(fault, landed, loss.noticed_ns) else loss.back_ns


def _went_on(fault: Injection, landed: Landed, noticed_ns: int) -> bool:
    """Whether what stood still went on before a loss was noticed, which is another one then."""
    stands_ns = 0 if landed.time_ns is None else landed.time_ns + fault.stall_ns
    return _DEEDS[fault.kind_name] is Deed.STALL and noticed_ns > stands_ns


class _Overrunning:
    """A stage some of whose jobs take more CPU time than they need. `demands_ns`: by number of the job, of the host."""

    def __init__(self, stage: Stage, demands_ns: Mapping[int, int]) -> None:
        self._stage, self._demands_ns = stage, demands_ns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the stage makes, once the CPU time is used up."""
        until_ns = time.thread_time_ns() + self._demands_ns.get(job.number, 0)
        outputs = self._stage.process(job, inputs)
        while time.thread_time_ns() < until_ns:
            pass
        return outputs
