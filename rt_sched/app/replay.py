"""Replay: a recording in, a run folder out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from rt_sched import kernels
from rt_sched.app.bounds import run_bounds
from rt_sched.app.check_trace import check_document
from rt_sched.app.fault_args import check_fault_times, parse_faults
from rt_sched.app.judged_chains import JudgedChain, judged_chains
from rt_sched.app.manifest import make_manifest
from rt_sched.app.plan_files import plan_for
from rt_sched.app.replay_frames import annotated_frames
from rt_sched.app.replay_watch import ReplayWatch
from rt_sched.app.run_folder import RunFolder
from rt_sched.app.shipped import resolve
from rt_sched.app.stages import ImportedStages
from rt_sched.app.summary import make_summary
from rt_sched.app.systems import stage_context, system_for
from rt_sched.app.takeover_runs import takeover_runs
from rt_sched.errors import DataError, DeploymentError
from rt_sched.lowering import Role, input_role, lower
from rt_sched.lowering.routes import as_placed
from rt_sched.messages import EncodedImage
from rt_sched.model import Fault, System, Task
from rt_sched.ports import Recording, Stage, TopicKind
from rt_sched.record.mcap_writer import OutputRecorder
from rt_sched.record.perfetto import Mark, write_perfetto
from rt_sched.record.trace_file import TRACE_FILE, save_trace
from rt_sched.report.run_data import ChainResult, RunReport
from rt_sched.report.run_report import render_run_report
from rt_sched.runtime.dataflow import Dataflow
from rt_sched.runtime.detection import detect
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.lives import Lives, lives_of
from rt_sched.runtime.lockstep import execute
from rt_sched.runtime.stage_graph import FinishedJob, NoData, Outputs, StageGraph, samples_read
from rt_sched.runtime.timeline import Timeline, build_timeline
from rt_sched.sim import Simulation
from rt_sched.trace.records import Trace, schedule_sha256
from sensors.decode_ahead import DecodeAhead, PixelsNeeded
from sensors.mapping import SensorPattern, TopicMapping, match_topics
from sensors.recording import open_recording


class Progress(Protocol):
    """Where a long job says how far it is."""

    def step(self, text: str) -> None: ...
    def advance(self, done_ns: int, total_ns: int) -> None: ...


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


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`folder`: the finished run folder. `summary`, `manifest`: the documents in it. `wall_s`: seconds on this host."""

    folder: Path
    summary: dict[str, Any]
    manifest: dict[str, Any]
    wall_s: float


def run_replay(request: ReplayRequest, progress: Progress) -> ReplayResult:
    """The whole job. Raises RtSchedError for anything the user can mend; then no run folder is left."""
    began = time.monotonic()
    log = resolve(request.log)
    run = RunFolder(request.output or Path("runs") / log.stem, numbered=request.output is None)
    with ExitStack() as stack:
        progress.step("reading the recording")
        recording = open_recording(log, salvage=request.salvage)
        stack.callback(recording.close)
        stages_known = ImportedStages()
        system, system_path = system_for(request.system, recording, stages_known)
        faults = parse_faults(request.faults, system)
        mapping = _map_topics(system, recording)
        plan, plan_note = plan_for(system, request.plan, request.policy)
        folder = stack.enter_context(run).path
        timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
        horizon_ns = _horizon_ns(system, timeline)
        check_fault_times(faults, horizon_ns)
        progress.step("starting the stages")
        recorded = mapping.sensor_to_topic.keys()
        detection = detect(system, plan, timeline.samples, faults, recorded, horizon_ns)
        lives = lives_of(system, plan, detection.plan_changes, faults)
        stages, successors = stack.enter_context(_started(system, stages_known, lives))
        simulation = Simulation(
            lower(
                system,
                plan,
                timeline.samples,
                seed=request.seed,
                faults=faults,
                horizon_ns=horizon_ns,
                plan_changes=detection.plan_changes,
            )
        )
        watch = ReplayWatch(system, timeline.samples)
        # A recording that counts from 0 may have been captured before that, where the file format has no times.
        recorder = stack.enter_context(OutputRecorder(folder / "output.mcap", time_zero_ns=max(timeline.origin_ns, 0)))
        if poses := _sensor_poses(system, recording, mapping):
            recorder.add_static_transforms("vehicle", poses)
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
        trace_check = check_document(trace)
        chains = judged_chains(system, plan, trace, faults, recorded, watch.refused_rows, detection.plan_changes)
        takeovers = takeover_runs(system, plan, trace, detection, faults, recorded, watch.refused_rows)
        bounds = run_bounds(system, plan, trace, chains, watch.refused_rows, takeovers)
        summary = make_summary(
            system=as_placed(system, plan),
            plan=plan,
            trace=trace,
            chains=chains,
            recording=recording,
            recording_name=request.log,
            mapping=mapping,
            timeline=timeline,
            faults=faults,
            watch=watch,
            trace_check=trace_check,
            bounds=bounds,
            detection=detection,
            takeovers=takeovers,
        )
        if plan_note is not None:
            summary["notes"] = [*summary["notes"], plan_note]
        manifest = make_manifest(
            inputs=[
                (request.log, Path(recording.path)),
                *([(request.system, system_path)] if request.system and system_path else []),
                *([(str(request.plan), request.plan)] if request.plan else []),
            ],
            command=request.command,
            options={"seed": request.seed, "policy": plan.policy, "clock": "lockstep", "tier": "modelled"},
            schedule_sha256=schedule_sha256(trace),
            outputs_sha256=watch.outputs_sha256,
        )
        recorder.close()
        _write_folder(folder, system, trace, chains, faults, summary, manifest, watch)
    return ReplayResult(run.target, summary, manifest, time.monotonic() - began)


def _map_topics(system: System, recording: Recording) -> TopicMapping:
    patterns = {sensor.name: SensorPattern(TopicKind(sensor.kind.value), sensor.topics) for sensor in system.sensors}
    mapping = match_topics(recording.topics, patterns)
    if not mapping.sensor_to_topic:
        topics = ", ".join(f"{topic.name} ({topic.schema})" for topic in recording.topics) or "none"
        raise DataError(
            f"{recording.path}: no topic belongs to a sensor of system {system.name}; topics in the recording: {topics}"
        )
    return mapping


def _sensor_poses(
    system: System, recording: Recording, mapping: TopicMapping
) -> dict[str, tuple[tuple[float, float, float, float], ...]]:
    """Frame of each sensor whose pose is known, by the name that its first readable message gives it -> pose."""
    poses = {}
    for sensor in system.sensors:
        pose, topic = sensor.calibration.sensor_to_vehicle, mapping.sensor_to_topic.get(sensor.name)
        if pose is None or topic is None:
            continue
        first = next((message for message in recording.messages([topic]) if message.problem is None), None)
        try:
            frame = recording.decode(first).frame_id if first else ""
        except DataError:
            continue
        if frame:
            poses[frame] = pose
    return poses


def _horizon_ns(system: System, timeline: Timeline) -> int:
    """The end of the run: the last arrival and room for the jobs that follow from it.

    Room is the largest deadline, but no more than three times the longest path of worst-case execution times: clocks
    go on meanwhile, and what they would do long after the recording says nothing about the drive.
    """
    tasks = {task.name: task for task in system.tasks}

    @cache
    def path_ns(name: str) -> int:
        if name not in tasks:
            return 0
        task = tasks[name]
        activating = [port for port in task.inputs if input_role(task.activation, port) is not Role.READ]
        return task.execution.wcet_ns + max((path_ns(port.source) for port in activating), default=0)

    room_ns = min(max(task.deadline_ns for task in system.tasks), 3 * max(map(path_ns, tasks)))
    return timeline.last_arrival_ns + room_ns + 1


@contextmanager
def _started(
    system: System, catalogue: ImportedStages, lives: Lives
) -> Iterator[tuple[list[Stage], dict[tuple[int, int], Stage]]]:
    """All stages, and one for every later life of a stateful task, started; stopped again whatever happens."""
    with ExitStack() as stack:

        def started(task: Task) -> Stage:
            stage = catalogue.create(task)
            stage.start(stage_context(system, task))
            stack.callback(stage.stop)
            return stage

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
        decode = DecodeAhead(recording.decode, _pixels_needed(system, stages, mapping))
        graph = StageGraph(system, stages, dataflow, decode, successors)
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
                for port, message in _published(finished.result):
                    recorder.add(finished.context.finish_ns, task_names[finished.task], str(port), message)
            else:
                watch.see_sample(finished.sample, finished.result)
                topic = topics[int(timeline.samples.sensor[finished.sample])]
                for _, message in _published(finished.result):
                    if isinstance(message, EncodedImage) and topic is not None:
                        recorder.add_image(finished.read_ns, topic, message)


def _pixels_needed(system: System, stages: Sequence[Stage], mapping: TopicMapping) -> dict[str, list[PixelsNeeded]]:
    """Topic of a camera -> what each stage that says so needs of its frames."""
    needs: dict[str, list[PixelsNeeded]] = {}
    for task, stage in zip(system.tasks, stages, strict=True):
        needed = getattr(stage, "pixels_needed", None)
        for port in task.inputs:
            topic = mapping.sensor_to_topic.get(port.source)
            if needed is not None and topic is not None:
                needs.setdefault(topic, []).append(needed)
    return needs


def _published(result: Outputs | NoData) -> Iterable[tuple[str | None, Any]]:
    return result.ports.items() if isinstance(result, Outputs) else ()


def _write_folder(
    folder: Path,
    system: System,
    trace: Trace,
    chains: Sequence[JudgedChain],
    faults: Sequence[Fault],
    summary: dict[str, Any],
    manifest: dict[str, Any],
    watch: ReplayWatch,
) -> None:
    save_trace(trace, folder / TRACE_FILE)
    write_perfetto(
        trace,
        folder / "trace.pftrace",
        chains={chain.name: chain.path for chain in system.chains},
        marks=[Mark(fault.time_ns, f"fault {fault}") for fault in faults],
    )
    report = RunReport(
        summary=summary,
        manifest=manifest,
        trace=trace,
        chains=[ChainResult(judged.chain, judged.measurement) for judged in chains],
        arbiter=watch.decisions,
        frames=annotated_frames(watch),
    )
    _write_text(folder / "report.html", render_run_report(report))
    for name, document in (("summary.json", summary), ("manifest.json", manifest)):
        _write_text(folder / name, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeploymentError(f"cannot write {path}: {error.strerror}") from error
