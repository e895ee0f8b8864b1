"""Budgets: overruns and their consequences, servers that throttle, the switch to HI mode.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    EVENT_ENFORCE,
    EVENT_HIGH,
    EVENT_OVERRUN,
    EVENT_PREEMPT,
    HOLD_ON_CORE,
    NEVER_NS,
    NONE,
    OVERRUN_ABORT,
    OVERRUN_DEGRADE,
    OVERRUN_FAIL_OVER,
    OVERRUN_LOG,
    OVERRUN_SKIP_NEXT,
    OVERRUN_THROTTLE,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import arm, executes, leave_core
from rt_sched.kernels.jobs import abort_head, strike_backlog
from rt_sched.kernels.locks import update_keys
from rt_sched.kernels.servers import replenish
from rt_sched.kernels.trail import emit_job, note, note_head


@routine
def check_budgets(m, task):
    """Phase 4 for a job that has made progress and has work left: overrun, enforcement, C_LO, in this order."""
    state = m.tasks[task]
    state["check"] = 0
    job = state["head_job"]
    if job == NONE:
        return
    executed_ns = m.jobs[job]["executed_ns"]
    if executed_ns == 0:
        return
    if state["budget_ns"] != NONE and executed_ns >= state["budget_ns"] and m.jobs[job]["overrun"] == 0:
        m.jobs[job]["overrun"] = 1
        note_head(m, EVENT_OVERRUN, task, NONE)
    if executed_ns >= state["enforce_ns"] and state["held"] == 0 and state["fixed"] == 0:
        _enforce(m, task)
        if state["head_job"] != job:
            return
    if executed_ns == state["low_budget_ns"] and m.processors[state["processor"]]["high"] == 0:
        _switch_to_high(m, state["processor"])
    limit_ns = NEVER_NS
    if state["budget_ns"] > executed_ns:
        limit_ns = state["budget_ns"]
    if state["enforce_ns"] > executed_ns:
        limit_ns = min(limit_ns, state["enforce_ns"])
    if state["low_budget_ns"] > executed_ns:
        limit_ns = min(limit_ns, state["low_budget_ns"])
    state["limit_ns"] = limit_ns
    if executes(m, task):
        arm(m, task)


@routine
def _enforce(m, task):
    """The overrun action of the oldest job of `task`."""
    state = m.tasks[task]
    action = state["overrun_action"]
    note_head(m, EVENT_ENFORCE, task, action)
    if action == OVERRUN_THROTTLE:
        replenish(m, task)
        if len(m.resources) > 0:
            update_keys(m)
        return
    _take_action(m, task, action)


@routine
def _take_action(m, task, action):
    """What an overrun leads to once a job."""
    state = m.tasks[task]
    state["enforced"] = 1
    state["enforce_ns"] = NEVER_NS
    if action in (OVERRUN_ABORT, OVERRUN_FAIL_OVER):
        abort_head(m, task)
    elif action == OVERRUN_SKIP_NEXT:
        state["suppress_next"] = 1
    elif action == OVERRUN_DEGRADE:
        state["degrade_next"] = 1


@routine
def end_entry(m, processor):
    """A table entry ends: a job with work left has overrun, and leaves its core."""
    job = m.processors[processor]["entry_job"]
    m.processors[processor]["entry_job"] = NONE
    if job == NONE:
        return
    task = m.jobs[job]["task"]
    state = m.tasks[task]
    if state["head_job"] != job:
        return
    if state["hold"] & HOLD_ON_CORE:
        emit_job(m, EVENT_PREEMPT, job)
        leave_core(m, state["core"])
    action = state["overrun_action"]
    if m.jobs[job]["overrun"] == 0:
        m.jobs[job]["overrun"] = 1
        note_head(m, EVENT_OVERRUN, task, NONE)
    if state["enforced"] == 0 and action != OVERRUN_LOG and action != OVERRUN_THROTTLE:
        note_head(m, EVENT_ENFORCE, task, action)
        _take_action(m, task, action)


@routine
def _switch_to_high(m, processor):
    """A HI job has used its C_LO: LO jobs of the processor are aborted, and suppressed until it idles."""
    state = m.processors[processor]
    state["high"] = 1
    note(m, EVENT_HIGH, processor, NONE, NONE, NONE)
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        if m.tasks[task]["high"] == 0 and m.tasks[task]["head_job"] != NONE:
            strike_backlog(m, task)
            abort_head(m, task)
