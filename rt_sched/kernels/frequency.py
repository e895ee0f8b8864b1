"""Frequencies: executed times of jobs at the present frequency of their processor, in integers that stay in range.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import (
    EVENT_FREQUENCY,
    EVENT_RESCALE,
    NONE,
    UNFINISHED,
)
from rt_sched.kernels.compiled import part, routine
from rt_sched.kernels.cores import arm, executes, settle
from rt_sched.kernels.trail import note


@part
def _rescaled(length_ns, compute_ns, old_khz, new_khz):
    """Time at the new frequency for `length_ns` of work at the old: its first `compute_ns` rescaled, rounded up once.

    The product is split so that only a remainder below `new_khz` is multiplied; ranges have been checked before.
    """
    scaled_ns = min(length_ns, compute_ns)
    whole, rest = scaled_ns // new_khz, scaled_ns % new_khz
    return whole * old_khz + (rest * old_khz + new_khz - 1) // new_khz + length_ns - scaled_ns


@routine
def rescale_waiting(m, task, index):
    """Demand at the present frequency of a job that has not executed."""
    job = m.jobs[index]
    demand_ns = _declared_at(m, task, job["declared_ns"], job["declared_ns"], job["memory_ns"])
    if demand_ns != job["demand_ns"]:
        job["demand_ns"] = demand_ns
        note(m, EVENT_RESCALE, m.tasks[task]["processor"], task, index, demand_ns)


@routine
def _declared_at(m, task, length_ns, declared_ns, memory_ns):
    """Where `length_ns` of a declared demand lies at the present frequency, for a job that has not executed."""
    processor = m.processors[m.tasks[task]["processor"]]
    compute_ns = max(declared_ns - memory_ns, 0)
    return _rescaled(length_ns, compute_ns, processor["declared_khz"], processor["khz"])


@routine
def place_steps(m, task):
    """Put the program of a job that has not executed at the present frequency."""
    job = m.jobs[m.tasks[task]["head_job"]]
    declared_ns, memory_ns = job["declared_ns"], job["memory_ns"]
    for step in range(m.tasks[task]["first_step"], m.tasks[task]["last_step"]):
        m.steps[step]["at_ns"] = _declared_at(m, task, m.steps[step]["declared_ns"], declared_ns, memory_ns)


@routine
def change_frequency(m, processor, khz):
    """Phase 1: the work that is left of every job on the processor takes its time at the new frequency."""
    state = m.processors[processor]
    old_khz = state["khz"]
    state["khz"] = khz
    state["rescaled"] = 1
    note(m, EVENT_FREQUENCY, processor, NONE, NONE, khz)
    for place in range(state["first_task"], state["last_task"]):
        task = m.links[place]
        index = m.tasks[task]["head_job"]
        if index != NONE:
            executing = executes(m, task)
            if executing:
                settle(m, task)
            _rescale_head(m, task, old_khz, khz)
            if executing:
                arm(m, task)
            index = m.jobs[index]["next_job"]
        while index != NONE:
            if m.jobs[index]["status"] == UNFINISHED:
                rescale_waiting(m, task, index)
            index = m.jobs[index]["next_job"]


@routine
def _rescale_head(m, task, old_khz, new_khz):
    """Demand and program of the oldest job of `task`."""
    state = m.tasks[task]
    job = m.jobs[state["head_job"]]
    executed_ns = job["executed_ns"]
    if executed_ns == 0:
        place_steps(m, task)
        rescale_waiting(m, task, state["head_job"])
        return
    left_ns = job["demand_ns"] - executed_ns
    compute_ns = left_ns - min(left_ns, job["memory_ns"])
    for step in range(state["next_step"], state["last_step"]):
        ahead_ns = m.steps[step]["at_ns"] - executed_ns
        m.steps[step]["at_ns"] = executed_ns + _rescaled(ahead_ns, compute_ns, old_khz, new_khz)
    demand_ns = executed_ns + _rescaled(left_ns, compute_ns, old_khz, new_khz)
    if demand_ns != job["demand_ns"]:
        job["demand_ns"] = demand_ns
        note(m, EVENT_RESCALE, state["processor"], task, state["head_job"], demand_ns)
