"""What single jobs do with locks (semantics 14): where they lock and unlock, and that they wait meanwhile."""

from __future__ import annotations

from collections import defaultdict

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.rescaling import Offsets
from rt_sched.trace.records import JobStatus, SliceKind
from rt_sched.trace.setup import SectionRow

_LOST = int(JobStatus.LOST)

#: "request", "lock", "unlock" or "dead"; instant; resource.
Act = tuple[str, int, int]


def check_programs(history: History, acted: dict[int, list[Act]], found: Findings) -> None:
    """Every job locks and unlocks at the executed times that its task declares, in their order."""
    offsets = Offsets(history)
    for stay in history.stays:
        row = stay.row
        if not row.sections:
            for job in stay.jobs.tolist():
                if acted.get(job):
                    text = "no lock event: it has no sections"
                    found.add(Rule.RESOURCES, acted[job][0][1], history.job_name(job), text)
            continue
        ordered = sorted(row.sections, key=lambda one: (one.start_ns, -one.end_ns, one.resource))
        for job in stay.jobs.tolist():
            sections = ordered
            if not offsets.unmoved(job):
                sections = [
                    SectionRow(one.resource, offsets.of(job, one.start_ns), offsets.of(job, one.end_ns))
                    for one in ordered
                ]
            _program(history, job, sections, acted.get(job, []), found)


def _program(
    history: History,
    job: int,
    sections: list[SectionRow],
    acted: list[Act],
    found: Findings,
) -> None:
    jobs, where = history.trace.jobs, history.job_name(job)
    executed_ns = int(history.executed_ns[job])
    ended = history.end_ns[job] <= history.trace.horizon_ns
    due = [one for one in sections if one.start_ns < executed_ns]
    locked = [(time_ns, resource) for what, time_ns, resource in acted if what == "lock"]
    for place, (time_ns, resource) in enumerate(locked):
        name = history.setup.resources[resource].name
        if place >= len(sections) or sections[place].resource != resource:
            found.add(Rule.RESOURCES, time_ns, where, f"it does not lock {name} here")
            return
        at_ns = history.executed_at(job, time_ns)
        if at_ns != sections[place].start_ns:
            text = f"it locks {name} when it has executed {sections[place].start_ns} ns, not {at_ns} ns"
            found.add(Rule.RESOURCES, time_ns, where, text)
    if len(locked) < len(due):
        one = due[len(locked)]
        name = history.setup.resources[one.resource].name
        text = f"it locks {name} when it has executed {one.start_ns} ns"
        found.add(Rule.RESOURCES, history.reached_ns(job, max(one.start_ns, 1)), where, text)
    open_sections: dict[int, list[SectionRow]] = defaultdict(list)
    place = 0
    for what, time_ns, resource in acted:
        name = history.setup.resources[resource].name
        if what == "lock":
            open_sections[resource].append(sections[place])
            place += 1
        elif what == "request":
            at_ns = history.executed_at(job, time_ns)
            if place < len(sections) and at_ns != sections[place].start_ns:
                text = f"it requests {name} when it has executed {sections[place].start_ns} ns, not {at_ns} ns"
                found.add(Rule.RESOURCES, time_ns, where, text)
        elif what == "unlock" and open_sections[resource]:
            at_ns = history.executed_at(job, time_ns)
            until_ns = open_sections[resource].pop().end_ns
            if jobs.finish_ns[job] == time_ns:
                until_ns = min(until_ns, executed_ns)
            if at_ns != until_ns:
                text = f"it unlocks {name} when it has executed {until_ns} ns, not {at_ns} ns"
                found.add(Rule.RESOURCES, time_ns, where, text)
        elif what == "dead":
            if open_sections[resource]:
                open_sections[resource].pop()
            if jobs.status[job] != _LOST and time_ns not in history.moves[int(history.task[job])]:
                found.add(Rule.RESOURCES, time_ns, where, f"it unlocks {name} itself: it is neither lost nor moved")
    for resource, still in open_sections.items():
        for one in still:
            if not ended and one.end_ns < executed_ns:
                name = history.setup.resources[resource].name
                text = f"it unlocks {name} when it has executed {one.end_ns} ns"
                found.add(Rule.RESOURCES, history.reached_ns(job, one.end_ns), where, text)


def check_waiting(history: History, waits: list[tuple[int, int, int, bool]], found: Findings) -> None:
    """A job that waits for a lock does not execute; only for an msrp lock it spins."""
    slices, order = history.trace.slices, history.slices_by_job
    jobs = slices.job[order]
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for job, begin_ns, end_ns, spins in waits:
        first, last = jobs.searchsorted(job), jobs.searchsorted(job, side="right")
        if spins:
            spans[job].append((begin_ns, end_ns))
        for place in order[first:last].tolist():
            kind = int(slices.kind[place])
            inside = slices.start_ns[place] < end_ns and slices.end_ns[place] > begin_ns
            if inside and not (spins and kind != SliceKind.EXECUTE):
                text = f"it waits for a lock from {begin_ns} to {end_ns} ns and does not run meanwhile"
                found.add(Rule.RESOURCES, int(slices.start_ns[place]), history.job_name(job), text)
    for place in (slices.kind == SliceKind.SPIN).nonzero()[0].tolist():
        job, begin_ns, end_ns = int(slices.job[place]), int(slices.start_ns[place]), int(slices.end_ns[place])
        if not any(first_ns <= begin_ns and end_ns <= last_ns for first_ns, last_ns in spans.get(job, ())):
            text = "it spins only while it waits for an msrp lock"
            found.add(Rule.RESOURCES, begin_ns, history.job_name(job), text)
