"""Tasks at another frequency than that of the start of a run, rounded as the machine does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from rt_sched.model import System
from rt_sched.trace.setup import SectionRow, Setup, SuspensionRow, TaskRow


def at_frequencies_of(start: Setup, present: Setup) -> Setup:
    """The tasks of `start` at the frequencies of `present`: what is declared for the first is moved to the latter.

    Budgets, C_LO and the lengths of waits stay as they are; a C_LO that no job reaches any more counts as its demand.
    """
    rows = tuple(
        _moved(row, start.processors[row.processor].frequency_khz, present.processors[row.processor].frequency_khz)
        for row in start.tasks
    )
    return replace(present, tasks=rows)


def times_slower(start: System, present: System) -> Mapping[tuple[str, str], Fraction]:
    """How many times longer compute work takes at present than at the start, by device and name of the element."""
    found = {}
    for before, now in zip(start.devices, present.devices, strict=True):
        for old, new in zip(before.processing_elements, now.processing_elements, strict=True):
            if old.frequency_hz and new.frequency_hz:
                found[now.name, new.name] = Fraction(old.frequency_hz, new.frequency_hz)
    return found


def _moved(row: TaskRow, first_khz: int, khz: int) -> TaskRow:
    if first_khz == khz:
        return row
    longest_ns = row.demand_ns if isinstance(row.demand_ns, int) else row.demand_ns[-1]
    compute_ns = max(longest_ns - row.memory_ns, 0)

    def moved(length_ns: int) -> int:
        scaled_ns = min(length_ns, compute_ns)
        return -(-scaled_ns * first_khz // khz) + length_ns - scaled_ns

    demand_ns = moved(longest_ns)
    points = row.preemption_points_ns
    return replace(
        row,
        demand_ns=demand_ns,
        sections=tuple(SectionRow(s.resource, moved(s.start_ns), moved(s.end_ns)) for s in row.sections),
        suspensions=tuple(SuspensionRow(moved(s.offset_ns), s.min_ns, s.max_ns) for s in row.suspensions),
        preemption_points_ns=None if points is None else tuple(map(moved, points)),
        low_budget_ns=None if row.low_budget_ns is None else min(row.low_budget_ns, demand_ns),
    )
