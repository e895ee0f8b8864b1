"""Edges: delivery into registers and queues, links, LET publication, and the jobs that messages activate.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    COMPLETED,
    DROP_NEWEST,
    EACH,
    EVENT_LET_PUBLISH,
    EVENT_LET_UNFINISHED,
    LATEST,
    LOST,
    NEVER_NS,
    NONE,
    PAIRED,
    QUEUE,
    READ,
    REASON_FULL_NEWEST,
    REASON_FULL_OLDEST,
    REASON_INACTIVE,
    REASON_UNMATCHED,
)
from rt_sched.kernels.compiled import as_routine, part, routine
from rt_sched.kernels.jobs import arrive, arrive_rarely, capture_of, open_inputs, pop_message
from rt_sched.kernels.timers import next_due, set_timer
from rt_sched.kernels.trail import drop, note


@part
def deliver(m, edge, message):
    """Make a message visible at the end of an edge. A full queue drops its oldest unbound message, or this one."""
    state = m.edges[edge]
    if state["role"] != READ and m.tasks[state["target"]]["active"] == 0:
        _refuse(m, edge, message)
        return
    if state["kind"] == LATEST:
        if state["role"] == EACH:
            state["owed"] += 1
    else:
        if state["count"] == state["depth"]:
            if state["drop_policy"] == DROP_NEWEST:
                drop(m, edge, message, REASON_FULL_NEWEST)
                return
            drop(m, edge, pop_message(m, edge), REASON_FULL_OLDEST)
        m.rings[state["first_place"] + (state["head"] + state["count"]) % state["depth"]] = message
        state["count"] += 1
    state["register"] = message
    if state["role"] != READ:
        set_timer(m, m.clock[0]["message_timers"] + state["target"], m.clock[0]["now_ns"])
        m.clock[0]["deliveries"] += 1


@routine
def _refuse(m, edge, message):
    """A message to an activating input of a task that is not there: a register keeps it, a queue drops it."""
    if m.edges[edge]["kind"] == QUEUE:
        drop(m, edge, message, REASON_INACTIVE)
    else:
        m.edges[edge]["register"] = message


deliver_rarely = as_routine(deliver)


@part
def publish(m, first_output, last_output, message):
    """Send a message along every edge of its source, in order of the edges."""
    for place in range(first_output, last_output):
        edge = m.links[place]
        if m.edges[edge]["lane"] == NONE:
            deliver(m, edge, message)
        else:
            _send(m, edge, message)


publish_rarely = as_routine(publish)


@routine
def _send(m, edge, message):
    """Put a message on its link, behind all that came before; when it will be visible is known at once."""
    clock = m.clock[0]
    lane = m.lanes[m.edges[edge]["lane"]]
    index = clock["transfers"]
    clock["transfers"] += 1
    transfer = m.transfers[index]
    transfer["edge"] = edge
    transfer["message"] = message
    transfer["queued_ns"] = clock["now_ns"]
    transfer["delivered_ns"] = NONE
    transfer["next"] = NONE
    transfer["start_ns"] = NONE
    transfer["end_ns"] = NONE
    if lane["lost"] == 1:
        return
    transfer["start_ns"] = max(lane["busy_until_ns"], clock["now_ns"])
    transfer["end_ns"] = min(transfer["start_ns"] + m.edges[edge]["transfer_ns"], NEVER_NS)
    transfer["visible_ns"] = min(transfer["end_ns"] + lane["latency_ns"], NEVER_NS)
    lane["busy_until_ns"] = transfer["end_ns"]
    if lane["next"] == NONE:
        lane["next"] = index
        set_timer(m, clock["lane_timers"] + m.edges[edge]["lane"], transfer["visible_ns"])
    else:
        m.transfers[lane["newest"]]["next"] = index
    lane["newest"] = index


@routine
def deliver_transfers(m):
    """Phase 3: messages that arrive over links now, by link."""
    clock = m.clock[0]
    for number in range(len(m.lanes)):
        lane = m.lanes[number]
        timer = clock["lane_timers"] + number
        while m.timers[timer] == clock["now_ns"]:
            transfer = m.transfers[lane["next"]]
            transfer["delivered_ns"] = clock["now_ns"]
            lane["next"] = transfer["next"]
            set_timer(m, timer, NEVER_NS if lane["next"] == NONE else m.transfers[lane["next"]]["visible_ns"])
            deliver_rarely(m, transfer["edge"], transfer["message"])


@routine
def publish_let(m):
    """Phase 3: outputs whose LET instant is now, by task; a job that has not completed publishes nothing."""
    clock = m.clock[0]
    first = clock["let_timers"]
    timer = next_due(m, first, first + len(m.tasks))
    while timer < first + len(m.tasks):
        task = timer - first
        state = m.tasks[task]
        job = state["let_job"]
        following = m.jobs[job]["next_job"]
        state["let_job"] = following
        set_timer(m, timer, NEVER_NS if following == NONE else m.jobs[following]["deadline_ns"])
        if m.jobs[job]["status"] == COMPLETED:
            note(m, EVENT_LET_PUBLISH, state["processor"], task, job, NONE)
            publish_rarely(m, state["first_output"], state["last_output"], job)
        elif m.jobs[job]["status"] != LOST:
            note(m, EVENT_LET_UNFINISHED, state["processor"], task, job, NONE)
        timer = next_due(m, timer, first + len(m.tasks))


@part
def activate(m, task):
    """Create every job that the delivered messages of `task` allow: edges in order, messages in order, then pairs."""
    while True:
        slot, capture_ns = _bind_next(m, task)
        if slot == _NO_JOB:
            break
        arrive(m, task, slot, capture_ns)
    set_timer(m, m.clock[0]["message_timers"] + task, NEVER_NS)


activate_rarely = as_routine(activate)

_NO_JOB = NONE - 1


@part
def _bind_next(m, task):
    """Bind what activates the next job of `task` to its inputs; its activating slot and its capture stamp.

    The slot is NONE for a pair and _NO_JOB when nothing activates a job.
    """
    state = m.tasks[task]
    paired = False
    for place in range(state["first_input"], state["last_input"]):
        index = m.links[place]
        edge = m.edges[index]
        if edge["role"] == PAIRED:
            paired = True
        elif edge["role"] == EACH:
            if edge["kind"] == LATEST:
                if edge["owed"] > 0:
                    edge["owed"] -= 1
                    open_inputs(m)
                    return edge["slot"], capture_of(m, edge["register"])
            elif edge["count"] > 0:
                message = pop_message(m, index)
                m.inputs[open_inputs(m), edge["slot"]] = message
                return edge["slot"], capture_of(m, message)
    if paired:
        while _partners_waiting(m, task):
            oldest_ns = _pair(m, task)
            if oldest_ns != -NEVER_NS:
                return NONE, oldest_ns
    return _NO_JOB, NONE


@part
def _partners_waiting(m, task):
    """Whether every paired input of `task` holds a message."""
    for place in range(m.tasks[task]["first_input"], m.tasks[task]["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] == PAIRED and edge["count"] == 0:
            return False
    return True


@routine
def _pair(m, task):
    """Bind the heads of all paired inputs, or drop those too old for the newest head to be their partner.

    Returns the oldest capture stamp of the pair, -NEVER_NS when there is none.
    """
    state = m.tasks[task]
    newest_ns, oldest_ns = -NEVER_NS, NEVER_NS
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] == PAIRED:
            capture_ns = capture_of(m, m.rings[edge["first_place"] + edge["head"]])
            newest_ns, oldest_ns = max(newest_ns, capture_ns), min(oldest_ns, capture_ns)
    matched = newest_ns - oldest_ns <= state["tolerance_ns"]
    row = open_inputs(m)
    for place in range(state["first_input"], state["last_input"]):
        index = m.links[place]
        edge = m.edges[index]
        if edge["role"] == PAIRED:
            head = m.rings[edge["first_place"] + edge["head"]]
            if matched:
                m.inputs[row, edge["slot"]] = pop_message(m, index)
            elif newest_ns - capture_of(m, head) > state["tolerance_ns"]:
                drop(m, index, pop_message(m, index), REASON_UNMATCHED)
    return oldest_ns if matched else -NEVER_NS


@routine
def activate_again(m, task):
    """A job with the messages that came last: on its activating input, or all paired ones if they are partners.

    Of several activating inputs it is that of the message captured last, among equals the first one. Without a message
    no job arrives.
    """
    state = m.tasks[task]
    row = open_inputs(m)
    first = NONE
    newest_ns, oldest_ns = -NEVER_NS, NEVER_NS
    paired, complete = False, True
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] == READ:
            continue
        paired = paired or edge["role"] == PAIRED
        if edge["register"] == NONE:
            complete = False
            continue
        capture_ns = capture_of(m, edge["register"])
        if first == NONE or capture_ns > newest_ns:
            first = m.links[place]
        newest_ns, oldest_ns = max(newest_ns, capture_ns), min(oldest_ns, capture_ns)
        if edge["role"] == PAIRED:
            m.inputs[row, edge["slot"]] = edge["register"]
    if paired:
        if complete and newest_ns - oldest_ns <= state["tolerance_ns"]:
            arrive_rarely(m, task, NONE, oldest_ns)
    elif first != NONE:
        edge = m.edges[first]
        if edge["kind"] == QUEUE:
            m.inputs[row, edge["slot"]] = edge["register"]
        arrive_rarely(m, task, edge["slot"], newest_ns)
