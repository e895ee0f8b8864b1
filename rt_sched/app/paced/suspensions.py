"""How long the jobs of a paced run waited of their own accord, beside what was declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rt_sched.analysis.measured.deviation import Deviation
from rt_sched.analysis.measured.monitors import Monitor, monitor_of
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome
from rt_sched.trace.records import JobStatus
from rt_sched.trace.statistics import spread_of
from rt_sched.units import ceil_int


def suspensions_document(order: PacedOrder, outcome: PacedOutcome) -> list[dict[str, Any]]:
    """Of every task that declares waits: what its completed jobs waited, and how many waited longer or more often."""
    rows = []
    for index, task in enumerate(order.setup.tasks):
        if not task.suspensions:
            continue
        jobs, waited_ns, count = _waited(order, outcome, index)
        spread, declared_ns = spread_of(waited_ns), sum(one.max_ns for one in task.suspensions)
        rows.append(
            {
                "task": task.name,
                "jobs": len(jobs),
                "declared_ns": declared_ns,
                "declared_waits": len(task.suspensions),
                "p50_ns": spread.p50_ns,
                "max_ns": spread.max_ns,
                "waits_max": int(count.max(initial=0)),
                "longer": int(np.count_nonzero(waited_ns > declared_ns)),
                "more_often": int(np.count_nonzero(count > len(task.suspensions))),
            }
        )
    return rows


def suspension_monitors(order: PacedOrder, outcome: PacedOutcome) -> tuple[Monitor, ...]:
    """Whether jobs waited no more often than declared: each time may cost them two switches and a wait for others."""
    found = monitor_of("waits", "waits inside jobs", lambda: _looked(order, outcome))
    return () if found is None else (dataclasses.replace(found, unit="waits"),)


def _looked(order: PacedOrder, outcome: PacedOutcome) -> Iterator[tuple[int, list[Deviation]]]:
    for index, task in enumerate(order.setup.tasks):
        if task.suspensions:
            jobs, _, count = _waited(order, outcome, index)
            journal, most = outcome.journals[index], len(task.suspensions)
            yield (
                len(jobs),
                [
                    Deviation(task.name, int(job), int(journal["start_ns"][job]), int(often), most)
                    for job, often in zip(jobs, count, strict=True)
                    if often > most
                ],
            )


def _waited(order: PacedOrder, outcome: PacedOutcome, index: int) -> tuple[Any, Any, Any]:
    """Completed jobs of a task by their numbers, what each waited in run time, and how often."""
    journal = outcome.journals[index]
    jobs = np.flatnonzero(journal["status"] == JobStatus.COMPLETED)
    waited_ns = np.array([ceil_int(int(one) * order.rate) for one in journal["waited_ns"][jobs]], np.int64)
    return jobs, waited_ns, journal["waits"][jobs]
