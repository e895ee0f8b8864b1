"""Phase 1: losses, mode changes and frequency changes.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    ADDITION,
    EVENT_JOB_LOST,
    EVENT_LINK_LOST,
    EVENT_PROCESSOR_LOST,
    EVENT_SENSOR_LOST,
    EVENT_TASK_ADDED,
    EVENT_TASK_REMOVED,
    FREQUENCY_CHANGE,
    HOLD_ON_CORE,
    LINK_LOSS,
    LOST,
    NEVER_NS,
    NONE,
    PROCESSOR_LOSS,
    QUEUE,
    READ,
    REASON_INACTIVE,
    REMOVAL,
    SENSOR_LOSS,
    TIMED,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.frequency import change_frequency
from rt_sched.kernels.jobs import abort_head, end_job, pop_message, strike_backlog
from rt_sched.kernels.trail import drop, emit, emit_job, note


@routine
def make_changes(m):
    """Everything that is planned to change now."""
    clock = m.clock[0]
    while clock["next_change"] < len(m.changes) and m.changes[clock["next_change"]]["time_ns"] == clock["now_ns"]:
        change = m.changes[clock["next_change"]]
        clock["next_change"] += 1
        kind, target = change["kind"], change["target"]
        if kind == PROCESSOR_LOSS:
            emit(m, EVENT_PROCESSOR_LOST, target, NONE, NONE, NONE, NONE, NONE)
            _lose_processor(m, target)
        elif kind == SENSOR_LOSS:
            emit(m, EVENT_SENSOR_LOST, NONE, NONE, NONE, NONE, target, NONE)
            m.sensors[target]["lost"] = 1
        elif kind == LINK_LOSS:
            note(m, EVENT_LINK_LOST, NONE, NONE, NONE, target)
            m.lanes[target]["lost"] = 1
            m.timers[clock["lane_timers"] + target] = NEVER_NS
        elif kind == FREQUENCY_CHANGE:
            change_frequency(m, target, change["value"])
        elif kind == REMOVAL:
            _remove_task(m, target)
        elif kind == ADDITION:
            _add_task(m, target)


@routine
def _lose_processor(m, processor):
    """Every job on the processor is lost, by task and number; what arrives there later is lost on arrival."""
    state = m.processors[processor]
    state["lost"] = 1
    if state["span_timer"] != NONE:
        state["span_open"] = 0
        m.timers[state["span_timer"]] = NEVER_NS
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        while m.tasks[task]["head_job"] != NONE:
            if m.tasks[task]["hold"] & HOLD_ON_CORE:
                leave_core(m, m.tasks[task]["core"])
            emit_job(m, EVENT_JOB_LOST, m.tasks[task]["head_job"])
            end_job(m, task, LOST)
        if m.tasks[task]["let"] == 1:
            m.timers[m.clock[0]["let_timers"] + task] = NEVER_NS


@routine
def _remove_task(m, task):
    """Abort the jobs of a task; nothing arrives any more, and what waited to activate a job is dropped."""
    state = m.tasks[task]
    note(m, EVENT_TASK_REMOVED, state["processor"], task, NONE, NONE)
    state["active"] = 0
    state["suppress_next"] = 0
    state["degrade_next"] = 0
    m.timers[2 * len(m.tasks) + task] = NEVER_NS
    if state["head_job"] != NONE:
        strike_backlog(m, task)
        abort_head(m, task)
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] != READ and edge["kind"] == QUEUE:
            while edge["count"] > 0:
                drop(m, m.links[place], pop_message(m, m.links[place]), REASON_INACTIVE)


@routine
def _add_task(m, task):
    """The arrivals of a task begin: the first timed one now, or the next one that is given explicitly."""
    state = m.tasks[task]
    note(m, EVENT_TASK_ADDED, state["processor"], task, NONE, NONE)
    now_ns = m.clock[0]["now_ns"]
    state["active"] = 1
    state["carry"] = 0
    m.clock[0]["arrival_min_ns"] = now_ns
    if state["activation"] == TIMED and state["period_ns"] > 0:
        m.timers[2 * len(m.tasks) + task] = now_ns
    elif state["activation"] == TIMED:
        place = state["next_explicit"]
        while place < state["explicit_arrivals"] and m.explicit[state["first_arrival"] + place] < now_ns:
            place += 1
        state["next_explicit"] = place
        if place < state["explicit_arrivals"]:
            m.timers[2 * len(m.tasks) + task] = m.explicit[state["first_arrival"] + place]
