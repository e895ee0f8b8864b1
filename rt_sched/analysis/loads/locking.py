"""Blocking and spinning of every task, by the protocol of the resources that it and others share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rt_sched.analysis.loads.blockers import blockers, sections_before_late_jobs
from rt_sched.analysis.loads.load import Blocking
from rt_sched.analysis.theory.blocking import (
    Section,
    ceiling_blocking_ns,
    inheritance_blocking_ns,
    longest_spin_ns,
    msrp_terms,
    srp_blocking_ns,
)
from rt_sched.trace.setup import Policy, Protocol, SectionRow, Setup, TaskRow


@dataclass(frozen=True, slots=True)
class LockTerms:
    """`blocking` of a task by sections of less urgent ones, None with the `reason` why nothing bounds it; its spin."""

    blocking: Blocking | None = field(default_factory=Blocking)
    spin_ns: int = 0
    reason: str = ""


def lock_terms(setup: Setup, active: Sequence[bool], executed_ns: Mapping[int, int]) -> list[LockTerms]:
    """Terms of every task, in the order of `setup.tasks`; `executed_ns`: the most that a job of each executes.

    Resources of one core that never preempts block nobody, nor do those of a single task as long as they change
    neither preemption (msrp) nor which jobs may start (SRP). Ceilings are those of all tasks, whatever the mode.
    """
    terms = [LockTerms() for _ in setup.tasks]
    users = _users(setup, active)
    ever = _users(setup, [True] * len(setup.tasks))
    contested = {r for r, tasks in users.items() if _may_block(setup, r, ever[r]) and not _serial(setup, tasks)}
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


def _may_block(setup: Setup, resource: int, tasks: Sequence[int]) -> bool:
    if len(tasks) > 1 or setup.resources[resource].protocol is Protocol.MSRP:
        return True
    by_deadline = any(setup.processors[setup.tasks[index].processor].policy is Policy.EDF for index in tasks)
    return by_deadline and setup.resources[resource].protocol is Protocol.PRIORITY_CEILING


def _serial(setup: Setup, tasks: Sequence[int]) -> bool:
    """Whether all these run on one core on which no job preempts another."""
    places = {setup.tasks[index].processor for index in tasks}
    rows = [setup.processors[place] for place in places]
    if len(rows) > 1 or rows[0].cores > 1 or rows[0].policy in (Policy.TIME_SLICED, Policy.TABLE):
        return False
    return not rows[0].preemptive or rows[0].policy is Policy.FIFO


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
    if any(setup.resources[resource].protocol is not Protocol.MSRP for resource in distant):
        return refused(f"{names}: only msrp has an analysis across processors; use it for what they share")
    if row.policy in (Policy.TIME_SLICED, Policy.TABLE):
        return refused(f"{names}: locks under {row.policy.name.lower()} have no analysis; use fixed_priority or edf")
    if Protocol.PRIORITY_INHERITANCE in protocols and len(protocols) > 1:
        return refused(f"{names}: inheritance beside other protocols on one core has no analysis; use priority_ceiling")
    if Protocol.PRIORITY_INHERITANCE in protocols and _nest_in_circles([setup.tasks[index] for index in mine], here):
        return refused(f"{names}: sections nest in a circle, so that jobs can wait for each other forever")
    if row.policy is Policy.EDF and Protocol.PRIORITY_INHERITANCE in protocols:
        return refused(f"{names}: inheritance under edf has no analysis here; use priority_ceiling (SRP)")
    waits = any(setup.tasks[index].suspensions for index in mine)
    if row.policy is Policy.EDF and waits and Protocol.PRIORITY_CEILING in protocols:
        return refused(f"{names}: SRP looks at a job when it starts only, so none may suspend itself; use msrp")
    if Protocol.MSRP in protocols:
        nested = _nested_in_shared(setup, here, contested, users)
        if nested is not None:
            return refused(f"{nested}; the terms of msrp hold for single sections. Lock one resource instead of both")
        return _msrp(setup, number, here, users, executed_ns)
    # Tasks that the mode does not have raise ceilings, but hold nothing.
    order = _by_urgency(setup, [*mine, *_absent_users(setup, number, here, executed_ns)])
    sections = [_sections(setup.tasks[index], here, executed_ns.get(index, 0)) for index in order]
    if row.policy is Policy.EDF:
        totals = _srp(setup, order, sections)
    elif Protocol.PRIORITY_CEILING in protocols:
        totals = ceiling_blocking_ns(sections)
    else:
        # For each section that blocks its holder goes on, and then the job that waited: two switches more.
        sections = [[replace(one, length_ns=one.length_ns + 2 * row.switch_ns) for one in mine] for mine in sections]
        totals = inheritance_blocking_ns(sections)
    protocol = next(iter(protocols))
    by_deadline = row.policy is Policy.EDF
    return {
        index: LockTerms(Blocking(total, blockers(setup, order, sections, place, total, protocol), by_deadline))
        for place, (index, total) in enumerate(zip(order, totals, strict=True))
        if index in executed_ns
    }


def _absent_users(setup: Setup, number: int, resources: set[int], executed_ns: Mapping[int, int]) -> list[int]:
    """Tasks of a processor that use one of these in another mode only."""
    return [
        index
        for index, task in enumerate(setup.tasks)
        if task.processor == number
        and index not in executed_ns
        and any(one.resource in resources for one in task.sections)
    ]


def _nest_in_circles(tasks: Sequence[TaskRow], resources: set[int]) -> bool:
    """Whether no order of the resources is that in which every task locks what it holds together."""
    inner: dict[int, set[int]] = {resource: set() for resource in resources}
    for task in tasks:
        mine = [one for one in task.sections if one.resource in resources]
        for outer in mine:
            inner[outer.resource] |= {i.resource for i in mine if i is not outer and _inside(i, outer)}
    while free := [resource for resource, others in inner.items() if not others]:
        inner = {resource: others - set(free) for resource, others in inner.items() if others}
    return bool(inner)


def _by_urgency(setup: Setup, tasks: Sequence[int]) -> list[int]:
    """By level, under EDF by relative deadline."""

    def urgency(index: int) -> tuple[int, int]:
        task = setup.tasks[index]
        by_deadline = setup.processors[task.processor].policy is Policy.EDF
        return (task.deadline_ns if by_deadline else task.level, index)

    return sorted(tasks, key=urgency)


def _srp(setup: Setup, order: Sequence[int], sections: Sequence[Sequence[Section]]) -> list[int]:
    """Blocking under EDF; with jitter, which moves a job nearer to its deadline, one value for all.

    A job that is released its whole jitter late is blocked by any that has its deadline after it, provided that the
    ceiling keeps it from starting.
    """
    rows = [setup.tasks[index] for index in order]
    if not any(row.jitter_ns for row in rows):
        return srp_blocking_ns(sections, [row.deadline_ns for row in rows])
    longest_ns = max((section.length_ns for _, section in sections_before_late_jobs(rows, sections)), default=0)
    return [longest_ns] * len(rows)


def _sections(task: TaskRow, resources: set[int], executed_ns: int) -> list[Section]:
    """What a job holds at a stretch, beginning with each of its sections; what is locked inside counts as nested."""
    mine = [one for one in task.sections if one.resource in resources]
    found = []
    for one in mine:
        end_ns = at_a_stretch(one, mine)[-1].end_ns
        inner = {i.resource for i in mine if i is not one and one.start_ns <= i.start_ns < end_ns}
        length_ns = max(0, min(end_ns, executed_ns) - one.start_ns)
        found.append(Section(one.resource, length_ns, tuple(sorted(inner))))
    return found


def _nested_in_shared(
    setup: Setup, here: set[int], contested: set[int], users: Mapping[int, Sequence[int]]
) -> str | None:
    """Words for a section on a spin lock of these that contains, or lies in, another one: that might spin as well."""
    for resource in sorted(here):
        for index in users[resource]:
            mine = [one for one in setup.tasks[index].sections if one.resource in contested]
            for one in mine:
                around = [o for o in mine if o is not one and (_inside(one, o) or _inside(o, one))]
                locks = {setup.resources[o.resource].protocol for o in (one, *around)}
                if one.resource == resource and around and Protocol.MSRP in locks:
                    pair = " and ".join(sorted({setup.resources[o.resource].name for o in (one, *around)}))
                    return f"task {setup.tasks[index].name} nests sections on {pair}"
    return None


def _msrp(
    setup: Setup,
    number: int,
    contested: set[int],
    users: Mapping[int, Sequence[int]],
    executed_ns: Mapping[int, int],
) -> dict[int, LockTerms]:
    """Terms under MSRP of the tasks of one processor; all users of its resources are looked at."""
    everyone = _by_urgency(
        setup,
        list(
            {index for resource in contested for index in users[resource]}
            | {index for index, task in enumerate(setup.tasks) if task.processor == number and index in executed_ns}
            | set(_absent_users(setup, number, contested, executed_ns))
        ),
    )
    shared = frozenset(r for r in contested if setup.resources[r].protocol is Protocol.MSRP)
    rows = [[one for one in setup.tasks[index].sections if one.resource in contested] for index in everyone]
    sections = [
        [_section(one, mine, executed_ns.get(index, 0)) for one in mine]
        for index, mine in zip(everyone, rows, strict=True)
    ]
    runs = [
        [[_section(i, mine, executed_ns.get(index, 0)) for i in at_a_stretch(one, mine)] for one in mine]
        for index, mine in zip(everyone, rows, strict=True)
    ]
    requests = [Counter(section.resource for section in one) for one in sections]
    places = [setup.tasks[index].processor for index in everyone]
    cores = {place: setup.processors[place].cores for place in places}
    found = msrp_terms(sections, places, requests, shared, cores=cores, runs=runs)
    blocking_ns = {index: one.blocking_ns for index, one in zip(everyone, found, strict=True)}
    here = [i for i, place in enumerate(places) if place == number and everyone[i] in executed_ns]
    if setup.processors[number].policy is Policy.EDF and any(setup.tasks[everyone[i]].jitter_ns for i in here):
        # Jitter moves a job nearer to its deadline, so that any other may have a later one.
        spins = {r: longest_spin_ns(sections, places, number, r, cores) for r in shared}
        longest = {
            i: max((sum(s.length_ns + spins.get(s.resource, 0) for s in run) for run in runs[i]), default=0)
            for i in here
        }
        most_ns = max(longest.values()) if len(here) > 1 else 0
        blocking_ns |= {everyone[i]: most_ns for i in here}
    by = "a spin and section of a less urgent task"
    mixed = setup.processors[number].policy is Policy.EDF and contested != shared
    return {
        everyone[i]: LockTerms(
            Blocking(blocking_ns[everyone[i]], ((by, blocking_ns[everyone[i]]),), mixed)
            if blocking_ns[everyone[i]]
            else Blocking(),
            found[i].spin_ns,
        )
        for i in here
    }


def _section(one: SectionRow, mine: Sequence[SectionRow], executed_ns: int) -> Section:
    """One section by itself, no longer than a job executes."""
    inner = tuple(i.resource for i in mine if i is not one and _inside(i, one))
    return Section(one.resource, max(0, min(one.end_ns, executed_ns) - one.start_ns), inner)


def _inside(inner: SectionRow, outer: SectionRow) -> bool:
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns


def at_a_stretch(first: SectionRow, mine: Sequence[SectionRow]) -> list[SectionRow]:
    """`first` and the sections that follow it: whoever unlocks and locks at one instant lets nobody in between."""
    run = [first]
    longer = [one for one in mine if one.start_ns < one.end_ns]
    while follower := max((i for i in longer if i.start_ns == run[-1].end_ns), key=lambda i: i.end_ns, default=None):
        run.append(follower)
    return run
