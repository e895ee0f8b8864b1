"""In which order real jobs may lock resources, so that none waits for itself by way of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rt_sched.trace.setup import TaskRow


def nested(row: TaskRow) -> frozenset[tuple[int, int]]:
    """(outer, inner) for every two resources of which the task declares a section inside one of the other."""
    return frozenset(
        (outer.resource, inner.resource)
        for outer in row.sections
        for inner in row.sections
        if outer.resource != inner.resource and outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns
        if (outer.start_ns, -outer.end_ns, outer.resource) < (inner.start_ns, -inner.end_ns, inner.resource)
    )


def locking_order(rows: Iterable[TaskRow]) -> list[int]:
    """The resources that `rows` hold, outer ones before those that any task holds inside them.

    Those that tasks nest in both orders, and what is nested inside these, are left out.
    """
    rows = list(rows)
    pairs = frozenset[tuple[int, int]]().union(*(nested(row) for row in rows))
    left = {section.resource for row in rows for section in row.sections}
    found: list[int] = []
    while free := sorted(one for one in left if not any(inner == one and outer in left for outer, inner in pairs)):
        found.append(free[0])
        left.remove(free[0])
    return found


def in_both_orders(rows: Sequence[TaskRow]) -> list[int]:
    """Resources for which jobs of `rows` could wait in a circle, and those nested inside such."""
    held = {section.resource for row in rows for section in row.sections}
    return sorted(held.difference(locking_order(rows)))
