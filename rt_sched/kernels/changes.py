"""Phase 1: losses and returns, frequency changes, changes of tasks and of modes.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    ADDITION,
    EVENT_JOB_LOST,
    EVENT_LINK_LOST,
    EVENT_LINK_RETURNED,
    EVENT_PROCESSOR_LOST,
    EVENT_PROCESSOR_RETURNED,
    EVENT_SENSOR_LOST,
    EVENT_SENSOR_RETURNED,
    EVENT_TASK_ADDED,
    EVENT_TASK_REMOVED,
    EXTRA_ARRIVAL,
    FREQUENCY_CHANGE,
    HOLD_ON_CORE,
    LINK_LOSS,
    LINK_RETURN,
    LOST,
    MOVE,
    NEVER_NS,
    NONE,
    PROCESSOR_LOSS,
    PROCESSOR_RETURN,
    QUEUE,
    READ,
    REASON_INACTIVE,
    REMOVAL,
    ROUTE_CHANGE,
    SENSOR_LOSS,
    SENSOR_RETURN,
    TIMED,
    VARIATION,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.frequency import change_frequency
from rt_sched.kernels.jobs import abort_head, end_job, pop_message, strike_backlog
from rt_sched.kernels.takeovers import move_task, vary_task
from rt_sched.kernels.timers import set_timer
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
            _lose_link(m, target)
        elif kind == PROCESSOR_RETURN:
            emit(m, EVENT_PROCESSOR_RETURNED, target, NONE, NONE, NONE, NONE, NONE)
            _return_processor(m, target)
        elif kind == SENSOR_RETURN:
            emit(m, EVENT_SENSOR_RETURNED, NONE, NONE, NONE, NONE, target, NONE)
            m.sensors[target]["lost"] = 0
        elif kind == LINK_RETURN:
            note(m, EVENT_LINK_RETURNED, NONE, NONE, NONE, target)
            m.lanes[target]["lost"] = 0
        elif kind == FREQUENCY_CHANGE:
            change_frequency(m, target, change["value"])
        elif kind == MOVE:
            move_task(m, target, change["value"])
        elif kind == VARIATION:
            vary_task(m, target, change["value"])
        elif kind == ROUTE_CHANGE:
            m.edges[target]["lane"] = change["value"]
            m.edges[target]["transfer_ns"] = change["transfer_ns"]
        elif kind == REMOVAL:
            _remove_task(m, target)
        elif kind == ADDITION:
            _add_task(m, target)
        elif kind == EXTRA_ARRIVAL:
            m.tasks[target]["extra"] = 1
            clock["extras"] += 1


@routine
def _lose_processor(m, processor):
    """Every job on the processor is lost, by task and number; what arrives there later is lost on arrival."""
    state = m.processors[processor]
    state["lost"] = 1
    if state["span_timer"] != NONE:
        state["span_open"] = 0
        state["usable"] = 0
        set_timer(m, state["span_timer"], NEVER_NS)
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        while m.tasks[task]["head_job"] != NONE:
            if m.tasks[task]["hold"] & HOLD_ON_CORE:
                leave_core(m, m.tasks[task]["core"])
            emit_job(m, EVENT_JOB_LOST, m.tasks[task]["head_job"])
            end_job(m, task, LOST)
        if m.tasks[task]["let"] == 1:
            _give_up(m, task)


@routine
def _give_up(m, task):
    """What a task has not published yet, it never does."""
    job = m.tasks[task]["let_job"]
    while job != NONE:
        m.jobs[job]["given_up"] = 1
        job = m.jobs[job]["next_job"]
    m.tasks[task]["let_job"] = NONE
    set_timer(m, m.clock[0]["let_timers"] + task, NEVER_NS)


@routine
def _return_processor(m, processor):
    """A lost processor is there again, without jobs; its cycle goes on with the next slice or entry that begins."""
    state = m.processors[processor]
    state["lost"] = 0
    state["entry_job"] = NONE
    if state["span_timer"] != NONE:
        now_ns = m.clock[0]["now_ns"]
        state["cycle_start_ns"] = now_ns - now_ns % state["cycle_ns"]
        state["span"] = state["first_span"]
        while (
            state["span"] < state["last_span"] and state["cycle_start_ns"] + m.spans[state["span"]]["start_ns"] < now_ns
        ):
            state["span"] += 1
        if state["span"] == state["last_span"]:
            state["span"] = state["first_span"]
            state["cycle_start_ns"] += state["cycle_ns"]
        due_ns = state["cycle_start_ns"] + m.spans[state["span"]]["start_ns"]
        set_timer(m, state["span_timer"], due_ns)
        m.clock[0]["rest_min_ns"] = min(m.clock[0]["rest_min_ns"], due_ns)


@routine
def _lose_link(m, link):
    """What is on a link when it is lost does not arrive; when it returns, it is free."""
    lane = m.lanes[link]
    lane["lost"] = 1
    lane["next"] = NONE
    lane["newest"] = NONE
    lane["busy_until_ns"] = 0
    set_timer(m, m.clock[0]["lane_timers"] + link, NEVER_NS)


@routine
def _remove_task(m, task):
    """Abort the jobs of a task; nothing arrives any more, and what waited to activate a job is dropped."""
    state = m.tasks[task]
    note(m, EVENT_TASK_REMOVED, state["processor"], task, NONE, NONE)
    state["active"] = 0
    state["suppress_next"] = 0
    state["degrade_next"] = 0
    set_timer(m, m.clock[0]["arrival_timers"] + task, NEVER_NS)
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
        set_timer(m, m.clock[0]["arrival_timers"] + task, now_ns)
    elif state["activation"] == TIMED:
        place = state["next_explicit"]
        while place < state["explicit_arrivals"] and m.explicit[state["first_arrival"] + place] < now_ns:
            place += 1
        state["next_explicit"] = place
        if place < state["explicit_arrivals"]:
            set_timer(m, m.clock[0]["arrival_timers"] + task, m.explicit[state["first_arrival"] + place])
