"""Chain bounds of periodic tasks against brute force over all instants, and against values from the literature."""

from __future__ import annotations

from itertools import pairwise
from math import lcm

import numpy as np
import pytest
from chain_reference import Task, Times, chain_times, implicit_jobs, let_jobs
from chain_systems import Node, chain_system

from rt_sched.analysis.chains.bounds import chain_bound, davare_bound
from rt_sched.analysis.chains.segments import Segment, segments_of
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Quantity
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.planner import make_plan


def bounded(tasks: list[Task], chain: tuple[int, ...], *, let: bool) -> list[Segment]:
    """Segments of the chain; priorities in the order of `tasks`. Under LET each task has a processor of its own."""
    before = {task: source for source, task in pairwise(chain)}
    nodes = [
        Node(f"t{i}", cost, period, f"t{before[i]}" if i in before else None, f"p{i * let}", offset)
        for i, (cost, period, offset) in enumerate(tasks)
    ]
    (mode,) = mode_loads(made := chain_system(nodes, tuple(f"t{i}" for i in chain), let=let), make_plan(made))
    return segments_of(mode, mode_bounds(mode, METHODS), made.chains[0].path)


def reference(tasks: list[Task], chain: tuple[int, ...], *, let: bool) -> Times:
    end = max(offset for _, _, offset in tasks) + 12 * lcm(*(period for _, period, _ in tasks)) + 500
    jobs = [let_jobs(task, end) for task in tasks] if let else implicit_jobs(tasks, end)
    return chain_times(jobs, tasks, chain)


def random_tasks(rng: np.random.Generator) -> tuple[list[Task], tuple[int, ...]]:
    count = int(rng.integers(2, 5))
    periods = [int(rng.choice([4, 5, 6, 8, 10, 12, 20])) for _ in range(count)]
    tasks = [
        (int(rng.integers(1, max(2, period // count))), period, int(rng.integers(0, period))) for period in periods
    ]
    return tasks, tuple(int(place) for place in rng.permutation(count))


def test_under_let_the_bounds_are_exact() -> None:
    rng = np.random.default_rng(61)
    shorter = 0
    for _ in range(80):
        tasks, chain = random_tasks(rng)
        found, exact = bounded(tasks, chain, let=True), reference(tasks, chain, let=True)
        assert chain_bound(found, Quantity.REACTION).value_ns == exact.reaction
        assert chain_bound(found, Quantity.LATENCY).value_ns == exact.latency
        assert chain_bound(found, Quantity.DATA_AGE).value_ns == exact.data_age
        assert exact.reaction == exact.age_until_replaced
        shorter += exact.reaction < davare_bound(found, Quantity.REACTION).value_ns
    assert shorter > 40


def test_no_implicit_chain_with_constant_execution_exceeds_its_bounds() -> None:
    rng = np.random.default_rng(62)
    attained = judged = 0
    for _ in range(80):
        tasks, chain = random_tasks(rng)
        if sum(cost / period for cost, period, _ in tasks) >= 1:
            continue
        found, exact = bounded(tasks, chain, let=False), reference(tasks, chain, let=False)
        for quantity in Quantity:
            value = getattr(exact, quantity.value)
            assert value <= chain_bound(found, quantity).value_ns <= davare_bound(found, quantity).value_ns
            attained += value == chain_bound(found, quantity).value_ns
            judged += 1
    assert judged > 130
    assert attained > judged // 3


@pytest.mark.parametrize(
    ("tasks", "reaction", "data_age"),
    [
        # Same period, in the order of the chain: a period of sampling and one each (Hamann et al. 2017).
        ([(1, 10, 0), (1, 10, 0), (1, 10, 0)], 40, 30),
        # Harmonic periods: fast to slow and slow to fast.
        ([(1, 5, 0), (1, 10, 0)], 25, 15),
        ([(1, 10, 0), (1, 5, 0)], 25, 20),
    ],
)
def test_let_by_hand(tasks: list[Task], reaction: int, data_age: int) -> None:
    chain = tuple(range(len(tasks)))
    found = bounded(tasks, chain, let=True)
    assert chain_bound(found, Quantity.REACTION).value_ns == reaction
    assert chain_bound(found, Quantity.DATA_AGE).value_ns == data_age
    assert reference(tasks, chain, let=True).reaction == reaction
