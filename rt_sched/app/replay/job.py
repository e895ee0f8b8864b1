"""Replay: a recording in, a run folder out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from rt_sched import kernels
from rt_sched.app.health.document import health_document
from rt_sched.app.health.order import fed_context
from rt_sched.app.inputs.fault_args import check_fault_times, parse_faults
from rt_sched.app.inputs.log_inputs import horizon_of, map_topics, pixels_needed
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context, system_for
from rt_sched.app.progress import Progress
from rt_sched.app.replay.health import HealthReports, health_reports
from rt_sched.app.runs.bounds import run_bounds
from rt_sched.app.runs.check_trace import check_document
from rt_sched.app.runs.documents import published_messages
from rt_sched.app.runs.ending import Judged, Replayed, write_run
from rt_sched.app.runs.folder import RunFolder
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.app.runs.result import ReplayResult
from rt_sched.app.runs.takeover_runs import takeover_runs
from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.lowering import lower
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.merging import with_merged
from rt_sched.messages import EncodedImage
from rt_sched.model import System, Task
from rt_sched.ports import Recording, Stage
from rt_sched.record.mcap_writer import OutputRecorder
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.detection import detect
from rt_sched.runtime.fed_stage import FedStage
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.lives import Lives, lives_of
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.stage_graph import FinishedJob, StageGraph, samples_read
from rt_sched.runtime.timeline import Timeline, build_timeline
from rt_sched.sim import Simulation
from sensors.decode_ahead import DecodeAhead
from sensors.mapping import TopicMapping
from sensors.recording import open_recording


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What the user asked for. `system`, `policy`, `plan`, `threads`, `output`: None for the default."""

    log: str
    system: str | None = None
    policy: str | None = None
    plan: Path | None = None
    seed: int = 0
    threads: int | None = None
    faults: tuple[str, ...] = ()
    output: Path | None = None
    salvage: bool = False
    command: str = "rt-sched replay"


class Injected(Protocol):
    """What a fault script does to a run besides losses."""

    @property
    def horizon_ns(self) -> int:
        """The end of the run, which no fault moves."""

    @property
    def over_ns(self) -> int:
        """When the last message would come without faults."""

    def recording(self, recording: Recording) -> Recording:
        """What the sensors send instead."""

    def machine(self, machine: MachineInput) -> MachineInput:
        """The schedule with its faults."""

    def restarts(self) -> Mapping[int, Sequence[int]]:
        """By the index of a task, when its process begins anew, in ns."""


def run_replay(request: ReplayRequest, progress: Progress, injected: Injected | None = None) -> ReplayResult:
    """The whole job. Raises RtSchedError for anything the user can mend; then no run folder is left."""
    began = time.monotonic()
    log = resolve(request.log)
    run = RunFolder(request.output or Path("runs") / log.stem, numbered=request.output is None)
    with ExitStack() as stack:
        progress.step("reading the recording")
        recording = open_recording(log, salvage=request.salvage)
        stack.callback(recording.close)
        usual = recording
        if injected is not None:
            recording = injected.recording(recording)
        stages_known = ImportedStages()
        system, system_path = system_for(request.system, recording, stages_known)
        faults = parse_faults(request.faults, system)
        mapping = map_topics(system, recording)
        plan, plan_note = plan_for(system, request.plan, request.policy)
        system = with_merged(system, plan.merged)
        folder = stack.enter_context(run).path
        timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
        horizon_ns = horizon_of(system, timeline) if injected is None else injected.horizon_ns
        over_ns = timeline.last_arrival_ns if injected is None else injected.over_ns
        check_fault_times(faults, horizon_ns)
        until_ns = min(over_ns, horizon_ns)
        reports = health_reports(system, plan, usual, recording, mapping, timeline, faults, until_ns, horizon_ns)
        progress.step("starting the stages")
        recorded = mapping.sensor_to_topic.keys()
        detection = detect(system, plan, timeline.samples, faults, recorded, horizon_ns, over_ns)
        restarts = {} if injected is None else injected.restarts()
        lives = lives_of(system, plan, detection.plan_changes, faults, restarts)
        stages, successors = stack.enter_context(_started(system, stages_known, lives, reports))
        machine = lower(
            system,
            plan,
            timeline.samples,
            seed=request.seed,
            faults=faults,
            horizon_ns=horizon_ns,
            plan_changes=detection.plan_changes,
        )
        simulation = Simulation(machine if injected is None else injected.machine(machine))
        watch = ReplayWatch(system, timeline.samples)
        replayed = Replayed(request, system, system_path, plan, plan_note, recording, mapping, timeline)
        recorder = stack.enter_context(replayed.outputs(folder))
        threads = request.threads or os.cpu_count() or 1
        progress.step("loading the scheduling kernel")
        kernels.warm_up()
        progress.step("replaying")
        _replay(
            simulation,
            system,
            stages,
            successors,
            lives,
            recording,
            mapping,
            timeline,
            threads,
            watch,
            recorder,
            progress,
        )
        progress.step("writing the run folder")
        trace = simulation.trace()
        chains = judged_chains(system, plan, trace, faults, recorded, watch.refused_rows, detection.plan_changes)
        takeovers = takeover_runs(system, plan, trace, detection, faults, recorded, watch.refused_rows)
        bounds = run_bounds(system, plan, trace, chains, watch.refused_rows, takeovers)
        summary, manifest = write_run(
            folder,
            replayed,
            Judged(trace, check_document(trace), watch, faults, chains, bounds, detection, takeovers),
            recorder,
            {"seed": request.seed, "policy": plan.policy, "clock": "lockstep", "tier": "modelled"},
            lambda _: {} if reports is None else {"health": health_document(reports.record, horizon_ns)},
        )
    return ReplayResult(run.target, summary, manifest, time.monotonic() - began, tuple(watch.decisions))


@contextmanager
def _started(
    system: System, catalogue: ImportedStages, lives: Lives, reports: HealthReports | None
) -> Iterator[tuple[list[Stage], dict[tuple[int, int], Stage]]]:
    """All stages, and one for every later life of a stateful task, started; stopped again whatever happens."""
    authenticator = authenticator_of(system)
    with ExitStack() as stack:

        def started(task: Task) -> Stage:
            stage = catalogue.create(task)
            context = stage_context(system, task, authenticator=authenticator)
            stage.start(context if reports is None else fed_context(context, reports.record.order))
            stack.callback(stage.stop)
            if reports is None or reports.record.order.reader != task.name:
                return stage
            return cast(Stage, FedStage(stage, reports.newest))

        stages = [started(task) for task in system.tasks]
        yield (
            stages,
            {
                (index, life): started(system.tasks[index])
                for index, begins_ns in lives.begins_ns.items()
                for life in range(1, len(begins_ns) + 1)
                if stages[index].stateful
            },
        )


def _replay(
    simulation: Simulation,
    system: System,
    stages: Sequence[Stage],
    successors: Mapping[tuple[int, int], Stage],
    lives: Lives,
    recording: Recording,
    mapping: TopicMapping,
    timeline: Timeline,
    threads: int,
    watch: ReplayWatch,
    recorder: OutputRecorder,
    progress: Progress,
) -> None:
    """The main loop: the schedule runs ahead, stages compute behind it, results are recorded in schedule order."""
    topics = [mapping.sensor_to_topic.get(sensor.name) for sensor in system.sensors]
    task_names = [task.name for task in system.tasks]
    feed = SampleFeed(recording, list(mapping.sensor_to_topic.values()), timeline)
    with Dataflow(threads, in_flight=64 * threads) as dataflow:
        decode = DecodeAhead(recording.decode, pixels_needed(system, stages, mapping))
        graph = StageGraph(system, stages, dataflow, decode, successors, authenticator_of(system))
        for finished in execute(
            simulation,
            task_names,
            timeline.samples,
            graph,
            feed,
            lambda now_ns: progress.advance(now_ns, simulation.horizon_ns),
            lives,
        ):
            if isinstance(finished, FinishedJob):
                watch.see_job(finished, samples_read(simulation.inputs[finished.job]))
                for port, message in published_messages(finished.result):
                    recorder.add(finished.context.finish_ns, task_names[finished.task], str(port), message)
            else:
                watch.see_sample(finished.sample, finished.result)
                topic = topics[int(timeline.samples.sensor[finished.sample])]
                for _, message in published_messages(finished.result):
                    if isinstance(message, EncodedImage) and topic is not None:
                        recorder.add_image(finished.read_ns, topic, message)
