"""What a machine leaves behind: events of the present instant, the log of special events, dropped messages; and the
list of processors that are to be dispatched.

`m` is a `tables.Machine`. The caller has made sure that the growing tables have room (`machine._room_for_instant`).
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    EVENT_DROP,
    NONE,
)
from rt_sched.kernels.compiled import part, routine


@part
def emit(m, kind, processor, task, job, edge, message, value):
    """Append an event of the current instant, if events are recorded."""
    clock = m.clock[0]
    if clock["record_events"] == 0:
        return
    event = m.events[clock["events"]]
    event["time_ns"] = clock["now_ns"]
    event["kind"] = kind
    event["processor"] = processor
    event["task"] = task
    event["job"] = job
    event["edge"] = edge
    event["message"] = message
    event["value"] = value
    clock["events"] += 1


@part
def emit_job(m, kind, job):
    """Append an event about a job."""
    if m.clock[0]["record_events"] == 1:
        task = m.jobs[job]["task"]
        emit(m, kind, m.tasks[task]["processor"], task, job, NONE, NONE, NONE)


@routine
def note(m, kind, processor, task, job, value):
    """Append an event that no other table tells to the log, and to the events."""
    clock = m.clock[0]
    row = m.log[clock["log"]]
    row["time_ns"] = clock["now_ns"]
    row["kind"] = kind
    row["processor"] = processor
    row["task"] = task
    row["job"] = job
    row["value"] = value
    clock["log"] += 1
    emit(m, kind, processor, task, job, NONE, NONE, value)


@part
def note_head(m, kind, task, value):
    """The same about the oldest job of a task."""
    note(m, kind, m.tasks[task]["processor"], task, m.tasks[task]["head_job"], value)


@routine
def drop(m, edge, message, reason):
    """Record that `message` was dropped from `edge`."""
    clock = m.clock[0]
    row = m.drops[clock["drops"]]
    row["time_ns"] = clock["now_ns"]
    row["edge"] = edge
    row["message"] = message
    row["reason"] = reason
    clock["drops"] += 1
    emit(m, EVENT_DROP, NONE, m.edges[edge]["target"], NONE, edge, message, NONE)


@part
def mark(m, processor):
    """Put a processor on the list of those to dispatch, which is ascending."""
    if m.processors[processor]["queued"] == 0:
        m.processors[processor]["queued"] = 1
        place = m.clock[0]["pending"]
        m.clock[0]["pending"] += 1
        while place > 0 and m.processors[place - 1]["pending"] > processor:
            m.processors[place]["pending"] = m.processors[place - 1]["pending"]
            place -= 1
        m.processors[place]["pending"] = processor
