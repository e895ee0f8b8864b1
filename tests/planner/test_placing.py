"""Placement methods against the literature, against every placement of small problems, and against each other."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_cases import random_graph, topcuoglu

from rt_sched.planner.placing.cp import Status, solve
from rt_sched.planner.placing.fit import fit_decreasing
from rt_sched.planner.placing.frame_model import Goal
from rt_sched.planner.placing.heft import critical_path, heft, upward_ranks
from rt_sched.planner.placing.problem import FrameSchedule, Hop, PlacementProblem, check_frame
from rt_sched.planner.placing.stopping import Stop


def _loads(rows: list[list[int]], cores: tuple[int, ...] = (1, 1), **more: object) -> PlacementProblem:
    """Independent tasks with these loads in thousandths of a core."""
    table = tuple(tuple(value * 1000 for value in row) for row in rows)
    names = tuple(f"t{number}" for number in range(len(rows)))
    places = tuple(f"p{number}" for number in range(len(cores)))
    costs = tuple(tuple(1 for _ in row) for row in rows)
    return PlacementProblem(names, places, cores, tuple(range(len(cores))), costs, (), load=table, **more)  # type: ignore[arg-type]


def test_heft_schedules_the_ten_tasks_of_its_paper_in_80() -> None:
    problem = topcuoglu()
    ranks = [round(float(rank), 3) for rank in upward_ranks(problem)]
    assert ranks == [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]
    schedule = heft(problem)
    assert schedule is not None
    assert check_frame(problem, schedule) == []
    assert schedule.makespan_ns == 80


def test_73_is_proved_to_be_the_best_for_the_ten_tasks() -> None:
    problem = topcuoglu()
    found = solve(problem, Goal.MAKESPAN, Stop(120))
    assert (found.status, found.value, found.bound) == (Status.OPTIMAL, 73, 73)
    assert found.schedule is not None
    assert check_frame(problem, found.schedule) == []
    assert found.schedule.makespan_ns == 73


def _best_makespan(problem: PlacementProblem) -> int:
    """By trying every order of tasks on every place; jobs begin as early as they can."""
    best = 10**9

    def extend(done: dict[int, tuple[int, int]], free: tuple[int, ...]) -> None:
        nonlocal best
        if len(done) == len(problem.tasks):
            best = min(best, max(end for _, end in done.values()))
            return
        for task in range(len(problem.tasks)):
            if task in done or any(hop.before not in done for hop in problem.before[task]):
                continue
            for place in range(len(problem.places)):
                come = [
                    done[h.before][1] + (problem.hop_ns(h, done[h.before][0], place) or 0) for h in problem.before[task]
                ]
                end = max([free[place], *come]) + (problem.wcet_ns[task][place] or 0)
                if end < best:
                    extend(done | {task: (place, end)}, tuple(end if p == place else f for p, f in enumerate(free)))

    extend({}, (0,) * len(problem.places))
    return best


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_proved_optimum_is_that_of_trying_everything(seed: int, tasks: int) -> None:
    problem = random_graph(seed, tasks, places=2)
    found, fast = solve(problem, Goal.MAKESPAN, Stop(60), workers=1), heft(problem)
    assert found.schedule is not None
    assert fast is not None
    assert check_frame(problem, found.schedule) == check_frame(problem, fast) == []
    assert found.status is Status.OPTIMAL
    assert found.schedule.makespan_ns == found.value == _best_makespan(problem) <= fast.makespan_ns


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6))
def test_heft_keeps_every_rule_and_its_critical_path_is_no_longer(seed: int, tasks: int, places: int) -> None:
    problem = random_graph(seed, tasks, places)
    schedule = heft(problem)
    assert schedule is not None
    assert check_frame(problem, schedule) == []
    path, length_ns = critical_path(problem, schedule.place)
    assert length_ns <= schedule.makespan_ns
    assert all(any(hop.after == after for hop in problem.after[before]) for before, after in pairwise(path))
    again = heft(problem, fixed=schedule.place)
    assert again is not None
    assert again.place == schedule.place


def test_a_schedule_that_breaks_a_rule_is_told() -> None:
    problem = replace(topcuoglu(), entry_ns=((5, 5, None), *(((0, 0, 0),) * 9)))
    good = heft(problem)
    assert good is not None
    late = FrameSchedule(
        good.place, good.core, (0, *good.start_ns[1:]), (problem.wcet_ns[0][good.place[0]] or 0, *good.end_ns[1:])
    )
    assert "n1 begins before its data comes" in check_frame(problem, late)
    moved = FrameSchedule((2, *good.place[1:]), good.core, good.start_ns, good.end_ns)
    assert "n1 must not run on p3" in check_frame(problem, moved)
    crowded = FrameSchedule((0,) * 10, (0,) * 10, (0,) * 10, tuple(row[0] or 0 for row in problem.wcet_ns))
    assert "n2 and n3 overlap" in check_frame(problem, crowded)
    assert any("before the message of" in reason for reason in check_frame(problem, crowded))


def test_first_fit_fills_and_worst_fit_spreads() -> None:
    problem = _loads([[600, 600], [300, 300], [200, 200], [100, 100]])
    assert fit_decreasing(problem, spread=False) == (0, 0, 1, 0)
    assert fit_decreasing(problem, spread=True) == (0, 1, 1, 1)
    assert fit_decreasing(_loads([[600, 600]] * 3), spread=True) is None


def test_fits_and_solver_keep_memory_and_bundles() -> None:
    problem = _loads([[100, 100]] * 4, memory_bytes=(3, 3, 3, 1), memory_limits=(10, 4), together=((2, 3),))
    for place in (
        fit_decreasing(problem, spread=False),
        fit_decreasing(problem, spread=True),
        solve(problem, Goal.PEAK, Stop(30), workers=1).place,
    ):
        assert place is not None
        assert place[2] == place[3]
        used = [sum(m for m, at in zip(problem.memory_bytes, place, strict=True) if at == g) for g in (0, 1)]
        assert used[0] <= 10
        assert used[1] <= 4
    assert solve(replace(problem, memory_limits=(6, 3)), Goal.PEAK, Stop(30), workers=1).status is Status.INFEASIBLE


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=1, max_size=6))
def test_the_lowest_peak_is_that_of_trying_everything(rows: list[tuple[int, int]]) -> None:
    problem = _loads([list(row) for row in rows])
    peaks = [
        max(sum(problem.load[t][p] for t, at in enumerate(place) if at == p) for p in (0, 1))
        for place in product((0, 1), repeat=len(rows))
    ]
    found = solve(problem, Goal.PEAK, Stop(30), workers=1)
    if min(peaks) > 1_000_000:
        assert found.status is Status.INFEASIBLE
    else:
        assert (found.status, found.value) == (Status.OPTIMAL, min(peaks))


def test_power_counts_busy_cores_and_elements_in_use() -> None:
    problem = _loads([[100, 100], [100, 100]], busy_mw=(10, 12), idle_mw=(5, 1))
    found = solve(problem, Goal.POWER, Stop(30), workers=1)
    # On the second element: 12 mW in a fifth of the time, and 1 mW idle; the first one would idle at 5 mW.
    assert (found.place, found.value) == ((1, 1), 12 * 200_000 + 1_000_000)


def test_messages_without_a_way_keep_tasks_apart_from_places() -> None:
    blocked = Hop(0, 1, ((0, None), (None, 0)))
    problem = replace(_loads([[100, 900], [900, 100]]), hops=(blocked,))
    for goal in (Goal.PEAK, Goal.MAKESPAN):
        place = solve(problem, goal, Stop(30), workers=1).place
        assert place[0] == place[1]
    assert fit_decreasing(problem, spread=True) in ((0, 0), (1, 1))


@pytest.mark.parametrize("asked", [False, True])
def test_a_search_ends_in_time_with_the_best_so_far(asked: bool) -> None:
    problem = random_graph(5, 120, places=6)
    stop = Stop(60 if asked else 2)
    if asked:
        threading.Timer(2, stop.ask).start()
    began = time.monotonic()
    first = heft(problem)
    assert first is not None
    found = solve(problem, Goal.MAKESPAN, stop, known=first)
    assert time.monotonic() - began < 40
    assert found.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert found.schedule is not None
    assert check_frame(problem, found.schedule) == []
    assert found.bound <= found.value <= first.makespan_ns
