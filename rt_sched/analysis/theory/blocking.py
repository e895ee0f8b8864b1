"""Blocking by critical sections: how long tasks of lower priority or longer deadline can delay a job.

A lower job may lock at the very instant before a higher one arrives, so a section blocks for its full length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.errors import AnalysisNotApplicable


@dataclass(frozen=True, slots=True)
class Section:
    """Longest critical section of a task on a resource, inner sections included; `inside`: resources locked within."""

    resource: int
    length_ns: int
    inside: tuple[int, ...] = ()


#: Sections of one task.
Sections = Sequence[Section]


def ceiling_blocking_ns(tasks: Sequence[Sections], *, suspends: Sequence[bool] | None = None) -> list[int]:
    """Blocking under the priority ceiling protocol, immediate or not: one section, the longest that matters.

    For each task, in priority order, the longest section of a lower task on a resource that it or a higher task uses.
    Assumes that no job suspends (`suspends`: which do): each suspension would let another section block.
    Source: Sha, Rajkumar, Lehoczky 1990; Baker 1991 for the stack resource policy.

    Raises AnalysisNotApplicable when a task suspends.
    """
    _require_running(suspends, "the ceiling protocol blocks once only while jobs do not suspend")
    return [
        max(
            (s.length_ns for lower in tasks[own + 1 :] for s in lower if s.resource in _used(tasks[: own + 1])),
            default=0,
        )
        for own in range(len(tasks))
    ]


def srp_blocking_ns(tasks: Sequence[Sections], deadlines_ns: Sequence[int]) -> list[int]:
    """Blocking under EDF with the stack resource policy, per task in the given order.

    The longest section of a task with a longer relative deadline on a resource that some task with at most this
    deadline uses, as `edf_schedulable` takes it. Source: Baker 1991; Baruah 2006.
    """
    blocking = []
    for deadline_ns in deadlines_ns:
        used = _used([s for s, other_ns in zip(tasks, deadlines_ns, strict=True) if other_ns <= deadline_ns])
        blocking.append(
            max(
                (
                    section.length_ns
                    for sections, other_ns in zip(tasks, deadlines_ns, strict=True)
                    if other_ns > deadline_ns
                    for section in sections
                    if section.resource in used
                ),
                default=0,
            )
        )
    return blocking


def inheritance_blocking_ns(tasks: Sequence[Sections], *, suspends: Sequence[bool] | None = None) -> list[int]:
    """Blocking under priority inheritance, per task in priority order.

    The lesser of: the longest relevant section of every lower task together; the longest lower section on every
    relevant resource together. A resource is relevant that the task or a higher one uses, or that is locked inside a
    lower section on a relevant one, through which chains of blocking run.
    Source: Sha, Rajkumar, Lehoczky 1990.

    Raises AnalysisNotApplicable when a task suspends.
    """
    _require_running(suspends, "under inheritance each lower task blocks once only while jobs do not suspend")
    blocking = []
    for own in range(len(tasks)):
        lower = tasks[own + 1 :]
        relevant = _used(tasks[: own + 1])
        while True:
            chained = {r for sections in lower for s in sections if s.resource in relevant for r in s.inside}
            if chained <= relevant:
                break
            relevant |= chained
        by_task = sum(max((s.length_ns for s in sections if s.resource in relevant), default=0) for sections in lower)
        by_resource = sum(
            max((s.length_ns for sections in lower for s in sections if s.resource == resource), default=0)
            for resource in relevant
        )
        blocking.append(min(by_task, by_resource))
    return blocking


@dataclass(frozen=True, slots=True)
class SpinTerms:
    """MSRP per task: spinning that adds to the wcet, and blocking by lower tasks on the same processor."""

    spin_ns: int
    blocking_ns: int


def msrp_terms(
    tasks: Sequence[Sections],
    processors: Sequence[int],
    requests: Sequence[Mapping[int, int]],
    shared: frozenset[int],
    *,
    cores: Mapping[int, int] | None = None,
    runs: Sequence[Sequence[Sections]] | None = None,
) -> list[SpinTerms]:
    """Spinning and blocking under MSRP, tasks in priority order over all processors.

    A request to a resource in `shared` (across processors) spins for at most one section of each other processor that
    uses it, first come first served; `requests[i]`: how often a job of task i requests each. A lower task on the same
    processor blocks once: with a local section under the ceiling, or with a spin and its global section, both not
    preemptible. Assumes that sections on shared resources are not nested. `cores`: of processors with several, of which
    each may be one section ahead. `runs[i]`: groups of sections of task i that follow each other without a gap, and so
    block together; by default each one alone.
    Source: Gai, Lipari, Di Natale 2001.

    Raises AnalysisNotApplicable for nested shared sections.
    """
    for position, sections in enumerate(tasks):
        for section in sections:
            if section.inside and (section.resource in shared or shared.intersection(section.inside)):
                raise AnalysisNotApplicable(
                    f"tasks[{position}]: a section on a resource shared across processors is nested; the MSRP terms "
                    "hold for sections that are not. Lock one resource instead of both."
                )
    spins = {
        (processor, resource): longest_spin_ns(tasks, processors, processor, resource, cores or {})
        for processor in set(processors)
        for resource in shared
    }
    grouped = runs if runs is not None else [[[section] for section in sections] for sections in tasks]
    terms = []
    for own, processor in enumerate(processors):
        here = [other for other in range(own + 1, len(tasks)) if processors[other] == processor]
        used = _used([tasks[other] for other in range(own + 1) if processors[other] == processor]) | shared
        blocking_ns = max(
            (
                sum(section.length_ns + spins.get((processor, section.resource), 0) for section in run)
                for other in here
                for run in grouped[other]
                if used.intersection(section.resource for section in run)
            ),
            default=0,
        )
        spin_ns = sum(count * spins[processor, r] for r, count in requests[own].items() if r in shared)
        terms.append(SpinTerms(spin_ns, blocking_ns))
    return terms


def longest_spin_ns(
    tasks: Sequence[Sections], processors: Sequence[int], processor: int, resource: int, cores: Mapping[int, int]
) -> int:
    """Longest spin of a request on `processor` under MSRP: the longest section of every other core."""
    return sum(
        cores.get(other, 1)
        * max(
            (
                section.length_ns
                for sections, place in zip(tasks, processors, strict=True)
                if place == other
                for section in sections
                if section.resource == resource
            ),
            default=0,
        )
        for other in set(processors) - {processor}
    )


def _used(tasks: Sequence[Sections]) -> set[int]:
    return {resource for sections in tasks for s in sections for resource in (s.resource, *s.inside)}


def _require_running(suspends: Sequence[bool] | None, why: str) -> None:
    for position, waits in enumerate(suspends or ()):
        if waits:
            raise AnalysisNotApplicable(
                f"tasks[{position}] suspends itself; {why}. Split the task at its suspension, or analyse it as MSRP."
            )


def region_blocking_ns(longest_region_ns: Sequence[int]) -> list[int]:
    """Blocking by regions that cannot be preempted, per task in priority order: the longest lower one less 1 ns.

    A lower job must have begun its region before. Holds for regions at fixed points and for floating ones: give it to
    `fp_response_times`, with the last regions for fixed points, without them for floating ones.
    Source: Bril, Lukkien, Verhaegh 2009; Baruah 2005 for floating regions.
    """
    blocking, longest_ns = [], 1
    for region_ns in reversed(longest_region_ns):
        blocking.append(longest_ns - 1)
        longest_ns = max(longest_ns, region_ns)
    return blocking[::-1]
