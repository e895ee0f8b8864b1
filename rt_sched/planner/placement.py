"""Which core of its processing element a task runs on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rt_sched.model import Processor, System


def place_on_cores(system: System, processors: Sequence[Processor]) -> tuple[int, ...]:
    """For each task the index of its processor: the declared core, else worst-fit decreasing by utilisation.

    Worst fit spreads load, which leaves the largest margin on every core (Coffman, Garey, Johnson 1996 survey the
    bounds of the fit heuristics). Ties go to the lower core, then to the task that stands first.
    Raises ValueError when a declared core does not exist.
    """
    index_of = {(p.device, p.pe, p.core): index for index, p in enumerate(processors)}
    load = [Fraction(0)] * len(processors)
    placed: dict[str, int] = {}
    for task in system.tasks:
        if task.core is None:
            continue
        index = index_of.get((*task.pe, task.core))
        if index is None:
            raise ValueError(f"task {task.name}: {'.'.join(task.pe)} has no core {task.core}")
        placed[task.name] = index
        load[index] += Fraction(task.execution.wcet_ns, task.separation_ns)
    open_tasks = [task for task in system.tasks if task.core is None]
    for task in sorted(open_tasks, key=lambda t: -Fraction(t.execution.wcet_ns, t.separation_ns)):
        candidates = [index for (device, pe, _), index in index_of.items() if (device, pe) == task.pe]
        index = min(candidates, key=lambda i: (load[i], i))
        placed[task.name] = index
        load[index] += Fraction(task.execution.wcet_ns, task.separation_ns)
    return tuple(placed[task.name] for task in system.tasks)
