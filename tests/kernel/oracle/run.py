"""The phases of each tick, in their order (semantics 2), and the tables at the end."""

from __future__ import annotations

from oracle.arrivals import arrivals
from oracle.budgets import back_to_low, expiries
from oracle.changes import changes
from oracle.dispatch import begin_slices_and_entries, dispatch
from oracle.messages import deliver_transfers, publish
from oracle.program import complete, go_on, has_step
from oracle.servers import has_server
from oracle.state import Job, Result, State
from rt_sched.lowering.machine_input import MachineInput


def simulate(given: MachineInput) -> Result:
    """The schedule of `given`, by the semantics."""
    s = State(given)
    for now in range(given.horizon_ns + 1):
        s.now = now
        at_horizon = now == given.horizon_ns
        changes(s)
        reach(s)
        if not at_horizon:
            publish_let(s)
            deliver_transfers(s)
            deliver_samples(s)
        expiries(s)
        if at_horizon:
            break
        arrivals(s)
        begin_slices_and_entries(s)
        dispatch(s)
        back_to_low(s)
        tick(s)
    s.met["backlog"] += sum(len(jobs) > 1 for jobs in s.backlog)
    return Result(
        jobs=[job_row(job) for job in s.jobs],
        slices=slices(s),
        drops=s.drops,
        samples=s.sample_status,
        transfers=[(t.edge, t.message, t.queued, t.start, t.end, t.delivered) for t in s.transfers],
        events=sorted(s.events),
        met=s.met,
    )


def reach(s: State) -> None:
    """Phase 2: what running jobs reach, by task and number, again for those that got a lock after their turn."""
    changed = True
    while changed:
        changed = False
        running = [job for job in s.running if job is not None]
        for job in sorted(running, key=lambda job: (job.task, job.number)):
            if job.core is None or job.prefix or job.waits_for is not None:
                continue
            if job.executed == job.demand:
                complete(s, job)
                changed = True
            elif has_step(job):
                go_on(s, job)
                changed = True


def publish_let(s: State) -> None:
    for task, row in enumerate(s.rows):
        if not row.let:
            continue
        for job in s.jobs:
            if job.task == task and job.deadline == s.now and job.publishes:
                if job.status == "COMPLETED":
                    s.tell("LET_PUBLISH", job)
                    publish(s, job.index, task=task)
                else:
                    s.tell("LET_UNFINISHED", job)


def deliver_samples(s: State) -> None:
    for number, (arrival, sensor, _) in enumerate(s.samples):
        if arrival == s.now:
            if sensor in s.lost_sensors:
                s.sample_status[number] = "LOST"
                s.met["sample LOST"] += 1
            else:
                s.sample_status[number] = "DELIVERED"
                publish(s, -2 - number, sensor=sensor)


def tick(s: State) -> None:
    """One nanosecond passes on every core."""
    for processor in range(len(s.g.processors)):
        s.slice_switch[processor] = max(0, s.slice_switch[processor] - 1)
    for core, job in enumerate(s.running):
        if job is None:
            s.ticks[core].append(None)
        elif job.prefix:
            job.prefix -= 1
            s.ticks[core].append((job, "SWITCH"))
            s.met["tick of switching"] += 1
        elif job.waits_for is not None:
            s.ticks[core].append((job, "SPIN"))
            s.met["tick of spinning"] += 1
        else:
            job.executed += 1
            if has_server(s, job):
                s.servers[job.task].left -= 1
            s.ticks[core].append((job, "EXECUTE"))


def job_row(job: Job) -> tuple:
    times = (job.arrival, job.release, job.start, job.finish, job.deadline, job.demand, job.executed, job.capture)
    return (job.task, job.number, *times, job.status, job.missed, job.overrun, tuple(job.inputs))


def slices(s: State) -> list[tuple]:
    """(core, job, start, end, kind), by end and core; what touches and is alike is one."""
    found = []
    for core, ticks in enumerate(s.ticks):
        begin = 0
        for time in range(1, len(ticks) + 1):
            if time == len(ticks) or ticks[time] != ticks[begin]:
                what = ticks[begin]
                if what is not None:
                    found.append((core, what[0].index, begin, time, what[1]))
                begin = time
    return sorted(found, key=lambda row: (row[3], row[0], row[2]))
