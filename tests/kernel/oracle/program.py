"""What a job does while it executes: locks, unlocks, suspends, ends; and effective keys (semantics 4, 10, 14)."""

from __future__ import annotations

from oracle.messages import publish
from oracle.servers import becomes_oldest, has_server
from oracle.state import Do, Job, State, draw, draw_up_to
from rt_sched.lowering.machine_input import Policy, Protocol


def own_key(s: State, job: Job) -> int:
    policy = s.policy(job)
    if policy == Policy.EDF:
        if has_server(s, job):
            deadline = s.servers[job.task].deadline
            assert deadline is not None
            return deadline
        return job.deadline
    return job.release if policy == Policy.FIFO else s.row(job).level


def level_of_ceiling(s: State, resource: int) -> int:
    return min(t.level for t in s.rows if any(section.resource == resource for section in t.sections))


def key_with_ceilings(s: State, job: Job) -> int:
    keys = [own_key(s, job)]
    if s.policy(job) == Policy.FIXED_PRIORITY:
        ceilings = [r for r in job.held if s.g.resources[r].protocol == Protocol.PRIORITY_CEILING]
        keys += [level_of_ceiling(s, resource) for resource in ceilings]
    return min(keys)


def inherited_from(s: State, job: Job) -> list[tuple[Job, int]]:
    """Jobs whose keys pass to `job`, itself included, with the length of the chain: over inheriting resources only."""
    found = [(job, 0)]
    for holder, depth in found:
        for resource in holder.held:
            if s.g.resources[resource].protocol != Protocol.PRIORITY_INHERITANCE:
                continue
            for waiter in s.waiters[resource]:
                if s.policy(waiter) == s.policy(holder) and all(waiter is not other for other, _ in found):
                    found.append((waiter, depth + 1))
    return found


def effective_key(s: State, job: Job) -> int:
    return min(key_with_ceilings(s, other) for other, _ in inherited_from(s, job))


def abort(s: State, job: Job) -> None:
    """End the job; one that holds a lock ends when it has released its last one."""
    if job.held:
        s.met["abort waits for unlock"] += 1
        job.doomed = True
    else:
        end(s, job, "ABORTED")


def abort_together(s: State, jobs: list[Job]) -> None:
    """Abort the jobs, given by task and number; none of them becomes its task's oldest on the way."""
    for job in jobs:
        job.doomed = True
    for job in jobs:
        abort(s, job)


def end(s: State, job: Job, status: str, lock_event: str = "UNLOCK") -> None:
    was_oldest = s.backlog[job.task][0] is job
    job.status = status
    s.met[status] += 1
    if status in ("SKIPPED", "ABORTED"):
        s.tell({"SKIPPED": "SKIP", "ABORTED": "ABORT"}[status], job)
    if job.waits_for is not None:
        s.met["ended while waiting for a lock"] += 1
        s.waiters[job.waits_for].remove(job)
        job.waits_for = None
    s.leave_core(job)
    s.backlog[job.task].remove(job)
    while job.held:
        free(s, job, job.held[-1], "OWNER_DEAD" if status == "LOST" else lock_event)
    if was_oldest and s.backlog[job.task]:
        oldest = s.backlog[job.task][0]
        if oldest.held or not oldest.doomed:
            becomes_oldest(s, oldest)


def complete(s: State, job: Job) -> None:
    job.finish = s.now
    end(s, job, "COMPLETED")
    s.met["at deadline"] += job.finish == job.deadline
    s.met["at budget"] += s.row(job).budget_ns == job.demand
    if not s.row(job).let:
        publish(s, job.index, task=job.task)


def has_step(job: Job) -> bool:
    """Whether the program says anything more at the present executed time."""
    return job.done < len(job.program) and job.program[job.done].offset == job.executed


def go_on(s: State, job: Job) -> None:
    """Do what the program says at the present executed time, until the job leaves its core or has to spin."""
    while job.unfinished and has_step(job):
        step = job.program[job.done]
        job.done += 1
        if step.do == Do.UNLOCK:
            free(s, job, step.what, "UNLOCK")
            if job.doomed and not job.held:
                end(s, job, "ABORTED")
        elif step.do == Do.SUSPEND:
            if suspend(s, job, step.what):
                return
        elif not request(s, job, step.what):
            return


def suspend(s: State, job: Job, index: int) -> bool:
    """Look up or draw the length; whether the job suspends, which it does not for no time."""
    row = s.row(job).suspensions[index]
    if job.number < len(row.explicit_ns):
        s.met["suspension of a given length"] += 1
        length = row.explicit_ns[job.number]
    else:
        bits = draw(s.g.seed, job.task, job.number, 16 + index)
        length = row.min_ns + draw_up_to(row.max_ns - row.min_ns, bits)
    if length == 0:
        s.met["suspension of no length"] += 1
        return False
    job.wake_at = s.now + length
    s.leave_core(job)
    s.tell("SUSPEND", job, length)
    return True


def request(s: State, job: Job, resource: int) -> bool:
    """Lock the resource, or wait for it; whether the job has it."""
    protocol = s.g.resources[resource].protocol.name
    if s.owner[resource] is None:
        take(s, job, resource)
        return True
    s.tell("REQUEST", job, resource)
    s.met[f"{protocol} wait"] += 1
    job.waits_for = resource
    s.waiters[resource].append(job)
    if not s.is_msrp(resource):
        s.leave_core(job)
    for holder in s.live():
        chain = inherited_from(s, holder)
        longest = max(depth for _, depth in chain)
        if longest and effective_key(s, holder) < own_key(s, holder):
            s.met[f"inherited over {min(longest, 3)}"] += 1
            s.met["inherited across processors"] += any(s.processor(j) != s.processor(holder) for j, _ in chain)
    return False


def take(s: State, job: Job, resource: int) -> None:
    s.owner[resource] = job
    job.held.append(resource)
    s.tell("LOCK", job, resource)
    s.met[f"{s.g.resources[resource].protocol.name} lock"] += 1
    s.met["nested lock"] += len(job.held) > 1


def free(s: State, job: Job, resource: int, event: str) -> None:
    """Release a lock; the next waiter has it at once."""
    job.held.remove(resource)
    s.owner[resource] = None
    s.tell(event, job, resource)
    waiters = s.waiters[resource]
    if not waiters:
        return
    s.met["several waiters"] += len(waiters) > 1
    turn = 0 if s.is_msrp(resource) else min(range(len(waiters)), key=lambda i: (effective_key(s, waiters[i]), i))
    s.met["waiter overtakes"] += turn > 0
    lucky = waiters.pop(turn)
    lucky.waits_for = None
    take(s, lucky, resource)
