"""The three ways in which this machine runs a plan, and which class each task gets in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.tiers import HIGHEST_PRIORITY, Tier
from rt_sched.trace.setup import Policy, ProcessorRow, Setup, TaskRow

#: Priorities of SCHED_FIFO: supervisors above all, the clockwork of sensors next, tasks below, one for each level.
SUPERVISOR_PRIORITY = HIGHEST_PRIORITY
FEEDER_PRIORITY = 85
HIGHEST_TASK_PRIORITY = 80
_LOWEST_TASK_PRIORITY = 2


@dataclass(frozen=True, slots=True)
class Seat:
    """How the kernel schedules a worker. `scheduling`: its class. `lane`: it also waits for its processor's lane.

    `ranked`: its priority follows the deadlines of the jobs on its processor (EDF over SCHED_FIFO).
    """

    scheduling: Scheduling
    lane: bool = False
    ranked: bool = False


def seats(
    setup: Setup, tier: Tier, reservations: Mapping[int, Scheduling], standbys: Sequence[TaskRow] = ()
) -> tuple[Seat, ...]:
    """The seat of every task, in their order, then those of `standbys`, as what they may go on with is declared.

    `reservations`: by task, for the tier `deadline`.
    """
    rows = (*setup.tasks, *standbys)
    levels = _priorities(rows)
    return tuple(
        _seat(setup.processors[task.processor], tier, levels[index], reservations.get(index))
        for index, task in enumerate(rows)
    )


def lane_key(policy: Policy, level: int, deadline_ns: int, release_ns: int) -> int:
    """What orders the jobs that wait for a lane (semantics 4)."""
    if policy is Policy.EDF:
        return deadline_ns
    return release_ns if policy is Policy.FIFO else level


def _seat(row: ProcessorRow, tier: Tier, priority: int, reservation: Scheduling | None) -> Seat:
    if tier is Tier.USER:
        return Seat(Scheduling.other(), lane=True)
    if reservation is not None:
        return Seat(reservation, lane=not _preempts(row))
    return Seat(Scheduling.fifo(priority), lane=not _preempts(row), ranked=row.policy is Policy.EDF and _preempts(row))


def _preempts(row: ProcessorRow) -> bool:
    return row.preemptive and row.policy is not Policy.FIFO


def _priorities(tasks: Sequence[TaskRow]) -> list[int]:
    """A priority of SCHED_FIFO for every task: the level on its processor, spread over what is there.

    Tasks of different processors never compete for a core unless these share one; then equal levels are equal.
    """
    processors = range(1 + max((task.processor for task in tasks), default=0))
    ranks = _ranks([[task.level for task in tasks if task.processor == p] for p in processors])
    room = HIGHEST_TASK_PRIORITY - _LOWEST_TASK_PRIORITY
    return [
        max(HIGHEST_TASK_PRIORITY - ranks[task.processor][task.level], HIGHEST_TASK_PRIORITY - room) for task in tasks
    ]


def _ranks(levels: Sequence[Sequence[int]]) -> list[dict[int, int]]:
    return [{level: rank for rank, level in enumerate(sorted(set(mine)))} for mine in levels]
