"""Processors: which job runs, what it gives up, what it has executed.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.compiled import part
from rt_sched.kernels.jobs import emit_job, end_head_job, read_inputs
from rt_sched.kernels.tables import (
    EDF,
    EVENT_PREEMPT,
    EVENT_RESUME,
    EVENT_SKIP,
    EVENT_START,
    FIFO,
    NEVER_NS,
    NONE,
    SKIPPED,
)


@part
def dispatch(m):
    """Phase 6: processors whose ready jobs changed, by index.

    With one queue per processor a dispatch changes nothing on the others, so one pass is stable.
    """
    for processor in range(len(m.processors)):
        if m.processors[processor]["dispatch"] == 1:
            while _dispatch_once(m, processor):
                pass
            m.processors[processor]["dispatch"] = 0


@part
def _dispatch_once(m, processor):
    """Let the best waiting job have the processor if it may; True when it was skipped and another may try.

    Inputs are read before a running job is preempted: a job without its required inputs takes nobody's time.
    """
    state = m.processors[processor]
    running = state["running"]
    if running != NONE and state["preemptive"] == 0:
        return False
    best_task = NONE
    best_key, best_release_ns = NEVER_NS, NEVER_NS
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        job = m.tasks[task]["head_job"]
        if job != NONE and job != running:
            key, release_ns = _key(m, state["policy"], job), m.jobs[job]["release_ns"]
            if best_task == NONE or key < best_key or (key == best_key and release_ns < best_release_ns):
                best_task, best_key, best_release_ns = task, key, release_ns
    if best_task == NONE or (running != NONE and best_key >= _key(m, state["policy"], running)):
        return False
    job = m.tasks[best_task]["head_job"]
    if m.jobs[job]["start_ns"] == NONE and not read_inputs(m, job):
        emit_job(m, EVENT_SKIP, job)
        end_head_job(m, best_task, SKIPPED)
        return True
    if running != NONE:
        emit_job(m, EVENT_PREEMPT, running)
        leave(m, processor)
    _run(m, processor, job)
    return False


@part
def _key(m, policy, job):
    """What jobs are ordered by on a processor; smaller is better."""
    if policy == EDF:
        return m.jobs[job]["deadline_ns"]
    if policy == FIFO:
        return m.jobs[job]["release_ns"]
    return m.tasks[m.jobs[job]["task"]]["level"]


@part
def _run(m, processor, job):
    """Start or resume a job on an idle processor."""
    state = m.processors[processor]
    record = m.jobs[job]
    now_ns = m.clock[0]["now_ns"]
    budget_ns = m.tasks[record["task"]]["budget_ns"]
    if record["start_ns"] == NONE:
        record["start_ns"] = now_ns
        emit_job(m, EVENT_START, job)
    else:
        emit_job(m, EVENT_RESUME, job)
    state["running"] = job
    state["segment_start_ns"] = now_ns
    state["completion_ns"] = now_ns + record["demand_ns"] - record["executed_ns"]
    if budget_ns != NONE and record["overrun"] == 0 and record["demand_ns"] > budget_ns:
        state["overrun_ns"] = now_ns + budget_ns - record["executed_ns"]


@part
def leave(m, processor):
    """Take the running job, if any, off its processor and account for what it executed."""
    state = m.processors[processor]
    job = state["running"]
    if job == NONE:
        return
    clock = m.clock[0]
    row = m.slices[clock["slices"]]
    row["processor"] = processor
    row["job"] = job
    row["start_ns"] = state["segment_start_ns"]
    row["end_ns"] = clock["now_ns"]
    clock["slices"] += 1
    m.jobs[job]["executed_ns"] += clock["now_ns"] - state["segment_start_ns"]
    state["running"] = NONE
    state["completion_ns"] = NEVER_NS
    state["overrun_ns"] = NEVER_NS
    state["dispatch"] = 1
