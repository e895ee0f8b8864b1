"""Takeovers: tasks go on elsewhere, or with another demand.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    ABORTED,
    EVENT_ABORT,
    EVENT_TASK_MOVED,
    EVENT_TASK_VARIED,
    HOLD_ON_CORE,
    NONE,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.jobs import end_job, strike_backlog
from rt_sched.kernels.trail import note, note_head


@routine
def move_task(m, task, row):
    """Abort the jobs of a task at once, whatever locks they hold; what arrives from now on is as `row` declares it."""
    state, declared = m.tasks[task], m.declarations[row]
    note(m, EVENT_TASK_MOVED, declared["processor"], task, NONE, row)
    if state["head_job"] != NONE:
        strike_backlog(m, task)
        if state["hold"] & HOLD_ON_CORE:
            leave_core(m, state["core"])
        note_head(m, EVENT_ABORT, task, NONE)
        end_job(m, task, ABORTED)
    _change_queue(m, task, declared["processor"])
    state["level"] = declared["level"]
    state["in_slice"] = declared["in_slice"]
    state["limited"] = declared["limited"]
    state["first_step"] = declared["first_step"]
    state["last_step"] = declared["last_step"]
    state["low_budget_ns"] = declared["low_budget_ns"]
    state["first_limit_ns"] = declared["first_limit_ns"]
    state["server_ns"] = declared["server_ns"]
    state["suppress_next"] = 0
    state["degrade_next"] = 0
    _change_demand(m, task, row)


@routine
def _change_queue(m, task, processor):
    """Take a task out of the list of its processor and into that of another one; both stay ascending."""
    old, new = m.processors[m.tasks[task]["processor"]], m.processors[processor]
    place = old["first_task"]
    while m.links[place] != task:
        place += 1
    old["last_task"] -= 1
    while place < old["last_task"]:
        m.links[place] = m.links[place + 1]
        place += 1
    place = new["last_task"]
    new["last_task"] += 1
    while place > new["first_task"] and m.links[place - 1] > task:
        m.links[place] = m.links[place - 1]
        place -= 1
    m.links[place] = task
    m.tasks[task]["processor"] = processor


@routine
def vary_task(m, task, row):
    """Only the demands of jobs that arrive from now on, and which of them are left out, are as `row` declares it."""
    note(m, EVENT_TASK_VARIED, m.tasks[task]["processor"], task, NONE, row)
    _change_demand(m, task, row)


@routine
def _change_demand(m, task, row):
    """What a later job needs, and which of them make one."""
    state, declared = m.tasks[task], m.declarations[row]
    state["memory_ns"] = declared["memory_ns"]
    state["first_demand"] = declared["first_demand"]
    state["explicit_demands"] = declared["explicit_demands"]
    state["every"] = declared["every"]
    state["special"] = declared["special"]
    state["first_number"] = state["next_number"]
    for point in range(m.quantiles.shape[1]):
        m.quantiles[task, point] = m.quantiles[len(m.tasks) + row, point]
