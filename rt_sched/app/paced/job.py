"""Paced replay: the log through real processes on this host's own scheduler, wall clock."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rt_sched import kernels
from rt_sched.app.inputs.log_inputs import horizon_of, map_topics, pixels_needed, sensor_poses
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context, system_for
from rt_sched.app.paced.actuator import actuator_order
from rt_sched.app.paced.device_losses import detection_of, device_faults, has_answers, losses_of, strikes
from rt_sched.app.paced.document import paced_document
from rt_sched.app.paced.host_supply import host_monitors, host_share
from rt_sched.app.paced.tiers import (
    check_plan_of_tier,
    check_tier_of_failover,
    chosen_tier,
    policy_of_tier,
    system_of_tier,
)
from rt_sched.app.replay.job import Progress, ReplayResult
from rt_sched.app.replay.watch import ReplayWatch
from rt_sched.app.runs.bounds import run_bounds, without_bounds
from rt_sched.app.runs.documents import published_messages, write_documents
from rt_sched.app.runs.folder import RunFolder
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.app.runs.manifest import make_manifest, run_inputs
from rt_sched.app.runs.summary import make_summary
from rt_sched.app.runs.takeover_runs import takeover_runs
from rt_sched.faults.outcomes import Decisions
from rt_sched.faults.supervision import alive_timeout_ns
from rt_sched.kernels import ring
from rt_sched.lowering import lower
from rt_sched.lowering.merging import with_merged
from rt_sched.lowering.routes import as_placed
from rt_sched.model import System
from rt_sched.ports import JobContext, Recording, Stage
from rt_sched.record.mcap_writer import OutputRecorder
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.host.supply import supply_loss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.answers import device_failover
from rt_sched.runtime.paced.executor import PacedOrder, PacedOutcome, PacedRun, host_cores
from rt_sched.runtime.paced.feeder import Playback, decode_ahead
from rt_sched.runtime.paced.gather import Course, trace_of
from rt_sched.runtime.paced.injector import Blow
from rt_sched.runtime.paced.publisher import publisher_of
from rt_sched.runtime.paced.refusal import refuse
from rt_sched.runtime.paced.rehearsal import Rehearsal, rehearse
from rt_sched.runtime.stage_graph import FinishedJob, NoData, samples_read
from rt_sched.runtime.timeline import Timeline, build_timeline
from rt_sched.sim.simulation import Simulation
from rt_sched.trace.records import JobStatus, Trace, schedule_sha256
from sensors.decode_ahead import decoded_with_pixels
from sensors.mapping import TopicMapping
from sensors.recording import open_recording

#: How much of the recording is rehearsed, from the first arrival on.
_REHEARSED_NS = 450_000_000

#: Nobody checks a paced trace against the rules of the modelled schedule: this host's kernel made it.
_NOT_CHECKED: dict[str, Any] = {"checked": [], "violations": [], "violation_counts": {}}


@dataclass(frozen=True, slots=True)
class PacedRequest:
    """What the user asked for. `tier`: None for the best that this host has. `rate`: run time per host time.

    `faults`: devices to lose, by ending their processes; `stops`: by stopping them, `inside`: in the next job there.
    """

    log: str
    system: str | None = None
    policy: str | None = None
    plan: Path | None = None
    tier: Tier | None = None
    rate: Fraction = Fraction(1)
    duration_ns: int | None = None
    output: Path | None = None
    salvage: bool = False
    command: str = "rt-sched replay"
    faults: tuple[str, ...] = ()
    stops: bool = False
    inside: bool = False


class PacedFaults(Protocol):
    """What a fault script does to a paced run. `timeline`: of the recording with its faults."""

    @property
    def timeline(self) -> Timeline: ...
    @property
    def loses_devices(self) -> bool: ...

    def recording(self, recording: Recording) -> Recording:
        """What the sensors send instead."""

    def stage(self, index: int, stage: Stage, rate: Fraction) -> Stage:
        """The started stage of a task, by its index, in the worker."""

    def blows(self) -> Sequence[Blow]:
        """What strikes processes while the run goes on."""

    def ended(self, trace: Trace, outcome: PacedOutcome, decisions: Decisions) -> None:
        """What became of it. `decisions`: of the arbiter, with their times."""


#: What looks at a run while it goes on, given the run time each time.
Looker = Callable[[int], None]


def run_paced(
    request: PacedRequest,
    progress: Progress,
    live: Callable[[PacedRun], AbstractContextManager[Looker]] | None = None,
    faults: PacedFaults | None = None,
) -> ReplayResult:
    """The whole job; with `live` somebody looks on, with `faults` a script is carried out. Raises RtSchedError for
    anything the user can mend; then no run folder is left.
    """
    began = time.monotonic()
    log = resolve(request.log)
    run = RunFolder(request.output or Path("runs") / log.stem, numbered=request.output is None)
    with ExitStack() as stack:
        progress.step("trying the tiers of this host")
        tier, tiers = chosen_tier(request.tier)
        progress.step("reading the recording")
        recording = open_recording(log, salvage=request.salvage)
        stack.callback(recording.close)
        catalogue = ImportedStages()
        declared, system_path = system_for(request.system, recording, catalogue)
        system = system_of_tier(declared, tier)
        mapping = map_topics(system, recording)
        policy = request.policy if request.plan else policy_of_tier(tier, request.policy)
        plan, plan_note = plan_for(system, request.plan, policy)
        system = with_merged(system, plan.merged)
        check_plan_of_tier(tier, plan)
        folder = stack.enter_context(run).path
        timeline = build_timeline(recording, system.sensors, mapping.sensor_to_topic)
        usual = recording, timeline
        if faults is not None:
            recording, timeline = faults.recording(recording), faults.timeline
        horizon_ns = min(horizon_of(system, timeline), request.duration_ns or horizon_of(system, timeline))
        given = lower(system, plan, timeline.samples, horizon_ns=horizon_ns)
        lost = device_faults(request.faults, system, horizon_ns)
        failover = None
        if lost or has_answers(plan) or (faults is not None and faults.loses_devices):
            failover = device_failover(system, plan, timeline.samples, horizon_ns)
            check_tier_of_failover(tier)
        host_cores(system, plan)
        refuse(given.setup)
        authenticator = authenticator_of(system)
        progress.step("loading the scheduling kernel")
        kernels.warm_up()
        ring.warm_up()
        progress.step("rehearsing the stages")
        rehearsal, output_ports = _rehearsed(system, plan, catalogue, *usual, mapping, horizon_ns)

        def make_stage(index: int) -> Stage:
            stage = catalogue.create(system.tasks[index])
            stage.start(stage_context(system, system.tasks[index], authenticator=authenticator))
            return stage if faults is None else faults.stage(index, stage, request.rate)

        def decode(playback: Playback) -> None:
            opened = open_recording(log, salvage=request.salvage)
            again = opened if faults is None else faults.recording(opened)
            needs = pixels_needed(system, [catalogue.create(task) for task in system.tasks], mapping)
            feed = SampleFeed(again, list(mapping.sensor_to_topic.values()), timeline)
            decode_ahead(
                playback, feed, lambda message: decoded_with_pixels(again.decode(message), needs.get(message.topic, ()))
            )

        order = PacedOrder(
            system=system,
            plan=plan,
            setup=given.setup,
            tier=tier,
            rate=request.rate,
            samples=timeline.samples,
            horizon_ns=horizon_ns,
            rehearsal=rehearsal,
            make_stage=make_stage,
            decode=decode,
            output_ports=output_ports,
            alive_ns=[alive_timeout_ns(system, task) for task in system.tasks],
            actuator=actuator_order(system, catalogue),
            blows=() if faults is None else faults.blows(),
            failover=failover,
            strikes=strikes(lost, stop=request.stops, inside=request.inside),
        )
        paced = PacedRun(order)
        progress.step("starting the processes")
        looks = nullcontext(lambda now_ns: progress.advance(now_ns, horizon_ns)) if live is None else live(paced)
        with looks as look:
            outcome = paced.run(look)
        progress.step("writing the run folder")
        edge_names = Simulation(given, rows=1).trace().edges
        lost, detection = losses_of(lost, outcome), detection_of(failover, outcome)
        changes = detection.plan_changes
        as_it_went = lower(system, plan, timeline.samples, horizon_ns=horizon_ns, faults=lost, plan_changes=changes)
        trace = trace_of(
            Course(
                as_it_went.setup,
                edge_names,
                outcome.journals,
                timeline.samples,
                outcome.published_ns,
                horizon_ns,
                request.rate,
            )
        )
        watch = ReplayWatch(system, trace.samples)
        recorder = stack.enter_context(OutputRecorder(folder / "output.mcap", time_zero_ns=max(timeline.origin_ns, 0)))
        if poses := sensor_poses(system, recording, mapping):
            recorder.add_static_transforms("vehicle", poses)
        _see_all(system, trace, outcome, watch, recorder)
        if faults is not None:
            faults.ended(trace, outcome, watch.decisions)
        recorded = mapping.sensor_to_topic.keys()
        chains = judged_chains(system, plan, trace, lost, recorded, watch.refused_rows, changes)
        share = host_share(system, plan, tier, publisher_of(system, plan, rehearsal.bytes_of), supply_loss())
        beside = dataclasses.replace(trace, task_names=tuple(task.name for task in share.system.tasks))
        why_none = "the user tier has no bounds" if tier is Tier.USER else share.why_no_bounds
        takeovers = takeover_runs(share.system, share.plan, beside, detection, lost, recorded, watch.refused_rows)
        if why_none is not None:
            takeovers = tuple(dataclasses.replace(one, analysed=False, reason=why_none) for one in takeovers)
        bounds = run_bounds(
            share.system,
            share.plan,
            beside,
            chains,
            watch.refused_rows,
            takeovers,
            methods=share.methods,
            further=host_monitors(share, tier, beside),
        )
        if why_none is not None:
            bounds = without_bounds(bounds, why_none)
        summary = make_summary(
            system=as_placed(system, plan),
            plan=plan,
            trace=trace,
            chains=chains,
            recording=recording,
            recording_name=request.log,
            mapping=mapping,
            timeline=timeline,
            faults=lost,
            watch=watch,
            trace_check=_NOT_CHECKED,
            bounds=bounds,
            detection=detection,
            takeovers=takeovers,
        )
        summary |= paced_document(order, outcome, trace, tiers, share, summary)
        if plan_note is not None:
            summary["notes"] = [*summary["notes"], plan_note]
        manifest = make_manifest(
            inputs=run_inputs(request.log, recording.path, request.system, system_path, request.plan),
            command=request.command,
            options={"seed": 0, "policy": plan.policy, "clock": "paced", "tier": tier.value, "rate": str(request.rate)},
            schedule_sha256=schedule_sha256(trace),
            outputs_sha256=watch.outputs_sha256,
        )
        recorder.close()
        write_documents(folder, system, trace, chains, lost, summary, manifest, watch)
    return ReplayResult(run.target, summary, manifest, time.monotonic() - began, watch.decisions)


def _rehearsed(
    system: System,
    plan: Any,
    catalogue: ImportedStages,
    recording: Recording,
    timeline: Timeline,
    mapping: TopicMapping,
    horizon_ns: int,
) -> tuple[Rehearsal, list[tuple[str, ...]]]:
    """The first moments in lockstep, in this process; and the output ports of each task's stage."""
    until_ns = min(horizon_ns, int(timeline.samples.arrival_ns.min(initial=0)) + _REHEARSED_NS)
    with ExitStack() as stack:
        stages = []
        for task in system.tasks:
            stage = catalogue.create(task)
            stage.start(stage_context(system, task, authenticator=authenticator_of(system)))
            stack.callback(stage.stop)
            stages.append(stage)
        needs = pixels_needed(system, stages, mapping)
        found = rehearse(
            system,
            stages,
            lower(system, plan, timeline.samples, horizon_ns=until_ns),
            timeline.samples,
            SampleFeed(recording, list(mapping.sensor_to_topic.values()), timeline),
            lambda message: decoded_with_pixels(recording.decode(message), needs.get(message.topic, ())),
        )
        return found, [tuple(stage.outputs) for stage in stages]


def _see_all(system: System, trace: Trace, outcome: PacedOutcome, watch: ReplayWatch, recorder: OutputRecorder) -> None:
    """Hands everything that jobs published to those who keep it, in the order in which the jobs ended."""
    jobs = trace.jobs
    kept = {(task, number): result for task, spool in enumerate(outcome.spools) for number, result in spool.read()}
    completed = np.flatnonzero(jobs.status == JobStatus.COMPLETED)
    for row in completed[np.lexsort((completed, jobs.finish_ns[completed]))].tolist():
        task, number = int(jobs.task[row]), int(jobs.number[row])
        result = kept.get((task, number), NoData("stage", "what it published was lost with its process"))
        context = JobContext(
            task=system.tasks[task].name,
            number=number,
            arrival_ns=int(jobs.arrival_ns[row]),
            start_ns=int(jobs.start_ns[row]),
            finish_ns=int(jobs.finish_ns[row]),
            deadline_ns=int(jobs.deadline_ns[row]),
        )
        watch.see_job(FinishedJob(row, task, context, result), samples_read(jobs.inputs[row]))
        for port, message in published_messages(result):
            recorder.add(context.finish_ns, context.task, str(port), message)
