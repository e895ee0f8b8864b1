"""Chains: which read lies behind a job, and what an output tells about reaction, latency and data age.

The definitions are those of `trace.chains`; what it says of a whole trace is counted here output by output.
`m` is a `kernels.tables.Machine`, `b` a `tables.Bulk` in these files.
"""

from __future__ import annotations

from rt_sched.kernels.bulk.fold import add, keep_read, read_time
from rt_sched.kernels.codes import COMPLETED, FIRST_SAMPLE, NONE, SAMPLE_DELIVERED
from rt_sched.kernels.compiled import part

_REACTION, _LATENCY, _DATA_AGE = 0, 1, 2


@part
def rank_samples(m, b):
    """Samples that were delivered since the last drain are reads of their sensor."""
    head = b.head[0]
    for index in range(head["samples"], m.clock[0]["next_sample"]):
        beside = b.samples[index]
        beside["rank"] = NONE
        beside["ident"] = head["samples_before"]
        head["samples_before"] += 1
        sample = m.samples[index]
        beside["number"] = b.arrived[sample["sensor"], 2]
        b.arrived[sample["sensor"], 2] += 1
        if sample["status"] != SAMPLE_DELIVERED:
            b.arrived[sample["sensor"], 1] += 1
            continue
        b.arrived[sample["sensor"], 0] += 1
        source = b.source_of[sample["sensor"]]
        if source != NONE:
            beside["rank"] = keep_read(b, source, sample["capture_ns"])
    head["samples"] = m.clock[0]["next_sample"]


@part
def read_behind(m, b, node, row):
    """Rank and time of the read behind a completed job along the path of a node; rank NONE when there is none."""
    while True:
        if b.rows[row]["known"] == 1:
            column = node - b.tasks[m.jobs[row]["task"]]["first_node"]
            return b.read_rank[row, column], b.read_ns[row, column]
        message = m.inputs[row, b.nodes[node]["slot"]]
        if b.nodes[node]["parent"] == NONE:
            return _read_of(m, b, node, message)
        if message < 0:
            return NONE, NONE
        node, row = b.nodes[node]["parent"], message


@part
def _read_of(m, b, node, message):
    """The read that a message of a source is."""
    if b.nodes[node]["by_sensor"] == 1:
        if message > FIRST_SAMPLE:
            return NONE, NONE
        index = FIRST_SAMPLE - message
        return b.samples[index]["rank"], m.samples[index]["capture_ns"]
    if message < 0:
        return NONE, NONE
    return b.rows[message]["rank"], read_time(m, message)


@part
def show_outputs(m, b, ended):
    """What the jobs that this drain has counted have put out at the ends of chains."""
    for row in range(m.clock[0]["jobs"]):
        if b.rows[row]["folded"] != 2 or m.jobs[row]["status"] != COMPLETED:
            continue
        task = m.jobs[row]["task"]
        facts = b.tasks[task]
        if facts["first_end"] == facts["last_end"]:
            continue
        appears_ns = m.jobs[row]["finish_ns"]
        if m.tasks[task]["let"] == 1:
            never = appears_ns > m.jobs[row]["deadline_ns"] or m.jobs[row]["given_up"] == 1
            if never or (m.tasks[task]["let_job"] != NONE and row >= m.tasks[task]["let_job"]):
                continue
            appears_ns = m.jobs[row]["deadline_ns"]
        for place in range(facts["first_end"], facts["last_end"]):
            chain = b.ends[place]
            if appears_ns <= b.chains[chain]["until_ns"]:
                _show(m, b, chain, row, appears_ns)
    if ended:
        for chain in range(len(b.chains)):
            _close(m, b, chain)


@part
def _show(m, b, chain, row, appears_ns):
    """An output of a chain: its age, and the reads that it is the first to show."""
    state, tally = b.chains[chain], b.chain_tallies[chain]
    rank, read_ns = read_behind(m, b, state["node"], row)
    if rank == NONE:
        tally["without_read"] += 1
        return
    judged = appears_ns < b.head[0]["bounds_until_ns"]
    first = b.head[0]["first_chain_spread"] + 3 * chain
    tally["outputs"] += 1
    add(b, first + _DATA_AGE, appears_ns - read_ns, rank, appears_ns, judged)
    shown, shown_ns = state["reflected"], state["reflected_ns"]
    if shown != NONE and rank <= shown:
        tally["repeated"] += 1
        return
    if shown == NONE:
        tally["start_up"] += rank
    else:
        source = state["source"]
        tally["lost"] += rank - shown - 1
        for next_rank in range(shown + 1, rank + 1):
            next_ns = b.reads[source, next_rank - b.sources[source]["first"]]
            add(b, first + _LATENCY, appears_ns - next_ns, next_rank, appears_ns, judged)
            add(b, first + _REACTION, appears_ns - shown_ns, next_rank, appears_ns, judged)
            shown_ns = next_ns
    state["reflected"], state["reflected_ns"] = rank, read_ns


@part
def _close(m, b, chain):
    """The end of a run: what is still on its way."""
    state, tally = b.chains[chain], b.chain_tallies[chain]
    reads = b.sources[state["source"]]["first"] + b.sources[state["source"]]["count"]
    tally["reads"] += reads
    if state["reflected"] == NONE:
        tally["unreflected"] += reads
        tally["without_output"] += 1
        return
    tally["unreflected"] += reads - 1 - state["reflected"]
    open_ns = m.clock[0]["horizon_ns"] - state["reflected_ns"]
    tally["open_max_ns"] = max(tally["open_max_ns"], open_ns)


@part
def drop_shown_reads(m, b):
    """Forget the times of reads that no chain can show for the first time any more."""
    for source in range(len(b.sources)):
        state = b.sources[source]
        oldest = state["first"] + state["count"]
        for chain in range(len(b.chains)):
            one = b.chains[chain]
            if one["source"] == source and one["until_ns"] >= m.clock[0]["now_ns"]:
                oldest = min(oldest, max(one["reflected"] + 1, state["first"]))
        gone = oldest - state["first"]
        if gone > 0:
            for place in range(gone, state["count"]):
                b.reads[source, place - gone] = b.reads[source, place]
            state["first"] = oldest
            state["count"] -= gone
