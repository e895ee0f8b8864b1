"""Who waits for a core: every processor has a list, in no order, of the tasks whose oldest job does.

`m` is a `tables.Machine`.
"""

from __future__ import annotations

from rt_sched.kernels.codes import NONE
from rt_sched.kernels.compiled import part


@part
def set_hold(m, task, hold):
    """Why the oldest job of `task` does not wait for a core: HOLD_ bits, 0 when it does."""
    state = m.tasks[task]
    waited = state["hold"] == 0
    state["hold"] = hold
    if waited == (hold == 0):
        return
    processor = m.processors[state["processor"]]
    if waited:
        before, behind = state["ready_before"], state["ready_behind"]
        if before == NONE:
            processor["first_ready"] = behind
        else:
            m.tasks[before]["ready_behind"] = behind
        if behind != NONE:
            m.tasks[behind]["ready_before"] = before
    else:
        behind = processor["first_ready"]
        if behind != NONE:
            m.tasks[behind]["ready_before"] = task
        state["ready_before"] = NONE
        state["ready_behind"] = behind
        processor["first_ready"] = task
