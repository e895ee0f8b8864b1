"""Which processors keep the tasks that wait for a core in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from rt_sched.lowering.machine_input import MachineInput, OverrunAction, Policy

#: Up to so many tasks looking through those that wait takes no longer than keeping them in order.
FEW = 32


def ordered_processors(given: MachineInput) -> Set[int]:
    """Those with many tasks on which a job that waits keeps its place among the others until it gets a core.

    Locks change keys, and so do servers that throttle under EDF; under a table, and in time slices, whose turn it is
    depends on the time.
    """
    stays = [(number, task) for number, task in enumerate(given.tasks)]
    stays += [(change.task, change.row) for change in given.task_changes]
    tasks = Counter(processor for _, processor in {(number, task.processor) for number, task in stays})
    changing = {task.processor for _, task in stays if task.sections or task.overrun_action == OverrunAction.THROTTLE}
    by_key = (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO)
    return {
        number
        for number, processor in enumerate(given.processors)
        if tasks[number] > FEW and number not in changing and processor.policy in by_key
    }
