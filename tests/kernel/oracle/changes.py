"""Faults, frequency changes, takeovers, mode changes: phase 1 (semantics 15 and 16)."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from oracle.messages import empty_activating_queues
from oracle.program import abort_together, end
from oracle.state import Job, Server, State, program_of
from rt_sched.lowering.machine_input import FaultTarget


def changes(s: State) -> None:
    for fault in sorted(s.g.faults, key=lambda f: (f.kind, f.target)):
        if fault.time_ns == s.now:
            lose(s, fault.kind, fault.target)
    for fault in s.g.faults:
        if fault.until_ns == s.now:
            come_back(s, fault.kind, fault.target)
    for change in s.g.frequency_changes:
        if change.time_ns == s.now:
            old = s.khz[change.processor]
            s.khz[change.processor] = change.frequency_khz
            s.tell("FREQUENCY", processor=change.processor, value=change.frequency_khz)
            for job in s.live():
                if s.processor(job) == change.processor and rescale(s, job, old):
                    s.tell("RESCALE", job, job.demand)
    for route in s.g.route_changes:
        if route.time_ns == s.now:
            s.link_of[route.edge] = route.link
            s.met["another route"] += 1
    for task in range(len(s.g.tasks)):
        for number, change in enumerate(s.g.task_changes):
            if change.time_ns == s.now and change.task == task:
                declare_anew(s, task, number)
    for task in range(len(s.g.tasks)):
        for change in s.g.mode_changes:
            if change.time_ns == s.now and task in change.removed:
                remove(s, task)
    for task, row in enumerate(s.rows):
        for change in s.g.mode_changes:
            if change.time_ns == s.now and task in change.added:
                s.begins_at[task] = s.now + row.start_latency_ns
        if s.begins_at[task] == s.now:
            add(s, task)


def lose(s: State, kind: FaultTarget, target: int) -> None:
    s.met[f"{kind.name} lost"] += 1
    if kind == FaultTarget.PROCESSOR:
        s.lost_processors.add(target)
        s.entry[target] = s.slice_now[target] = None
        for job in s.jobs:
            job.publishes = job.publishes and (s.rows[job.task].processor != target or job.deadline < s.now)
        for job in s.live():
            if s.processor(job) == target:
                s.met["lock owner lost"] += bool(job.held)
                end(s, job, "LOST")
    elif kind == FaultTarget.SENSOR:
        s.lost_sensors.add(target)
    else:
        s.lost_links.add(target)
        s.link_free_before[target], s.link_free[target] = s.link_free[target], 0
        for transfer in s.transfers:
            transfer.lost = transfer.lost or transfer.link == target
        s.tell("LINK_LOST", value=target)


def come_back(s: State, kind: FaultTarget, target: int) -> None:
    s.met[f"{kind.name} returned"] += 1
    if kind == FaultTarget.PROCESSOR:
        s.lost_processors.discard(target)
    elif kind == FaultTarget.SENSOR:
        s.lost_sensors.discard(target)
    else:
        s.lost_links.discard(target)
        s.tell("LINK_RETURNED", value=target)


def declare_anew(s: State, task: int, number: int) -> None:
    """The task is another from now on; one that moves ends its jobs and forgets."""
    change = s.g.task_changes[number]
    before = s.rows[task]
    if change.moved:
        jobs = list(s.backlog[task])
        s.met["moved with a job"] += bool(jobs)
        s.met["moved from a core"] += any(job.core is not None for job in jobs)
        s.met["moved with a lock"] += any(bool(job.held) for job in jobs)
        s.met["moved while waiting for a lock"] += any(job.waits_for is not None for job in jobs)
        s.met["moved off a lost processor"] += before.processor in s.lost_processors
        s.met["moved to another policy"] += (
            s.g.processors[before.processor].policy != s.g.processors[change.row.processor].policy
        )
        s.met["forgotten by a move"] += s.suppress_next[task] or s.degrade_next[task]
        for job in jobs:
            job.doomed = True
        for job in jobs:
            end(s, job, "ABORTED", "OWNER_DEAD")
        s.suppress_next[task] = s.degrade_next[task] = False
        s.servers[task] = Server()
    else:
        s.met["varied with a job"] += bool(s.backlog[task])
    s.rows[task] = change.row
    s.counted_from[task] = s.arrived[task]
    s.tell("TASK_MOVED" if change.moved else "TASK_VARIED", task=task, value=number)


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
    s.met["rescaled as declared before"] += job.demand != before and s.row(job).memory_ns != s.rows[job.task].memory_ns
    s.met["rescaled inside a section"] += job.demand != before and bool(job.held)
    return job.demand != before
