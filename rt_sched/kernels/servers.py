"""Servers: what a throttled task may execute, and when it gets more.

Under EDF a constant bandwidth server (Abeni, Buttazzo 1998) whose deadlines lie at least a period apart, each paying
one budget; under other policies each arrival pays one budget. `m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    EDF,
    EVENT_REPLENISH,
    EVENT_THROTTLE,
    HOLD_BUDGET,
    HOLD_ON_CORE,
    NEVER_NS,
    NONE,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.trail import mark, note_head


@routine
def open_server(m, task):
    """The oldest job of a throttled task takes over the server: with a new budget, or with what is left."""
    state = m.tasks[task]
    job = m.jobs[state["head_job"]]
    if m.processors[state["processor"]]["policy"] == EDF:
        new = job["deadline_ns"] >= state["server_ns"] + state["separation_ns"]
        pays = job["deadline_ns"]
    else:
        new = job["number"] > state["server_ns"]
        pays = job["number"]
    if new:
        state["server_ns"] = pays
    else:
        state["enforce_ns"] = state["credit_ns"]
    if m.processors[state["processor"]]["policy"] == EDF:
        state["base_key_ns"] = state["server_ns"]
        state["key_ns"] = state["server_ns"]
    if state["enforce_ns"] <= 0:
        replenish(m, task)
    if state["enforce_ns"] > 0:
        state["limit_ns"] = min(state["limit_ns"], state["enforce_ns"])


@routine
def replenish(m, task):
    """The budget is used up: postpone the server's deadline (EDF), or let the next arrivals pay, or wait for one."""
    state = m.tasks[task]
    budget_ns = state["enforced_ns"]
    missing = (m.jobs[state["head_job"]]["executed_ns"] - state["enforce_ns"]) // budget_ns + 1
    if m.processors[state["processor"]]["policy"] == EDF:
        period_ns = state["separation_ns"]
        if missing > (NEVER_NS - state["server_ns"]) // period_ns:
            state["server_ns"] = NEVER_NS
        else:
            state["server_ns"] += missing * period_ns
        state["enforce_ns"] += missing * budget_ns
        state["base_key_ns"] = state["server_ns"]
        state["key_ns"] = state["server_ns"]
        note_head(m, EVENT_REPLENISH, task, state["server_ns"])
    else:
        paid = min(missing, state["next_number"] - 1 - state["server_ns"])
        state["server_ns"] += paid
        state["enforce_ns"] += paid * budget_ns
        if paid < missing:
            if state["hold"] & HOLD_BUDGET == 0:
                set_hold(m, task, state["hold"] | HOLD_BUDGET)
                note_head(m, EVENT_THROTTLE, task, NONE)
                if state["hold"] & HOLD_ON_CORE:
                    leave_core(m, state["core"])
        else:
            set_hold(m, task, state["hold"] & ~HOLD_BUDGET)
            state["limit_ns"] = min(state["limit_ns"], state["enforce_ns"])
            note_head(m, EVENT_REPLENISH, task, state["server_ns"])
    mark(m, state["processor"])
