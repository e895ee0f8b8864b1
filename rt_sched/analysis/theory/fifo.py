"""Response times under first-in first-out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rt_sched.analysis.theory.fixed_points import NotConverged, Timing, busy_period_ns

#: Releases of one busy period that are looked at for one task.
MOST_RELEASES = 20_000


def fifo_response_times(tasks: Sequence[Timing]) -> list[int]:
    """Worst-case response of each task under FIFO by release on one processor; the order of tasks does not matter.

    A job released r after the begin of a busy period ends when all work released up to r is done; its arrival lies up
    to its jitter before. Every r at which some task may release is looked at, latest first: the work up to r rules out
    all earlier instants from which it would not be a worse response. Equal releases are broken against the task.
    Deadlines are arbitrary. Blocking does not occur. Exact up to ties.

    Source: George, Rivierre, Spuri 1996; George, Minet 1997.

    Raises NotConverged when the load exceeds 1, the busy period does not end within the horizon, or more than
    MOST_RELEASES of it would have to be looked at.
    """
    return list(_responses(tuple(tasks)))


@lru_cache(maxsize=256)
def _responses(tasks: tuple[Timing, ...]) -> tuple[int, ...]:
    """A link is asked for once for each message that it carries, with the same flows every time."""
    return tuple(
        done_ns - release_ns + task.jitter_ns
        for task, (release_ns, done_ns) in zip(tasks, fifo_worst_cases(tasks), strict=True)
    )


def fifo_worst_cases(tasks: Sequence[Timing], arrival_jitter_ns: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """For each task the release and the end of its worst job, counted from the begin of a busy period.

    `arrival_jitter_ns`: the part of each task's jitter by which arrivals themselves are late, from where responses
    count; by default 0. A job that is on time may follow one that was not.
    """
    length_ns = busy_period_ns(tasks)
    behind = [0] * len(tasks) if arrival_jitter_ns is None else arrival_jitter_ns
    return [_worst(own, tasks, behind[own], length_ns) for own in range(len(tasks))]


def _worst(own: int, tasks: Sequence[Timing], behind_ns: int, length_ns: int) -> tuple[int, int]:
    mine = tasks[own]

    def done_ns(release_ns: int) -> int:
        return ((release_ns + behind_ns) // mine.period_ns + 1) * mine.wcet_ns + sum(
            task.releases(release_ns + 1) * task.wcet_ns for position, task in enumerate(tasks) if position != own
        )

    # The begin is often the worst, and rules out most of the later ones.
    worst = (0, done_ns(0))
    release_ns = _last_step(own, tasks, behind_ns, length_ns - 1)
    for _ in range(MOST_RELEASES):
        if release_ns <= 0:
            return worst
        done = done_ns(release_ns)
        if done - release_ns > worst[1] - worst[0]:
            worst = (release_ns, done)
        release_ns = _last_step(own, tasks, behind_ns, min(release_ns, done - worst[1] + worst[0]) - 1)
    raise NotConverged(f"more than {MOST_RELEASES} releases in one busy period have to be looked at")


def _last_step(own: int, tasks: Sequence[Timing], behind_ns: int, at_most_ns: int) -> int:
    """Latest instant up to `at_most_ns`, 0 or later, at which the work released so far grows; -1 for none."""
    if at_most_ns < 0:
        return -1
    last_ns = 0
    for position, task in enumerate(tasks):
        jitter_ns = behind_ns if position == own else task.jitter_ns
        last_ns = max(last_ns, (at_most_ns + jitter_ns) // task.period_ns * task.period_ns - jitter_ns)
    return last_ns
