"""A search finds the same with the same seed, on any number of processes, and however it ends."""

from __future__ import annotations

import itertools

import pytest
from searched import same_choices, searched, values
from test_legal_runs import ALL_KINDS

from rt_sched.search import Found, search
from rt_sched.search.lots import LONGEST

RUNS = 60


def test_processes_change_nothing() -> None:
    system = searched(ALL_KINDS)
    one, two = system.search(RUNS, seed=7), system.search(RUNS, seed=7, processes=2)
    assert one.runs == two.runs == RUNS
    assert values(one.found) == values(two.found)
    assert all(same_choices(a, b) for a, b in zip(one.found, two.found, strict=True) if a is not None and b is not None)


def test_another_seed_goes_another_way() -> None:
    system = searched(ALL_KINDS)
    assert values(system.search(60, seed=1).found) != values(system.search(60, seed=2).found)


def test_what_ran_out_of_time_is_repeated_by_its_number_of_runs() -> None:
    system = searched(ALL_KINDS)
    asked = itertools.count()
    stopped = search(system.space, system.goals, seed=3, over=lambda: next(asked) >= 9)
    again = system.search(stopped.runs, seed=3)
    assert again.runs == stopped.runs > 0
    assert values(again.found) == values(stopped.found)


@pytest.mark.parametrize("runs", [1, 2, 19, 50])
def test_exactly_so_many_runs_and_the_first_ones_of_more(runs: int) -> None:
    system = searched(ALL_KINDS)
    few, many = system.search(runs, seed=5), system.search(60, seed=5)
    assert few.runs == runs
    for one, other in zip(few.found, many.found, strict=True):
        assert one is None or (other is not None and one.value_ns <= other.value_ns and one.run < runs)


def test_it_ends_when_every_bound_is_reached() -> None:
    system = searched("""
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  fast: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 2ms}}
  slow: {runs_on: ecu.cpu, activation: {period: 40ms}, execution: {wcet: 8ms}}
""")
    found = system.search(10_000)
    assert found.runs <= 32
    assert [one and (one.value_ns, one.strategy, one.run) for one in found.found] == [
        (2_000_000, LONGEST, 0),
        (10_000_000, LONGEST, 0),
    ]


def test_only_what_was_chosen_is_looked_for_and_progress_is_told() -> None:
    system = searched(ALL_KINDS)
    goals = tuple(goal for goal in system.goals if goal.name in ("act", "log"))
    told: list[tuple[int, list[Found | None]]] = []
    found = search(system.space, goals, seed=0, runs=40, tell=lambda runs, best: told.append((runs, list(best))))
    assert [one.goal for one in found.found if one is not None] == list(goals)
    assert [runs for runs, _ in told] == sorted(runs for runs, _ in told)
    assert told[-1][0] == 40


def test_guided_runs_come_nearer_to_the_bounds_than_random_ones() -> None:
    system = searched(ALL_KINDS)
    shares = []
    for guided in (True, False):
        found = system.search(250, guided=guided).found
        shares.append(sum(one.value_ns / (one.goal.bound_ns or 1) for one in found if one is not None))
    assert shares[0] > shares[1]
