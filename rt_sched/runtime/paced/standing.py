"""How a paced run stands while it goes on: task by task, from the journals that its workers write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.paced.jobs.journal import NONE, Journal
from rt_sched.trace.records import JobStatus


@dataclass(frozen=True, slots=True)
class Standing:
    """Of one task, up to now. `at_work`: whether a job has begun and not ended.

    `misses`: jobs that ended late, or have not ended although their deadline is over. `response_last_ns`,
    `response_max_ns`: from arrival to finish, None before the first.
    """

    task: str
    jobs: int
    at_work: bool
    misses: int
    response_last_ns: int | None
    response_max_ns: int | None


def standings(names: Sequence[str], journals: Sequence[Journal], now_ns: int) -> tuple[Standing, ...]:
    """Of every task at the run time `now_ns`."""
    return tuple(_standing(name, journal, now_ns) for name, journal in zip(names, journals, strict=True))


def _standing(name: str, journal: Journal, now_ns: int) -> Standing:
    rows = journal.rows[: journal.count]
    finish_ns = rows["finish_ns"]
    ended = finish_ns != NONE
    responses_ns = (finish_ns - rows["arrival_ns"])[ended]
    owed = ended | (rows["status"] == JobStatus.UNFINISHED)
    late = owed & (np.where(ended, finish_ns, now_ns) > rows["deadline_ns"])
    return Standing(
        task=name,
        jobs=len(rows),
        at_work=bool(len(rows)) and bool(rows["start_ns"][-1] != NONE) and not bool(ended[-1]),
        misses=int(np.count_nonzero(late)),
        response_last_ns=int(responses_ns[-1]) if len(responses_ns) else None,
        response_max_ns=int(responses_ns.max()) if len(responses_ns) else None,
    )
