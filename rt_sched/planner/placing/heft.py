"""HEFT: tasks by their upward rank, each where it ends earliest, in gaps that are left (Topcuoglu, Hariri, Wu 2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched.planner.placing.problem import FrameSchedule, Hop, PlacementProblem


def heft(problem: PlacementProblem, fixed: Sequence[int] | None = None) -> FrameSchedule | None:
    """The schedule of HEFT; None where a task has no place that its messages reach.

    `fixed`: places to keep, [n_tasks]; then only begin and core are chosen. Loads and memory are not looked at.
    Source: Topcuoglu, Hariri, Wu 2002, section 4.1: mean computation and communication costs in the ranks, ties to the
    task that stands first; the insertion-based policy for processor selection.
    """
    ranks = upward_ranks(problem)
    position = {task: place for place, task in enumerate(problem.in_order())}
    place, core = [0] * len(ranks), [0] * len(ranks)
    start, end = [0] * len(ranks), [0] * len(ranks)
    busy: dict[tuple[int, int], list[tuple[int, int]]] = {}
    together = {task: group for group in problem.together for task in group}
    chosen: dict[int, int] = {}
    # A task without costs has the rank of what follows it, but must still come first.
    for task in sorted(range(len(ranks)), key=lambda one: (-ranks[one], position[one])):
        best: tuple[int, int, int, int] | None = None
        mates = [chosen[mate] for mate in together.get(task, ()) if mate in chosen]
        for p in problem.open_places[task]:
            if (fixed is not None and p != fixed[task]) or (mates and p != mates[0]):
                continue
            if not problem.reached(task, p, chosen):
                continue
            ready_ns = _ready_ns(problem, task, p, place, end)
            wcet_ns = problem.wcet_ns[task][p]
            if ready_ns is None or wcet_ns is None:
                continue
            for c in range(problem.cores[p]):
                begin_ns = _first_gap_ns(busy.get((p, c), []), ready_ns, wcet_ns)
                if best is None or begin_ns + wcet_ns < best[0]:
                    best = begin_ns + wcet_ns, begin_ns, p, c
                if (p, c) not in busy:
                    break  # all further cores are as empty as this one
        if best is None:
            return None
        end[task], start[task], place[task], core[task] = best
        chosen[task] = place[task]
        slots = busy.setdefault((place[task], core[task]), [])
        slots.append((start[task], end[task]))
        slots.sort()
    return FrameSchedule(tuple(place), tuple(core), tuple(start), tuple(end))


def upward_ranks(problem: PlacementProblem) -> list[Fraction]:
    """For each task the length of the longest path from its begin to the end, in mean costs (equation 5)."""
    ranks = [Fraction(0)] * len(problem.tasks)
    for task in reversed(problem.in_order()):
        costs = [cost for cost in problem.wcet_ns[task] if cost is not None]
        own = Fraction(sum(costs), len(costs)) if costs else Fraction(0)
        ranks[task] = own + max((_mean_ns(hop) + ranks[hop.after] for hop in problem.after[task]), default=Fraction(0))
    return ranks


def _mean_ns(hop: Hop) -> Fraction:
    """Mean cost between different groups; nothing where there is only one."""
    costs = [cost for g, row in enumerate(hop.cost_ns) for h, cost in enumerate(row) if g != h and cost is not None]
    return Fraction(sum(costs), len(costs)) if costs else Fraction(0)


def _ready_ns(
    problem: PlacementProblem, task: int, place: int, places: Sequence[int], end_ns: Sequence[int]
) -> int | None:
    """When all messages of a task have come to a place; None where one has no way there."""
    entry_ns = problem.entry(task, place)
    arrivals: list[int | None] = [entry_ns]
    for hop in problem.before[task]:
        cost_ns = problem.hop_ns(hop, places[hop.before], place)
        arrivals.append(None if cost_ns is None else end_ns[hop.before] + cost_ns)
    return None if None in arrivals else max(one for one in arrivals if one is not None)


def _first_gap_ns(slots: Sequence[tuple[int, int]], ready_ns: int, length_ns: int) -> int:
    """The earliest begin from `ready_ns` on that leaves all slots, sorted, as they are."""
    begin_ns = ready_ns
    for start_ns, end_ns in slots:
        if begin_ns + length_ns <= start_ns:
            break
        begin_ns = max(begin_ns, end_ns)
    return begin_ns


def packed(problem: PlacementProblem, place: Sequence[int], order: Sequence[int]) -> FrameSchedule:
    """The schedule with these places whose jobs begin as early as they can, taken in the order of `order`, [n_tasks].

    Each takes the core that was free first. Tasks with equal entries in `order` follow the order of the problem.
    """
    position = {task: index for index, task in enumerate(problem.in_order())}
    free_ns = [[0] * cores for cores in problem.cores]
    count = len(problem.tasks)
    core, start_ns, end_ns = [0] * count, [0] * count, [0] * count
    for task in sorted(range(count), key=lambda one: (order[one], position[one])):
        p = place[task]
        core[task] = min(range(problem.cores[p]), key=lambda c: (free_ns[p][c], c))
        come_ns = [
            end_ns[hop.before] + (problem.hop_ns(hop, place[hop.before], p) or 0) for hop in problem.before[task]
        ]
        start_ns[task] = max([problem.entry(task, p) or 0, free_ns[p][core[task]], *come_ns])
        end_ns[task] = free_ns[p][core[task]] = start_ns[task] + (problem.wcet_ns[task][p] or 0)
    return FrameSchedule(tuple(place), tuple(core), tuple(start_ns), tuple(end_ns))


def critical_path(problem: PlacementProblem, place: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The longest path through the tasks as placed, messages included, and its length: no frame is done sooner."""
    done_ns: dict[int, int] = {}
    via: dict[int, int] = {}
    for task in problem.in_order():
        begin_ns = problem.entry(task, place[task]) or 0
        for hop in problem.before[task]:
            come_ns = done_ns[hop.before] + (problem.hop_ns(hop, place[hop.before], place[task]) or 0)
            if come_ns > begin_ns or (come_ns == begin_ns and task not in via):
                begin_ns, via[task] = come_ns, hop.before
        done_ns[task] = begin_ns + (problem.wcet_ns[task][place[task]] or 0)
    if not done_ns:
        return (), 0
    last = max(done_ns, key=lambda task: (done_ns[task], -task))
    return tuple(_back(last, via)), done_ns[last]


def _back(last: int, via: Mapping[int, int]) -> list[int]:
    path = [last]
    while path[-1] in via:
        path.append(via[path[-1]])
    return path[::-1]
