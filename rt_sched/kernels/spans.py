"""Time slices and table entries: spans of a cycle that say who may use the processor.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.budgets import end_entry
from rt_sched.kernels.codes import (
    EVENT_ENTRY,
    EVENT_PREEMPT,
    EVENT_SLICE,
    NONE,
    TABLE,
)
from rt_sched.kernels.compiled import routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.timers import set_timer
from rt_sched.kernels.trail import emit_job, mark, note


@routine
def _next_span(m, processor):
    """Go to the next span of the cycle, or to the first one of the next cycle."""
    state = m.processors[processor]
    state["span"] += 1
    if state["span"] == state["last_span"]:
        state["span"] = state["first_span"]
        state["cycle_start_ns"] += state["cycle_ns"]


@routine
def end_entries(m):
    """Phase 4: table entries that end now."""
    for processor in range(len(m.processors)):
        state = m.processors[processor]
        if state["policy"] != TABLE or state["span_open"] == 0:
            continue
        if state["cycle_start_ns"] + m.spans[state["span"]]["end_ns"] == m.clock[0]["now_ns"]:
            state["span_open"] = 0
            end_entry(m, processor)
            _next_span(m, processor)
            set_timer(m, state["span_timer"], state["cycle_start_ns"] + m.spans[state["span"]]["start_ns"])


@routine
def begin_spans(m):
    """Phase 6, before dispatch: slices that end and begin, switch costs that are paid, table entries that begin."""
    for processor in range(len(m.processors)):
        state = m.processors[processor]
        if state["span_timer"] != NONE and m.timers[state["span_timer"]] == m.clock[0]["now_ns"]:
            if state["policy"] == TABLE:
                _begin_entry(m, processor)
            elif state["span_open"] == 1 and state["usable"] == 0:
                state["usable"] = 1
                set_timer(m, state["span_timer"], state["cycle_start_ns"] + m.spans[state["span"]]["end_ns"])
            else:
                _begin_slice(m, processor)
            mark(m, processor)


@routine
def _begin_slice(m, processor):
    state = m.processors[processor]
    core = m.cores[state["first_core"]]
    if core["running"] != NONE:
        emit_job(m, EVENT_PREEMPT, m.tasks[core["running"]]["head_job"])
        leave_core(m, state["first_core"])
    if state["span_open"] == 1:
        _next_span(m, processor)
    state["span_open"] = 1
    span = m.spans[state["span"]]
    for place in range(state["first_task"], state["last_task"]):
        m.tasks[m.links[place]]["in_slice"] = 0
    for place in range(span["first_task"], span["last_task"]):
        m.tasks[m.links[place]]["in_slice"] = 1
    note(m, EVENT_SLICE, processor, NONE, NONE, state["span"] - state["first_span"])
    state["usable"] = span["switch_ns"] == 0
    due_ns = span["end_ns"] if state["usable"] == 1 else span["start_ns"] + span["switch_ns"]
    set_timer(m, state["span_timer"], state["cycle_start_ns"] + due_ns)


@routine
def _begin_entry(m, processor):
    state = m.processors[processor]
    span = m.spans[state["span"]]
    task = m.links[span["first_task"]]
    state["span_open"] = 1
    state["entry_job"] = m.tasks[task]["head_job"] if m.tasks[task]["hold"] == 0 else NONE
    note(m, EVENT_ENTRY, processor, task, state["entry_job"], state["span"] - state["first_span"])
    set_timer(m, state["span_timer"], state["cycle_start_ns"] + span["end_ns"])
