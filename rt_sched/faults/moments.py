"""What sets the faults of a script off in a run whose events are not known beforehand.

A fault that begins after another one begins so long after whatever sets that one off, so every chain of faults ends at
an instant, a message of a sensor, or a job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rt_sched.faults.script import Event, FaultScript, Trigger


def root_of(script: FaultScript, trigger: Trigger) -> Trigger:
    """The same instant, told by a time or an event that is no fault. The script has no circles."""
    by_name = {fault.name: fault for fault in script.faults}
    while trigger.event is Event.FAULT:
        before = by_name[trigger.of].trigger
        trigger = replace(before, time_ns=before.time_ns + trigger.time_ns)
    return trigger


def known_ns(
    trigger: Trigger, sample_ns: Callable[[str, int], int | None], timed_job_ns: Callable[[str, int], int | None]
) -> int | None:
    """When a root trigger is, where nothing but the clock decides that; None where it is not known beforehand.

    `sample_ns`: when a message is due. `timed_job_ns`: when a job arrives that the clock releases, None for all others.
    """
    if trigger.event is None:
        return trigger.time_ns
    event_ns = (sample_ns if trigger.event is Event.SAMPLE else timed_job_ns)(trigger.of, trigger.number)
    return None if event_ns is None else event_ns + trigger.time_ns
