"""Priority assignment on each processor."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.model import Task


def urgency_levels(tasks: Sequence[Task], processor_of: Sequence[int], policy: str) -> tuple[int, ...]:
    """For each task its level on its processor, 0 the most urgent, unique there.

    `rms`: shorter separation first (Liu, Layland 1973); `dm` and `edf`: shorter relative deadline first (Leung,
    Whitehead 1982). A declared priority goes before every task without one; ties keep the file's order.
    """

    def urgency(index: int) -> tuple[int, int, int, int]:
        task = tasks[index]
        explicit = (1, 0) if task.priority is None else (0, task.priority)
        return (*explicit, task.separation_ns if policy == "rms" else task.deadline_ns, index)

    levels = [0] * len(tasks)
    next_level: dict[int, int] = {}
    for index in sorted(range(len(tasks)), key=urgency):
        processor = processor_of[index]
        levels[index] = next_level.get(processor, 0)
        next_level[processor] = levels[index] + 1
    return tuple(levels)
