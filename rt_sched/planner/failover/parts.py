"""Parts of what losses take away, by criticality: what is left out where not everything goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rt_sched.model import Criticality
from rt_sched.planner.failover.ground import Ground

#: The least important first.
ORDER = (Criticality.QM, Criticality.A, Criticality.B, Criticality.C, Criticality.D)


def parts(ground: Ground, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    """Tasks of `needed` to leave out, each with the reason: the fewest first, by levels, and never all.

    Left out is what has no more than some level, unless something above that level is activated by it or has to read
    it.
    """
    levels = sorted(set(levels_of(ground, needed)))
    before: set[str] = set()
    for level in levels[:-1]:
        kept = _with_needs(ground, [n for n in needed if ORDER.index(ground.tasks[n].criticality) > level])
        left = {name for name in needed if name not in kept}
        if left - before:
            reason = f"it is left out, as not everything above {ORDER[level].value} would go on with it"
            yield dict.fromkeys((name for name in needed if name in left), reason)
        before = left


def levels_of(ground: Ground, tasks: Iterable[str]) -> list[int]:
    """The criticality of each task, as its place in `ORDER`."""
    return [ORDER.index(ground.tasks[name].criticality) for name in tasks]


def _with_needs(ground: Ground, tasks: Sequence[str]) -> set[str]:
    found, open_names = set(tasks), list(tasks)
    while open_names:
        task = ground.tasks[open_names.pop()]
        sources = {*ground.activating(task.name), *(port.source for port in task.inputs if port.required)}
        for source in sources & ground.tasks.keys() - found:
            found.add(source)
            open_names.append(source)
    return found
