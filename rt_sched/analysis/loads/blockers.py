"""Which sections of which tasks a blocking is due to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rt_sched.analysis.theory.blocking import Section
from rt_sched.trace.setup import Policy, Protocol, Setup, TaskRow


def blockers(
    setup: Setup,
    order: Sequence[int],
    sections: Sequence[Sequence[Section]],
    own: int,
    total_ns: int,
    protocol: Protocol,
) -> tuple[tuple[str, int], ...]:
    """Who blocks: the one section whose length it is, or under inheritance all lower tasks together."""
    if total_ns == 0:
        return ()
    if protocol is not Protocol.PRIORITY_INHERITANCE:
        for place, section in _blocking_sections(setup, order, sections, own):
            if section.length_ns == total_ns:
                where = f"{setup.tasks[order[place]].name} in {setup.resources[section.resource].name}"
                return ((where, total_ns),)
    return (("sections of less urgent tasks", total_ns),)


def _blocking_sections(
    setup: Setup, order: Sequence[int], sections: Sequence[Sequence[Section]], own: int
) -> Iterator[tuple[int, Section]]:
    """Sections, with the place of their task, whose ceiling can keep the task at place `own` from starting."""
    rows = [setup.tasks[index] for index in order]
    by_deadline = setup.processors[rows[own].processor].policy is Policy.EDF
    if by_deadline and any(row.jitter_ns for row in rows):
        yield from sections_before_late_jobs(rows, sections)
        return
    for place, mine in enumerate(sections):
        less_urgent = rows[place].deadline_ns > rows[own].deadline_ns if by_deadline else place > own
        for section in mine if less_urgent else ():
            if any(
                one.resource == section.resource
                for user, others in enumerate(sections)
                if (rows[user].deadline_ns <= rows[own].deadline_ns if by_deadline else user <= own)
                for one in others
            ):
                yield place, section


def sections_before_late_jobs(
    rows: Sequence[TaskRow], sections: Sequence[Sequence[Section]]
) -> Iterator[tuple[int, Section]]:
    """Sections, with the place of their task, that may block some job which jitter moves nearer to its deadline."""
    ceiling_ns: dict[int, int] = {}
    for row, mine in zip(rows, sections, strict=True):
        for section in mine:
            ceiling_ns[section.resource] = min(ceiling_ns.get(section.resource, row.deadline_ns), row.deadline_ns)
    for holder, mine in enumerate(sections):
        for section in mine:
            ceiling = min(ceiling_ns[r] for r in (section.resource, *section.inside))
            if any(
                blocked != holder
                and row.deadline_ns - row.jitter_ns < rows[holder].deadline_ns
                and row.deadline_ns >= ceiling
                for blocked, row in enumerate(rows)
            ):
                yield holder, section
