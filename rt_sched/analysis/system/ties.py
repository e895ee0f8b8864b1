"""Jobs with equal keys: whether their order may decide how long a task waits, and what its bound counts of them."""

from __future__ import annotations

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.model import Policy

#: Tasks of one level that a reason names.
_MOST_NAMES = 3


def ties(load: ProcessorLoad, task: LoadTask) -> bool:
    """Whether the order of equal levels, deadlines or releases may decide how long `task` waits."""
    if load.policy in (Policy.EDF, Policy.FIFO):
        return len(load.tasks) > 1
    return bool(_same_level(load, task))


def counted_of_equals(load: ProcessorLoad, task: LoadTask, over_ns: int) -> str:
    """Words for what the bound of `task` counts of jobs with equal keys, where that may be all that exceeds the
    deadline by `over_ns`; else nothing.
    """
    same = _same_level(load, task)
    if same:
        return f"; it lets jobs of the same level ({', '.join(same[:_MOST_NAMES])}) go first, even those released later"
    if load.policy is Policy.EDF and over_ns == 1 and len(load.tasks) > 1:
        return "; it lets jobs with equal deadlines go first, which may be 1ns too much"
    return ""


def _same_level(load: ProcessorLoad, task: LoadTask) -> list[str]:
    if load.policy is not Policy.FIXED_PRIORITY:
        return []
    return [other.name for other in load.tasks if other.level == task.level and other.index != task.index]
