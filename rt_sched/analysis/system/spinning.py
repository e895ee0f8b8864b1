"""Spins counted by the requests that can come: a job does not wait for more sections of others than they begin.

Per request a job spins for at most one section of each other core, the longest (Gai, Lipari, Di Natale 2001). A job
that asks several times does not meet the same rare section each time: while it is pending, the tasks of another
processor have only so many jobs, and with them requests (Brandenburg 2013). How many follows from responses that are
bounded already, so a round of bounds with the longest spins comes first; each further round starts from safe ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rt_sched.analysis.loads.load import LoadTask
from rt_sched.analysis.loads.resolve import ModeLoad, never_preempts
from rt_sched.analysis.result import Bound
from rt_sched.analysis.system.propagation import MessageStream
from rt_sched.trace.setup import Protocol, SectionRow

#: Of a task: a bound on its response where there is one, and its arrivals.
Pending = Mapping[int, tuple[Bound | None, Sequence[MessageStream]]]


def with_fewer_spins(mode: ModeLoad, pending: Pending) -> ModeLoad:
    """The mode with shorter spins where safe bounds on all responses allow it; the mode itself where none does."""
    asking = _Asking(mode, pending)
    loads = []
    for load in mode.loads:
        tasks = []
        for task in load.tasks:
            saved_ns = asking.saved_ns(task) if task.spin_ns else 0
            if saved_ns:
                whole = never_preempts(load.row)
                task = replace(
                    task,
                    spin_ns=task.spin_ns - saved_ns,
                    region_ns=task.region_ns - saved_ns if whole else task.region_ns,
                    last_region_ns=task.last_region_ns - saved_ns if whole else task.last_region_ns,
                )
            tasks.append(task)
        loads.append(load if tuple(tasks) == load.tasks else replace(load, tasks=tuple(tasks)))
    return mode if tuple(loads) == mode.loads else replace(mode, loads=tuple(loads))


class _Asking:
    """Who asks for which spin lock, and how often while a job is pending."""

    def __init__(self, mode: ModeLoad, pending: Pending) -> None:
        self._setup, self._pending = mode.setup, pending
        self._users: dict[int, list[int]] = {}
        for index, row in enumerate(mode.setup.tasks):
            for resource in {one.resource for one in row.sections} if mode.active[index] else ():
                if mode.setup.resources[resource].protocol is Protocol.MSRP:
                    self._users.setdefault(resource, []).append(index)

    def saved_ns(self, task: LoadTask) -> int:
        """By how much a job spins less than one longest section a request and core.

        Execution times of loads may be scaled, those of sections then with them; what is saved is scaled as well,
        rounded against it.
        """
        bound, _ = self._pending[task.index]
        asked = Counter(one.resource for one in self._setup.tasks[task.index].sections)
        if bound is None or any(
            self._setup.tasks[i].budget_ns is not None for r in asked for i in self._users.get(r, ())
        ):
            return 0
        longest_ns = counted_ns = 0
        for resource, requests in asked.items():
            for rivals in self._rivals(resource, self._setup.tasks[task.index].processor):
                longest, counted = self._spins_ns(resource, requests, rivals, bound.value_ns)
                longest_ns, counted_ns = longest_ns + longest, counted_ns + counted
        if counted_ns >= longest_ns:
            return 0
        saved_ns = (longest_ns - counted_ns) * task.spin_ns // longest_ns
        return saved_ns if task.spin_ns == longest_ns else max(0, saved_ns - 1)

    def _rivals(self, resource: int, processor: int) -> list[list[int]]:
        """The users of a resource on each other processor."""
        found: dict[int, list[int]] = {}
        for index in self._users.get(resource, ()):
            found.setdefault(self._setup.tasks[index].processor, []).append(index)
        return [rivals for place, rivals in found.items() if place != processor]

    def _spins_ns(self, resource: int, requests: int, rivals: Sequence[int], window_ns: int) -> tuple[int, int]:
        """The spin of some requests behind one processor: by the longest section, and by those that can come."""
        turns = requests * self._setup.processors[self._setup.tasks[rivals[0]].processor].cores
        lengths: list[int] = []
        for index in rivals:
            mine = [_length_ns(one) for one in self._setup.tasks[index].sections if one.resource == resource]
            jobs = self._jobs(index, window_ns)
            lengths += [length_ns for length_ns in mine for _ in range(turns if jobs is None else min(jobs, turns))]
        lengths.sort(reverse=True)
        sections = [one for index in rivals for one in self._setup.tasks[index].sections if one.resource == resource]
        return turns * max(map(_length_ns, sections)), sum(lengths[:turns])

    def _jobs(self, index: int, window_ns: int) -> int | None:
        """Most jobs of a task that are pending at some instant of a window; None where none is known."""
        bound, streams = self._pending[index]
        if bound is None:
            return None
        reach_ns = window_ns + bound.value_ns
        return sum(-(-(reach_ns + stream.jitter_ns) // stream.period_ns) for stream in streams)


def _length_ns(section: SectionRow) -> int:
    return section.end_ns - section.start_ns
