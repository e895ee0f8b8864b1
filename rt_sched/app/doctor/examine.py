"""One examination of this machine: tiers, findings and measurements, as one document."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from rt_sched.app.doctor.cores import core_findings
from rt_sched.app.doctor.finding import Finding, Machine, Severity
from rt_sched.app.doctor.kernel import kernel_findings
from rt_sched.app.doctor.leftovers import leftover_findings
from rt_sched.app.doctor.measured import WakeUps, cpu_timer_finding, tick_finding, wake_ups
from rt_sched.app.doctor.names import name_findings
from rt_sched.app.doctor.resources import resource_findings
from rt_sched.app.doctor.rights import right_findings
from rt_sched.app.doctor.taken import taken_finding, taken_times
from rt_sched.runtime.host.measure import tick_ns
from rt_sched.runtime.host.tiers import Tier, TierReport, available_tiers
from rt_sched.units import NS_PER_S

DOCTOR_SCHEMA = "rt-sched/doctor/1"
#: Wake-ups of each tier and CPU timers that are measured: normally, and quickly.
_WAKE_UPS, _QUICK_WAKE_UPS = 1000, 100
_TIMERS, _QUICK_TIMERS = 40, 5
#: For how long every core is watched.
_WATCH_NS, _QUICK_WATCH_NS = 2 * NS_PER_S, NS_PER_S // 10


def examine(need: Tier, tell: Callable[[str], None], *, quick: bool = False) -> dict[str, Any]:
    """The document. `need`: the tier that is asked for. `tell`: gets what is being done."""
    machine = Machine()
    tell("looking for leftovers")
    findings = leftover_findings(machine)  # before the tiers: trying these removes some
    tell("trying the tiers")
    tiers = available_tiers()
    tell("reading what the kernel says")
    findings += [
        *kernel_findings(machine),
        *right_findings(),
        *core_findings(machine),
        *resource_findings(machine),
        *name_findings(),
    ]
    measured = []
    for report in tiers:
        if report.available:
            tell(f"measuring wake-ups in tier {report.tier.value}")
            found = wake_ups(report.tier, _QUICK_WAKE_UPS if quick else _WAKE_UPS)
            if isinstance(found, WakeUps):
                measured.append(found)
            else:
                name = f"wake-ups in tier {report.tier.value}"
                findings.append(Finding("measured", name, Severity.PROBLEM, "not measured", str(found)))
    tell("measuring ticks and CPU timers")
    in_fifo = any(report.available for report in tiers if report.tier is Tier.FIFO)
    timers, lateness = cpu_timer_finding(_QUICK_TIMERS if quick else _TIMERS, in_fifo=in_fifo)
    findings += [tick_finding(in_fifo=in_fifo), timers]
    tell("watching the clock of each core")
    taken = taken_times(_QUICK_WATCH_NS if quick else _WATCH_NS, in_fifo=in_fifo)
    findings.append(taken_finding(taken, in_fifo=in_fifo))
    return document_of(need, tiers, findings, measured) | {
        "cpu_timer_lateness_ns": list(lateness),
        "taken_away": [dataclasses.asdict(one) for one in taken] if isinstance(taken, list) else [],
    }


def document_of(
    need: Tier, tiers: Sequence[TierReport], findings: Sequence[Finding], measured: Sequence[WakeUps]
) -> dict[str, Any]:
    """What was found, in the form that `--json` prints; `best` is null where no tier is there at all."""
    best = next((report.tier.value for report in tiers if report.available), None)
    is_met = any(report.available for report in tiers if report.tier is need)
    return {
        "schema": DOCTOR_SCHEMA,
        "status": "ok" if is_met else "missing",
        "need": need.value,
        "best": best,
        "tiers": [dataclasses.asdict(report) | {"tier": report.tier.value} for report in tiers],
        "findings": [dataclasses.asdict(found) | {"severity": found.severity.value} for found in findings],
        "tick_ns": tick_ns(),
        "wake_ups": [
            dataclasses.asdict(found)
            | {
                "tier": found.tier.value,
                "histogram": [{"up_to_ns": limit, "count": count} for limit, count in found.histogram],
            }
            for found in measured
        ],
    }
