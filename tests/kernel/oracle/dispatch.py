"""Who runs where: phase 6 (semantics 4 to 7)."""

from __future__ import annotations

from oracle.messages import read_inputs
from oracle.program import effective_key, end, go_on, has_step
from oracle.state import Do, Job, State
from rt_sched.lowering.machine_input import Policy, Protocol


def begin_slices_and_entries(s: State) -> None:
    for processor, row in enumerate(s.g.processors):
        if processor in s.lost_processors:
            continue
        if row.policy == Policy.TIME_SLICED:
            at = s.now % sum(piece.length_ns for piece in row.slices)
            for index, piece in enumerate(row.slices):
                if at == sum(other.length_ns for other in row.slices[:index]):
                    job = s.running[s.first_core[processor]]
                    if job is not None:
                        s.met["slice ends with work left"] += 1
                        s.met["switch cut off"] += job.prefix > 0
                        s.leave_core(job)
                    s.slice_now[processor] = index
                    s.slice_switch[processor] = piece.switch_ns
                    s.tell("SLICE", processor=processor, value=index)
        elif row.policy == Policy.TABLE:
            for index, entry in enumerate(row.table):
                if s.now % row.cycle_ns == entry.start_ns:
                    oldest = s.backlog[entry.task][0] if s.backlog[entry.task] else None
                    job = oldest if oldest is not None and oldest.ready else None
                    s.entry[processor] = (job, s.now + entry.length_ns)
                    s.tell("ENTRY", job, index, task=entry.task)
                    s.met["entry empty"] += job is None


def in_slice(s: State, job: Job) -> bool:
    processor = s.processor(job)
    row = s.g.processors[processor]
    if row.policy != Policy.TIME_SLICED:
        return True
    now = s.slice_now[processor]
    return now is not None and job.task in row.slices[now].tasks


def rank(s: State, job: Job) -> tuple[bool, int]:
    """Smaller is better: a slice's own tasks before all others, then the effective key."""
    return not in_slice(s, job), effective_key(s, job)


def may_start(s: State, job: Job) -> bool:
    """Stack resource policy: a job starts only when its deadline is below the system ceiling."""
    if s.policy(job) != Policy.EDF or job.start != -1:
        return True
    for number, resource in enumerate(s.g.resources):
        owner = s.owner[number]
        if resource.protocol != Protocol.PRIORITY_CEILING or owner is None:
            continue
        if s.processor(owner) != s.processor(job):
            continue
        for task in s.rows:
            uses = any(section.resource == number for section in task.sections)
            if uses and s.row(job).deadline_ns >= task.deadline_ns:
                return False
    return True


def waiting_jobs(s: State, processor: int) -> list[Job]:
    row = s.g.processors[processor]
    heads = [jobs[0] for jobs in s.backlog if jobs and s.processor(jobs[0]) == processor]
    waiting = [job for job in heads if job.ready and job.core is None]
    if row.policy == Policy.TIME_SLICED:
        if s.slice_switch[processor] or s.slice_now[processor] is None:
            return []
        waiting = [job for job in waiting if row.slack_sharing or in_slice(s, job)]
    elif row.policy == Policy.TABLE:
        entry = s.entry[processor]
        waiting = [job for job in waiting if entry is not None and entry[0] is job]
    allowed = [job for job in waiting if may_start(s, job)]
    s.met["kept from starting by the ceiling"] += len(waiting) - len(allowed)
    return allowed


def may_be_preempted(s: State, running: Job, by: Job) -> bool:
    row = s.g.processors[s.processor(running)]
    if running.prefix or running.waits_for is not None or any(s.is_msrp(resource) for resource in running.held):
        return False
    if row.policy == Policy.TIME_SLICED and in_slice(s, by) and not in_slice(s, running):
        return True
    if running.points is not None and running.executed not in running.points:
        return False
    return row.preemptive and row.policy != Policy.FIFO


def count_what_defers(s: State, running: Job, best: Job) -> None:
    if rank(s, best) < rank(s, running):
        s.met["deferred by switch cost"] += running.prefix > 0
        s.met["deferred to a preemption point"] += bool(running.points) and running.executed not in running.points
        s.met["deferred by msrp"] += any(s.is_msrp(resource) for resource in running.held)


def dispatch(s: State) -> None:
    """Until stable: jobs get cores, processor by processor; then those that spun and have their lock go on."""
    changed = True
    while changed:
        changed = False
        for processor in range(len(s.g.processors)):
            while dispatch_one(s, processor):
                changed = True
        if not changed:
            changed = end_spins(s)


def end_spins(s: State) -> bool:
    """Jobs on a core with something to do at their executed time do it, by task; whether there was any."""
    found = False
    running = [job for job in s.running if job is not None]
    for job in sorted(running, key=lambda job: job.task):
        if job.core is not None and not job.prefix and job.waits_for is None and has_step(job):
            s.met["spin ends in dispatch"] += 1
            s.met["lock released in the dispatch that granted it"] += releases_at_once(job)
            go_on(s, job)
            found = True
    return found


def releases_at_once(job: Job) -> bool:
    """Whether a job that has just got a lock unlocks something at its present executed time."""
    return any(step.do == Do.UNLOCK and step.offset == job.executed for step in job.program[job.done :])


def dispatch_one(s: State, processor: int) -> bool:
    """Give a core to the best waiting job; whether anything changed."""
    waiting = waiting_jobs(s, processor)
    if not waiting:
        return False
    best = min(waiting, key=lambda job: (rank(s, job), job.release, job.task))
    cores = s.cores(processor)
    free = [core for core in cores if s.running[core] is None]
    victim = None
    if free:
        core = best.last_core if best.last_core in free else free[0]
    else:
        running = [job for core in cores if (job := s.running[core]) is not None]
        for job in running:
            s.met["tie"] += rank(s, job) == rank(s, best)
            count_what_defers(s, job, best)
        victims = [job for job in running if may_be_preempted(s, job, best)]
        if not victims:
            return False
        victim = max(victims, key=lambda job: (rank(s, job), job.release, job.task))
        if not rank(s, best) < rank(s, victim):
            return False
        assert victim.core is not None
        core = victim.core
    s.met["tie"] += sum(rank(s, job) == rank(s, best) for job in waiting) > 1
    if best.start == -1:
        if not s.row(best).let:
            read_inputs(s, best)
        if not best.complete_inputs:
            end(s, best, "SKIPPED")
            return True
    if victim is not None:
        count_preemption(s, victim, best)
        s.leave_core(victim)
    put(s, best, core, processor)
    return True


def count_preemption(s: State, victim: Job, by: Job) -> None:
    s.met["preemption"] += 1
    s.met["preemption at a point"] += victim.points is not None
    s.met["preemption inside a section"] += bool(victim.held)
    s.met["slack given back"] += in_slice(s, by) and not in_slice(s, victim)


def put(s: State, job: Job, core: int, processor: int) -> None:
    row = s.g.processors[processor]
    if job.start == -1:
        job.start = s.now
    migrates = job.last_core is not None and job.last_core != core
    s.met["migration"] += migrates
    s.met["slack used"] += not in_slice(s, job)
    job.prefix = row.switch_ns + (row.migration_ns if migrates else 0)
    job.core = job.last_core = core
    s.running[core] = job
    if not job.prefix:
        go_on(s, job)
