"""Life of a job: creation, backlog of its task, capture stamp, the messages it reads, its end.

`m` is a `tables.Machine`. The caller has made sure that the growing tables have room (`machine._room_for_instant`).
"""

from __future__ import annotations

from rt_sched.kernels.compiled import part
from rt_sched.kernels.draw import demand_ns
from rt_sched.kernels.tables import (
    COMPLETED,
    EVENT_ARRIVAL,
    EVENT_DROP,
    EVENT_JOB_LOST,
    FIRST_SAMPLE,
    LATEST,
    LOST,
    NEVER_NS,
    NONE,
    QUEUE,
    READ,
    TIMED,
    UNFINISHED,
)


@part
def emit(m, kind, processor, task, job, edge, message):
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
    clock["events"] += 1


@part
def emit_job(m, kind, job):
    """Append an event about a job."""
    task = m.jobs[job]["task"]
    emit(m, kind, m.tasks[task]["processor"], task, job, NONE, NONE)


@part
def drop(m, edge, message, reason):
    """Record that `message` was dropped from `edge`."""
    clock = m.clock[0]
    row = m.drops[clock["drops"]]
    row["time_ns"] = clock["now_ns"]
    row["edge"] = edge
    row["message"] = message
    row["reason"] = reason
    clock["drops"] += 1
    emit(m, EVENT_DROP, NONE, m.edges[edge]["target"], NONE, edge, message)


@part
def capture_of(m, message):
    """Capture stamp of a message."""
    if message >= 0:
        return m.jobs[message]["capture_ns"]
    return m.samples[FIRST_SAMPLE - message]["capture_ns"]


@part
def pop_message(m, edge):
    """Take the oldest unbound message out of a queue that holds one."""
    queue = m.edges[edge]
    message = m.rings[queue["first_place"] + queue["head"]]
    queue["head"] = (queue["head"] + 1) % queue["depth"]
    queue["count"] -= 1
    return message


@part
def new_job(m, task, activated_by, capture_ns):
    """Create a job of `task` that arrives now; it binds a message of every queue that is only read.

    Binding happens before the job joins the backlog, so that its messages can no longer be dropped.
    """
    clock = m.clock[0]
    state = m.tasks[task]
    index = clock["jobs"]
    number = state["next_number"]
    job = m.jobs[index]
    job["task"] = task
    job["number"] = number
    job["arrival_ns"] = clock["now_ns"]
    job["release_ns"] = clock["now_ns"]
    job["start_ns"] = NONE
    job["finish_ns"] = NONE
    job["deadline_ns"] = clock["now_ns"] + state["deadline_ns"]
    if number < state["explicit_demands"]:
        job["demand_ns"] = m.demands[state["first_demand"] + number]
    else:
        job["demand_ns"] = demand_ns(m.quantiles[task], clock["seed"], task, number)
    job["executed_ns"] = 0
    job["capture_ns"] = capture_ns
    job["status"] = UNFINISHED
    job["missed"] = 0
    job["overrun"] = 0
    job["activated_by"] = activated_by
    job["next_job"] = NONE
    clock["jobs"] += 1
    state["next_number"] += 1
    m.inputs[index, :] = NONE
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["kind"] == QUEUE and edge["role"] == READ and edge["count"] > 0:
            m.inputs[index, edge["slot"]] = pop_message(m, m.links[place])
    return index


@part
def admit(m, job):
    """Put a new job at the end of its task's backlog; on a lost processor it is lost at once."""
    task = m.jobs[job]["task"]
    state = m.tasks[task]
    processor = m.processors[state["processor"]]
    emit_job(m, EVENT_ARRIVAL, job)
    if processor["lost"] == 1:
        m.jobs[job]["status"] = LOST
        emit_job(m, EVENT_JOB_LOST, job)
        return
    if state["head_job"] == NONE:
        state["head_job"] = job
    else:
        m.jobs[state["tail_job"]]["next_job"] = job
    state["tail_job"] = job
    if state["deadline_job"] == NONE:
        watch_deadline(m, task, job)
    processor["dispatch"] = 1
    m.clock[0]["active_jobs"] += 1


@part
def watch_deadline(m, task, job):
    """Make `job` the one whose deadline expires next among those of `task`; NONE when all others have expired.

    Jobs of one task expire in order, because they arrive in order and have the same relative deadline.
    """
    m.tasks[task]["deadline_job"] = job
    m.tasks[task]["next_deadline_ns"] = NEVER_NS if job == NONE else m.jobs[job]["deadline_ns"]


@part
def end_head_job(m, task, status):
    """Remove the oldest job from the backlog of `task` with its final status."""
    state = m.tasks[task]
    job = state["head_job"]
    following = m.jobs[job]["next_job"]
    m.jobs[job]["status"] = status
    if status == COMPLETED:
        m.jobs[job]["finish_ns"] = m.clock[0]["now_ns"]
    state["head_job"] = following
    if following == NONE:
        state["tail_job"] = NONE
    if state["deadline_job"] == job:
        watch_deadline(m, task, following)
    m.processors[state["processor"]]["dispatch"] = 1
    m.clock[0]["active_jobs"] -= 1


@part
def read_inputs(m, job):
    """Snapshot the inputs of a job at its first dispatch; False when a required one is empty.

    Messages bound at activation stay; every other input is the newest message of its edge.
    """
    task = m.jobs[job]["task"]
    state = m.tasks[task]
    complete = True
    oldest_ns = NEVER_NS
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        slot = edge["slot"]
        message = m.inputs[job, slot]
        if message == NONE and not (edge["kind"] == QUEUE and edge["role"] == READ):
            message = edge["register"]
            m.inputs[job, slot] = message
        if message == NONE:
            complete = complete and edge["required"] == 0
        else:
            capture_ns = capture_of(m, message)
            oldest_ns = min(oldest_ns, capture_ns)
            if edge["kind"] == LATEST and slot == m.jobs[job]["activated_by"]:
                m.jobs[job]["capture_ns"] = capture_ns
    if state["activation"] == TIMED and oldest_ns != NEVER_NS:
        m.jobs[job]["capture_ns"] = oldest_ns
    return complete
