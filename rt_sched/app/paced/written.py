"""A paced run that is over: its trace, its bounds, its verdict, and the folder that keeps them."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rt_sched.analysis.methods import METHODS
from rt_sched.app.paced.device_losses import detection_of, losses_of
from rt_sched.app.paced.document import paced_document
from rt_sched.app.paced.frames import see_frames
from rt_sched.app.paced.host_supply import host_share, why_no_bounds_under
from rt_sched.app.paced.host_time import host_monitors
from rt_sched.app.paced.links import link_losses, link_notices
from rt_sched.app.paced.prepared import Prepared
from rt_sched.app.paced.request import PacedFaults, PacedRequest
from rt_sched.app.paced.sections import section_monitors
from rt_sched.app.paced.shared_cores import why_contended_under, why_core_is_contended
from rt_sched.app.paced.suspensions import suspension_monitors
from rt_sched.app.runs.bounds import run_bounds, without_bounds
from rt_sched.app.runs.documents import published_messages
from rt_sched.app.runs.ending import Judged, write_run
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.app.runs.takeover_runs import takeover_runs
from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.faults.outcomes import Decisions
from rt_sched.lowering import lower
from rt_sched.model import System
from rt_sched.ports import JobContext
from rt_sched.record.mcap_writer import OutputRecorder
from rt_sched.runtime.host.supply import supply_loss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.deployment import free_core, host_cores
from rt_sched.runtime.paced.gather import Course, trace_of
from rt_sched.runtime.paced.order import PacedOutcome
from rt_sched.runtime.stage_graph import FinishedJob, NoData, samples_read
from rt_sched.sim.simulation import Simulation
from rt_sched.trace.records import JobStatus, Trace

#: Nobody checks a paced trace against the rules of the modelled schedule: this host's kernel made it.
_NOT_CHECKED: dict[str, Any] = {"checked": [], "violations": [], "violation_counts": {}}


@dataclass(frozen=True, slots=True)
class Written:
    """`summary`, `manifest`: as they stand in the folder. `decisions`: of the arbiter, with their times."""

    summary: dict[str, Any]
    manifest: dict[str, Any]
    decisions: Decisions


def write_up(
    request: PacedRequest, prepared: Prepared, outcome: PacedOutcome, folder: Path, faults: PacedFaults | None
) -> Written:
    """Looks at everything that happened, and writes it into `folder`."""
    order, given, lost = prepared.order, prepared.given, prepared.lost
    system, plan, tier, failover = order.system, order.plan, order.tier, order.failover
    replayed, horizon_ns = prepared.replayed, order.horizon_ns
    recording, mapping, timeline = replayed.recording, replayed.mapping, replayed.timeline
    with ExitStack() as stack:
        edge_names = Simulation(given, rows=1).trace().edges
        lost, detection = (*losses_of(lost, outcome), *link_losses(order, outcome)), detection_of(failover, outcome)
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
                [course.transfers for course in outcome.links],
            )
        )
        watch = ReplayWatch(system, trace.samples)
        recorder = stack.enter_context(replayed.outputs(folder))
        _see_all(system, trace, outcome, watch, recorder)
        shown = recording if faults is None else faults.recording(recording)
        see_frames(watch, shown, list(mapping.sensor_to_topic.values()), timeline)
        if faults is not None:
            faults.ended(trace, outcome, watch.decisions)
        recorded = mapping.sensor_to_topic.keys()
        chains = judged_chains(system, plan, trace, lost, recorded, watch.refused_rows, changes)
        watch_beside = order.health if free_core(host_cores(system, plan)) is None else None
        share = host_share(system, plan, tier, order.beside, supply_loss(), watch_beside)
        beside = dataclasses.replace(trace, task_names=tuple(task.name for task in share.system.tasks))
        why_none = share.why_no_bounds or why_core_is_contended(system, plan)
        if tier is Tier.USER:
            why_none = "the user tier has no bounds"
        takeovers = takeover_runs(
            share.system,
            share.plan,
            beside,
            detection,
            lost,
            recorded,
            watch.refused_rows,
            lambda found: why_contended_under(system, plan, found.takeover) or why_no_bounds_under(share, found),
            share.known if share.methods is METHODS else None,
        )
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
            further=(
                *host_monitors(share, tier, beside),
                *section_monitors(order, outcome),
                *suspension_monitors(order, outcome),
            ),
            known=share.known,
        )
        if why_none is not None:
            bounds = without_bounds(bounds, why_none)
        noticed = link_notices(outcome)
        summary, manifest = write_run(
            folder,
            replayed,
            Judged(trace, _NOT_CHECKED, watch, lost, chains, bounds, detection, takeovers, noticed),
            recorder,
            {"seed": 0, "policy": plan.policy, "clock": "paced", "tier": tier.value, "rate": str(request.rate)},
            lambda known: paced_document(order, outcome, trace, prepared.tiers, share, known),
        )
    return Written(summary, manifest, watch.decisions)


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
