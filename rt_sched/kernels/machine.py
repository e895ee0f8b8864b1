"""The scheduling state machine: instants in order, and at each instant the phases in order.

`advance`, at the end of the file, is the only entry. In bulk no Python runs between instants; stepped, one call
processes one instant. The phases are the functions `changes.make_changes`, `_completions`, `_deliveries`, `_expiries`,
`_arrivals` and `_dispatch`; a job whose spin ends in a later phase than the second goes on in another round of phases
of the same instant.
"""

from __future__ import annotations

from rt_sched.kernels.budgets import check_budgets
from rt_sched.kernels.changes import make_changes
from rt_sched.kernels.compiled import entry, part, routine, sources_digest
from rt_sched.kernels.cores import arm, close_slice, executes, leave, leave_core, settle
from rt_sched.kernels.dispatch import dispatch
from rt_sched.kernels.draw import PURPOSE_SEPARATION, draw, uniform
from rt_sched.kernels.jobs import abort_head, arrive, end_head_job, open_inputs, strike, watch_deadline
from rt_sched.kernels.messages import activate, deliver_transfers, publish, publish_let
from rt_sched.kernels.program import begin_executing, run_steps
from rt_sched.kernels.spans import begin_spans, end_entries
from rt_sched.kernels.tables import (
    ABORT,
    ADVANCED,
    CHECK_LATE,
    COMPLETED,
    ENDED,
    EVENT_COMPLETE,
    EVENT_DEADLINE_MISS,
    EVENT_RELEASE,
    EVENT_SAMPLE,
    EVENT_WAKE,
    FIRST_SAMPLE,
    FULL,
    HOLD_RELEASE,
    HOLD_SUSPENDED,
    NEVER_NS,
    NONE,
    REACHED,
    SAMPLE_DELIVERED,
    SAMPLE_LOST,
    SKIP_NEXT,
    SLICE_EXECUTE,
    Machine,
)
from rt_sched.kernels.trail import emit, emit_job, mark, note_head


@part
def _earliest(timers, first, last):
    """The least of timers[first:last], NEVER_NS when there are none; a loop that the compiler vectorises."""
    earliest_ns = NEVER_NS
    for timer in range(first, last):
        earliest_ns = min(earliest_ns, timers[timer])
    return earliest_ns


@part
def _next_instant(m):
    """The next time at which anything happens, NEVER_NS when nothing does."""
    clock = m.clock[0]
    count = len(m.tasks)
    clock["progress_min_ns"] = _earliest(m.timers, 0, count)
    clock["deadline_min_ns"] = _earliest(m.timers, count, 2 * count)
    clock["arrival_min_ns"] = _earliest(m.timers, 2 * count, 3 * count)
    clock["rest_min_ns"] = _earliest(m.timers, 3 * count, len(m.timers))
    instant_ns = min(clock["progress_min_ns"], clock["deadline_min_ns"])
    instant_ns = min(instant_ns, clock["arrival_min_ns"], clock["rest_min_ns"])
    if clock["late_checks"] > 0:
        instant_ns = min(instant_ns, clock["now_ns"] + 1)
    if clock["next_sample"] < len(m.samples):
        instant_ns = min(instant_ns, m.samples[clock["next_sample"]]["arrival_ns"])
    if clock["next_change"] < len(m.changes):
        instant_ns = min(instant_ns, m.changes[clock["next_change"]]["time_ns"])
    return instant_ns


@part
def _room_for_instant(m, instant_ns):
    """Whether the growing tables have room for the most that one instant can add; says in the clock what is needed.

    Every message delivered at the instant activates at most one job on each edge it travels. Each job that is active
    or new causes at most six events beside those of the log; the log tells at most that an active job was rescaled and
    how it ended, and four things of a new one, beside what `log_room` counts.
    """
    clock = m.clock[0]
    samples = 0
    while (
        clock["next_sample"] + samples < len(m.samples)
        and m.samples[clock["next_sample"] + samples]["arrival_ns"] == instant_ns
    ):
        samples += 1
    deliveries = len(m.edges) * (clock["burst"] + samples)
    clock["jobs_needed"] = len(m.tasks) * clock["burst"] + deliveries
    clock["slices_needed"] = len(m.cores)
    clock["drops_needed"] = deliveries + len(m.rings)
    clock["transfers_needed"] = deliveries if len(m.lanes) > 0 else 0
    clock["log_needed"] = clock["log_room"] + 2 * clock["active_jobs"] + 4 * clock["jobs_needed"]
    clock["events_needed"] = 6 * (clock["active_jobs"] + clock["jobs_needed"])
    clock["events_needed"] += clock["drops_needed"] + samples + len(m.changes) + clock["log_needed"]
    return (
        clock["jobs"] + clock["jobs_needed"] <= len(m.jobs)
        and clock["slices"] + clock["slices_needed"] <= len(m.slices)
        and clock["drops"] + clock["drops_needed"] <= len(m.drops)
        and clock["transfers"] + clock["transfers_needed"] <= len(m.transfers)
        and clock["log"] + clock["log_needed"] <= len(m.log)
        and (clock["record_events"] == 0 or clock["events"] + clock["events_needed"] <= len(m.events))
    )


@part
def _completions(m):
    """Phase 2: what running jobs reach now, by task; again for those whose spin this ended."""
    clock = m.clock[0]
    while True:
        clock["spins_ended"] = 0
        for task in range(len(m.tasks)):
            if m.timers[task] == clock["now_ns"]:
                _reach(m, task)
        if clock["spins_ended"] == 0:
            return


@part
def _reach(m, task):
    """The running job of `task` reaches the end of its switch cost or spin, its end, a step, or a budget."""
    state = m.tasks[task]
    core = m.cores[state["core"]]
    job = state["head_job"]
    if core["doing"] != SLICE_EXECUTE:
        _go_on(m, task)
        return
    settle(m, task)
    if m.jobs[job]["executed_ns"] == m.jobs[job]["demand_ns"]:
        leave(m, state["core"])
        emit_job(m, EVENT_COMPLETE, job)
        end_head_job(m, task, COMPLETED)
        if state["let"] == 0:
            publish(m, state["first_output"], state["last_output"], job)
        return
    _pass(m, task)


@routine
def _go_on(m, task):
    """A switch cost or spin is over."""
    close_slice(m, m.tasks[task]["core"])
    m.timers[task] = NEVER_NS
    mark(m, m.tasks[task]["processor"])
    begin_executing(m, task)
    _leave_limits_to_phase_4(m, task)


@routine
def _pass(m, task):
    """The executing job of `task` has reached a step or a budget, and has work left."""
    state = m.tasks[task]
    job = state["head_job"]
    m.timers[task] = NEVER_NS
    run_steps(m, task)
    if state["head_job"] == job:
        if executes(m, task):
            arm(m, task)
        _leave_limits_to_phase_4(m, task)


@part
def _leave_limits_to_phase_4(m, task):
    """Have the budgets of a job that made progress checked."""
    if m.tasks[task]["first_limit_ns"] != NEVER_NS:
        m.tasks[task]["check"] = 1
        m.clock[0]["checks"] += 1
        if m.timers[task] == m.clock[0]["now_ns"]:
            m.timers[task] = NEVER_NS


@part
def _deliveries(m):
    """Phase 3: LET outputs, messages on links and sensor samples that become visible now."""
    clock = m.clock[0]
    if clock["rest_min_ns"] == clock["now_ns"]:
        if clock["let_timers"] != NONE:
            publish_let(m)
        if len(m.lanes) > 0:
            deliver_transfers(m)
    while clock["next_sample"] < len(m.samples) and m.samples[clock["next_sample"]]["arrival_ns"] == clock["now_ns"]:
        index = clock["next_sample"]
        clock["next_sample"] += 1
        sample = m.samples[index]
        sensor = m.sensors[sample["sensor"]]
        if sensor["lost"] == 1:
            sample["status"] = SAMPLE_LOST
        else:
            sample["status"] = SAMPLE_DELIVERED
            emit(m, EVENT_SAMPLE, NONE, NONE, NONE, NONE, FIRST_SAMPLE - index, NONE)
            publish(m, sensor["first_output"], sensor["last_output"], FIRST_SAMPLE - index)


@part
def _expiries(m):
    """Phase 4: table entries, then budgets, then deadlines, each by task."""
    clock = m.clock[0]
    if clock["rest_min_ns"] == clock["now_ns"] and clock["span_timers"] != NONE:
        end_entries(m)
    if clock["checks"] > 0:
        _check_all_budgets(m)
    if clock["deadline_min_ns"] == clock["now_ns"]:
        count = len(m.tasks)
        for task in range(count):
            while m.timers[count + task] == clock["now_ns"]:
                _miss_deadline(m, task)


@routine
def _check_all_budgets(m):
    """Budgets of every job that made progress at this instant."""
    m.clock[0]["checks"] = 0
    for task in range(len(m.tasks)):
        if m.tasks[task]["check"] == 1:
            check_budgets(m, task)


@routine
def _take_up_late_checks(m):
    """Have budgets checked that were used up when dispatch released the last lock, at the instant before this one."""
    m.clock[0]["late_checks"] = 0
    for task in range(len(m.tasks)):
        if m.tasks[task]["check"] == CHECK_LATE:
            if executes(m, task):
                settle(m, task)
            m.tasks[task]["check"] = 1
            m.clock[0]["checks"] += 1


@routine
def _miss_deadline(m, task):
    """Flag the job whose deadline has come; `abort` ends it, `skip_next` suppresses the next job that arrives."""
    state = m.tasks[task]
    job = state["deadline_job"]
    m.jobs[job]["missed"] = 1
    emit_job(m, EVENT_DEADLINE_MISS, job)
    watch_deadline(m, task, m.jobs[job]["next_job"])
    if state["deadline_action"] == SKIP_NEXT:
        state["suppress_next"] = 1
    elif state["deadline_action"] == ABORT:
        if state["head_job"] == job:
            abort_head(m, task)
        else:
            strike(m, task, job)


@part
def _arrivals(m):
    """Phase 5: timed arrivals by task, then the jobs activated by messages, by task, then releases and wake-ups."""
    clock = m.clock[0]
    count = len(m.tasks)
    if clock["arrival_min_ns"] == clock["now_ns"]:
        for task in range(count):
            while m.timers[2 * count + task] == clock["now_ns"]:
                open_inputs(m)
                arrive(m, task, NONE, clock["now_ns"])
                _set_next_arrival(m, task)
    if clock["deliveries"] > 0:
        clock["deliveries"] = 0
        for task in range(count):
            if m.tasks[task]["delivered"] == 1:
                activate(m, task)
    if clock["rest_min_ns"] == clock["now_ns"] and clock["wake_timers"] != NONE:
        _wake_jobs(m)


@part
def _set_next_arrival(m, task):
    """When the next job of a timed task arrives, after one that arrived now."""
    state = m.tasks[task]
    timer = 2 * len(m.tasks) + task
    if state["period_ns"] == 0:
        state["next_explicit"] += 1
        m.timers[timer] = NEVER_NS
        if state["next_explicit"] < state["explicit_arrivals"]:
            m.timers[timer] = m.explicit[state["first_arrival"] + state["next_explicit"]]
        return
    m.timers[timer] += state["period_ns"]
    state["carry"] += state["period_rest"]
    if state["carry"] >= state["rate_numerator"]:
        state["carry"] -= state["rate_numerator"]
        m.timers[timer] += 1
    if state["extra_ns"] > 0:
        bits = draw(m.clock[0]["seed"], task, state["next_number"], PURPOSE_SEPARATION)
        m.timers[timer] += uniform(state["extra_ns"], bits)


@routine
def _wake_jobs(m):
    """Jobs that are released, or whose suspension ends, now."""
    clock = m.clock[0]
    for task in range(len(m.tasks)):
        timer = clock["wake_timers"] + task
        if m.timers[timer] == clock["now_ns"]:
            m.timers[timer] = NEVER_NS
            state = m.tasks[task]
            if state["hold"] & HOLD_SUSPENDED:
                note_head(m, EVENT_WAKE, task, NONE)
            else:
                emit_job(m, EVENT_RELEASE, state["head_job"])
            state["hold"] &= ~(HOLD_RELEASE | HOLD_SUSPENDED)
            mark(m, state["processor"])


@part
def _dispatch(m):
    """Phase 6. A dispatch that ends a spin lets that job go on at once, and dispatches again."""
    clock = m.clock[0]
    if clock["rest_min_ns"] == clock["now_ns"] and clock["span_timers"] != NONE:
        begin_spans(m)
    dispatch(m)


@part
def _end(m):
    """The horizon: running jobs stay unfinished with what they executed so far."""
    clock = m.clock[0]
    clock["now_ns"] = clock["horizon_ns"]
    clock["ended"] = 1
    for core in range(len(m.cores)):
        if m.cores[core]["running"] != NONE:
            leave_core(m, core)


def _entry(sources):
    """`advance`, compiled for these sources: a constant that the function refers to is part of its key in the cache."""

    @entry
    def advance(
        clock,
        timers,
        processors,
        cores,
        tasks,
        edges,
        sensors,
        steps,
        spans,
        resources,
        lanes,
        links,
        quantiles,
        explicit,
        samples,
        changes,
        rings,
        jobs,
        inputs,
        slices,
        drops,
        transfers,
        log,
        events,
        until_ns,
        most,
    ):
        """Process the instants up to and including `until_ns`, `most` of them at most.

        Returns ADVANCED (`most` instants were processed), REACHED (nothing more happens up to `until_ns`), ENDED (the
        horizon is behind), or FULL: a growing table lacks room for the next instant, which is untouched; call again
        with tables that have clock.jobs_needed ... spare rows. Events are appended; the caller sets clock.events to 0.
        """
        _ = sources
        m = Machine(
            clock,
            timers,
            processors,
            cores,
            tasks,
            edges,
            sensors,
            steps,
            spans,
            resources,
            lanes,
            links,
            quantiles,
            explicit,
            samples,
            changes,
            rings,
            jobs,
            inputs,
            slices,
            drops,
            transfers,
            log,
            events,
        )
        time = m.clock[0]
        instants = 0
        while True:
            if time["ended"] == 1:
                return ENDED
            instant_ns = _next_instant(m)
            if instant_ns > time["horizon_ns"]:
                if until_ns < time["horizon_ns"]:
                    return REACHED
                if not _room_for_instant(m, time["horizon_ns"]):
                    return FULL
                _end(m)
                return ENDED
            if instant_ns > until_ns:
                return REACHED
            if not _room_for_instant(m, instant_ns):
                return FULL
            time["now_ns"] = instant_ns
            if time["late_checks"] > 0:
                _take_up_late_checks(m)
            if time["next_change"] < len(changes):
                make_changes(m)
            while True:
                if time["progress_min_ns"] == instant_ns or time["spins_ended"] > 0:
                    _completions(m)
                if instant_ns < time["horizon_ns"]:
                    _deliveries(m)
                _expiries(m)
                if instant_ns == time["horizon_ns"]:
                    _end(m)
                    break
                _arrivals(m)
                _dispatch(m)
                if time["spins_ended"] == 0:
                    break
            instants += 1
            if instants == most:
                return ADVANCED

    return advance


advance = _entry(sources_digest())
