"""Finished rows become numbers: outcomes and responses of jobs, busy cores, dropped messages.

`m` is a `kernels.tables.Machine`, `b` a `tables.Bulk` in these files.
"""

from __future__ import annotations

from rt_sched.kernels.bulk.histogram import bin_of
from rt_sched.kernels.codes import (
    ABORTED,
    COMPLETED,
    EVENT_ABORT,
    EVENT_SUPPRESS,
    EVENT_TASK_MOVED,
    EVENT_TASK_REMOVED,
    LOST,
    NONE,
    SKIPPED,
    SUPPRESSED,
    UNFINISHED,
)
from rt_sched.kernels.compiled import part


@part
def add(b, spread, value_ns, number, time_ns, judged):
    """Count a time in a distribution; `judged`: whether it is compared with the bound."""
    s = b.spreads[spread]
    s["count"] += 1
    s["sum_ns"] += value_ns
    s["min_ns"] = min(s["min_ns"], value_ns)
    if value_ns > s["max_ns"]:
        s["max_ns"] = value_ns
        s["max_censored"] = 0
        s["run"] = b.head[0]["run"]
        s["number"] = number
        s["time_ns"] = time_ns
    if judged and value_ns > s["bound_ns"]:
        s["exceeded"] += 1
    b.bins[spread, bin_of(value_ns, s["shift"])] += 1


@part
def number_new_jobs(m, b):
    """Records beside the jobs that have arrived since the last drain."""
    head = b.head[0]
    for row in range(head["rows"], m.clock[0]["jobs"]):
        beside = b.rows[row]
        beside["excused"] = 0
        beside["folded"] = 0
        beside["known"] = 0
        beside["rank"] = NONE
        beside["ident"] = head["jobs"]
        head["jobs"] += 1


@part
def excuse(m, b):
    """Jobs that were aborted because their task was removed, or moved, while they were there, or that it leaves out."""
    for place in range(m.clock[0]["log"]):
        event = m.log[place]
        if event["kind"] == EVENT_TASK_REMOVED or event["kind"] == EVENT_TASK_MOVED:
            b.tasks[event["task"]]["removed_ns"] = event["time_ns"]
        elif event["kind"] == EVENT_ABORT:
            b.rows[event["job"]]["excused"] = b.tasks[event["task"]]["removed_ns"] >= m.jobs[event["job"]]["arrival_ns"]
        elif event["kind"] == EVENT_SUPPRESS:
            b.rows[event["job"]]["excused"] = event["value"] != NONE


@part
def fold_jobs(m, b, ended):
    """Count the jobs that are finished, those of each task in order; all of them when the run has `ended`.

    A job waits for those of its task before it, and under LET for the instant at which it publishes.
    """
    drain = b.head[0]["drains"]
    for row in range(m.clock[0]["jobs"]):
        if b.rows[row]["folded"] != 0:
            continue
        task = m.jobs[row]["task"]
        if not ended:
            state = b.tasks[task]
            if m.jobs[row]["status"] == UNFINISHED or _waits_to_publish(m, task, row):
                state["blocked"] = drain
            if state["blocked"] == drain:
                continue
        b.rows[row]["folded"] = 2
        _fold(m, b, row, task)


@part
def _waits_to_publish(m, task, row):
    """Whether the LET instant of a job is still to come; what was lost with its processor has none."""
    state = m.tasks[task]
    return state["let_job"] != NONE and row >= state["let_job"]


@part
def _fold(m, b, row, task):
    """Count one job."""
    job = m.jobs[row]
    tally = b.tallies[task]
    status = job["status"]
    arrival_ns = job["arrival_ns"]
    tally["misses"] += job["missed"]
    tally["overruns"] += job["overrun"]
    until_ns = b.head[0]["bounds_until_ns"]
    if status == COMPLETED:
        tally["completed"] += 1
        finish_ns = job["finish_ns"]
        add(b, task, finish_ns - arrival_ns, job["number"], arrival_ns, finish_ns < until_ns)
    elif status == UNFINISHED:
        tally["unfinished"] += 1
        _add_censored(m, b, task, job)
    elif status == LOST:
        tally["lost"] += 1
    elif status == SUPPRESSED:
        tally["suppressed"] += 1
    else:
        tally["aborted"] += status == ABORTED
        tally["skipped"] += status == SKIPPED
    facts = b.tasks[task]
    if facts["k"] > 0:  # what is judged is told in `trace.weakly_hard`
        met = status == COMPLETED and job["missed"] == 0
        kept_back = status in (SUPPRESSED, ABORTED) and b.rows[row]["excused"] == 0
        unmet = job["missed"] == 1 or kept_back
        if status != SKIPPED and status != LOST and (met or unmet):
            _judge(b, task, job["number"], unmet)
    if facts["source"] != NONE:
        _count_read(m, b, row, facts["source"])


@part
def _add_censored(m, b, task, job):
    """A job that the horizon cut off has responded after at least what it has waited."""
    horizon_ns, until_ns = m.clock[0]["horizon_ns"], b.head[0]["bounds_until_ns"]
    s = b.spreads[task]
    largest_ns = s["max_ns"]
    waited_ns = horizon_ns - job["arrival_ns"]
    add(b, task, waited_ns, job["number"], job["arrival_ns"], False)
    s["censored"] += 1
    if waited_ns > largest_ns:
        s["max_censored"] = 1
    if job["arrival_ns"] < until_ns and min(horizon_ns, until_ns) - job["arrival_ns"] > s["bound_ns"]:
        s["exceeded"] += 1


@part
def _judge(b, task, number, unmet):
    """One more outcome in the window of a weakly hard deadline."""
    state = b.tasks[task]
    k = state["k"]
    place = state["first_bit"] + state["place"]
    if state["judged"] >= k:
        state["unmet"] -= b.bits[place]
    b.bits[place] = unmet
    state["unmet"] += unmet
    state["judged"] += 1
    state["place"] = (state["place"] + 1) % k
    tally = b.tallies[task]
    tally["most_unmet"] = max(tally["most_unmet"], state["unmet"])
    if state["unmet"] > k - state["m"]:
        if tally["violations"] == 0:
            tally["over_run"], tally["over_number"] = b.head[0]["run"], number
        tally["violations"] += 1


@part
def read_time(m, row):
    """When a job of a timed task read the outside world; NONE when it never did."""
    job = m.jobs[row]
    if m.tasks[job["task"]]["let"] == 0:
        return job["start_ns"]
    if job["status"] == SUPPRESSED or (job["status"] == LOST and job["start_ns"] < 0):
        return NONE
    return job["arrival_ns"]


@part
def _count_read(m, b, row, source):
    """A job at the head of a chain, if it read."""
    time_ns = read_time(m, row)
    if time_ns >= 0:
        b.rows[row]["rank"] = keep_read(b, source, time_ns)


@part
def keep_read(b, source, time_ns):
    """Keep the time of a read until the chains have shown it or a later one; its rank."""
    state = b.sources[source]
    b.reads[source, state["count"]] = time_ns
    state["count"] += 1
    return state["first"] + state["count"] - 1


@part
def fold_slices(m, b):
    """Busy time of the cores, inside the run."""
    horizon_ns = m.clock[0]["horizon_ns"]
    for row in range(m.clock[0]["slices"]):
        piece = m.slices[row]
        b.busy_ns[piece["processor"]] += min(piece["end_ns"], horizon_ns) - piece["start_ns"]


@part
def fold_drops(m, b):
    """Messages that left an edge unread."""
    for row in range(m.clock[0]["drops"]):
        b.drops[m.drops[row]["edge"]] += 1
