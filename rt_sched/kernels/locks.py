"""Shared resources: requests, hand-over, inheritance, ceilings, what becomes of the locks of a job that ends.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    COMPLETED,
    EDF,
    EVENT_LOCK,
    EVENT_OWNER_DEAD,
    EVENT_REQUEST,
    EVENT_UNLOCK,
    FIXED_PRIORITY,
    HOLD_LOCK,
    MSRP,
    NEVER_NS,
    NONE,
    PRIORITY_CEILING,
    PRIORITY_INHERITANCE,
    SLICE_SPIN,
    STEP_LOCK,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import close_slice, leave_core
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.timers import set_timer
from rt_sched.kernels.trail import mark, note_head


@routine
def update_keys(m):
    """Effective keys from scratch: own key, ceilings of what is held, keys of all that wait for it, transitively."""
    for place in range(m.clock[0]["first_locker"], m.clock[0]["last_locker"]):
        state = m.tasks[m.links[place]]
        if state["key_ns"] != state["base_key_ns"]:
            state["key_ns"] = state["base_key_ns"]
            mark(m, state["processor"])
    for processor in range(len(m.processors)):
        m.processors[processor]["ceiling_ns"] = NEVER_NS
    for resource in range(len(m.resources)):
        lock = m.resources[resource]
        if lock["protocol"] == PRIORITY_CEILING and lock["owner"] != NONE:
            owner = m.tasks[lock["owner"]]
            processor = m.processors[owner["processor"]]
            if processor["policy"] == FIXED_PRIORITY:
                owner["key_ns"] = min(owner["key_ns"], lock["level"])
            elif processor["policy"] == EDF:
                processor["ceiling_ns"] = min(processor["ceiling_ns"], lock["deadline_ns"])
            mark(m, owner["processor"])
    changed = True
    while changed:
        changed = False
        for place in range(m.clock[0]["first_locker"], m.clock[0]["last_locker"]):
            state = m.tasks[m.links[place]]
            if state["waits_for"] != NONE and m.resources[state["waits_for"]]["protocol"] == PRIORITY_INHERITANCE:
                owner = m.tasks[m.resources[state["waits_for"]]["owner"]]
                alike = m.processors[state["processor"]]["policy"] == m.processors[owner["processor"]]["policy"]
                if alike and state["key_ns"] < owner["key_ns"]:
                    owner["key_ns"] = state["key_ns"]
                    mark(m, owner["processor"])
                    changed = True


@routine
def request(m, task, resource):
    """The running job of `task` asks for a lock; False when it has to wait, off its core or (msrp) spinning on it."""
    state = m.tasks[task]
    lock = m.resources[resource]
    spins = lock["protocol"] == MSRP
    if spins:
        state["fixed"] += 1
    if lock["owner"] == NONE:
        lock["owner"] = task
        state["held"] += 1
        note_head(m, EVENT_LOCK, task, resource)
        if lock["protocol"] == PRIORITY_CEILING:
            update_keys(m)
        return True
    note_head(m, EVENT_REQUEST, task, resource)
    state["waits_for"] = resource
    state["request"] = m.clock[0]["requests"]
    m.clock[0]["requests"] += 1
    lock["waiters"] += 1
    if spins:
        close_slice(m, state["core"])
        m.cores[state["core"]]["doing"] = SLICE_SPIN
        set_timer(m, task, NEVER_NS)
    else:
        set_hold(m, task, state["hold"] | HOLD_LOCK)
        leave_core(m, state["core"])
        update_keys(m)
    return False


@routine
def _best_waiter(m, resource):
    """The task whose job is the first to get the lock."""
    in_order = m.resources[resource]["protocol"] == MSRP
    best = len(m.tasks)
    best_key, best_request = NEVER_NS, NEVER_NS
    for place in range(m.clock[0]["first_locker"], m.clock[0]["last_locker"]):
        task = m.links[place]
        state = m.tasks[task]
        if state["waits_for"] == resource:
            key, request_order = state["key_ns"], state["request"]
            if in_order:
                key = NEVER_NS
            if best == len(m.tasks) or key < best_key or (key == best_key and request_order < best_request):
                best, best_key, best_request = task, key, request_order
    return best


@routine
def unlock(m, task, resource):
    """Free a lock and hand it to the best waiter: under msrp the first, else by effective key, then request."""
    state = m.tasks[task]
    lock = m.resources[resource]
    lock["owner"] = NONE
    state["held"] -= 1
    if lock["protocol"] == MSRP:
        state["fixed"] -= 1
    mark(m, state["processor"])
    if lock["waiters"] > 0:
        _grant(m, _best_waiter(m, resource), resource)
    update_keys(m)


@routine
def _grant(m, task, resource):
    """Give a lock to a job that waits for it; a spinning one goes on in phase 2."""
    state = m.tasks[task]
    lock = m.resources[resource]
    lock["owner"] = task
    lock["waiters"] -= 1
    state["held"] += 1
    state["waits_for"] = NONE
    note_head(m, EVENT_LOCK, task, resource)
    if lock["protocol"] == MSRP:
        set_timer(m, task, m.clock[0]["now_ns"])
        m.clock[0]["spins_ended"] += 1
    else:
        set_hold(m, task, state["hold"] & ~HOLD_LOCK)
        mark(m, state["processor"])


@routine
def let_go(m, task, status):
    """The oldest job of `task` ends: it waits no more, its locks are free, the innermost first."""
    state = m.tasks[task]
    if state["waits_for"] != NONE:
        lock = m.resources[state["waits_for"]]
        lock["waiters"] -= 1
        if lock["protocol"] == MSRP:
            state["fixed"] -= 1
        state["waits_for"] = NONE
        update_keys(m)
    step = state["next_step"] - 1
    while state["held"] > 0:
        resource = m.steps[step]["argument"]
        if m.steps[step]["kind"] == STEP_LOCK and m.resources[resource]["owner"] == task:
            if status == COMPLETED:
                note_head(m, EVENT_UNLOCK, task, resource)
            else:
                m.resources[resource]["owner_dead"] = 1
                note_head(m, EVENT_OWNER_DEAD, task, resource)
            unlock(m, task, resource)
        step -= 1
