"""Strikes at processes of a paced run: signals that are sent at an instant of run time, or as soon as a job is hit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.journal import NONE, Journal
from rt_sched.runtime.paced.seats.tier import SUPERVISOR_PRIORITY
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.trace.records import JobStatus

#: How often it is looked whether a job has begun that is to be hit.
_LOOK_S = 0.0002


@dataclass(frozen=True, slots=True)
class Strike:
    """`time_ns`: run time. `number`: of the signal, such as SIGKILL or SIGSTOP.

    `processes`: whom it hits, asked at that instant; negative numbers are process groups, as for kill(2). `inside`: the
    journals of tasks one of which must have a job between its start and its end, for which it is waited; empty: it
    comes at `time_ns`, whatever is going on.
    """

    time_ns: int
    number: signal.Signals
    processes: Callable[[], Sequence[int]]
    inside: tuple[Journal, ...] = ()


@dataclass(frozen=True, slots=True)
class Struck:
    """What became of a strike: `struck_ns`, read before the signal was sent, None where the run ended before.

    `hit`: how many processes or groups it reached. `journal`, `job`: of the job it was to land in, by their place in
    `inside` and their number; None where it waited for none.
    """

    struck_ns: int | None
    hit: int
    journal: int | None
    job: int | None


_RECORD = np.dtype([(name, np.int64) for name in ("struck_ns", "hit", "journal", "job")])


class Striker:
    """Carries out `strikes` in a process of its own, as urgent as supervisors where `real_time`; made before forks."""

    def __init__(self, strikes: Sequence[Strike], clock: PacedClock, *, real_time: bool) -> None:
        self._strikes = sorted(enumerate(strikes), key=lambda one: one[1].time_ns)
        self._clock, self._real_time = clock, real_time
        self._records = shared_array(_RECORD, len(strikes))
        self._records["struck_ns"] = self._records["journal"] = self._records["job"] = NONE

    def run(self) -> None:
        """Strike after strike in order of their instants, until all are made or the run has ended.

        Then it leaves its class: to give its memory back takes milliseconds.
        """
        name_process("rt-striker")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        if self._real_time:
            set_scheduling(Scheduling.fifo(SUPERVISOR_PRIORITY))
        if not self._clock.wait_until_begun():
            return
        for index, one in self._strikes:
            if not self._clock.sleep_until(one.time_ns):
                return
            target = self._job_to_hit(one.inside) if one.inside else None
            if one.inside and target is None:
                return
            record = self._records[index]
            if target is not None:
                record["journal"], record["job"] = target
            processes = one.processes()
            record["struck_ns"] = self._clock.now_ns()
            record["hit"] = strike(processes, one.number)
        set_scheduling(Scheduling.other())

    def struck(self) -> list[Struck]:
        """What became of every strike, in the order in which they were given."""
        return [
            Struck(*(None if value == NONE else value for value in (at, hit, journal, job)))  # type: ignore[arg-type]
            for at, hit, journal, job in self._records.tolist()
        ]

    def _job_to_hit(self, journals: Sequence[Journal]) -> tuple[int, int] | None:
        """The first journal that has a job under way, and the job; None where the run ends before."""
        while not self._clock.ended:
            for place, journal in enumerate(journals):
                job = open_job(journal)
                if job is not None:
                    return place, job
            time.sleep(_LOOK_S)
        return None


def strike(processes: Sequence[int], number: signal.Signals) -> int:
    """Sends the signal to processes, and to groups by negative numbers; how many were there to get it."""
    hit = 0
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue
        hit += 1
    return hit


def open_job(journal: Journal) -> int | None:
    """The number of the job that has started and not ended, None where there is none."""
    last = journal.count - 1
    if last < 0:
        return None
    row = journal.rows[last]
    is_open = row["status"] == JobStatus.UNFINISHED and row["start_ns"] != NONE and row["finish_ns"] == NONE
    return last if is_open else None
