"""Cores: what they do now, what their job has executed, when it next reaches something.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    HOLD_ON_CORE,
    NEVER_NS,
    NONE,
    SLICE_EXECUTE,
)
from rt_sched.kernels.compiled import as_routine, part
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.timers import set_timer
from rt_sched.kernels.trail import mark


@part
def close_slice(m, core):
    """Write down what the core did until now for its job."""
    state = m.cores[core]
    clock = m.clock[0]
    if state["since_ns"] < clock["now_ns"]:
        row = m.slices[clock["slices"]]
        row["processor"] = core
        row["job"] = m.tasks[state["running"]]["head_job"]
        row["start_ns"] = state["since_ns"]
        row["end_ns"] = clock["now_ns"]
        row["kind"] = state["doing"]
        clock["slices"] += 1
        state["since_ns"] = clock["now_ns"]


@part
def settle(m, task):
    """Count what the executing job of `task` has executed until now."""
    state = m.tasks[task]
    now_ns = m.clock[0]["now_ns"]
    m.jobs[state["head_job"]]["executed_ns"] += now_ns - state["executing_from_ns"]
    state["executing_from_ns"] = now_ns


@part
def executes(m, task):
    """Whether the oldest job of `task` is on a core and executes there."""
    state = m.tasks[task]
    return state["hold"] & HOLD_ON_CORE != 0 and m.cores[state["core"]]["doing"] == SLICE_EXECUTE


@part
def arm(m, task):
    """Set the timer of an executing job to what it reaches next: its end, a step of its program, a budget."""
    state = m.tasks[task]
    job = m.jobs[state["head_job"]]
    reached_ns = min(job["demand_ns"], state["limit_ns"])
    if state["next_step"] < state["last_step"]:
        reached_ns = min(reached_ns, m.steps[state["next_step"]]["at_ns"])
    set_timer(m, task, state["executing_from_ns"] + reached_ns - job["executed_ns"])


@part
def leave(m, core):
    """Take the job off its core."""
    state = m.cores[core]
    task = state["running"]
    if state["doing"] == SLICE_EXECUTE:
        settle(m, task)
    close_slice(m, core)
    state["running"] = NONE
    set_hold(m, task, m.tasks[task]["hold"] & ~HOLD_ON_CORE)
    set_timer(m, task, NEVER_NS)
    mark(m, state["processor"])


leave_core = as_routine(leave)
