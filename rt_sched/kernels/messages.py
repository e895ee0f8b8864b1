"""Edges: delivery into registers and queues, and the jobs that messages activate.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.compiled import part
from rt_sched.kernels.jobs import admit, capture_of, drop, new_job, pop_message
from rt_sched.kernels.tables import (
    DROP_NEWEST,
    EACH,
    LATEST,
    NEVER_NS,
    NONE,
    PAIRED,
    READ,
    REASON_FULL_NEWEST,
    REASON_FULL_OLDEST,
    REASON_UNMATCHED,
)


@part
def deliver(m, edge, message):
    """Make a message visible at the end of an edge. A full queue drops its oldest unbound message, or this one."""
    state = m.edges[edge]
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
        m.tasks[state["target"]]["delivered"] = 1
        m.clock[0]["deliveries"] += 1


@part
def publish(m, first_output, last_output, message):
    """Deliver a message to every edge of its source, in order of the edges."""
    for place in range(first_output, last_output):
        deliver(m, m.links[place], message)


@part
def activate(m, task):
    """Create every job that the delivered messages of `task` allow: edges in order, messages in order."""
    state = m.tasks[task]
    paired = False
    for place in range(state["first_input"], state["last_input"]):
        index = m.links[place]
        edge = m.edges[index]
        if edge["role"] == PAIRED:
            paired = True
        elif edge["role"] == EACH and edge["kind"] == LATEST:
            for _ in range(edge["owed"]):
                admit(m, new_job(m, task, edge["slot"], capture_of(m, edge["register"])))
            edge["owed"] = 0
        elif edge["role"] == EACH:
            while edge["count"] > 0:
                message = pop_message(m, index)
                job = new_job(m, task, edge["slot"], capture_of(m, message))
                m.inputs[job, edge["slot"]] = message
                admit(m, job)
    if paired:
        while _partners_waiting(m, task):
            _pair(m, task)
    state["delivered"] = 0


@part
def _partners_waiting(m, task):
    """Whether every paired input of `task` holds a message."""
    for place in range(m.tasks[task]["first_input"], m.tasks[task]["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] == PAIRED and edge["count"] == 0:
            return False
    return True


@part
def _pair(m, task):
    """Bind the heads of all paired inputs to a job, or drop those too old for the newest head to be their partner."""
    state = m.tasks[task]
    newest_ns, oldest_ns = -NEVER_NS, NEVER_NS
    for place in range(state["first_input"], state["last_input"]):
        edge = m.edges[m.links[place]]
        if edge["role"] == PAIRED:
            capture_ns = capture_of(m, m.rings[edge["first_place"] + edge["head"]])
            newest_ns, oldest_ns = max(newest_ns, capture_ns), min(oldest_ns, capture_ns)
    matched = newest_ns - oldest_ns <= state["tolerance_ns"]
    job = new_job(m, task, NONE, oldest_ns) if matched else NONE
    for place in range(state["first_input"], state["last_input"]):
        index = m.links[place]
        edge = m.edges[index]
        if edge["role"] == PAIRED:
            head = m.rings[edge["first_place"] + edge["head"]]
            if matched:
                m.inputs[job, edge["slot"]] = pop_message(m, index)
            elif newest_ns - capture_of(m, head) > state["tolerance_ns"]:
                drop(m, index, pop_message(m, index), REASON_UNMATCHED)
    if matched:
        admit(m, job)
