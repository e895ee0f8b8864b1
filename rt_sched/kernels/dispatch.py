"""Dispatch: which waiting job gets which core, and who gives it up.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    CHECK_LATE,
    EVENT_LOW,
    EVENT_PREEMPT,
    EVENT_RESUME,
    EVENT_SKIP,
    EVENT_START,
    HOLD_ON_CORE,
    NEVER_NS,
    NONE,
    SKIPPED,
    SLICE_EXECUTE,
    SLICE_SWITCH,
    TABLE,
    TIME_SLICED,
)
from rt_sched.kernels.compiled import part, routine
from rt_sched.kernels.cores import leave
from rt_sched.kernels.jobs import end_head_job, inputs_complete, read_inputs
from rt_sched.kernels.program import begin_executing, go_on
from rt_sched.kernels.ready import set_hold
from rt_sched.kernels.spans import begin_spans
from rt_sched.kernels.timers import next_due, set_timer
from rt_sched.kernels.trail import emit_job, note, note_head

#: Added to the key of a job that uses a time slice of others.
_BEHIND = NEVER_NS // 2


@part
def dispatch(m):
    """Phase 6: slices and table entries that begin, then jobs get cores; jobs whose spin that ends go on; again."""
    clock = m.clock[0]
    if clock["rest_min_ns"] == clock["now_ns"] and clock["span_timers"] != NONE:
        begin_spans(m)
    while True:
        _assign_cores(m)
        if clock["spins_ended"] == 0:
            return
        _end_spins(m)


@routine
def _end_spins(m):
    """Jobs that spun for a lock which a dispatched job released go on, by task; again for those that they release."""
    clock = m.clock[0]
    while clock["spins_ended"] > 0:
        clock["spins_ended"] = 0
        task = next_due(m, 0, len(m.tasks))
        while task < len(m.tasks):
            job = m.tasks[task]["head_job"]
            go_on(m, task)
            if _budget_is_used_up(m, task, job):
                _check_later(m, task)
            task = next_due(m, task + 1, len(m.tasks))


@part
def _assign_cores(m):
    """Processors whose jobs changed, by index, again and again until nothing changes."""
    clock = m.clock[0]
    visited = NONE
    while clock["pending"] > 0:
        place = 0
        while place < clock["pending"] - 1 and m.processors[place]["pending"] <= visited:
            place += 1
        processor = m.processors[place]["pending"]
        if processor <= visited:
            visited = NONE
            continue
        for following in range(place + 1, clock["pending"]):
            m.processors[following - 1]["pending"] = m.processors[following]["pending"]
        clock["pending"] -= 1
        m.processors[processor]["queued"] = 0
        visited = processor
        while _dispatch_once(m, processor):
            pass
        if m.processors[processor]["high"] == 1:
            _return_to_low(m, processor)


@part
def _dispatch_once(m, processor):
    """Let the best waiting job have a core if it may; False when no further job may.

    Inputs are read before a running job is preempted: a job without its required inputs takes nobody's time.
    """
    task = _best_waiting(m, processor)
    if task == NONE:
        return False
    core = _core_for(m, processor, task)
    if core == NONE:
        return False
    job = m.tasks[task]["head_job"]
    if m.jobs[job]["start_ns"] == NONE:
        complete = inputs_complete(m, job) if m.tasks[task]["let"] == 1 else read_inputs(m, job)
        if not complete:
            note_head(m, EVENT_SKIP, task, NONE)
            end_head_job(m, task, SKIPPED)
            return True
    if m.cores[core]["running"] != NONE:
        emit_job(m, EVENT_PREEMPT, m.tasks[m.cores[core]["running"]]["head_job"])
        leave(m, core)
    _put(m, processor, core, task)
    return True


@part
def _best_waiting(m, processor):
    """The task whose oldest job is the first to get a core: by key, release, index. NONE when none waits."""
    state = m.processors[processor]
    first = state["first_waiting"]
    if state["ordered"] == 1:
        return m.links[first] if state["waiting"] > 0 else NONE
    best = NONE
    best_key, best_release_ns = NEVER_NS, NEVER_NS
    for place in range(first, first + state["waiting"]):
        task = m.links[place]
        key, release_ns = _key(m, state, task), m.jobs[m.tasks[task]["head_job"]]["release_ns"]
        better = best == NONE or key < best_key
        if key == best_key:
            better = better or release_ns < best_release_ns or (release_ns == best_release_ns and task < best)
        if better and (state["special"] == 0 or _may_run(m, processor, task)):
            best, best_key, best_release_ns = task, key, release_ns
    return best


@part
def _key(m, processor, task):
    """What jobs are ordered by on a processor; smaller is better."""
    if processor["policy"] == TIME_SLICED and m.tasks[task]["in_slice"] == 0:
        return m.tasks[task]["key_ns"] + _BEHIND
    return m.tasks[task]["key_ns"]


@routine
def _may_run(m, processor, task):
    """Whether slices, table entries and the system ceiling let a waiting job have a core."""
    state = m.processors[processor]
    job = m.tasks[task]["head_job"]
    if state["policy"] == TIME_SLICED:
        return state["usable"] == 1 and (m.tasks[task]["in_slice"] == 1 or state["slack_sharing"] == 1)
    if state["policy"] == TABLE:
        return state["entry_job"] == job
    return m.jobs[job]["start_ns"] != NONE or m.tasks[task]["deadline_ns"] < state["ceiling_ns"]


@part
def _core_for(m, processor, task):
    """The core that a waiting job gets, free or to be taken from a job that is worse; NONE when there is none."""
    state = m.processors[processor]
    core = state["first_core"]
    if state["last_core"] - core > 1:
        return _choose_core(m, processor, task)
    running = m.cores[core]["running"]
    if running == NONE or (_key(m, state, task) < _key(m, state, running) and _gives_way(m, processor, core, task)):
        return core
    return NONE


@routine
def _choose_core(m, processor, task):
    """On several cores: the last one if free, else the lowest free one, else that of the worst key that gives way."""
    state = m.processors[processor]
    last = m.tasks[task]["core"]
    if last != NONE and m.cores[last]["running"] == NONE:
        return last
    for core in range(state["first_core"], state["last_core"]):
        if m.cores[core]["running"] == NONE:
            return core
    worst = len(m.cores)
    for core in range(state["first_core"], state["last_core"]):
        if _gives_way(m, processor, core, task) and (worst == len(m.cores) or _is_worse(m, state, core, worst)):
            worst = core
    if worst != len(m.cores) and _key(m, state, task) < _key(m, state, m.cores[worst]["running"]):
        return worst
    return NONE


@part
def _is_worse(m, processor, core, other):
    """Whether the job on `core` gives way before that on `other`: worse key, else later release, else higher task."""
    task, other_task = m.cores[core]["running"], m.cores[other]["running"]
    key, other_key = _key(m, processor, task), _key(m, processor, other_task)
    if key != other_key:
        return key > other_key
    release_ns = m.jobs[m.tasks[task]["head_job"]]["release_ns"]
    other_release_ns = m.jobs[m.tasks[other_task]["head_job"]]["release_ns"]
    if release_ns != other_release_ns:
        return release_ns > other_release_ns
    return task > other_task


@part
def _gives_way(m, processor, core, task):
    """Whether the running job may be preempted now: not in a switch cost, an msrp section or between its points."""
    running = m.tasks[m.cores[core]["running"]]
    if m.cores[core]["doing"] == SLICE_SWITCH or running["fixed"] > 0:
        return False
    if running["in_slice"] == 0 and m.tasks[task]["in_slice"] == 1:
        return True
    if m.processors[processor]["preemptive"] == 0:
        return False
    if running["limited"] == 1:
        executed_ns = m.jobs[running["head_job"]]["executed_ns"]
        return running["point_ns"] == executed_ns + m.clock[0]["now_ns"] - running["executing_from_ns"]
    return True


@part
def _put(m, processor, core, task):
    """Start or resume a job on an idle core; switch and migration costs come first."""
    state = m.tasks[task]
    job = state["head_job"]
    now_ns = m.clock[0]["now_ns"]
    if m.jobs[job]["start_ns"] == NONE:
        m.jobs[job]["start_ns"] = now_ns
        emit_job(m, EVENT_START, job)
    else:
        emit_job(m, EVENT_RESUME, job)
    prefix_ns = m.processors[processor]["switch_ns"]
    if state["core"] != core and state["core"] != NONE:
        prefix_ns += m.processors[processor]["migration_ns"]
    state["core"] = core
    set_hold(m, task, HOLD_ON_CORE)
    m.cores[core]["running"] = task
    m.cores[core]["since_ns"] = now_ns
    if prefix_ns > 0:
        m.cores[core]["doing"] = SLICE_SWITCH
        set_timer(m, task, now_ns + prefix_ns)
    else:
        m.cores[core]["doing"] = SLICE_EXECUTE
        begin_executing(m, task)
        if _budget_is_used_up(m, task, job):
            _check_later(m, task)


@part
def _budget_is_used_up(m, task, job):
    """Whether the oldest job of `task`, if that is still `job`, has to be looked at because it holds no lock now."""
    state = m.tasks[task]
    if m.jobs[job]["executed_ns"] < state["enforce_ns"]:
        return False
    return state["head_job"] == job and state["held"] == 0 and state["fixed"] == 0


@routine
def _check_later(m, task):
    """A job whose budget is used up has released its last lock after phase 4: the next nanosecond looks at it."""
    m.tasks[task]["check"] = CHECK_LATE
    m.clock[0]["late_checks"] += 1


@routine
def _return_to_low(m, processor):
    """Back to LO mode when no task of the processor has an unfinished job."""
    state = m.processors[processor]
    for place in range(state["first_task"], state["last_task"]):
        if m.tasks[m.links[place]]["head_job"] != NONE:
            return
    state["high"] = 0
    note(m, EVENT_LOW, processor, NONE, NONE, NONE)
