"""First-fit and worst-fit decreasing: tasks by load, each on the first or the emptiest core that holds it."""

from __future__ import annotations

from collections.abc import Callable

from rt_sched.planner.placing.problem import WHOLE_CORE, PlacementProblem


def fit_decreasing(problem: PlacementProblem, *, spread: bool, limit: int = WHOLE_CORE) -> tuple[int, ...] | None:
    """For each task its place; None where one is left over.

    `spread`: worst fit, which takes the core with the least load, else first fit. `limit`: what a core may carry.
    Tasks that stay together count as one. A task that has nowhere to go where the messages of those placed reach it is
    left over, and so is one whose memory does not fit.
    Source: Coffman, Garey, Johnson 1996 survey both rules; here with different costs on different places.
    """
    bundles = [*problem.together]
    inside = {task for bundle in bundles for task in bundle}
    bundles += [(task,) for task in range(len(problem.tasks)) if task not in inside]

    def least_load(bundle: tuple[int, ...]) -> int:
        return min((_load(problem, bundle, place) for place in _open(problem, bundle)), default=0)

    free = [[limit] * cores for cores in problem.cores]
    memory = [0] * len(problem.memory_limits)
    placed: dict[int, int] = {}
    for bundle in sorted(bundles, key=lambda one: (-least_load(one), one)):
        rest: Callable[[tuple[int, int]], int] = lambda at: free[at[0]][at[1]]  # noqa: E731
        fitting = [
            (place, core)
            for place in _open(problem, bundle)
            if _memory_fits(problem, bundle, place, memory)
            and all(problem.reached(task, place, placed) for task in bundle)
            for core in range(problem.cores[place])
            if _load(problem, bundle, place) <= free[place][core]
        ]
        if not fitting:
            return None
        place, core = max(fitting, key=rest) if spread else fitting[0]
        free[place][core] -= _load(problem, bundle, place)
        if memory:
            memory[problem.group_of[place]] += sum(problem.memory_bytes[task] for task in bundle)
        placed |= dict.fromkeys(bundle, place)
    return tuple(placed[task] for task in range(len(problem.tasks)))


def _open(problem: PlacementProblem, bundle: tuple[int, ...]) -> list[int]:
    return [p for p in problem.open_places[bundle[0]] if all(p in problem.open_places[task] for task in bundle)]


def _load(problem: PlacementProblem, bundle: tuple[int, ...], place: int) -> int:
    return sum(problem.load[task][place] for task in bundle)


def _memory_fits(problem: PlacementProblem, bundle: tuple[int, ...], place: int, used: list[int]) -> bool:
    limit = problem.memory_limits[problem.group_of[place]] if problem.memory_limits else None
    return limit is None or used[problem.group_of[place]] + sum(problem.memory_bytes[t] for t in bundle) <= limit
