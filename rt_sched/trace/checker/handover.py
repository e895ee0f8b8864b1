"""Instants at which cores change hands: preemptions, skipped jobs, and what every start and resume costs."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.intervals import Intervals
from rt_sched.trace.checker.keys import key_at, preempts
from rt_sched.trace.checker.locks import LockHistory
from rt_sched.trace.checker.rescaling import Offsets
from rt_sched.trace.checker.windows import SliceWindows, spans_of
from rt_sched.trace.records import Int64s, JobStatus, SliceKind
from rt_sched.trace.setup import Policy

#: Per job the instants at which it gave up its core by itself.
Left = dict[int, set[int]]


def boundaries(history: History) -> list[set[int]]:
    """Per processor the instants at which slices or table entries begin or end."""
    found: list[set[int]] = []
    for row, processor in enumerate(history.setup.processors):
        instants: set[int] = set()
        if processor.policy in (Policy.TIME_SLICED, Policy.TABLE):
            spans = spans_of(history, row)
            instants.update(spans.begin_ns.tolist(), spans.usable_ns.tolist(), spans.end_ns.tolist())
        found.append(instants)
    return found


def check_stops(
    history: History, locks: LockHistory, own: Int64s, left: Left, stopped: Intervals, rows: Int64s, found: Findings
) -> None:
    """A job that stops running although it could go on was preempted: where that is allowed, by a better one.

    `stopped`: waiting intervals that begin with the end of a slice; `rows`: those slices.
    """
    if not len(stopped):
        return
    slices = history.trace.slices
    winners = _winners(history, rows)
    brief = _brief_on_rows(history)
    edges, offsets = boundaries(history), Offsets(history)
    shared = {
        row: SliceWindows(history, row)
        for row, processor in enumerate(history.setup.processors)
        if processor.slack_sharing
    }
    columns = (stopped.job.tolist(), stopped.begin_ns.tolist(), rows.tolist(), winners)
    for job, at_ns, place, winner in zip(*columns, strict=True):
        row = int(history.row[job])
        processor = history.setup.processors[row]
        if at_ns in edges[row] or at_ns in left.get(job, ()):
            continue
        core = int(slices.processor[place])
        where, who = history.core_name(core), history.job_name(job)
        task = history.task_row(job)
        if locks.fixed_at(job, at_ns):
            found.add(Rule.PREEMPTION, at_ns, where, f"{who} keeps the core from an msrp request to the unlock")
        elif slices.kind[place] == SliceKind.SWITCH and not _prefix_over(history, place):
            found.add(Rule.PREEMPTION, at_ns, where, f"{who} keeps the core during its switch cost")
        elif processor.slack_sharing and any(
            shared[row].takes_back(one, job, at_ns)
            for one in (*([] if winner is None else [winner]), *brief.get((row, at_ns), ()))
        ):
            continue
        elif not preempts(processor):
            found.add(Rule.PREEMPTION, at_ns, where, f"{who} keeps the core: the processor is not preemptive")
        elif task.preemption_points_ns is not None and history.executed_at(job, at_ns) not in [
            offsets.of(job, point_ns) for point_ns in task.preemption_points_ns
        ]:
            text = f"{who} keeps the core between its preemption points"
            found.add(Rule.PREEMPTION, at_ns, where, text)
        elif winner is None:
            if (row, at_ns) not in brief:
                found.add(Rule.PREEMPTION, at_ns, where, f"{who} keeps the core: nobody takes it")
        else:
            mine = key_at(locks.keys.get(job), int(own[job]), at_ns)
            theirs = key_at(locks.keys.get(winner), int(own[winner]), at_ns)
            # What they had in another round of this instant counts as well.
            worst = max([mine, *locks.in_rounds.get((job, at_ns), ())])
            best = min([theirs, *locks.in_rounds.get((winner, at_ns), ())])
            if best >= worst and (row, at_ns) not in brief:
                text = f"{who} (key {mine}) keeps the core: {history.job_name(winner)} (key {theirs}) is not better"
                found.add(Rule.PREEMPTION, at_ns, where, text)


def _winners(history: History, rows: Int64s) -> list[int | None]:
    """Per slice the job that takes its core at its end, None for nobody."""
    slices, order = history.trace.slices, history.slices_by_core
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    following = place_of[rows] + 1
    inside = following < len(order)
    after = order[np.where(inside, following, 0)]
    taken = (
        inside & (slices.processor[after] == slices.processor[rows]) & (slices.start_ns[after] == slices.end_ns[rows])
    )
    return [job if took else None for job, took in zip(slices.job[after].tolist(), taken.tolist(), strict=True)]


def _brief_on_rows(history: History) -> dict[tuple[int, int], list[int]]:
    """Per processor and instant the jobs that got one of its cores for no time at all."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for job, time_ns in history.brief_stays:
        found[int(history.row[job]), time_ns].append(job)
    return found


def _prefix_over(history: History, place: int) -> bool:
    """Whether a switch slice is as long as the cost of its processor, so that it ends at an ordinary instant."""
    slices = history.trace.slices
    processor = history.setup.processors[int(history.row_of_core[slices.processor[place]])]
    length_ns = int(slices.end_ns[place] - slices.start_ns[place])
    return length_ns in (processor.switch_ns, processor.switch_ns + processor.migration_ns)


def check_skips(
    history: History, own: Int64s, wait: Intervals, run: Intervals, locks: LockHistory, found: Findings
) -> None:
    """A job is skipped when it would be dispatched: a core is free for it or runs what it may preempt."""
    jobs = history.trace.jobs
    skipped = np.flatnonzero(jobs.status == JobStatus.SKIPPED)
    if not len(skipped):
        return
    order = np.lexsort((run.begin_ns, run.core))
    run = run.of(order)
    bounds = np.searchsorted(run.core, np.arange(len(history.row_of_core) + 1))
    waited = {int(job): int(key) for job, key in zip(wait.job.tolist(), wait.key.tolist(), strict=True)}
    for job in skipped.tolist():
        at_ns, row = int(history.end_ns[job]), int(history.row[job])
        processor = history.setup.processors[row]
        if at_ns < history.head_ns[job]:
            text = f"not skipped before {int(history.head_ns[job])} ns, when it is released and the oldest of its task"
            found.add(Rule.EDGES, at_ns, history.job_name(job), text)
            continue
        if processor.slices or processor.table:
            continue
        key = waited.get(job, key_at(locks.keys.get(job), int(own[job]), at_ns))
        first_core = int(history.first_core[row])
        possible = False
        for core in range(first_core, first_core + processor.cores):
            place = int(np.searchsorted(run.begin_ns[bounds[core] : bounds[core + 1]], at_ns, side="right")) - 1
            place += int(bounds[core])
            if place < bounds[core] or run.end_ns[place] <= at_ns:
                possible = True
            elif run.begin_ns[place] == at_ns:
                # What it locks as it begins may already have improved its key, or it was not yet its task's oldest.
                other = int(run.job[place])
                possible = possible or max(run.key[place], own[other]) >= key or _follows_skipped(history, other, at_ns)
            else:
                # A job with preemption points may stand at one of them.
                limited = history.task_row(int(run.job[place])).preemption_points_ns
                possible = possible or (bool(run.open[place] or limited) and run.key[place] > key)
        if not possible:
            text = "it is skipped only when it would get a core"
            found.add(Rule.DISPATCH, at_ns, history.job_name(job), text)


def _follows_skipped(history: History, job: int, at_ns: int) -> bool:
    """Whether a job became the oldest of its task only when the one before it was skipped at that instant."""
    status = history.trace.jobs.status
    before = int(history.before[job])
    while before >= 0 and status[before] == JobStatus.SUPPRESSED:
        before = int(history.before[before])
    return bool(before >= 0 and status[before] == JobStatus.SKIPPED and history.end_ns[before] == at_ns)


def check_overheads(history: History, left: Left, found: Findings) -> None:
    """Every stay on a core begins with its switch and migration cost, once."""
    slices, order = history.trace.slices, history.slices_by_job
    if not len(order):
        return
    job, core = slices.job[order], slices.processor[order].astype(np.int64)
    begin_ns, end_ns, kind = slices.start_ns[order], slices.end_ns[order], slices.kind[order]
    edges = boundaries(history)
    row = history.row_of_core[core]
    goes_on = (job[1:] == job[:-1]) & (core[1:] == core[:-1]) & (begin_ns[1:] == end_ns[:-1])
    switching = kind == SliceKind.SWITCH
    again = goes_on & switching[1:]
    sliced = np.array([p.policy in (Policy.TIME_SLICED, Policy.TABLE) for p in history.setup.processors], np.bool_)[row]
    for place in np.flatnonzero(goes_on & sliced[1:]).tolist():
        if int(begin_ns[place + 1]) in edges[int(row[place])]:
            goes_on[place] = False
    goes_on &= ~switching[1:]
    first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    switch_ns = np.array([p.switch_ns for p in history.setup.processors], np.int64)[row[first]]
    migration_ns = np.array([p.migration_ns for p in history.setup.processors], np.int64)[row[first]]
    resumed = np.concatenate([[False], job[first[1:]] == job[first[:-1]]])
    moved = np.concatenate([[False], core[first[1:]] != core[first[:-1]]]) & resumed
    expected = switch_ns + np.where(moved, migration_ns, 0)
    paid = np.where(switching[first], end_ns[first] - begin_ns[first], 0)
    stay_end = end_ns[np.concatenate([first[1:] - 1, [len(order) - 1]])]
    only_switch = stay_end == np.where(switching[first], end_ns[first], -1)
    brief = {who for who, _ in history.brief_stays}
    for at in np.flatnonzero(paid != expected).tolist():
        who, time_ns = int(job[first[at]]), int(begin_ns[first[at]])
        cut_off = only_switch[at] and paid[at] < expected[at]
        if cut_off and _may_be_cut(history, who, int(stay_end[at]), edges[int(row[first[at]])]):
            continue
        if who in brief and int(paid[at]) in (int(switch_ns[at]), int(switch_ns[at] + migration_ns[at])):
            continue
        text = f"{history.job_name(who)} pays {int(expected[at])} ns before it runs on, not {int(paid[at])} ns"
        found.add(Rule.OVERHEADS, time_ns, history.core_name(int(core[first[at]])), text)
    stays = _brief_on_rows(history) if again.any() else {}
    for place in np.flatnonzero(again).tolist():
        who, time_ns = int(job[place + 1]), int(begin_ns[place + 1])
        at_row = int(row[place])
        if time_ns in left.get(who, ()) or time_ns in edges[at_row] or (at_row, time_ns) in stays:
            continue
        text = f"{history.job_name(who)} kept its core and pays no switch"
        found.add(Rule.OVERHEADS, time_ns, history.core_name(int(core[place])), text)


def _may_be_cut(history: History, job: int, at_ns: int, edges: set[int]) -> bool:
    return at_ns in edges or at_ns == history.trace.horizon_ns or at_ns == int(history.end_ns[job])
