"""Which core a job gets on a processor with several (semantics 5)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.intervals import Intervals, brief_stays
from rt_sched.trace.records import EventKind


def check_core_choice(
    history: History, row: int, wait: Intervals, run: Intervals, left: dict[int, set[int]], found: Findings
) -> None:
    """Repeat the choices of every instant at which jobs got cores: last core, lowest free one, that of the worst."""
    jobs = history.trace.jobs
    first, count = int(history.first_core[row]), int(history.cores[row])
    begins: dict[int, list[int]] = defaultdict(list)
    order = np.lexsort((run.core, run.begin_ns))
    run = run.of(order)
    columns = (run.job, run.begin_ns, run.end_ns, run.core, run.key, run.open)
    job, begin_ns, end_ns, core, key, is_open = (column.tolist() for column in columns)
    for place, at_ns in enumerate(begin_ns):
        begins[at_ns].append(place)
    unclear = {time_ns for time_ns, one, _, _ in history.events(EventKind.REQUEST) if history.row[one] == row}
    unclear |= {time_ns for one, times in left.items() if history.row[one] == row for time_ns in times}
    present: list[int] = [-1] * count
    last_core: dict[int, int] = {}
    vague = {job for job, _ in brief_stays(history)}
    waits = set(zip(wait.job.tolist(), wait.begin_ns.tolist(), strict=True))
    for at_ns, places in begins.items():
        before = list(present)
        for place in places:
            present[core[place] - first] = place
        continuing = [p if p >= 0 and end_ns[p] > at_ns and begin_ns[p] < at_ns else -1 for p in before]
        kept = {
            core[p] - first
            for p in places
            if before[core[p] - first] >= 0
            and job[before[core[p] - first]] == job[p]
            and end_ns[before[core[p] - first]] == at_ns
        }
        fresh = [p for p in places if core[p] - first not in kept]
        if fresh and at_ns not in unclear:
            losers = {
                place
                for place, p in enumerate(before)
                if p >= 0 and end_ns[p] == at_ns and place not in kept and (job[p], at_ns) in waits
            }
            rank = {p: (key[p], int(jobs.release_ns[job[p]]), int(history.task[job[p]])) for p in fresh}
            free = [place for place in range(count) if continuing[place] < 0 and place not in kept | losers]
            victims = {place: before[place] for place in losers}
            for place in kept:
                victims[place] = next(p for p in places if core[p] - first == place)
            victims |= {place: p for place, p in enumerate(continuing) if p >= 0}
            for p in sorted(fresh, key=rank.__getitem__):
                chosen = core[p] - first
                if job[p] in vague:
                    break
                if free:
                    last = last_core.get(job[p], -1)
                    should = last if last in free else free[0]
                    if chosen in free:
                        free.remove(chosen)
                else:
                    preemptible = [v for v in victims if v in losers or is_open[victims[v]]]
                    should = max(
                        preemptible,
                        key=lambda v: (
                            key[victims[v]],
                            int(jobs.release_ns[job[victims[v]]]),
                            int(history.task[job[victims[v]]]),
                        ),
                        default=chosen,
                    )
                    victims.pop(chosen, None)
                if chosen != should:
                    where = history.core_name(first + chosen)
                    text = f"{history.job_name(job[p])} takes {history.core_name(first + should)}"
                    found.add(Rule.CORE_CHOICE, at_ns, where, text)
                    break
        for place in places:
            last_core[job[place]] = core[place] - first
