"""The document `summary.json`: what a run did, task by task, chain by chain, message by message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.runs.actuator import actuator_of_decisions
from rt_sched.app.runs.bounds import RunBounds, tripped, violated
from rt_sched.app.runs.fault_outcomes import fault_outcomes
from rt_sched.app.runs.judged_chains import JudgedChain
from rt_sched.app.runs.message_fates import topic_rows
from rt_sched.app.runs.reasons import choices_once
from rt_sched.app.runs.safety_path import e2e_rows, shared_document
from rt_sched.app.runs.status import LateJobs, Losses, run_status
from rt_sched.app.runs.takeover_runs import TakeoverRun, takeover_notes
from rt_sched.app.runs.watch import ReplayWatch
from rt_sched.lowering import lost_devices
from rt_sched.lowering.outages import Outages
from rt_sched.model import Fault, Plan, System
from rt_sched.ports import Recording, TopicKind
from rt_sched.runtime.detection import Detection
from rt_sched.runtime.signs_of_life import Notice
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import Trace
from rt_sched.trace.statistics import TaskStatistics, measure_processing_elements, measure_tasks
from rt_sched.trace.weakly_hard import WeaklyHardResult, measure_weakly_hard
from rt_sched.units import NS_PER_S
from sensors.mapping import TopicMapping

SUMMARY_SCHEMA = "rt-sched/run-summary/1"

#: A task that does not exist in the mode that was analysed.
_NO_BOUND: dict[str, Any] = {
    "bound_ns": None,
    "bound_method": None,
    "bound_missing": "not in the first mode",
    "bound_terms": [],
    "disparity_max_ns": None,
    "disparity_bound_ns": None,
    "disparity_limit_ns": None,
}
#: Topics that one note names.
_MOST_NAMED = 8


def make_summary(
    *,
    system: System,
    plan: Plan,
    trace: Trace,
    chains: Sequence[JudgedChain],
    recording: Recording,
    recording_name: str,
    mapping: TopicMapping,
    timeline: Timeline,
    faults: Sequence[Fault],
    watch: ReplayWatch,
    trace_check: dict[str, Any],
    bounds: RunBounds,
    detection: Detection,
    takeovers: Sequence[TakeoverRun],
    noticed: Sequence[Notice] = (),
) -> dict[str, Any]:
    """The document; `chains` from `judged_chains`, `recording_name` as the user gave it, `trace_check` from
    `check_trace.check_document`, `bounds` from `run_bounds`, `takeovers` from `takeover_runs`. `noticed`: of losses
    that no takeover follows.
    """
    tasks = measure_tasks(trace)
    limits = {one.task: one for one in measure_weakly_hard(trace)}
    first_fault_ns = min((fault.time_ns for fault in faults), default=None)
    topics = topic_rows(system, trace, recording, timeline, watch.refused_samples, first_fault_ns)
    chain_rows = [_chain(judged, bounds) for judged in chains]
    recorded = mapping.sensor_to_topic.keys()
    fault_rows = fault_outcomes(system, faults, recorded, watch.decisions, detection, takeovers, noticed)
    until_ns = min((fault.time_ns for fault in faults), default=trace.horizon_ns + 1)
    arbiter = _arbiter(system, trace, faults, watch)
    status, reason = run_status(
        late=_late(trace, tasks, limits),
        chains=chain_rows,
        faults=fault_rows,
        trace_check=trace_check,
        violated=violated(bounds),
        tripped=tripped(bounds),
        losses=Losses(
            damage=recording.damage,
            messages=sum(topic["dropped"] + topic["undecodable"] for topic in topics),
            quarantined=sum(topic["quarantined"] for topic in topics),
            refused_jobs=int(np.count_nonzero(trace.jobs.arrival_ns[watch.refused_rows] < until_ns)),
            dropped_outputs=int(np.count_nonzero((trace.drops.message >= 0) & (trace.drops.time_ns < until_ns))),
        ),
        arbiter_states=arbiter["state_time_ns"],
        after_recording_ns=max(0, trace.horizon_ns - timeline.last_arrival_ns),
    )
    return {
        "schema": SUMMARY_SCHEMA,
        "status": status,
        "reason": reason,
        "clock": "lockstep",
        "tier": "modelled",
        "system": system.name,
        "policy": plan.policy,
        "recording": recording_name,
        "duration_ns": trace.horizon_ns,
        "tasks": [_task(task, one, watch, bounds, limits) for task, one in zip(system.tasks, tasks, strict=True)],
        "chains": chain_rows,
        "topics": topics,
        "pes": [
            {"name": pe.name, "processors": pe.processors, "utilisation": round(pe.utilisation, 9)}
            for pe in measure_processing_elements(trace)
        ],
        "arbiter": arbiter,
        "actuator": actuator_of_decisions(system, watch.decisions, watch.releases, trace.horizon_ns),
        "safety_path": {"shared": shared_document(system, ImportedStages()), "e2e": e2e_rows(system, watch.e2e)},
        "detections": [_detections(sensor.name, watch) for sensor in system.sensors if watch.frames[sensor.name]],
        "faults": fault_rows,
        "trace_check": trace_check,
        "monitors": bounds.monitors,
        "bounds_exceeded": bounds.exceeded,
        "bounds_cover_until_ns": bounds.covered_until_ns,
        "chains_cover_until_ns": bounds.chains_until_ns,
        "bounds_spans": bounds.spans,
        "notes": _notes(system, chains, mapping, timeline, recording, watch, detection, takeovers),
    }


def _late(trace: Trace, tasks: Sequence[TaskStatistics], limits: Mapping[str, WeaklyHardResult]) -> list[LateJobs]:
    """The tasks that missed a deadline, or more than they may."""
    late = []
    for task in tasks:
        limit = limits.get(task.name)
        if limit is None:
            late += [LateJobs(task.name, task.misses)] if task.misses else []
        elif task.misses or limit.violations:
            first = int(trace.jobs.number[limit.violations[0]]) if limit.violations else None
            late.append(LateJobs(task.name, task.misses, (limit.k - limit.m, limit.k), limit.most_missed, first))
    return late


def _miss_limit(limit: WeaklyHardResult | None) -> dict[str, int] | None:
    """At most `allowed` of any `of` consecutive jobs may miss; `most` did, `violations` times more than allowed."""
    if limit is None:
        return None
    allowed = limit.k - limit.m
    return {"allowed": allowed, "of": limit.k, "most": limit.most_missed, "violations": len(limit.violations)}


def _task(
    task: Any,
    statistics: TaskStatistics,
    watch: ReplayWatch,
    bounds: RunBounds,
    limits: Mapping[str, WeaklyHardResult],
) -> dict[str, Any]:
    return {
        "name": task.name,
        "stage": task.stage,
        "pe": ".".join(task.pe),
        "jobs": statistics.jobs,
        "completed": statistics.completed,
        "misses": statistics.misses,
        "miss_limit": _miss_limit(limits.get(task.name)),
        "drops": statistics.drops,
        "overruns": statistics.overruns,
        "skipped": statistics.skipped,
        "aborted": statistics.aborted,
        "lost": statistics.lost,
        "suppressed": statistics.suppressed,
        "unfinished": statistics.unfinished,
        "without_data": watch.refused_jobs[task.name],
        "response_p99_ns": statistics.response.p99_ns,
        "response_max_ns": statistics.response.max_ns,
        "response_max_is_censored": statistics.largest_is_censored,
        "deadline_ns": task.deadline_ns,
        **bounds.tasks.get(task.name, _NO_BOUND),
    }


def _chain(judged: JudgedChain, bounds: RunBounds) -> dict[str, Any]:
    chain, measured = judged.chain, judged.measurement
    known = bounds.chains.get(chain.name, {})
    return {
        "name": chain.name,
        "path": list(chain.path),
        "outputs": len(measured.output_ns),
        "samples": measured.samples,
        "lost": measured.lost,
        "unreflected": measured.unreflected,
        "repeated": measured.repeated,
        "reaction_max_ns": measured.reaction.max_ns,
        "reaction_limit_ns": chain.max_reaction_ns,
        "reaction_bound_ns": known.get("reaction_bound_ns"),
        "latency_p50_ns": measured.latency.p50_ns,
        "latency_p99_ns": measured.latency.p99_ns,
        "latency_max_ns": measured.latency.max_ns,
        "latency_limit_ns": chain.max_latency_ns,
        "latency_bound_ns": known.get("latency_bound_ns"),
        "latency_bound_terms": known.get("latency_bound_terms", []),
        "data_age_max_ns": measured.data_age.max_ns,
        "data_age_limit_ns": chain.max_data_age_ns,
        "data_age_bound_ns": known.get("data_age_bound_ns"),
        "open_reaction_ns": measured.open_reaction_ns,
        "judged_until_ns": judged.until_ns,
        "not_judged": [{"begin_ns": begin_ns, "end_ns": end_ns} for begin_ns, end_ns in judged.broken],
    }


def _spans(broken: Outages) -> str:
    """Such as: from 1.000 to 2.101 s and from 3.000 s on."""
    return " and ".join(
        f"from {begin_ns / NS_PER_S:.3f} " + ("s on" if end_ns is None else f"to {end_ns / NS_PER_S:.3f} s")
        for begin_ns, end_ns in broken
    )


def _detections(camera: str, watch: ReplayWatch) -> dict[str, Any]:
    frames_with, boxes = watch.frames_with[camera], watch.boxes[camera]
    classes = [{"class": name, "frames": frames_with[name], "boxes": boxes[name]} for name in sorted(boxes)]
    return {"camera": camera, "frames": watch.frames[camera], "classes": classes}


def _arbiter(system: System, trace: Trace, faults: Sequence[Fault], watch: ReplayWatch) -> dict[str, Any]:
    """Time spent in each state, from the first decision to the end, and how often each source was chosen.

    SILENT: from the loss of the arbiter's own device on, when nobody commands.
    """
    state_time_ns: dict[str, int] = {}
    decisions: dict[str, int] = {}
    devices = {task.pe[0] for task in system.tasks if system.safety and task.name == system.safety.arbiter}
    silent_ns = min((ns for device, ns in lost_devices(faults).items() if device in devices), default=trace.horizon_ns)
    ends = [time_ns for time_ns, _ in watch.decisions[1:]] + [silent_ns]
    for (time_ns, decision), end_ns in zip(watch.decisions, ends, strict=False):
        state_time_ns[decision.state.value] = state_time_ns.get(decision.state.value, 0) + end_ns - time_ns
        decisions[decision.selected] = decisions.get(decision.selected, 0) + 1
    if silent_ns < trace.horizon_ns:
        state_time_ns["SILENT"] = trace.horizon_ns - silent_ns
    emergency = next((time_ns for time_ns, decision in watch.decisions if decision.command.emergency), None)
    return {"state_time_ns": state_time_ns, "decisions": decisions, "first_emergency_ns": emergency}


def _notes(
    system: System,
    chains: Sequence[JudgedChain],
    mapping: TopicMapping,
    timeline: Timeline,
    recording: Recording,
    watch: ReplayWatch,
    detection: Detection,
    takeovers: Sequence[TakeoverRun],
) -> list[str]:
    notes = [*timeline.notes, *takeover_notes(detection, takeovers)]
    notes.extend(
        f"chain {judged.chain.name} is not judged {_spans(judged.broken)}, when a fault has taken a part of it"
        for judged in chains
        if judged.broken
    )
    if mapping.missing_sensors:
        notes.append(f"the recording has no topic for {', '.join(mapping.missing_sensors)}; their tasks had no input")
    messages = {topic.name: topic.messages for topic in recording.topics if topic.kind is not TopicKind.OTHER}
    unread = [f"{name} ({messages[name]} messages)" for name in mapping.unmapped_topics if messages.get(name)]
    if unread:
        more = f" and {len(unread) - _MOST_NAMED} more" if len(unread) > _MOST_NAMED else ""
        notes.append(f"no sensor of the system takes {', '.join(unread[:_MOST_NAMED])}{more}")
    notes.extend(str(match) for match in (*mapping.ambiguous, *mapping.wrong_kind))
    if recording.damage:
        notes.append(f"salvaged: {recording.damage}")
    refused = [
        f"{entry.sensor}: {entry.undecodable} messages could not be read, first: {entry.first_problem}"
        for entry in timeline.intake
        if entry.first_problem
    ]
    refused.extend(
        f"{sensor}: {count} messages were refused, first: {watch.reasons[sensor]}"
        for sensor, count in watch.undecodable.items()
    )
    refused.extend(
        f"{task.name}: {watch.refusals[task.name]} jobs published nothing, first: {watch.reasons[task.name]}"
        for task in system.tasks
        if watch.refusals[task.name]
    )
    return [*notes, *choices_once(refused)]
