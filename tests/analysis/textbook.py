"""The recurrences as the papers print them, in plain Python: slow, obvious, and written without the kernels.

A task is a `Task`; lists of tasks stand in priority order. None is "no bound" (or none below the cap).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

CAP = 200_000


@dataclass(frozen=True)
class Task:
    C: int
    T: int
    D: int
    J: int = 0
    B: int = 0


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def load(tasks: list[Task]) -> Fraction:
    return sum((Fraction(t.C, t.T) for t in tasks), Fraction(0))


def least_fixed_point(f, start: int) -> int | None:
    w = start
    while f(w) != w:
        w = f(w)
        if w > CAP:
            return None
    return w


def busy_period(tasks: list[Task], blocking: int = 0) -> int | None:
    """Length of the longest busy period of all `tasks`."""
    return least_fixed_point(
        lambda w: blocking + sum(ceil_div(w + t.J, t.T) * t.C for t in tasks), blocking + sum(t.C for t in tasks)
    )


def fp_preemptive(i: int, tasks: list[Task], level: list[int] | None = None) -> int | None:
    """Tindell, Burns, Wellings 1994: every q of the busy period, blocking included."""
    level = level or list(range(len(tasks)))
    own = tasks[i]
    others = [t for j, t in enumerate(tasks) if j != i and level[j] <= level[i]]
    if load([*others, own]) > 1:
        return None
    length = busy_period([*others, own], own.B)
    if length is None:
        return None
    worst = 0
    for q in range(ceil_div(length + own.J, own.T)):
        demand = own.B + (q + 1) * own.C
        w = least_fixed_point(lambda w, d=demand: d + sum(ceil_div(w + t.J, t.T) * t.C for t in others), demand)
        worst = max(worst, w - q * own.T + own.J)
    return worst


def fp_last_region(i: int, tasks: list[Task], region: int, blocking: int) -> int | None:
    """Bril, Lukkien, Verhaegh 2009; with region = C Davis, Burns, Bril, Lukkien 2007: start of the last region."""
    own, higher = tasks[i], tasks[:i]
    if load([*higher, own]) > 1:
        return None
    length = busy_period([*higher, own], blocking)
    if length is None:
        return None
    worst = 0
    for q in range(ceil_div(length + own.J, own.T)):
        before = blocking + (q + 1) * own.C - region
        s = least_fixed_point(lambda s, b=before: b + sum(((s + t.J) // t.T + 1) * t.C for t in higher), before)
        worst = max(worst, s + region - q * own.T + own.J)
    return worst


def fp_non_preemptive(i: int, tasks: list[Task], classic: bool = False) -> int | None:
    lower = max((t.C for t in tasks[i + 1 :]), default=0)
    blocking = lower if classic else max(lower - 1, 0)
    return fp_last_region(i, tasks, tasks[i].C, max(blocking, tasks[i].B))


def demand_bound(tasks: list[Task], t: int) -> int:
    """Work that arrives, is released and is due within an interval of length t."""
    return sum(max(0, (t + k.J - k.D) // k.T + 1) * k.C for k in tasks)


def edf_blocking(tasks: list[Task], d: int, preemptive: bool) -> int:
    """Longest hold-up of a deadline d by a job with a later one."""
    blocking = 0
    if any(t.B for t in tasks):
        within = [t.D for t in tasks if d >= t.D]
        if any(t.J for t in tasks):
            blocking = max(t.B for t in tasks)
        elif within:
            blocking = max(t.B for t in tasks if max(within) == t.D)
    if not preemptive:
        blocking = max([blocking, *(t.C - 1 for t in tasks if d < t.D)])
    return blocking


def edf_limit(tasks: list[Task], preemptive: bool) -> int | None:
    longest = max(t.D for t in tasks)
    length = busy_period(tasks, edf_blocking(tasks, longest, preemptive))
    return None if length is None else max(length, longest)


def edf_first_violation(tasks: list[Task], preemptive: bool) -> int | None:
    """Least t at which demand and blocking exceed t, -1 for none, None when not decided: every t is looked at."""
    limit = edf_limit(tasks, preemptive)
    if limit is None:
        return None
    for t in range(limit + 1):
        demand = demand_bound(tasks, t)
        if demand and demand + edf_blocking(tasks, t, preemptive) > t:
            return t
    return -1


def edf_response(i: int, tasks: list[Task], preemptive: bool) -> int | None:
    """Spuri 1996; George, Rivierre, Spuri 1996: every arrival of the busy period is looked at, not only some."""
    own = tasks[i]
    if load(tasks) > 1:
        return None
    limit = edf_limit(tasks, preemptive)
    if limit is None:
        return None
    region = 1 if preemptive else own.C
    worst = own.C + own.J
    for arrival in range(-own.J, limit):
        d = arrival + own.D
        mine = edf_blocking(tasks, d, preemptive) + ((arrival + own.J) // own.T + 1) * own.C - region

        def start_of_last_region(s: int, d: int = d, mine: int = mine) -> int:
            total = mine
            for j, t in enumerate(tasks):
                if j != i and d - t.D + t.J >= 0:
                    total += min((s + t.J) // t.T + 1, (d - t.D + t.J) // t.T + 1) * t.C
            return total

        s = least_fixed_point(start_of_last_region, mine)
        worst = max(worst, s + region - arrival)
    return worst
