"""Which core a job gets on a processor with several (semantics 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from rt_sched.trace.checker.findings import Findings, Rule
from rt_sched.trace.checker.history import History
from rt_sched.trace.checker.intervals import Intervals
from rt_sched.trace.checker.locks import LockHistory

#: Effective key of a job from an instant on.
KeyNow = Callable[[int, int], int]


def check_core_choice(
    history: History,
    row: int,
    wait: Intervals,
    run: Intervals,
    left: dict[int, set[int]],
    locks: LockHistory,
    key_now: KeyNow,
    found: Findings,
) -> None:
    """Repeat the choices of every instant at which jobs got cores: last core, lowest free one, that of the worst.

    Instants at which jobs give up cores by themselves are left out: cores may then change hands more than once. So are
    those at which a dispatched job unlocks or waits at once and others become ready, or get other keys, by that.
    """
    run = run.of(np.lexsort((run.core, run.begin_ns)))
    begins: dict[int, list[int]] = defaultdict(list)
    for place, at_ns in enumerate(run.begin_ns.tolist()):
        begins[at_ns].append(place)
    unclear = {time_ns for job, times in left.items() if history.row[job] == row for time_ns in times}
    unclear |= {time_ns for job, time_ns in locks.in_rounds if history.row[job] == row}
    cores = _Cores(history, row, wait, run, key_now)
    for at_ns, places in begins.items():
        fresh = cores.enter(at_ns, places)
        if fresh and at_ns not in unclear:
            cores.compare(at_ns, fresh, found)


class _Cores:
    """The cores of one processor from instant to instant; a core is counted from the processor's first."""

    def __init__(self, history: History, row: int, wait: Intervals, run: Intervals, key_now: KeyNow) -> None:
        self._history, self._key_now = history, key_now
        self._first, self._count = int(history.first_core[row]), int(history.cores[row])
        self._job, self._end_ns = run.job.tolist(), run.end_ns.tolist()
        self._core, self._open = (run.core - self._first).tolist(), run.open.tolist()
        self._stops = set(zip(wait.job.tolist(), wait.begin_ns.tolist(), strict=True))
        self._vague = {job for job, _ in history.brief_stays}
        self._present = [-1] * self._count
        self._last_core: dict[int, int] = {}
        self._entered: list[int] = []
        self._free: list[int] = []
        self._victims: dict[int, int] = {}

    def enter(self, at_ns: int, places: list[int]) -> list[int]:
        """Take in what begins at an instant; returns what gets a core anew.

        Until the next call `_free` holds the cores that were free for it, `_victims` what ran on the others.
        """
        before = list(self._present)
        self._free, self._victims = [], {}
        goes_on = {self._core[place] for place in places if self._follows(before[self._core[place]], place, at_ns)}
        for core, place in enumerate(before):
            running = place >= 0 and self._end_ns[place] > at_ns
            preempted = place >= 0 and self._end_ns[place] == at_ns and (self._job[place], at_ns) in self._stops
            if running or preempted or core in goes_on:
                self._victims[core] = place
            else:
                self._free.append(core)
        for place in places:
            if self._core[place] in goes_on:
                self._victims[self._core[place]] = place
            self._present[self._core[place]] = place
        self._last_core.update({self._job[place]: self._core[place] for place in self._entered})
        self._entered = places
        return [place for place in places if self._core[place] not in goes_on]

    def _follows(self, before: int, place: int, at_ns: int) -> bool:
        return bool(before >= 0 and self._job[before] == self._job[place] and self._end_ns[before] == at_ns)

    def compare(self, at_ns: int, fresh: list[int], found: Findings) -> None:
        """One choice after the other, the best job first."""
        for place in sorted(fresh, key=lambda one: self._rank(self._job[one], at_ns)):
            job, chosen = self._job[place], self._core[place]
            if job in self._vague:
                return
            if self._free:
                last = self._last_core.get(job, -1)
                should = last if last in self._free else self._free[0]
            else:
                open_to = [core for core, one in self._victims.items() if self._may_lose(one, at_ns)]
                should = max(
                    open_to, key=lambda core: self._rank(self._job[self._victims[core]], at_ns), default=chosen
                )
            if chosen != should:
                history = self._history
                text = f"{history.job_name(job)} takes {history.core_name(self._first + should)}"
                found.add(Rule.CORE_CHOICE, at_ns, history.core_name(self._first + chosen), text)
                return
            if chosen in self._free:
                self._free.remove(chosen)
            self._victims.pop(chosen, None)

    def _may_lose(self, place: int, at_ns: int) -> bool:
        """Whether what ran may be preempted now: it is open to it, or it was."""
        return bool(self._open[place]) or self._end_ns[place] == at_ns

    def _rank(self, job: int, at_ns: int) -> tuple[int, int, int]:
        return (
            self._key_now(job, at_ns),
            int(self._history.trace.jobs.release_ns[job]),
            int(self._history.task[job]),
        )
