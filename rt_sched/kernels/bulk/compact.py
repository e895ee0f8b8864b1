"""Rows that nothing refers to any more make room: the others move to the front and get new numbers, in their order.

`m` is a `kernels.tables.Machine`, `b` a `tables.Bulk` in these files.
"""

from __future__ import annotations

from rt_sched.kernels.bulk.chains import read_behind
from rt_sched.kernels.codes import COMPLETED, FIRST_SAMPLE, NONE
from rt_sched.kernels.compiled import part

_GOES, _STAYS = NONE, 0


@part
def mark_rows(m, b):
    """Which rows stay: jobs not counted yet with what they read, and messages that may be read or published later."""
    for row in range(m.clock[0]["jobs"]):
        b.rows[row]["place"] = _STAYS if b.rows[row]["folded"] == 0 else _GOES
    for index in range(b.head[0]["samples"]):
        b.samples[index]["place"] = _GOES
    for row in range(m.clock[0]["jobs"]):
        if b.rows[row]["folded"] == 0:
            for slot in range(m.inputs.shape[1]):
                _mark(b, m.inputs[row, slot])
    for number in range(len(m.edges)):
        edge = m.edges[number]
        _mark(b, edge["register"])
        for position in range(edge["count"]):
            _mark(b, m.rings[edge["first_place"] + (edge["head"] + position) % edge["depth"]])
    for number in range(len(m.lanes)):
        transfer = m.lanes[number]["next"]
        while transfer != NONE:
            _mark(b, m.transfers[transfer]["message"])
            transfer = m.transfers[transfer]["next"]
    for number in range(len(m.processors)):
        _mark(b, m.processors[number]["entry_job"])


@part
def _mark(b, message):
    if message >= 0:
        b.rows[message]["place"] = _STAYS
    elif message <= FIRST_SAMPLE:
        b.samples[FIRST_SAMPLE - message]["place"] = _STAYS


@part
def remember_reads(m, b):
    """Write the reads behind the rows that stay beside them, as what they have read may go."""
    for row in range(m.clock[0]["jobs"]):
        beside = b.rows[row]
        if beside["place"] == _STAYS and beside["known"] == 0 and m.jobs[row]["status"] == COMPLETED:
            facts = b.tasks[m.jobs[row]["task"]]
            for node in range(facts["first_node"], facts["last_node"]):
                rank, read_ns = read_behind(m, b, node, row)
                b.read_rank[row, node - facts["first_node"]] = rank
                b.read_ns[row, node - facts["first_node"]] = read_ns
            beside["known"] = 1


@part
def number_rows(m, b):
    """The new places of jobs, samples and transfers that stay, and the numbers of those that are left."""
    jobs = samples = transfers = 0
    for row in range(m.clock[0]["jobs"]):
        if b.rows[row]["place"] == _STAYS:
            b.rows[row]["place"] = jobs
            jobs += 1
    for index in range(b.head[0]["samples"]):
        if b.samples[index]["place"] == _STAYS:
            b.samples[index]["place"] = samples
            samples += 1
    for row in range(m.clock[0]["transfers"]):
        b.transfers[row] = _GOES
    for number in range(len(m.lanes)):
        transfer = m.lanes[number]["next"]
        while transfer != NONE:
            b.transfers[transfer] = _STAYS
            transfer = m.transfers[transfer]["next"]
    for row in range(m.clock[0]["transfers"]):
        if b.transfers[row] == _STAYS:
            b.transfers[row] = transfers
            transfers += 1
    return jobs, samples, transfers


@part
def _renamed(b, message):
    """The new name of a message; NONE for one that has gone."""
    if message >= 0:
        return b.rows[message]["place"]
    if message <= FIRST_SAMPLE:
        place = b.samples[FIRST_SAMPLE - message]["place"]
        return NONE if place == _GOES else FIRST_SAMPLE - place
    return NONE


@part
def rename(m, b):
    """New numbers wherever the machine refers to jobs, samples and transfers."""
    for number in range(len(m.edges)):
        edge = m.edges[number]
        edge["register"] = _renamed(b, edge["register"])
        for position in range(edge["count"]):
            place = edge["first_place"] + (edge["head"] + position) % edge["depth"]
            m.rings[place] = _renamed(b, m.rings[place])
    for row in range(m.clock[0]["transfers"]):
        transfer = m.transfers[row]
        if b.transfers[row] != _GOES:
            transfer["message"] = _renamed(b, transfer["message"])
            transfer["next"] = NONE if transfer["next"] == NONE else b.transfers[transfer["next"]]
    for number in range(len(m.lanes)):
        lane = m.lanes[number]
        if lane["next"] == NONE:
            lane["newest"] = NONE
        else:
            lane["next"], lane["newest"] = b.transfers[lane["next"]], b.transfers[lane["newest"]]
    for number in range(len(m.processors)):
        m.processors[number]["entry_job"] = _renamed(b, m.processors[number]["entry_job"])
    for task in range(len(m.tasks)):
        state = m.tasks[task]
        state["head_job"] = _renamed(b, state["head_job"])
        state["deadline_job"] = _renamed(b, state["deadline_job"])
        state["let_job"] = _renamed(b, state["let_job"])
        b.tasks[task]["newest"] = NONE
    _link_jobs(m, b)
    for task in range(len(m.tasks)):
        m.tasks[task]["tail_job"] = b.tasks[task]["newest"]


@part
def _link_jobs(m, b):
    """Behind every job that stays comes the next one of its task that stays; what it has read gets its new name."""
    for position in range(m.clock[0]["jobs"]):
        row = m.clock[0]["jobs"] - 1 - position
        if b.rows[row]["place"] == _GOES:
            continue
        state = b.tasks[m.jobs[row]["task"]]
        m.jobs[row]["next_job"] = NONE if state["newest"] == NONE else state["following"]
        state["following"] = b.rows[row]["place"]
        if state["newest"] == NONE:
            state["newest"] = b.rows[row]["place"]
        for slot in range(m.inputs.shape[1]):
            m.inputs[row, slot] = _renamed(b, m.inputs[row, slot])


@part
def move(m, b, jobs, samples, transfers):
    """Move what stays to the front; the tables that nothing refers to are empty then."""
    clock, head = m.clock[0], b.head[0]
    for row in range(clock["jobs"]):
        place = b.rows[row]["place"]
        if place != _GOES:
            b.rows[row]["folded"] = min(b.rows[row]["folded"], 1)
            if place != row:
                m.jobs[place] = m.jobs[row]
                b.rows[place] = b.rows[row]
                for slot in range(m.inputs.shape[1]):
                    m.inputs[place, slot] = m.inputs[row, slot]
                for column in range(b.read_rank.shape[1]):
                    b.read_rank[place, column] = b.read_rank[row, column]
                    b.read_ns[place, column] = b.read_ns[row, column]
    for row in range(clock["transfers"]):
        place = b.transfers[row]
        if place != _GOES:
            m.transfers[place] = m.transfers[row]
    _move_samples(m, b, samples)
    clock["jobs"], clock["transfers"] = jobs, transfers
    clock["slices"] = clock["drops"] = clock["log"] = 0
    head["rows"] = jobs
    head["drains"] += 1


@part
def _move_samples(m, b, samples):
    """Delivered samples that stay, then those to come: how many these are the caller knows."""
    delivered = b.head[0]["samples"]
    for index in range(delivered):
        place = b.samples[index]["place"]
        if place != _GOES:
            m.samples[place] = m.samples[index]
            b.samples[place] = b.samples[index]
    for index in range(delivered, len(m.samples)):
        m.samples[samples + index - delivered] = m.samples[index]
    b.head[0]["samples"] = b.head[0]["old_samples"] = m.clock[0]["next_sample"] = samples
