"""Life of a job: arrival, backlog of its task, its turn, the messages it reads, its end.

`m` is a `tables.Machine`. The caller has made sure that the growing tables have room (`machine._room_for_instant`).
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    ABORTED,
    COMPLETED,
    EDF,
    EVENT_ABORT,
    EVENT_ARRIVAL,
    EVENT_JOB_LOST,
    EVENT_SEPARATION,
    EVENT_SUPPRESS,
    FIFO,
    FIRST_SAMPLE,
    HOLD_BUDGET,
    HOLD_NO_JOB,
    HOLD_ON_CORE,
    HOLD_RELEASE,
    HOLD_SUSPENDED,
    LATEST,
    LOST,
    NEVER_NS,
    NONE,
    OVERRUN_THROTTLE,
    QUEUE,
    READ,
    READY,
    SUPPRESSED,
    TIMED,
    UNFINISHED,
)
from rt_sched.kernels.compiled import as_routine, part, routine
from rt_sched.kernels.cores import leave_core
from rt_sched.kernels.draw import PURPOSE_JITTER, demand_ns, draw, uniform
from rt_sched.kernels.frequency import place_steps, rescale_waiting
from rt_sched.kernels.locks import let_go
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.servers import open_server, replenish
from rt_sched.kernels.timers import set_timer
from rt_sched.kernels.trail import emit_job, mark, note, note_head


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
def open_inputs(m):
    """Empty inputs for the next job to arrive; its row."""
    index = m.clock[0]["jobs"]
    for slot in range(m.inputs.shape[1]):
        m.inputs[index, slot] = NONE
    return index


@part
def arrive(m, task, activated_by, capture_ns):
    """A job of `task` arrives now, with the messages that its row of inputs already holds.

    It binds a message of every queue that is only read before it joins the backlog, so that its messages can no longer
    be dropped.
    """
    clock = m.clock[0]
    state = m.tasks[task]
    processor = m.processors[state["processor"]]
    now_ns = clock["now_ns"]
    index = clock["jobs"]
    number = state["next_number"]
    job = m.jobs[index]
    job["task"] = task
    job["number"] = number
    job["arrival_ns"] = now_ns
    job["release_ns"] = now_ns
    job["start_ns"] = NONE
    job["finish_ns"] = NONE
    job["deadline_ns"] = now_ns + state["deadline_ns"]
    if number < state["explicit_demands"]:
        declared_ns = m.explicit[state["first_demand"] + number]
    else:
        declared_ns = demand_ns(m.quantiles[task], clock["seed"], task, number)
    if state["degrade_next"] == 1:
        state["degrade_next"] = 0
        declared_ns = min(declared_ns, state["degraded_ns"])
    job["declared_ns"] = declared_ns
    job["demand_ns"] = declared_ns
    job["memory_ns"] = state["memory_ns"]
    job["given_up"] = 0
    job["executed_ns"] = 0
    job["capture_ns"] = capture_ns
    job["status"] = UNFINISHED
    job["missed"] = 0
    job["overrun"] = 0
    job["activated_by"] = activated_by
    job["next_job"] = NONE
    clock["jobs"] += 1
    state["next_number"] += 1
    if state["tail_job"] != NONE:
        m.jobs[state["tail_job"]]["next_job"] = index
    state["tail_job"] = index
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["kind"] == QUEUE and edge["role"] == READ and edge["count"] > 0:
            m.inputs[index, edge["slot"]] = pop_message(m, m.links[place])
    emit_job(m, EVENT_ARRIVAL, index)
    if processor["rescaled"] == 1:
        rescale_waiting(m, task, index)
    left_out = NONE
    if state["special"] == 1:
        left_out = _arrive_specially(m, task, index)
    if processor["lost"] == 1:
        state["suppress_next"] = 0
        job["status"] = LOST
        emit_job(m, EVENT_JOB_LOST, index)
    elif left_out != NONE or state["suppress_next"] == 1 or (processor["high"] == 1 and state["high"] == 0):
        state["suppress_next"] = 0
        job["status"] = SUPPRESSED
        note(m, EVENT_SUPPRESS, state["processor"], task, index, left_out)
    else:
        clock["active_jobs"] += 1
        if state["deadline_job"] == NONE:
            watch_deadline(m, task, index)
        if state["head_job"] == NONE:
            take_turn(m, task, index)


arrive_rarely = as_routine(arrive)


@routine
def _arrive_specially(m, task, index):
    """What only some tasks have: a declared separation, jitter, LET inputs, a server that an arrival pays, an `every`.

    Returns `every` when it leaves this arrival out, else NONE.
    """
    state = m.tasks[task]
    job = m.jobs[index]
    clock = m.clock[0]
    distance_ns = clock["now_ns"] - state["last_arrival_ns"]
    if state["last_arrival_ns"] != NONE and distance_ns < state["separation_ns"]:
        note(m, EVENT_SEPARATION, state["processor"], task, index, distance_ns)
    state["last_arrival_ns"] = clock["now_ns"]
    if job["number"] < state["explicit_jitters"]:
        job["release_ns"] += m.explicit[state["first_jitter"] + job["number"]]
    elif state["jitter_ns"] > 0:
        job["release_ns"] += uniform(state["jitter_ns"], draw(clock["seed"], task, job["number"], PURPOSE_JITTER))
    if state["let"] == 1:
        read_let_inputs(m, index)
        if state["let_job"] == NONE and m.processors[state["processor"]]["lost"] == 0:
            state["let_job"] = index
            set_timer(m, clock["let_timers"] + task, job["deadline_ns"])
    if state["hold"] & HOLD_BUDGET:
        replenish(m, task)
    if (job["number"] - state["first_number"]) % state["every"] != 0:
        return state["every"]
    return NONE


@part
def watch_deadline(m, task, job):
    """Make `job`, or the first unfinished one behind it, the one whose deadline expires next among those of `task`.

    Jobs of one task expire in order, because they arrive in order and have the same relative deadline.
    """
    while job != NONE and m.jobs[job]["status"] != UNFINISHED:
        job = m.jobs[job]["next_job"]
    m.tasks[task]["deadline_job"] = job
    set_timer(m, m.clock[0]["deadline_timers"] + task, NEVER_NS if job == NONE else m.jobs[job]["deadline_ns"])


@part
def take_turn(m, task, job):
    """`job` is now the oldest of its task: it may run from its release on."""
    state = m.tasks[task]
    processor = m.processors[state["processor"]]
    record = m.jobs[job]
    state["head_job"] = job
    state["core"] = NONE
    state["next_step"] = state["first_step"]
    state["limit_ns"] = state["first_limit_ns"]
    state["enforce_ns"] = state["enforced_ns"]
    state["point_ns"] = NONE
    state["doomed"] = 0
    state["enforced"] = 0
    if processor["policy"] == EDF:
        key = record["deadline_ns"]
    elif processor["policy"] == FIFO:
        key = record["release_ns"]
    else:
        key = state["level"]
    state["base_key_ns"] = key
    state["key_ns"] = key
    if record["release_ns"] > m.clock[0]["now_ns"]:
        set_hold(m, task, HOLD_RELEASE)
        set_timer(m, m.clock[0]["wake_timers"] + task, record["release_ns"])
    else:
        set_hold(m, task, READY)
    if state["overrun_action"] == OVERRUN_THROTTLE:
        open_server(m, task)
    if processor["rescaled"] == 1:
        place_steps(m, task)
    mark(m, state["processor"])


@part
def end_head_job(m, task, status):
    """The oldest job of `task`, off its core, ends with its final status; the next one has its turn."""
    state = m.tasks[task]
    job = state["head_job"]
    m.jobs[job]["status"] = status
    if status == COMPLETED:
        m.jobs[job]["finish_ns"] = m.clock[0]["now_ns"]
    if state["held"] > 0 or state["waits_for"] != NONE:
        let_go(m, task, status)
    if state["overrun_action"] == OVERRUN_THROTTLE:
        state["credit_ns"] = state["enforce_ns"] - m.jobs[job]["executed_ns"]
    if state["hold"] & (HOLD_RELEASE | HOLD_SUSPENDED):
        set_timer(m, m.clock[0]["wake_timers"] + task, NEVER_NS)
    set_hold(m, task, HOLD_NO_JOB)
    m.clock[0]["active_jobs"] -= 1
    following = m.jobs[job]["next_job"]
    while following != NONE and m.jobs[following]["status"] != UNFINISHED:
        following = m.jobs[following]["next_job"]
    if state["deadline_job"] == job:
        watch_deadline(m, task, following)
    if following == NONE:
        state["head_job"] = NONE
        mark(m, state["processor"])
    else:
        take_turn(m, task, following)


end_job = as_routine(end_head_job)


@routine
def abort_head(m, task):
    """Abort the oldest job of `task`; one that holds a lock is aborted when it has released its last."""
    state = m.tasks[task]
    if state["held"] > 0:
        state["doomed"] = 1
        return
    if state["hold"] & HOLD_ON_CORE:
        leave_core(m, state["core"])
    note_head(m, EVENT_ABORT, task, NONE)
    end_job(m, task, ABORTED)


@routine
def strike_backlog(m, task):
    """Abort the jobs of `task` that wait behind its oldest."""
    job = m.jobs[m.tasks[task]["head_job"]]["next_job"]
    while job != NONE:
        if m.jobs[job]["status"] == UNFINISHED:
            strike(m, task, job)
        job = m.jobs[job]["next_job"]


@routine
def strike(m, task, job):
    """Abort a job that waits behind the oldest of its task."""
    m.jobs[job]["status"] = ABORTED
    m.clock[0]["active_jobs"] -= 1
    note(m, EVENT_ABORT, m.tasks[task]["processor"], task, job, NONE)
    if m.tasks[task]["deadline_job"] == job:
        watch_deadline(m, task, job)


@part
def read_inputs(m, job):
    """Snapshot the inputs of a job; False when a required one is empty.

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


read_let_inputs = as_routine(read_inputs)


@routine
def inputs_complete(m, job):
    """Whether the inputs that a LET job read at its arrival are all that it requires."""
    state = m.tasks[m.jobs[job]["task"]]
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["required"] == 1 and m.inputs[job, edge["slot"]] == NONE:
            return False
    return True
