"""What the summary of a paced run says beyond that of every run: tier, processes, lateness, losses, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rt_sched.app.health.document import health_document, unwatched_too_long
from rt_sched.app.paced.actuator import actuator_of_run
from rt_sched.app.paced.device_losses import failover_document
from rt_sched.app.paced.host_supply import HostShare
from rt_sched.app.paced.host_time import overheads_document
from rt_sched.app.paced.links import links_document
from rt_sched.app.paced.sections import degraded_document, sections_document
from rt_sched.app.paced.shared_cores import shared_cores
from rt_sched.app.paced.suspensions import suspensions_document
from rt_sched.app.paced.tiers import tier_rows
from rt_sched.app.paced.verdict import paced_status
from rt_sched.runtime.host.tiers import Tier, TierReport
from rt_sched.runtime.paced.faults.alerts import AlertKind
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome, PacedWorker
from rt_sched.runtime.spares import keeps_spare
from rt_sched.trace.records import Trace
from rt_sched.trace.statistics import spread_of
from rt_sched.units import NS_PER_MS, format_ms

#: A sample that is published later than this after its instant counts as late.
LATE_NS = NS_PER_MS
#: What supervisors notice, as monitors are named.
ALERT_NAMES = {AlertKind.STOPPED: "stop", AlertKind.SILENT: "alive"}


def paced_document(
    order: PacedOrder,
    outcome: PacedOutcome,
    trace: Trace,
    tiers: Sequence[TierReport],
    share: HostShare,
    summary: Mapping[str, Any],
) -> dict[str, Any]:
    """Keys of the summary that replace those of a run in lockstep, or are added to them."""
    feed = _feed(order, outcome)
    injected = {one.pid for one in outcome.landed if one.pid}
    shared = shared_cores(order.system)
    notes = [*summary["notes"]]
    if shared:
        notes.append(f"{shared}: elements share a host core, so timing is not representative of the modelled devices")
    if order.tier is Tier.USER:
        notes.append("the user tier has no bounds: other programs of this host may delay any job")
    if outcome.links:
        notes.append("links are emulated: messages are held for as long as modelled, and nothing travels")
    if outcome.pauses:
        notes.append(f"paused {len(outcome.pauses)} times: jobs that went on meanwhile look shorter than they are")
    health = health_document(outcome.health, trace.horizon_ns, order.rate)
    late = f"{feed['late']} samples were published late, by up to {format_ms(feed['max_ns'])} ms"
    status, reason = paced_status(
        summary["status"],
        summary["reason"],
        tier=order.tier,
        lost=sum(one.pid not in injected and not one.with_device for one in outcome.losses),
        late=late if feed["late"] else None,
        pauses=len(outcome.pauses),
        missing=feed["missing"],
        unwatched=unwatched_too_long(health),
    )
    return {
        "status": status,
        "reason": reason,
        "clock": "paced",
        "tier": order.tier.value,
        "rate": str(order.rate),
        "representative": not shared,
        "tiers": tier_rows(tiers),
        "workers": [_worker(one) for one in outcome.workers],
        "spares": [task.name for task in order.system.tasks if keeps_spare(task)],
        "losses": [
            {
                "task": order.system.tasks[one.task].name,
                "pid": one.pid,
                "noticed_ns": one.noticed_ns if one.noticed_ns >= 0 else None,
                "by_budget": one.by_budget,
                "back_ns": one.back_ns,
                "with_device": one.with_device,
            }
            for one in outcome.losses
        ],
        "alerts": [
            {"task": order.system.tasks[one.task].name, "monitor": ALERT_NAMES[one.kind], "time_ns": one.time_ns}
            for one in outcome.alerts
        ],
        "actuator": actuator_of_run(outcome.actuator),
        "health": health,
        "feed": feed,
        "links": links_document(outcome, order.beside.links),
        "pauses": [asdict(pause) for pause in outcome.pauses],
        "failover": failover_document(order, outcome),
        "supply_loss": None
        if share.loss is None
        else {**asdict(share.loss), "spare_ns": share.spare_ns, "counted": list(share.counted)},
        "start_lateness": _lateness(trace),
        "overheads": overheads_document(share, order.tier, trace),
        "sections": sections_document(order, outcome),
        "degraded": degraded_document(order, outcome, trace),
        "suspensions": suspensions_document(order, outcome),
        "notes": notes,
    }


def _feed(order: PacedOrder, outcome: PacedOutcome) -> dict[str, Any]:
    """How late samples were published, and how many were not although they were due."""
    published = outcome.published_ns >= 0
    read = {given.source for task in order.system.tasks for given in task.inputs}
    is_read = np.array([sensor.name in read for sensor in order.system.sensors], np.bool_)[order.samples.sensor]
    due = is_read & (order.samples.arrival_ns < order.horizon_ns - LATE_NS)
    late_ns = (outcome.published_ns - order.samples.arrival_ns)[published]
    spread = spread_of(late_ns)
    return {
        "published": spread.count,
        "missing": int(np.count_nonzero(due & ~published)),
        "late": int(np.count_nonzero(late_ns > LATE_NS)),
        "late_above_ns": LATE_NS,
        "p50_ns": spread.p50_ns,
        "p99_ns": spread.p99_ns,
        "max_ns": spread.max_ns,
    }


def _lateness(trace: Trace) -> list[dict[str, Any]]:
    """From release to start, of every task: what its class cannot avoid, and what runs before it."""
    rows = []
    for index, name in enumerate(trace.task_names):
        mine = (trace.jobs.task == index) & (trace.jobs.start_ns >= 0)
        spread = spread_of((trace.jobs.start_ns - trace.jobs.release_ns)[mine])
        rows.append(
            {
                "task": name,
                "jobs": spread.count,
                "p50_ns": spread.p50_ns,
                "p99_ns": spread.p99_ns,
                "max_ns": spread.max_ns,
            }
        )
    return rows


def _worker(worker: PacedWorker) -> dict[str, Any]:
    """What was asked for, and what the kernel reported."""
    seen = None if worker.observed is None else worker.observed.threads[0]
    return {
        "task": worker.task,
        "pid": worker.pid,
        "asked": str(worker.seat.scheduling),
        "asked_core": worker.core,
        "scheduling": None if seen is None else str(seen.scheduling),
        "class": None if seen is None else f"SCHED_{seen.scheduling.scheduling_class.name}",
        "priority": None if seen is None else seen.scheduling.priority,
        "cores": None if seen is None else sorted(seen.cores),
        "threads": None if worker.observed is None else len(worker.observed.threads),
        "locked_bytes": None if worker.observed is None else worker.observed.locked_bytes,
    }
