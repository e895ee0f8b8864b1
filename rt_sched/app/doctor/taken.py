"""Time in which a core runs nothing that this system knows of: a hypervisor has taken it, or the firmware."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from rt_sched.app.doctor.finding import Finding, Severity
from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.host.measure import clock_gaps_ns
from rt_sched.runtime.host.scheduling import Scheduling, scheduled
from rt_sched.runtime.host.tiers import HIGHEST_PRIORITY
from rt_sched.units import NS_PER_MS, NS_PER_S, NS_PER_US

#: What counts as a gap: far more than an interrupt takes.
GAP_NS = 100 * NS_PER_US
#: From which length on jobs are late by it.
_LONG_NS = NS_PER_MS
#: Bursts, and rests between them, in which everybody else comes to run.
_BURST_NS, _REST_NS = 20 * NS_PER_MS, 6 * NS_PER_MS
_NAME = "cores taken away"


@dataclass(frozen=True, slots=True)
class TakenTime:
    """Of one core: how long it was watched, gaps in which its clock was not read, and switches to other processes."""

    core: int
    watched_ns: int
    gaps_ns: tuple[int, ...]
    switches: int


def taken_times(watch_ns: int, *, in_fifo: bool) -> list[TakenTime] | DeploymentError | OSError:
    """Of every core that may be used, each watched for so long, one after the other; or why it could not be."""
    try:
        return [_watched(core, watch_ns, in_fifo=in_fifo) for core in sorted(allowed_cores())]
    except (DeploymentError, OSError) as error:
        return error


def taken_finding(found: Sequence[TakenTime] | DeploymentError | OSError, *, in_fifo: bool) -> Finding:
    """`in_fifo`: nothing that this system schedules could come between; else gaps may be other processes."""
    if isinstance(found, DeploymentError | OSError):
        return Finding("measured", _NAME, Severity.WARNING, f"not measured: {found}", "nobody knows what jobs lose")
    gaps_ns = [gap for one in found for gap in one.gaps_ns]
    watched_ns = sum(one.watched_ns for one in found)
    if not gaps_ns:
        told = f"no gap above {GAP_NS // NS_PER_US} us in {watched_ns / NS_PER_S:.1f} s"
        return Finding("measured", _NAME, Severity.OK, told)
    told = (
        f"{len(gaps_ns)} gaps above {GAP_NS // NS_PER_US} us in {watched_ns / NS_PER_S:.1f} s, the longest "
        f"{max(gaps_ns) / NS_PER_MS:.1f} ms, {sum(gaps_ns) / watched_ns:.2%} of the time"
    )
    if not in_fifo:
        switches = sum(one.switches for one in found)
        told += f"; this process was switched off {switches} times, as it may not have a real-time class"
    severity = Severity.WARNING if max(gaps_ns) >= _LONG_NS else Severity.NOTE
    costs = "jobs of every class take so much longer: the assumptions host and execution of a run may break"
    mend = "cores of your own: virtual ones pinned, none lent twice; a firmware that does not interrupt"
    return Finding("measured", _NAME, severity, told, costs, mend if in_fifo else "")


def _watched(core: int, watch_ns: int, *, in_fifo: bool) -> TakenTime:
    def watch() -> tuple[int, list[int], int]:
        pin({core})
        with scheduled(Scheduling.fifo(HIGHEST_PRIORITY)) if in_fifo else nullcontext():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            watched_ns, gaps_ns = clock_gaps_ns(watch_ns, GAP_NS, _BURST_NS, _REST_NS)
            return watched_ns, gaps_ns, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before

    watched_ns, gaps_ns, switches = in_child(watch, limit_s=30 + 10 * watch_ns / NS_PER_S)
    return TakenTime(core, watched_ns, tuple(gaps_ns), switches)
