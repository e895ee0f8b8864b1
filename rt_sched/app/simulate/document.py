"""The document of a simulation, and its status."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from rt_sched.app.runs.fault_outcomes import answer_to
from rt_sched.app.runs.judged_chains import JudgedChain
from rt_sched.app.runs.status import LateJobs, Losses, run_status
from rt_sched.app.simulate.beginning import Beginning
from rt_sched.app.simulate.evidence import Evidence
from rt_sched.app.simulate.runs import Case, Simulated
from rt_sched.lowering.routes import as_placed
from rt_sched.model import Task
from rt_sched.runtime.detection import Detection
from rt_sched.sim.statistics import ChainCounts, Counts, Distribution, TaskCounts
from rt_sched.units import NS_PER_S

SIMULATION_SCHEMA = "rt-sched/simulation/1"


def simulation_document(
    case: Case,
    simulated: Simulated,
    beginning: Beginning,
    evidence: Evidence,
    *,
    file: str,
    scenario: str | None = None,
    notes: Sequence[str],
    wall_s: float,
) -> dict[str, Any]:
    """Everything that was counted in all runs, beside the bounds; times are those of single jobs, never averages of
    runs unless they say so.
    """
    counts = simulated.counts
    chains = [_chain(case, judged, one, beginning) for judged, one in zip(beginning.chains, counts.chains, strict=True)]
    late = [one for task, row in zip(case.system.tasks, counts.tasks, strict=True) for one in _late(task, row)]
    status, reason = run_status(
        late=late,
        # A scenario may be over before a chain has shown anything.
        chains=chains if scenario is None else [one for one in chains if one["outputs"]],
        faults=[],
        trace_check=beginning.trace_check,
        violated=evidence.violated,
        tripped=evidence.tripped,
        losses=Losses(),
        arbiter_states=(),
        after_recording_ns=0,
    )
    placed = as_placed(case.system, case.plan).tasks
    return {
        "schema": SIMULATION_SCHEMA,
        "status": status,
        "reason": _well(late) if status == "ok" else reason,
        "clock": "lockstep",
        "tier": "modelled",
        "system": case.system.name,
        "file": file,
        "policy": case.plan.policy,
        "execution": case.execution.value if scenario is None else "scenario",
        "scenario": scenario,
        "duration_ns": case.horizon_ns,
        "runs": counts.runs,
        "seed": case.first_seed,
        "jobs": sum(task.jobs for task in counts.tasks),
        "tasks": [_task(case, task, row, beginning) for task, row in zip(placed, counts.tasks, strict=True)],
        "chains": chains,
        "topics": _topics(case, counts),
        "pes": _elements(case, counts),
        "arbiter": {"state_time_ns": {}, "decisions": {}},
        "faults": _faults(case, simulated.detections),
        "bounds_exceeded": evidence.exceeded,
        "bounds_cover_until_ns": beginning.bounds.covered_until_ns,
        "checked": {
            "until_ns": beginning.until_ns,
            "trace_check": beginning.trace_check,
            "monitors": beginning.bounds.monitors,
        },
        "notes": list(notes),
        "wall_s": round(wall_s, 3),
    }


def _well(late: Sequence[LateJobs]) -> str:
    misses = sum(one.jobs for one in late)
    if misses:
        return f"every chain limit was met, and {misses} misses are within miss limits"
    return "every deadline and chain limit was met"


def _late(task: Task, row: TaskCounts) -> list[LateJobs]:
    """The task where it missed deadlines; one with a miss limit is judged by that."""
    if task.miss_limit is None:
        return [LateJobs(task.name, row.misses)] if row.misses else []
    limit = row.weakly_hard
    if not row.misses and not limit.violations:
        return []
    first = limit.first_over[1] if limit.first_over else None
    return [LateJobs(task.name, row.misses, task.miss_limit, limit.most_unmet, first)]


def _times(prefix: str, seen: Distribution, case: Case) -> dict[str, Any]:
    """A distribution under the names that run summaries have for it."""
    at = seen.at
    return {
        f"{prefix}_min_ns": seen.min_ns,
        f"{prefix}_mean_ns": None if seen.mean_ns is None else round(seen.mean_ns),
        f"{prefix}_p50_ns": seen.p50_ns,
        f"{prefix}_p99_ns": seen.p99_ns,
        f"{prefix}_p999_ns": seen.p999_ns,
        f"{prefix}_max_ns": seen.max_ns,
        f"{prefix}_max_at": None
        if at is None
        else {"run": at.run, "seed": case.seed(at.run), "number": at.number, "time_ns": at.time_ns},
        f"{prefix}_over_bound": seen.exceeded,
    }


def _task(case: Case, task: Task, row: TaskCounts, beginning: Beginning) -> dict[str, Any]:
    known = beginning.bounds.tasks.get(task.name, {})
    limit, judged = task.miss_limit, row.weakly_hard
    return {
        "name": task.name,
        "pe": ".".join(task.pe),
        "jobs": row.jobs,
        "completed": row.completed,
        "misses": row.misses,
        "miss_limit": None
        if limit is None
        else {"allowed": limit[0], "of": limit[1], "most": judged.most_unmet, "violations": judged.violations},
        "drops": row.drops,
        "overruns": row.overruns,
        "skipped": row.skipped,
        "aborted": row.aborted,
        "lost": row.lost,
        "suppressed": row.suppressed,
        "unfinished": row.unfinished,
        **_times("response", row.response, case),
        "response_max_is_censored": row.response.max_is_censored,
        "deadline_ns": task.deadline_ns,
        "bound_ns": known.get("bound_ns"),
        "bound_method": known.get("bound_method"),
        "bound_missing": known.get("bound_missing", "not in the first mode"),
    }


def _chain(case: Case, judged: JudgedChain, row: ChainCounts, beginning: Beginning) -> dict[str, Any]:
    chain = judged.chain
    known = beginning.bounds.chains.get(chain.name, {})
    document: dict[str, Any] = {
        "name": chain.name,
        "path": list(chain.path),
        "outputs": row.outputs,
        "outputs_without_sample": row.without_read,
        "samples": row.reads,
        "lost": row.lost,
        "unreflected": row.unreflected,
        "repeated": row.repeated,
        "runs_without_output": row.without_output,
    }
    limits = {"reaction": chain.max_reaction_ns, "latency": chain.max_latency_ns, "data_age": chain.max_data_age_ns}
    for quantity, limit_ns in limits.items():
        document |= _times(quantity, getattr(row, quantity), case)
        document[f"{quantity}_limit_ns"] = limit_ns
        document[f"{quantity}_bound_ns"] = known.get(f"{quantity}_bound_ns")
    document["open_reaction_ns"] = row.open_max_ns if row.outputs else None
    document["judged_until_ns"] = judged.first_broken_ns
    return document


def _faults(case: Case, detections: Sequence[Detection]) -> list[dict[str, Any]]:
    """When each loss was noticed and answered, at the latest of all runs; None where it was not in some run.

    `is_watched`: whether anything looks for losses, as the plan has takeovers. Whether commands recover is told by
    replays, in which there are commands.
    """
    rows = []
    for fault in case.faults:
        answers = [answer_to(fault, detection) for detection in detections]
        noticed = [None if one is None else one.noticed_ns - fault.time_ns for one in answers]
        in_force = [None if one is None or one.in_force_ns is None else one.in_force_ns for one in answers]
        switched = [None if at_ns is None else at_ns - fault.time_ns for at_ns in in_force]
        rows.append(
            {
                "fault": str(fault),
                "time_ns": fault.time_ns,
                "until_ns": fault.until_ns,
                "is_watched": bool(case.plan.takeovers),
                "detected_after_ns": _latest(noticed),
                "switched_after_ns": _latest(switched),
                "recovered_after_ns": None,
            }
        )
    return rows


def _latest(times: Sequence[int | None]) -> int | None:
    known = [time_ns for time_ns in times if time_ns is not None]
    return max(known) if known and len(known) == len(times) else None


def _topics(case: Case, counts: Counts) -> list[dict[str, Any]]:
    """What the sensors delivered; nothing is recorded, so nothing can be undecodable."""
    sources = [port.source for task in case.system.tasks for port in task.inputs]
    rows = []
    for sensor, (delivered, lost) in zip(case.system.sensors, counts.arrived, strict=True):
        dropped = sum(count for source, count in zip(sources, counts.drops, strict=True) if source == sensor.name)
        rows.append(
            {
                "name": sensor.name,
                "recorded": delivered + lost,
                "delivered": delivered,
                "lost_to_faults": lost,
                "dropped": dropped,
                "undecodable": 0,
            }
        )
    return rows


def _elements(case: Case, counts: Counts) -> list[dict[str, Any]]:
    """Utilisation of every processing element, and what it draws in one run where its power is known."""
    simulated_s = counts.runs * case.horizon_ns / NS_PER_S
    busy: dict[str, list[int]] = {}
    of_cores_ns = iter(counts.busy_ns)
    for one in case.plan.processors:
        busy.setdefault(f"{one.device}.{one.pe}", []).extend(itertools.islice(of_cores_ns, one.cores))
    known = {f"{device.name}.{pe.name}": pe for device in case.system.devices for pe in device.processing_elements}
    rows = []
    for name, of_cores in busy.items():
        utilisation = sum(of_cores) / NS_PER_S / (simulated_s * len(of_cores))
        pe = known[name]
        energy_mj = None
        if pe.busy_power_mw is not None and pe.idle_power_mw is not None:
            power_mw = pe.idle_power_mw + (pe.busy_power_mw - pe.idle_power_mw) * utilisation
            energy_mj = round(power_mw * case.horizon_ns / NS_PER_S, 3)
        rows.append(
            {
                "name": name,
                "processors": len(of_cores),
                "utilisation": round(utilisation, 9),
                "energy_per_run_mj": energy_mj,
            }
        )
    return rows
