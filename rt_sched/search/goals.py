"""What is looked for: the longest response of a task; the longest reaction, latency and data age of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.search.space import Space
from rt_sched.trace.chains import ChainMeasurement, measure_chain
from rt_sched.trace.records import DropReason, Int64s, JobStatus, Trace

#: Quantities of a chain.
QUANTITIES = ("reaction", "latency", "data_age")
#: Losses of messages, after which the bounds of chains say nothing.
_LOSSES = (DropReason.FULL_OLDEST, DropReason.FULL_NEWEST, DropReason.UNMATCHED)


@dataclass(frozen=True, slots=True)
class Goal:
    """A quantity of a task or chain. `task`: the task, or the last one of the chain. `path`: of a chain, else empty.

    `bound_ns`: what no legal run exceeds; None where nothing is known.
    """

    name: str
    quantity: str
    task: int
    path: tuple[str, ...] = ()
    bound_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The largest value of a goal in a run: of job row `job`, the last one of a chain; it is over at `end_ns`."""

    value_ns: int
    job: int
    end_ns: int


def goals_of(
    space: Space,
    bounds: dict[tuple[str, str], int | None],
    chosen: Sequence[str] | None = None,
) -> tuple[Goal, ...]:
    """The goals of the tasks and chains in `chosen`, None for all of them; `bounds`: by name and quantity."""
    tasks = [
        Goal(task.name, "response", number, (), bounds.get((task.name, "response")))
        for number, task in enumerate(space.freedoms.tasks)
        if task.active
    ]
    index = {row.name: number for number, row in enumerate(space.given.tasks)}
    present = {goal.name for goal in tasks} | {sensor.name for sensor in space.freedoms.sensors}
    chains = [
        Goal(chain.name, quantity, index[chain.path[-1]], chain.path, bounds.get((chain.name, quantity)))
        for chain in space.system.chains
        if present.issuperset(chain.path)
        for quantity in QUANTITIES
    ]
    return tuple(goal for goal in (*tasks, *chains) if chosen is None or goal.name in chosen)


def seen_in(trace: Trace, goals: Sequence[Goal]) -> tuple[Seen | None, ...]:
    """The largest value of every goal, first of equals; None where the run has none."""
    jobs = trace.jobs
    done = np.flatnonzero(jobs.status == JobStatus.COMPLETED)
    of_task, response_ns = jobs.task[done], (jobs.finish_ns - jobs.arrival_ns)[done]
    chains: dict[tuple[str, ...], ChainMeasurement] = {}
    until_ns = _first_loss_ns(trace)
    found: list[Seen | None] = []
    for goal in goals:
        if not goal.path:
            mine = np.flatnonzero(of_task == goal.task)
            row = done[mine[np.argmax(response_ns[mine])]] if len(mine) else -1
            found.append(_response(trace, int(row)) if row >= 0 else None)
            continue
        if goal.path not in chains:
            chains[goal.path] = measure_chain(trace, goal.path, until_ns=until_ns)
        found.append(_of_chain(chains[goal.path], goal.quantity))
    return tuple(found)


def _response(trace: Trace, row: int) -> Seen:
    finish_ns = int(trace.jobs.finish_ns[row])
    return Seen(finish_ns - int(trace.jobs.arrival_ns[row]), row, finish_ns)


def _first_loss_ns(trace: Trace) -> int | None:
    lost = trace.drops.time_ns[np.isin(trace.drops.reason, _LOSSES)]
    return int(lost.min()) - 1 if len(lost) else None


def _of_chain(found: ChainMeasurement, quantity: str) -> Seen | None:
    values: Int64s = getattr(found, f"{quantity}_ns")
    if not len(values):
        return None
    place = int(np.argmax(values))
    if quantity == "data_age":
        output = place
    else:
        # The first output that shows this read or a later one.
        shown = np.maximum.accumulate(found.sample_number)
        output = int(np.searchsorted(shown, found.latency_sample_number[place], side="left"))
    return Seen(int(values[place]), int(found.output_job[output]), int(found.output_ns[output]))
