"""A system, a recording and a fault script, read and held against each other before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from rt_sched.app.inputs.log_inputs import horizon_of, map_topics
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.config import load_system
from rt_sched.errors import ConfigError, Problem
from rt_sched.faults.clocks import SensorClock, sensor_clocks
from rt_sched.faults.kinds import KINDS, NEED_LOG_TIME
from rt_sched.faults.recording import FaultedRecording
from rt_sched.faults.schedule import losses, restarts, with_faults
from rt_sched.faults.script import FaultScript, Injection, Strike
from rt_sched.faults.timing import strikes_of
from rt_sched.lowering import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.merging import with_merged
from rt_sched.model import Fault, Plan, System
from rt_sched.ports import Recording
from rt_sched.runtime.detection import detect
from rt_sched.runtime.timeline import Timeline, build_timeline
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace
from sensors.mapping import TopicMapping


@dataclass(frozen=True)
class Drive:
    """A recording under a system and a plan, without faults. `system_sha256`: of the system file."""

    system: System
    plan: Plan
    recording: Recording
    mapping: TopicMapping
    timeline: Timeline
    seed: int
    system_sha256: str

    @property
    def horizon_ns(self) -> int:
        """The end of the run."""
        return horizon_of(self.system, self.timeline)

    @property
    def task_names(self) -> list[str]:
        """In the order of the system."""
        return [task.name for task in self.system.tasks]

    @cached_property
    def clocks(self) -> dict[str, SensorClock]:
        """Topic -> how the run reads its times."""
        return sensor_clocks(self.recording, self.timeline, self.system.sensors, self.mapping.sensor_to_topic)

    def clock_of(self, sensor: str) -> SensorClock:
        """That of a sensor which the recording holds."""
        return self.clocks[self.mapping.sensor_to_topic[sensor]]

    @cached_property
    def trace(self) -> Trace:
        """The schedule without faults."""
        return _run(self.machine(self.timeline, self.horizon_ns, ()))

    def machine(self, timeline: Timeline, horizon_ns: int, faults: Sequence[Fault], over_ns: int = 0) -> MachineInput:
        """A schedule with what the plan does about losses; `over_ns`: when the last message would come without any."""
        recorded = self.mapping.sensor_to_topic.keys()
        detection = detect(self.system, self.plan, timeline.samples, faults, recorded, horizon_ns, over_ns)
        return lower(
            self.system,
            self.plan,
            timeline.samples,
            seed=self.seed,
            horizon_ns=horizon_ns,
            faults=faults,
            plan_changes=detection.plan_changes,
        )

    @cached_property
    def active(self) -> frozenset[str]:
        """Sensors that the recording holds, and tasks that have jobs."""
        return frozenset(self.mapping.sensor_to_topic).union(self.job_counts)

    @cached_property
    def job_counts(self) -> dict[str, int]:
        """By task, how many jobs of it arrive; of those that have any."""
        found, counts = np.unique(self.trace.jobs.task, return_counts=True)
        return {self.task_names[index]: int(count) for index, count in zip(found, counts, strict=True)}

    def sample_ns(self, sensor: str, number: int) -> int | None:
        """When a message of a sensor arrives."""
        index = [one.name for one in self.system.sensors].index(sensor)
        samples = self.timeline.samples
        found = np.flatnonzero((samples.sensor == index) & (samples.number == number))
        return int(samples.arrival_ns[found[0]]) if len(found) else None

    def job_ns(self, task: str, number: int) -> int | None:
        """When a job of a task arrives."""
        jobs = self.trace.jobs
        found = np.flatnonzero((jobs.task == self.task_names.index(task)) & (jobs.number == number))
        return int(jobs.arrival_ns[found[0]]) if len(found) else None


def drive_of(system: Path, recording: Recording, plan: Path | None, policy: str | None, seed: int) -> Drive:
    """Raises ConfigError and DataError for everything that is wrong with the files."""
    loaded = load_system(system, stages=ImportedStages())
    mapping = map_topics(loaded, recording)
    timeline = build_timeline(recording, loaded.sensors, mapping.sensor_to_topic)
    chosen, _ = plan_for(loaded, plan, policy)
    return Drive(with_merged(loaded, chosen.merged), chosen, recording, mapping, timeline, seed, file_sha256(system))


class Struck:
    """A drive with the faults of a script, as `run_replay` takes them. Times are those of the drive without faults."""

    def __init__(self, drive: Drive, script: FaultScript, file: str) -> None:
        """Raises ConfigError for faults that lockstep does not carry out, that never begin, or that strike nothing."""
        why_not = {kind.name: kind.not_lockstep for kind in KINDS}
        problems = complaints(drive, script, file, why_not, "in lockstep")
        problems += [
            fault.problem(file, f"{fault.target} is a process of paced runs; add --paced")
            for fault in script.faults
            if strikes_process(drive, fault)
        ]
        if problems:
            raise ConfigError(problems)
        self.drive = drive
        self._seed = script.seed
        self._carry_out(strikes_of(script, file, drive.horizon_ns, drive.sample_ns, drive.job_ns))

    def _carry_out(self, strikes: list[Strike]) -> None:
        drive = self.drive
        self.strikes = strikes
        self.faulted = self.recording(drive.recording)
        topics = drive.mapping.sensor_to_topic
        self.timeline = drive.timeline
        if self.faulted.is_struck:
            self.timeline = build_timeline(self.faulted, drive.system.sensors, topics)
        #: By how much times of the run with faults are larger: its first message may be another one.
        self.shift_ns = drive.timeline.origin_ns - self.timeline.origin_ns

    def without(self, names: Collection[str]) -> Struck:
        """The same, but for the faults of these names; all others strike when they did."""
        other = copy(self)
        other._carry_out([one for one in self.strikes if one.fault.name not in names])
        return other

    def recording(self, recording: Recording) -> FaultedRecording:
        """What the sensors send instead."""
        drive, topics = self.drive, self.drive.mapping.sensor_to_topic
        return FaultedRecording(recording, drive.system.sensors, topics, self.strikes, drive.clocks, self._seed)

    @property
    def losses(self) -> tuple[Fault, ...]:
        """Those of the faults that are losses, in the time of the run with faults."""
        return losses(self.strikes, self.shift_ns)

    def machine(self, machine: MachineInput) -> MachineInput:
        """The schedule with its faults."""
        stalls = any(strike.fault.kind_name == "process.stall" for strike in self.strikes)
        without = self.drive.trace if stalls else None
        return with_faults(machine, self.strikes, self.drive.task_names, without, self.shift_ns)

    def restarts(self) -> Mapping[int, Sequence[int]]:
        """By the index of a task, when its process begins anew."""
        return restarts(self.strikes, self.drive.task_names, self.shift_ns)

    @property
    def horizon_ns(self) -> int:
        """The end of the run with faults, which is that of the drive."""
        return self.drive.horizon_ns + self.shift_ns

    @property
    def over_ns(self) -> int:
        """When the last message would come without faults, in the time of the run with faults."""
        return self.drive.timeline.last_arrival_ns + self.shift_ns

    def schedule(self) -> Trace:
        """What runs when, without any stage."""
        return _run(self.machine(self.drive.machine(self.timeline, self.horizon_ns, self.losses, self.over_ns)))


def _run(machine: MachineInput) -> Trace:
    simulation = Simulation(machine)
    simulation.run()
    return simulation.trace()


def strikes_process(drive: Drive, fault: Injection) -> bool:
    """Whether a fault strikes a process of a paced run itself, and no task."""
    return fault.target in fault.kind.processes and fault.target not in drive.task_names


def complaints(drive: Drive, script: FaultScript, file: str, why_not: Mapping[str, str], where: str) -> list[Problem]:
    """About faults that strike nothing in this drive, and of kinds that have a reason in `why_not`."""
    problems = []
    sensors, tasks = {sensor.name for sensor in drive.system.sensors}, set(drive.task_names)
    for fault in script.faults:
        if why_not[fault.kind_name]:
            reason = f"{fault.kind_name} is not carried out {where}: {why_not[fault.kind_name]}"
            problems.append(fault.problem(file, reason))
        elif fault.target in sensors and fault.target not in drive.mapping.sensor_to_topic:
            reason = f"{drive.recording.path} has no message of {fault.target}, so nothing can happen to them"
            problems.append(fault.problem(file, reason))
        elif fault.kind_name in NEED_LOG_TIME and drive.clock_of(fault.target).log_shift_ns is None:
            reason = f"messages of {fault.target} arrive by their stamps, so {fault.kind_name} is not seen"
            problems.append(fault.problem(file, reason))
        elif fault.target in tasks and fault.target not in drive.active:
            problems.append(fault.problem(file, f"{fault.target} has no job in this run, so nothing can stop it"))
    return problems
