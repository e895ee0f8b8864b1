"""What takeovers and losses mean for stages: which instance serves a job, and what it is told of others.

A task that moves begins on its new processor with a standby that is loaded and has no past: what the lost device had in
memory cannot be sent any more, and the nominal device, when it is back, has started anew. The same holds for a task
whose device comes back before anything else took over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from rt_sched.lowering.outages import device_outages
from rt_sched.lowering.takeovers import placement_under, takeovers_in_force
from rt_sched.model import Fault, Plan, PlanChange, System, Takeover


class Lives:
    """Of all tasks in one run. `begins_ns`: by the index of a task, when each of its lives but the first begins.

    `readers_of`: by the index of a task, those that read its outputs.
    """

    def __init__(
        self,
        begins_ns: Mapping[int, Sequence[int]],
        in_force: Sequence[tuple[int, Takeover | None]] = (),
        readers_of: Mapping[int, Collection[int]] = MappingProxyType({}),
    ) -> None:
        self.begins_ns = {task: tuple(begins) for task, begins in begins_ns.items() if begins}
        self._new_readers_ns = {
            task: sorted({at_ns for reader in readers for at_ns in self.begins_ns.get(reader, ())})
            for task, readers in readers_of.items()
        }
        self._changes_ns = [time_ns for time_ns, _ in in_force]
        self._weights = [() if takeover is None else takeover.weights for _, takeover in in_force]

    def life(self, task: int, arrival_ns: int) -> int:
        """In which life of its task a job arrives; counts from 0."""
        return bisect_right(self.begins_ns.get(task, ()), arrival_ns)

    def new_readers(self, task: int, until_ns: int) -> int:
        """How often a reader of a task's outputs has begun a life, its first apart, until then."""
        return bisect_right(self._new_readers_ns.get(task, ()), until_ns)

    def weights(self, arrival_ns: int) -> tuple[tuple[str, Fraction], ...]:
        """By sensor the factor of its weight for jobs that arrive then, where that changes."""
        change = bisect_right(self._changes_ns, arrival_ns)
        return self._weights[change - 1] if change else ()


NO_CHANGES = Lives({})


def lives_of(
    system: System,
    plan: Plan,
    changes: Sequence[PlanChange],
    faults: Sequence[Fault],
    restarts: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> Lives:
    """The lives that tasks have under takeovers and losses; `restarts`: when processes begin anew for other reasons."""
    in_force = takeovers_in_force(changes)
    times_ns = [time_ns for time_ns, _ in in_force]
    returns = [
        (end_ns, device)
        for device, outages in device_outages(faults).items()
        for _, end_ns in outages
        if end_ns is not None
    ]
    begins_ns = {}
    for index, nominal in enumerate(plan.placements):
        places = [nominal.processor, *(placement_under(one, nominal).processor for _, one in in_force)]
        begins = {at for at, old, new in zip(times_ns, places, places[1:], strict=False) if old != new}
        begins |= {
            end_ns
            for end_ns, device in returns
            if plan.processors[places[bisect_right(times_ns, end_ns)]].device == device
        }
        begins_ns[index] = sorted(begins.union(restarts.get(index, ())))
    return Lives(begins_ns, in_force, _readers_of(system))


def _readers_of(system: System) -> dict[int, set[int]]:
    index_of = {task.name: index for index, task in enumerate(system.tasks)}
    readers: dict[int, set[int]] = {}
    for index, task in enumerate(system.tasks):
        for given in task.inputs:
            if given.source in index_of:
                readers.setdefault(index_of[given.source], set()).add(index)
    return readers
