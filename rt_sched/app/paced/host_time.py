"""Whether a paced run had the time of this host that its bounds assume, and what declared overheads explain."""

from __future__ import annotations

import dataclasses
from typing import Any

from rt_sched.analysis.loads.load import Blocking, LoadTask, ProcessorLoad
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.host_time import explained_by_overheads, host_monitor
from rt_sched.analysis.measured.monitors import Monitor
from rt_sched.app.paced.host_supply import HostShare
from rt_sched.model import System
from rt_sched.runtime.host.tiers import Tier
from rt_sched.trace.records import Trace


def host_monitors(share: HostShare, tier: Tier, trace: Trace) -> tuple[Monitor, ...]:
    """What a paced run in a real-time tier has to keep beside what every run has."""
    if tier is Tier.USER:
        return ()
    mode = _with_blocking(mode_loads(share.system, share.plan)[0], share.system)
    found = host_monitor(mode, trace, share.reservations, share.woken)
    return () if found is None else (found,)


def overheads_document(share: HostShare, tier: Tier, trace: Trace) -> list[dict[str, Any]] | None:
    """Of each task, how many jobs ended no later than the overheads that the tier declares explain; None where it
    declares none.
    """
    if tier is Tier.USER:
        return None
    mode = _with_blocking(mode_loads(share.system, share.plan)[0], share.system)
    found = explained_by_overheads(mode, trace, share.reservations)
    return [{"task": name, "jobs": completed, "explained": explained} for name, (completed, explained) in found.items()]


def _with_blocking(mode: ModeLoad, system: System) -> ModeLoad:
    """With the sections of all others where the analysis has no bound for what a job waits for these."""
    longest = [max((one.end_ns - one.start_ns for one in task.sections), default=0) for task in system.tasks]

    def blocked(task: LoadTask, load: ProcessorLoad) -> LoadTask:
        if task.blocking is not None:
            return task
        total_ns = sum(longest[other.index] for other in load.tasks if other.index != task.index)
        return dataclasses.replace(task, blocking=Blocking(total_ns))

    loads = tuple(
        dataclasses.replace(load, tasks=tuple(blocked(task, load) for task in load.tasks)) for load in mode.loads
    )
    return dataclasses.replace(mode, loads=loads)
