"""What happens at one instant before the dispatch: completions, deliveries, expiries and arrivals.

Phase 1 is `changes.make_changes`, phase 6 `dispatch.dispatch`. `m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.budgets import check_budgets
from rt_sched.kernels.codes import (
    ABORT,
    CHECK_LATE,
    COMPLETED,
    EVENT_COMPLETE,
    EVENT_DEADLINE_MISS,
    EVENT_RELEASE,
    EVENT_SAMPLE,
    EVENT_WAKE,
    FIRST_SAMPLE,
    HOLD_NO_JOB,
    HOLD_ON_CORE,
    HOLD_RELEASE,
    HOLD_SUSPENDED,
    NEVER_NS,
    NONE,
    SAMPLE_DELIVERED,
    SAMPLE_LOST,
    SKIP_NEXT,
    SLICE_EXECUTE,
    TIMED,
)
from rt_sched.kernels.compiled import part, routine
from rt_sched.kernels.cores import arm, executes, leave, settle
from rt_sched.kernels.draw import PURPOSE_SEPARATION, draw, uniform
from rt_sched.kernels.jobs import (
    abort_head,
    arrive,
    arrive_rarely,
    end_head_job,
    open_inputs,
    strike,
    watch_deadline,
)
from rt_sched.kernels.messages import (
    activate,
    activate_again,
    activate_rarely,
    deliver_transfers,
    publish,
    publish_let,
)
from rt_sched.kernels.program import go_on, run_steps
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.spans import end_entries
from rt_sched.kernels.timers import next_due, set_timer
from rt_sched.kernels.trail import emit, emit_job, mark, note_head


@routine
def take_up_late_checks(m):
    """Have budgets checked that were used up when dispatch released the last lock, at the instant before this one."""
    m.clock[0]["late_checks"] = 0
    for task in range(len(m.tasks)):
        if m.tasks[task]["check"] == CHECK_LATE:
            if executes(m, task):
                settle(m, task)
            _check_now(m, task)


@part
def _check_now(m, task):
    """Have phase 4 look at the budgets of `task`."""
    m.tasks[task]["check"] = 1
    m.clock[0]["checks"] += 1
    set_timer(m, m.clock[0]["check_timers"] + task, m.clock[0]["now_ns"])


@part
def completions(m):
    """Phase 2: what running jobs reach now, by task; again for those whose spin this ended."""
    clock = m.clock[0]
    while True:
        clock["spins_ended"] = 0
        task = next_due(m, 0, len(m.tasks))
        while task < len(m.tasks):
            _reach(m, task)
            task = next_due(m, task + 1, len(m.tasks))
        if clock["spins_ended"] == 0:
            return


@part
def _reach(m, task):
    """The running job of `task` reaches the end of its switch cost or spin, its end, a step, or a budget."""
    state = m.tasks[task]
    core = m.cores[state["core"]]
    job = state["head_job"]
    if core["doing"] != SLICE_EXECUTE:
        go_on(m, task)
        _leave_limits_to_phase_4(m, task)
        return
    settle(m, task)
    if m.jobs[job]["executed_ns"] == m.jobs[job]["demand_ns"]:
        state["hold"] = HOLD_ON_CORE | HOLD_NO_JOB  # What ends does not wait for a core when it leaves this one.
        leave(m, state["core"])
        emit_job(m, EVENT_COMPLETE, job)
        end_head_job(m, task, COMPLETED)
        if state["let"] == 0:
            publish(m, state["first_output"], state["last_output"], job)
        return
    _pass(m, task)


@routine
def _pass(m, task):
    """The executing job of `task` has reached a step or a budget, and has work left."""
    state = m.tasks[task]
    job = state["head_job"]
    set_timer(m, task, NEVER_NS)
    run_steps(m, task)
    if state["head_job"] == job:
        if executes(m, task):
            arm(m, task)
        _leave_limits_to_phase_4(m, task)


@part
def _leave_limits_to_phase_4(m, task):
    """Have the budgets of a job that made progress checked."""
    if m.tasks[task]["first_limit_ns"] != NEVER_NS:
        _check_now(m, task)
        if m.timers[task] == m.clock[0]["now_ns"]:
            set_timer(m, task, NEVER_NS)


@part
def deliveries(m):
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
def expiries(m):
    """Phase 4: table entries, then budgets, then deadlines, each by task."""
    clock = m.clock[0]
    if clock["rest_min_ns"] == clock["now_ns"] and clock["span_timers"] != NONE:
        end_entries(m)
    if clock["checks"] > 0:
        _check_all_budgets(m)
    if clock["deadline_min_ns"] == clock["now_ns"]:
        first = clock["deadline_timers"]
        timer = next_due(m, first, first + len(m.tasks))
        while timer < first + len(m.tasks):
            _miss_deadline(m, timer - first)
            timer = next_due(m, timer, first + len(m.tasks))


@routine
def _check_all_budgets(m):
    """Budgets of every job that made progress at this instant."""
    m.clock[0]["checks"] = 0
    first = m.clock[0]["check_timers"]
    timer = next_due(m, first, first + len(m.tasks))
    while timer < first + len(m.tasks):
        set_timer(m, timer, NEVER_NS)
        if m.tasks[timer - first]["check"] == 1:
            check_budgets(m, timer - first)
        timer = next_due(m, timer + 1, first + len(m.tasks))


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
def arrivals(m):
    """Phase 5: timed arrivals by task, then the jobs activated by messages, by task, then releases and wake-ups."""
    clock = m.clock[0]
    count = len(m.tasks)
    if clock["extras"] > 0:
        _arrivals_with_extras(m)
    elif clock["arrival_min_ns"] == clock["now_ns"]:
        first = clock["arrival_timers"]
        timer = next_due(m, first, first + count)
        while timer < first + count:
            open_inputs(m)
            arrive(m, timer - first, NONE, clock["now_ns"])
            _set_next_arrival(m, timer - first)
            timer = next_due(m, timer, first + count)
    if clock["deliveries"] > 0:
        clock["deliveries"] = 0
        first = clock["message_timers"]
        timer = next_due(m, first, first + count)
        while timer < first + count:
            activate(m, timer - first)
            timer = next_due(m, timer + 1, first + count)
    if clock["rest_min_ns"] == clock["now_ns"] and clock["wake_timers"] != NONE:
        _wake_jobs(m)


@routine
def _arrivals_with_extras(m):
    """Arrivals of an instant at which some tasks have an additional one.

    That of a timed task comes behind its own; a task that messages activate gets one with the messages that came last,
    unless others make a job of it arrive now.
    """
    clock = m.clock[0]
    count = len(m.tasks)
    clock["extras"] = 0
    for task in range(count):
        state = m.tasks[task]
        while m.timers[clock["arrival_timers"] + task] == clock["now_ns"]:
            open_inputs(m)
            arrive_rarely(m, task, NONE, clock["now_ns"])
            _set_next_arrival(m, task)
        if state["extra"] == 1 and state["activation"] == TIMED:
            state["extra"] = 0
            if state["active"] == 1:
                open_inputs(m)
                arrive_rarely(m, task, NONE, clock["now_ns"])
    clock["deliveries"] = 0
    for task in range(count):
        state = m.tasks[task]
        number = state["next_number"]
        if clock["message_timers"] != NONE and m.timers[clock["message_timers"] + task] == clock["now_ns"]:
            activate_rarely(m, task)
        if state["extra"] == 1:
            state["extra"] = 0
            if state["active"] == 1 and state["next_number"] == number:
                activate_again(m, task)


@part
def _set_next_arrival(m, task):
    """When the next job of a timed task arrives, after one that arrived now."""
    state = m.tasks[task]
    timer = m.clock[0]["arrival_timers"] + task
    if state["period_ns"] == 0:
        state["next_explicit"] += 1
        set_timer(m, timer, NEVER_NS)
        if state["next_explicit"] < state["explicit_arrivals"]:
            set_timer(m, timer, m.explicit[state["first_arrival"] + state["next_explicit"]])
        return
    next_ns = m.timers[timer] + state["period_ns"]
    state["carry"] += state["period_rest"]
    if state["carry"] >= state["rate_numerator"]:
        state["carry"] -= state["rate_numerator"]
        next_ns += 1
    if state["extra_ns"] > 0:
        bits = draw(m.clock[0]["seed"], task, state["next_number"], PURPOSE_SEPARATION)
        next_ns += uniform(state["extra_ns"], bits)
    set_timer(m, timer, next_ns)


@routine
def _wake_jobs(m):
    """Jobs that are released, or whose suspension ends, now."""
    clock = m.clock[0]
    first = clock["wake_timers"]
    timer = next_due(m, first, first + len(m.tasks))
    while timer < first + len(m.tasks):
        task = timer - first
        set_timer(m, timer, NEVER_NS)
        state = m.tasks[task]
        if state["hold"] & HOLD_SUSPENDED:
            note_head(m, EVENT_WAKE, task, NONE)
        else:
            emit_job(m, EVENT_RELEASE, state["head_job"])
        set_hold(m, task, state["hold"] & ~(HOLD_RELEASE | HOLD_SUSPENDED))
        mark(m, state["processor"])
        timer = next_due(m, timer + 1, first + len(m.tasks))
