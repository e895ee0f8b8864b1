"""Faults, frequency changes, mode changes: phase 1 (semantics 15 and 16)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from oracle.messages import empty_activating_queues
from oracle.program import abort_together, end
from oracle.state import Job, State, program_of
from rt_sched.lowering.machine_input import FaultTarget


def changes(s: State) -> None:
    for fault in sorted(s.g.faults, key=lambda f: (f.kind, f.target)):
        if fault.time_ns == s.now:
            lose(s, fault.kind, fault.target)
    for change in s.g.frequency_changes:
        if change.time_ns == s.now:
            old = s.khz[change.processor]
            s.khz[change.processor] = change.frequency_khz
            s.tell("FREQUENCY", processor=change.processor, value=change.frequency_khz)
            for job in s.live():
                if s.processor(job) == change.processor and rescale(s, job, old):
                    s.tell("RESCALE", job, job.demand)
    for task in range(len(s.g.tasks)):
        for change in s.g.mode_changes:
            if change.time_ns == s.now and task in change.removed:
                remove(s, task)
    for task, row in enumerate(s.g.tasks):
        for change in s.g.mode_changes:
            if change.time_ns == s.now and task in change.added:
                s.begins_at[task] = s.now + row.start_latency_ns
        if s.begins_at[task] == s.now:
            add(s, task)


def lose(s: State, kind: FaultTarget, target: int) -> None:
    s.met[f"{kind.name} lost"] += 1
    if kind == FaultTarget.PROCESSOR:
        s.lost_processors.add(target)
        s.entry[target] = None
        for job in s.live():
            if s.processor(job) == target:
                s.met["lock owner lost"] += bool(job.held)
                end(s, job, "LOST")
    elif kind == FaultTarget.SENSOR:
        s.lost_sensors.add(target)
    else:
        s.lost_links.add(target)
        s.tell("LINK_LOST", value=target)


def remove(s: State, task: int) -> None:
    s.active[task] = False
    s.begins_at[task] = None
    s.suppress_next[task] = s.degrade_next[task] = False
    s.tell("TASK_REMOVED", task=task)
    empty_activating_queues(s, task)
    s.met["removed while running"] += any(job.core is not None for job in s.backlog[task])
    abort_together(s, list(s.backlog[task]))


def add(s: State, task: int) -> None:
    """Its arrivals begin now, counted anew."""
    s.active[task] = True
    s.begins_at[task] = None
    s.first_arrival[task] = s.now
    s.next_index[task] = 0
    s.delay[task] = 0
    s.tell("TASK_ADDED", task=task)


def rescale(s: State, job: Job, old_khz: int) -> bool:
    """The compute work left, and all that is planned in it, takes another time; whether the demand changed.

    A job that has not executed has its declared values, rescaled once from the first frequency.
    """
    before = job.demand
    if job.executed == 0:
        job.demand = job.declared_demand
        job.program = job.program[: job.done] + program_of(s.row(job))[job.done :]
        job.points = None if job.points is None else list(s.row(job).preemption_points_ns or ())
        old_khz = s.g.processors[s.processor(job)].frequency_khz
    new_khz = s.khz[s.processor(job)]
    left = max(0, job.demand - job.memory - job.executed)

    def moved(offset: int) -> int:
        if offset <= job.executed:
            return offset
        compute = min(offset - job.executed, left)
        rest = offset - job.executed - compute
        return job.executed + ceil(Fraction(compute * old_khz, new_khz)) + rest

    for step in job.program[job.done :]:
        step.offset = moved(step.offset)
    if job.points is not None:
        job.points = [moved(point) for point in job.points]
    job.demand = moved(job.demand)
    s.met["rescaled"] += job.demand != before
    s.met["rescaled inside a section"] += job.demand != before and bool(job.held)
    return job.demand != before
