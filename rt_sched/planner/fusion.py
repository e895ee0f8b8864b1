"""Small tasks of one chain that hardly pay for being tasks of their own, and so go to one core.

A hand-over between two tasks of an element costs the switch to the second one, and the switch back to whatever it
preempts. Where that is more than a twentieth of what the smaller of the two executes, the two are put on one core, one
directly behind the other in its order: the second one then begins where the first one ended, in the same cache, never
preempts it, and nothing comes between but what is more urgent than both. What remains is one switch, to the second
one. Whether they should become one task, which saves that as well, is for the owner of the code; what that would save
is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rt_sched.lowering import Role, input_role
from rt_sched.lowering.task_rows import longest_demand_ns
from rt_sched.model import System, Task

#: A hand-over that costs a larger share of the smaller task than this is worth saving.
THRESHOLD = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Fusion:
    """`second` follows only `first`. `saved_ns`: the hand-over of a job; `share`: of the smaller one's worst case."""

    first: str
    second: str
    saved_ns: int
    share: Fraction


def fusions(system: System, elements: Mapping[str, tuple[str, str]]) -> tuple[Fusion, ...]:
    """The pairs that are worth fusing while tasks are on `elements`, in the order of the system."""
    element_of = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    tasks = {task.name: task for task in system.tasks}
    followers = _followers(system.tasks)
    found = []
    for second in system.tasks:
        sources = [given.source for given in second.inputs if input_role(second.activation, given) is not Role.READ]
        if len(sources) != 1 or sources[0] not in tasks or followers[sources[0]] != [second.name]:
            continue
        first, place = tasks[sources[0]], elements[second.name]
        element = element_of[place]
        if elements[first.name] != place or element.queue_cores > 1 or first.priority != second.priority:
            continue
        saved_ns = (2 if element.preemptive else 1) * element.switch_cost_ns
        smaller_ns = min(longest_demand_ns(first, element), longest_demand_ns(second, element))
        if saved_ns > THRESHOLD * smaller_ns:
            found.append(Fusion(first.name, second.name, saved_ns, Fraction(saved_ns, smaller_ns)))
    return tuple(found)


def _followers(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """For each task those that its messages activate."""
    found: dict[str, list[str]] = {task.name: [] for task in tasks}
    for task in tasks:
        for given in task.inputs:
            if given.source in found and input_role(task.activation, given) is not Role.READ:
                found[given.source].append(task.name)
    return found
