"""The document `summary.json`: what a run did, task by task, chain by chain, message by message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rt_sched.app.fault_outcomes import fault_outcomes
from rt_sched.app.judged_chains import JudgedChain
from rt_sched.app.replay_watch import ReplayWatch
from rt_sched.model import Fault, Plan, System
from rt_sched.ports import Recording
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import SampleStatus, Trace
from rt_sched.trace.statistics import TaskStatistics, measure_processing_elements, measure_tasks
from rt_sched.units import NS_PER_S, format_ms
from sensors.mapping import TopicMapping

SUMMARY_SCHEMA = "rt-sched/run-summary/1"


def make_summary(
    *,
    system: System,
    plan: Plan,
    trace: Trace,
    chains: Sequence[JudgedChain],
    recording: Recording,
    mapping: TopicMapping,
    timeline: Timeline,
    faults: Sequence[Fault],
    watch: ReplayWatch,
    trace_check: dict[str, Any],
) -> dict[str, Any]:
    """The document; `chains` from `judged_chains`, `trace_check` from `check_trace.check_document`."""
    tasks = measure_tasks(trace)
    topics = _topics(system, trace, recording, timeline, watch)
    chain_rows = [_chain(judged) for judged in chains]
    fault_rows = fault_outcomes(system, faults, watch.decisions)
    status, reason = run_status(tasks, chain_rows, fault_rows, topics, recording, trace_check)
    return {
        "schema": SUMMARY_SCHEMA,
        "status": status,
        "reason": reason,
        "clock": "lockstep",
        "tier": "modelled",
        "system": system.name,
        "policy": plan.policy,
        "recording": recording.path,
        "duration_ns": trace.horizon_ns,
        "tasks": [_task(task, statistics, watch) for task, statistics in zip(system.tasks, tasks, strict=True)],
        "chains": chain_rows,
        "topics": topics,
        "pes": [
            {"name": pe.name, "processors": pe.processors, "utilisation": round(pe.utilisation, 9)}
            for pe in measure_processing_elements(trace)
        ],
        "arbiter": _arbiter(trace, watch),
        "detections": [_detections(sensor.name, watch) for sensor in system.sensors if watch.frames[sensor.name]],
        "faults": fault_rows,
        "trace_check": trace_check,
        "notes": _notes(system, chains, mapping, timeline, recording, watch),
    }


def _task(task: Any, statistics: TaskStatistics, watch: ReplayWatch) -> dict[str, Any]:
    return {
        "name": task.name,
        "stage": task.stage,
        "pe": ".".join(task.pe),
        "jobs": statistics.jobs,
        "completed": statistics.completed,
        "misses": statistics.misses,
        "drops": statistics.drops,
        "overruns": statistics.overruns,
        "skipped": statistics.skipped,
        "aborted": statistics.aborted,
        "lost": statistics.lost,
        "unfinished": statistics.unfinished,
        "without_data": watch.refused_jobs[task.name],
        "response_p99_ns": statistics.response.p99_ns,
        "response_max_ns": statistics.response.max_ns,
        "response_max_is_censored": statistics.largest_is_censored,
        "deadline_ns": task.deadline_ns,
        "bound_ns": None,
    }


def _chain(judged: JudgedChain) -> dict[str, Any]:
    chain, measured = judged.chain, judged.measurement
    return {
        "name": chain.name,
        "path": list(chain.path),
        "outputs": len(measured.output_ns),
        "samples": measured.samples,
        "lost": measured.lost,
        "repeated": measured.repeated,
        "reaction_max_ns": measured.reaction.max_ns,
        "reaction_limit_ns": chain.max_reaction_ns,
        "reaction_bound_ns": None,
        "latency_p50_ns": measured.latency.p50_ns,
        "latency_p99_ns": measured.latency.p99_ns,
        "latency_max_ns": measured.latency.max_ns,
        "latency_limit_ns": chain.max_latency_ns,
        "data_age_max_ns": measured.data_age.max_ns,
        "data_age_limit_ns": chain.max_data_age_ns,
        "data_age_bound_ns": None,
        "open_reaction_ns": measured.open_reaction_ns,
        "judged_until_ns": judged.until_ns,
    }


def _detections(camera: str, watch: ReplayWatch) -> dict[str, Any]:
    frames_with, boxes = watch.frames_with[camera], watch.boxes[camera]
    classes = [{"class": name, "frames": frames_with[name], "boxes": boxes[name]} for name in sorted(boxes)]
    return {"camera": camera, "frames": watch.frames[camera], "classes": classes}


def _topics(
    system: System,
    trace: Trace,
    recording: Recording,
    timeline: Timeline,
    watch: ReplayWatch,
) -> list[dict[str, Any]]:
    """One row per topic; recorded = delivered + dropped + undecodable + lost_to_faults + unmapped, always."""
    sensor_index = {sensor.name: index for index, sensor in enumerate(system.sensors)}
    dropped_samples = {-2 - int(message) for message in trace.drops.message if message < -1}
    intake = {entry.topic: entry for entry in timeline.intake}
    rows = []
    for topic in recording.topics:
        entry = intake.get(topic.name)
        row = {"name": topic.name, "schema": topic.schema, "sensor": None, "recorded": topic.messages}
        row |= {"delivered": 0, "dropped": 0, "undecodable": 0, "lost_to_faults": 0, "unmapped": 0}
        if entry is None:
            row["unmapped"] = topic.messages
        else:
            mine = trace.samples.sensor == sensor_index[entry.sensor]
            lost = int(np.count_nonzero(mine & (trace.samples.status != SampleStatus.DELIVERED)))
            delivered_rows = np.flatnonzero(mine & (trace.samples.status == SampleStatus.DELIVERED))
            refused = watch.refused_samples
            undecodable = sum(1 for sample in delivered_rows if int(sample) in refused)
            dropped = sum(1 for s in delivered_rows if int(s) in dropped_samples and int(s) not in refused)
            row["sensor"] = entry.sensor
            row["recorded"] = entry.recorded
            row["lost_to_faults"] = lost
            row["dropped"] = dropped
            row["undecodable"] = entry.undecodable + entry.quarantined + undecodable
            row["delivered"] = len(delivered_rows) - undecodable - dropped
        rows.append(row)
    return rows


def run_status(
    tasks: Sequence[TaskStatistics],
    chains: Sequence[dict[str, Any]],
    faults: Sequence[dict[str, Any]],
    topics: Sequence[dict[str, Any]],
    recording: Recording,
    trace_check: dict[str, Any],
) -> tuple[str, str]:
    """The worst thing that can be said of the run, in one sentence."""
    violations = trace_check["violations"]
    if violations:
        first, count = violations[0], sum(trace_check["violation_counts"].values())
        where = f"{first['where']} at {format_ms(first['time_ns'])} ms: {first['expected']}"
        return "failed", f"a defect of rt-sched: its trace breaks the scheduling rules {count} times, first {where}"
    missed = [task for task in tasks if task.misses]
    if missed:
        worst = max(missed, key=lambda task: task.misses)
        total = sum(task.misses for task in missed)
        return "deadline_miss", f"{total} jobs missed their deadline, {worst.misses} of them of task {worst.name}"
    for kind in ("reaction", "latency", "data_age"):
        for chain in chains:
            value, limit = chain[f"{kind}_max_ns"], chain[f"{kind}_limit_ns"]
            if value is not None and limit is not None and value > limit:
                words = kind.replace("_", " ")
                limits = f"{format_ms(value)} ms is over its limit of {format_ms(limit)} ms"
                return "deadline_miss", f"chain {chain['name']}: {words} {limits}"
    for fault in faults:
        recovered, limit = fault["recovered_after_ns"], fault["recovery_limit_ns"]
        if limit is not None and (recovered is None or recovered > limit):
            how = "not recovered" if recovered is None else f"recovered after {format_ms(recovered)} ms"
            return "deadline_miss", f"fault {fault['fault']}: {how}; the limit is {format_ms(limit)} ms"
    silent = [chain["name"] for chain in chains if not chain["outputs"]]
    lost = sum(topic["dropped"] + topic["undecodable"] for topic in topics)
    if recording.damage:
        return "incomplete", f"the recording is damaged: {recording.damage}"
    if lost:
        return "incomplete", f"{lost} recorded messages were dropped or could not be decoded"
    if silent:
        return "incomplete", f"no output on chain {', '.join(silent)}"
    return "ok", "every mapped message was processed, every deadline and chain limit was met"


def _arbiter(trace: Trace, watch: ReplayWatch) -> dict[str, Any]:
    """Time spent in each state, from the first decision to the end, and how often each source was chosen."""
    state_time_ns: dict[str, int] = {}
    decisions: dict[str, int] = {}
    ends = [time_ns for time_ns, _ in watch.decisions[1:]] + [trace.horizon_ns]
    for (time_ns, decision), end_ns in zip(watch.decisions, ends, strict=False):
        state_time_ns[decision.state.value] = state_time_ns.get(decision.state.value, 0) + end_ns - time_ns
        decisions[decision.selected] = decisions.get(decision.selected, 0) + 1
    return {"state_time_ns": state_time_ns, "decisions": decisions}


def _notes(
    system: System,
    chains: Sequence[JudgedChain],
    mapping: TopicMapping,
    timeline: Timeline,
    recording: Recording,
    watch: ReplayWatch,
) -> list[str]:
    notes = list(timeline.notes)
    notes.extend(
        f"chain {judged.chain.name} is judged until {judged.until_ns / NS_PER_S:.3f} s, when a fault took a part of it"
        for judged in chains
        if judged.until_ns is not None
    )
    if mapping.missing_sensors:
        notes.append(f"the recording has no topic for {', '.join(mapping.missing_sensors)}; their tasks had no input")
    notes.extend(str(match) for match in (*mapping.ambiguous, *mapping.wrong_kind))
    if recording.damage:
        notes.append(f"salvaged: {recording.damage}")
    notes.extend(
        f"{entry.sensor}: {entry.undecodable} messages could not be read, first: {entry.first_problem}"
        for entry in timeline.intake
        if entry.first_problem
    )
    for sensor, count in watch.undecodable.items():
        notes.append(f"{sensor}: {count} messages were refused, first: {watch.reasons[sensor]}")
    for task in system.tasks:
        if watch.refused_jobs[task.name]:
            count = watch.refused_jobs[task.name]
            notes.append(f"{task.name}: {count} jobs published nothing, first: {watch.reasons[task.name]}")
    return notes
