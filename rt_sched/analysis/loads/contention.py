"""Execution times stretched by what the other elements of a device do meanwhile, where the device declares that.

A job on element a may need `factor` times its declared worst case while element b of the same device works. Nothing is
known of when b works, so every element on which the plan has a task, or which serves waits, counts as working all the
time, and the factors of several multiply. Best cases stay as they are. This holds for any phases of the jobs, so bounds
are sound; that a run misses is only shown by one without any stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from rt_sched import model
from rt_sched.trace.setup import SectionRow, Setup, SuspensionRow, TaskRow
from rt_sched.units import ceil_int


def stretch_of(system: model.System, plan: model.Plan) -> tuple[Fraction, ...]:
    """For each processor of the plan by what the worst case of its jobs is to be multiplied."""
    factors = factors_of(system, plan)
    return tuple(factors.get((processor.device, processor.pe), Fraction(1)) for processor in plan.processors)


def factors_of(system: model.System, plan: model.Plan) -> dict[tuple[str, str], Fraction]:
    """How many times longer jobs may take on an element (device, name); 1 where none is given."""
    used = {(plan.processors[one.processor].device, plan.processors[one.processor].pe) for one in plan.placements}
    used |= {wait.on for task in system.tasks for wait in task.suspensions if wait.on is not None}
    factors: dict[tuple[str, str], Fraction] = {}
    for device in system.devices:
        for row in device.contention:
            if (device.name, row.by) in used:
                place = device.name, row.pe
                factors[place] = factors.get(place, Fraction(1)) * row.factor
    return factors


def is_stretched(system: model.System, plan: model.Plan) -> bool:
    """Whether any job of the plan, or any service to a wait, may be slowed down."""
    return any(factor > 1 for factor in factors_of(system, plan).values())


def without_contention(system: model.System) -> model.System:
    """The system on devices whose elements do not slow each other down."""
    return replace(system, devices=tuple(replace(device, contention=()) for device in system.devices))


def stretched(system: model.System, plan: model.Plan, setup: Setup) -> Setup:
    """The rows with the worst cases that contention allows. Budgets and C_LO are enforced, so they stay."""
    factors = stretch_of(system, plan)
    if all(factor == 1 for factor in factors):
        return setup
    return replace(setup, tasks=tuple(_stretched(row, factors[row.processor]) for row in setup.tasks))


def _stretched(row: TaskRow, factor: Fraction) -> TaskRow:
    """Any part of a job may take `factor` times as long while another is not slowed down at all.

    Each place inside the job is therefore moved by one nanosecond more than the place before it, so that no part
    between two of them gets shorter by rounding than `factor` times its length.
    """
    if factor == 1 or not isinstance(row.demand_ns, int):
        return row
    points = row.preemption_points_ns or ()
    inside = {place for section in row.sections for place in (section.start_ns, section.end_ns)}
    inside |= {wait.offset_ns for wait in row.suspensions} | set(points)
    place_of = _places(sorted(inside | {row.demand_ns}), factor)
    return replace(
        row,
        demand_ns=place_of[row.demand_ns],
        memory_ns=ceil_int(row.memory_ns * factor),
        sections=tuple(SectionRow(one.resource, place_of[one.start_ns], place_of[one.end_ns]) for one in row.sections),
        suspensions=tuple(SuspensionRow(place_of[one.offset_ns], one.min_ns, one.max_ns) for one in row.suspensions),
        preemption_points_ns=None if row.preemption_points_ns is None else tuple(place_of[one] for one in points),
    )


def _places(places: Sequence[int], factor: Fraction) -> dict[int, int]:
    first = 1 if places[0] == 0 else 0  # the begin of the job stays where it is
    return {place: ceil_int(place * factor) + max(0, number - first) for number, place in enumerate(places)}
