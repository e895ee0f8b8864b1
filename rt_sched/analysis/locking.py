"""Blocking and spinning of every task, by the protocol of the resources that it and others share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rt_sched.analysis.blocking import (
    Section,
    ceiling_blocking_ns,
    inheritance_blocking_ns,
    msrp_terms,
    srp_blocking_ns,
)
from rt_sched.analysis.load import Blocking
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.trace.setup import Policy, Protocol, SectionRow, Setup, TaskRow


@dataclass(frozen=True, slots=True)
class LockTerms:
    """`blocking` of a task by sections of less urgent ones, None with the `reason` why nothing bounds it; its spin."""

    blocking: Blocking | None = field(default_factory=Blocking)
    spin_ns: int = 0
    reason: str = ""


def lock_terms(setup: Setup, active: Sequence[bool], executed_ns: Mapping[int, int]) -> list[LockTerms]:
    """Terms of every task, in the order of `setup.tasks`; `executed_ns`: the most that a job of each executes.

    Resources that only one task uses, or only tasks of one core that never preempts inside their sections, block
    nobody.
    """
    terms = [LockTerms() for _ in setup.tasks]
    users = _users(setup, active)
    contested = {resource for resource, tasks in users.items() if len(tasks) > 1 and not _serial(setup, tasks)}
    for number in range(len(setup.processors)):
        mine = [i for i, task in enumerate(setup.tasks) if task.processor == number and active[i]]
        for index, one in _on_processor(setup, number, mine, contested, users, executed_ns).items():
            terms[index] = one
    return terms


def _users(setup: Setup, active: Sequence[bool]) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {}
    for index, task in enumerate(setup.tasks):
        for resource in {section.resource for section in task.sections} if active[index] else ():
            users.setdefault(resource, []).append(index)
    return users


def _serial(setup: Setup, tasks: Sequence[int]) -> bool:
    """Whether all these run on one core on which no job preempts another."""
    places = {setup.tasks[index].processor for index in tasks}
    rows = [setup.processors[place] for place in places]
    return len(rows) == 1 and rows[0].cores == 1 and (not rows[0].preemptive or rows[0].policy is Policy.FIFO)


def _on_processor(
    setup: Setup,
    number: int,
    mine: Sequence[int],
    contested: set[int],
    users: Mapping[int, Sequence[int]],
    executed_ns: Mapping[int, int],
) -> dict[int, LockTerms]:
    here = {r for r in contested if any(setup.tasks[index].processor == number for index in users[r])}
    if not here:
        return {}
    row = setup.processors[number]
    protocols = {setup.resources[resource].protocol for resource in here}
    names = ", ".join(sorted(setup.resources[resource].name for resource in here))
    distant = {r for r in here if len({setup.tasks[index].processor for index in users[r]}) > 1}

    def refused(reason: str) -> dict[int, LockTerms]:
        return {index: LockTerms(None, 0, reason) for index in mine}

    if Protocol.NONE in protocols:
        return refused(f"{names}: without a protocol the inversion is not bounded; use priority_ceiling or msrp")
    if row.cores > 1:
        return refused(f"{names}: no analysis here bounds locks on several cores that share a queue; partition them")
    if len(protocols) > 1:
        return refused(f"{names}: resources of one core under several protocols; use one protocol for all")
    (protocol,) = protocols
    if distant and protocol is not Protocol.MSRP:
        return refused(f"{names}: {protocol.name.lower()} across processors has no analysis; use msrp")
    if row.policy not in (Policy.FIXED_PRIORITY, Policy.EDF):
        return refused(f"{names}: locks under {row.policy.name.lower()} have no analysis; use fixed_priority or edf")
    if protocol is Protocol.MSRP:
        return _msrp(setup, number, contested, users, executed_ns)
    order = sorted(mine, key=lambda index: (setup.tasks[index].level, index))
    sections = [_sections(setup.tasks[index], here, executed_ns[index]) for index in order]
    waits = [bool(setup.tasks[index].suspensions) for index in order]
    try:
        if row.policy is Policy.EDF:
            if protocol is Protocol.PRIORITY_INHERITANCE:
                return refused(f"{names}: inheritance under edf has no analysis here; use priority_ceiling (SRP)")
            if any(waits):
                return refused(f"{names}: SRP blocks once only while jobs do not suspend")
            totals = srp_blocking_ns(sections, [setup.tasks[index].deadline_ns for index in order])
        elif protocol is Protocol.PRIORITY_CEILING:
            totals = ceiling_blocking_ns(sections, suspends=waits)
        else:
            totals = inheritance_blocking_ns(sections, suspends=waits)
    except AnalysisNotApplicable as error:
        return refused(f"{names}: {error}")
    return {
        index: LockTerms(Blocking(total, _by(setup, order, sections, place, total, protocol)))
        for place, (index, total) in enumerate(zip(order, totals, strict=True))
    }


def _sections(task: TaskRow, resources: set[int], executed_ns: int) -> list[Section]:
    """Sections on these resources, none longer than a job executes; what is locked inside counts as nested."""
    found = []
    for one in task.sections:
        if one.resource in resources:
            inner = tuple(
                sorted(
                    {i.resource for i in task.sections if i is not one and _inside(i, one) and i.resource in resources}
                )
            )
            found.append(Section(one.resource, max(0, min(one.end_ns, executed_ns) - one.start_ns), inner))
    return found


def _inside(inner: SectionRow, outer: SectionRow) -> bool:
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns


def _by(
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
    lower = [place for place in range(len(order)) if place != own]
    if protocol is not Protocol.PRIORITY_INHERITANCE:
        for place in lower:
            for section in sections[place]:
                if section.length_ns == total_ns:
                    where = f"{setup.tasks[order[place]].name} in {setup.resources[section.resource].name}"
                    return ((where, total_ns),)
    return (("sections of less urgent tasks", total_ns),)


def _msrp(
    setup: Setup,
    number: int,
    contested: set[int],
    users: Mapping[int, Sequence[int]],
    executed_ns: Mapping[int, int],
) -> dict[int, LockTerms]:
    """Terms under MSRP of the tasks of one processor; all users of its resources are looked at."""
    everyone = sorted(
        {index for resource in contested for index in users[resource]}
        | {index for index, task in enumerate(setup.tasks) if task.processor == number and index in executed_ns},
        key=lambda index: (setup.tasks[index].level, index),
    )
    shared = frozenset(r for r in contested if setup.resources[r].protocol is Protocol.MSRP)
    sections = [_sections(setup.tasks[index], contested, executed_ns[index]) for index in everyone]
    requests = [Counter(section.resource for section in one) for one in sections]
    try:
        found = msrp_terms(sections, [setup.tasks[index].processor for index in everyone], requests, shared)
    except AnalysisNotApplicable as error:
        return {index: LockTerms(None, 0, str(error)) for index in everyone if setup.tasks[index].processor == number}
    return {
        index: LockTerms(
            Blocking(one.blocking_ns, (("a spin and section of a less urgent task", one.blocking_ns),))
            if one.blocking_ns
            else Blocking(),
            one.spin_ns,
        )
        for index, one in zip(everyone, found, strict=True)
        if setup.tasks[index].processor == number
    }
