"""The scheduling state machine: instants in order, and at each instant the phases in order.

`advance`, at the end of the file, is the only entry. In bulk no Python runs between instants; stepped, one call
processes one instant. The phases are the functions `_faults`, `_completions`, `_deliveries`, `_expiries`, `_arrivals`
and `dispatch.dispatch`.
"""

from __future__ import annotations

from rt_sched.kernels.compiled import entry, part, sources_digest
from rt_sched.kernels.dispatch import dispatch, leave
from rt_sched.kernels.jobs import admit, emit, emit_job, end_head_job, new_job, watch_deadline
from rt_sched.kernels.messages import activate, publish
from rt_sched.kernels.tables import (
    ABORT,
    ABORTED,
    ADVANCED,
    COMPLETED,
    ENDED,
    EVENT_ABORT,
    EVENT_COMPLETE,
    EVENT_DEADLINE_MISS,
    EVENT_JOB_LOST,
    EVENT_OVERRUN,
    EVENT_PROCESSOR_LOST,
    EVENT_SAMPLE,
    EVENT_SENSOR_LOST,
    FIRST_SAMPLE,
    FULL,
    LOST,
    NEVER_NS,
    NONE,
    PROCESSOR_LOSS,
    REACHED,
    SAMPLE_DELIVERED,
    SAMPLE_LOST,
    Machine,
)


@part
def _next_instant(m):
    """The next time at which anything happens, NEVER_NS when nothing does."""
    clock = m.clock[0]
    instant_ns = NEVER_NS
    for task in range(len(m.tasks)):
        instant_ns = min(instant_ns, m.tasks[task]["next_arrival_ns"], m.tasks[task]["next_deadline_ns"])
    for processor in range(len(m.processors)):
        state = m.processors[processor]
        instant_ns = min(instant_ns, state["completion_ns"], state["overrun_ns"])
    if clock["next_sample"] < len(m.samples):
        instant_ns = min(instant_ns, m.samples[clock["next_sample"]]["arrival_ns"])
    if clock["next_fault"] < len(m.faults):
        instant_ns = min(instant_ns, m.faults[clock["next_fault"]]["time_ns"])
    return instant_ns


@part
def _room_for_instant(m, instant_ns):
    """Whether the growing tables have room for the most that one instant can add; says in the clock what is needed.

    Every message delivered at the instant activates at most one job on each edge it travels. Each job that is active
    or new causes at most six events.
    """
    clock = m.clock[0]
    samples = 0
    while (
        clock["next_sample"] + samples < len(m.samples)
        and m.samples[clock["next_sample"] + samples]["arrival_ns"] == instant_ns
    ):
        samples += 1
    deliveries = len(m.edges) * (1 + samples)
    clock["jobs_needed"] = len(m.tasks) + deliveries
    clock["slices_needed"] = len(m.processors)
    clock["drops_needed"] = deliveries + len(m.rings)
    clock["events_needed"] = (
        6 * (clock["active_jobs"] + clock["jobs_needed"]) + clock["drops_needed"] + samples + len(m.faults)
    )
    return (
        clock["jobs"] + clock["jobs_needed"] <= len(m.jobs)
        and clock["slices"] + clock["slices_needed"] <= len(m.slices)
        and clock["drops"] + clock["drops_needed"] <= len(m.drops)
        and (clock["record_events"] == 0 or clock["events_needed"] <= len(m.events))
    )


@part
def _faults(m):
    """Phase 1: processors and sensors that fail now."""
    clock = m.clock[0]
    while clock["next_fault"] < len(m.faults) and m.faults[clock["next_fault"]]["time_ns"] == clock["now_ns"]:
        fault = m.faults[clock["next_fault"]]
        clock["next_fault"] += 1
        target = fault["target"]
        if fault["kind"] == PROCESSOR_LOSS:
            emit(m, EVENT_PROCESSOR_LOST, target, NONE, NONE, NONE, NONE)
            _lose_processor(m, target)
        else:
            emit(m, EVENT_SENSOR_LOST, NONE, NONE, NONE, NONE, target)
            m.sensors[target]["lost"] = 1


@part
def _lose_processor(m, processor):
    """Every job on the processor is lost; what arrives there later is lost on arrival."""
    state = m.processors[processor]
    leave(m, processor)
    state["lost"] = 1
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        while m.tasks[task]["head_job"] != NONE:
            emit_job(m, EVENT_JOB_LOST, m.tasks[task]["head_job"])
            end_head_job(m, task, LOST)


@part
def _completions(m):
    """Phase 2: jobs that finish now, by task; each publishes its output at once."""
    now_ns = m.clock[0]["now_ns"]
    while True:
        task = len(m.tasks)
        for processor in range(len(m.processors)):
            if m.processors[processor]["completion_ns"] == now_ns:
                task = min(task, m.jobs[m.processors[processor]["running"]]["task"])
        if task == len(m.tasks):
            return
        job = m.tasks[task]["head_job"]
        leave(m, m.tasks[task]["processor"])
        emit_job(m, EVENT_COMPLETE, job)
        end_head_job(m, task, COMPLETED)
        publish(m, m.tasks[task]["first_output"], m.tasks[task]["last_output"], job)


@part
def _deliveries(m):
    """Phase 3: sensor samples that become visible now."""
    clock = m.clock[0]
    while clock["next_sample"] < len(m.samples) and m.samples[clock["next_sample"]]["arrival_ns"] == clock["now_ns"]:
        index = clock["next_sample"]
        clock["next_sample"] += 1
        sample = m.samples[index]
        sensor = m.sensors[sample["sensor"]]
        if sensor["lost"] == 1:
            sample["status"] = SAMPLE_LOST
        else:
            sample["status"] = SAMPLE_DELIVERED
            emit(m, EVENT_SAMPLE, NONE, NONE, NONE, NONE, FIRST_SAMPLE - index)
            publish(m, sensor["first_output"], sensor["last_output"], FIRST_SAMPLE - index)


@part
def _expiries(m):
    """Phase 4: budgets, then deadlines, each by task."""
    now_ns = m.clock[0]["now_ns"]
    while True:
        task = len(m.tasks)
        for processor in range(len(m.processors)):
            if m.processors[processor]["overrun_ns"] == now_ns:
                task = min(task, m.jobs[m.processors[processor]["running"]]["task"])
        if task == len(m.tasks):
            break
        job = m.tasks[task]["head_job"]
        m.processors[m.tasks[task]["processor"]]["overrun_ns"] = NEVER_NS
        m.jobs[job]["overrun"] = 1
        emit_job(m, EVENT_OVERRUN, job)
    for task in range(len(m.tasks)):
        while m.tasks[task]["next_deadline_ns"] == now_ns:
            _miss_deadline(m, task)


@part
def _miss_deadline(m, task):
    """Flag the job whose deadline has come; under `abort` it ends here, and it is the oldest, as all before it did."""
    state = m.tasks[task]
    job = state["deadline_job"]
    m.jobs[job]["missed"] = 1
    emit_job(m, EVENT_DEADLINE_MISS, job)
    if state["deadline_action"] == ABORT:
        if m.processors[state["processor"]]["running"] == job:
            leave(m, state["processor"])
        emit_job(m, EVENT_ABORT, job)
        end_head_job(m, task, ABORTED)
    else:
        watch_deadline(m, task, m.jobs[job]["next_job"])


@part
def _arrivals(m):
    """Phase 5: timed arrivals by task, then the jobs activated by messages, by task."""
    clock = m.clock[0]
    for task in range(len(m.tasks)):
        state = m.tasks[task]
        if state["next_arrival_ns"] == clock["now_ns"]:
            admit(m, new_job(m, task, NONE, clock["now_ns"]))
            state["next_arrival_ns"] += state["period_ns"]
            state["carry"] += state["period_rest"]
            if state["carry"] >= state["rate_numerator"]:
                state["carry"] -= state["rate_numerator"]
                state["next_arrival_ns"] += 1
    if clock["deliveries"] > 0:
        clock["deliveries"] = 0
        for task in range(len(m.tasks)):
            if m.tasks[task]["delivered"] == 1:
                activate(m, task)


@part
def _end(m):
    """The horizon: running jobs stay unfinished with what they executed so far."""
    clock = m.clock[0]
    clock["now_ns"] = clock["horizon_ns"]
    clock["ended"] = 1
    for processor in range(len(m.processors)):
        leave(m, processor)


def _entry(sources):
    """`advance`, compiled for these sources: a constant that the function refers to is part of its key in the cache."""

    @entry
    def advance(
        clock,
        processors,
        tasks,
        edges,
        sensors,
        links,
        quantiles,
        demands,
        samples,
        faults,
        rings,
        jobs,
        inputs,
        slices,
        drops,
        events,
        until_ns,
        single,
    ):
        """Process the instants up to and including `until_ns`, or only the next one when `single` is true.

        Returns ADVANCED (single: one instant was processed; its events are the first clock.events rows), REACHED
        (nothing more happens up to `until_ns`), ENDED (the horizon is behind), or FULL: a growing table lacks room for
        the next instant, which is untouched; call again with tables that have clock.jobs_needed ... spare rows.
        """
        _ = sources
        m = Machine(
            clock,
            processors,
            tasks,
            edges,
            sensors,
            links,
            quantiles,
            demands,
            samples,
            faults,
            rings,
            jobs,
            inputs,
            slices,
            drops,
            events,
        )
        time = m.clock[0]
        while True:
            time["events"] = 0
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
            _faults(m)
            _completions(m)
            if instant_ns < time["horizon_ns"]:
                _deliveries(m)
            _expiries(m)
            if instant_ns < time["horizon_ns"]:
                _arrivals(m)
                dispatch(m)
            else:
                _end(m)
            if single:
                return ADVANCED

    return advance


advance = _entry(sources_digest())
