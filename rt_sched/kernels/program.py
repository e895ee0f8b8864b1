"""The program of a job: locks, suspensions and preemption points at given executed times.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    EVENT_SUSPEND,
    EVENT_UNLOCK,
    HOLD_SUSPENDED,
    NEVER_NS,
    SLICE_EXECUTE,
    STEP_LOCK,
    STEP_SUSPEND,
    STEP_UNLOCK,
)
from rt_sched.kernels.compiled import part, routine
from rt_sched.kernels.cores import arm, close_slice, executes, leave_core
from rt_sched.kernels.draw import PURPOSE_SUSPENSION, draw, uniform
from rt_sched.kernels.jobs import abort_head
from rt_sched.kernels.locks import request, unlock
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.timers import set_timer
from rt_sched.kernels.trail import mark, note_head


@part
def begin_executing(m, task):
    """The job of `task` executes from now on, after switch costs or a spin."""
    state = m.tasks[task]
    m.cores[state["core"]]["doing"] = SLICE_EXECUTE
    state["executing_from_ns"] = m.clock[0]["now_ns"]
    if state["next_step"] < state["last_step"]:
        run_steps(m, task)
        if executes(m, task):
            arm(m, task)
    else:
        arm(m, task)


@routine
def go_on(m, task):
    """A switch cost or spin of the job of `task` is over."""
    close_slice(m, m.tasks[task]["core"])
    set_timer(m, task, NEVER_NS)
    mark(m, m.tasks[task]["processor"])
    begin_executing(m, task)


@routine
def run_steps(m, task):
    """Take the steps that the executing job has reached; on return it may be off its core, spin, or have ended.

    Its executed time is up to date. A job that reaches its demand completes instead.
    """
    state = m.tasks[task]
    job = m.jobs[state["head_job"]]
    executed_ns = job["executed_ns"]
    while state["next_step"] < state["last_step"]:
        step = m.steps[state["next_step"]]
        if step["at_ns"] > executed_ns or job["demand_ns"] <= executed_ns:
            return
        state["next_step"] += 1
        if step["kind"] == STEP_LOCK:
            if not request(m, task, step["argument"]):
                return
        elif step["kind"] == STEP_UNLOCK:
            note_head(m, EVENT_UNLOCK, task, step["argument"])
            unlock(m, task, step["argument"])
            if state["doomed"] == 1 and state["held"] == 0:
                abort_head(m, task)
                return
        elif step["kind"] == STEP_SUSPEND:
            if _suspend(m, task, step):
                return
        else:
            state["point_ns"] = executed_ns
            mark(m, state["processor"])


@routine
def _suspend(m, task, step):
    """Suspend the executing job for a given or drawn time; False when that is zero."""
    state = m.tasks[task]
    number = m.jobs[state["head_job"]]["number"]
    if number < step["lengths"]:
        length_ns = m.explicit[step["first_length"] + number]
    else:
        bits = draw(m.clock[0]["seed"], task, number, PURPOSE_SUSPENSION + step["argument"])
        length_ns = step["min_ns"] + uniform(step["max_ns"] - step["min_ns"], bits)
    if length_ns == 0:
        return False
    set_hold(m, task, state["hold"] | HOLD_SUSPENDED)
    set_timer(m, m.clock[0]["wake_timers"] + task, m.clock[0]["now_ns"] + length_ns)
    note_head(m, EVENT_SUSPEND, task, length_ns)
    leave_core(m, state["core"])
    return True
