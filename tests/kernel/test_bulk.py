"""Bulk simulation in tables that are drained: the same schedule, and the statistics of the whole trace."""

from __future__ import annotations

import numpy as np
import pytest
from bulk_statistics import bulk_counts, difference
from bulk_traces import at_once, in_windows
from by_hand import cpu, system, task
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_systems import ALL_FEATURES, random_system
from takeover_systems import takeover_system

from rt_sched.kernels.bulk.histogram import BINS, bin_of, last_of_bin, shift_for
from rt_sched.lowering.machine_input import MachineInput, Policy
from rt_sched.sim import Simulation
from rt_sched.sim.bulk import BulkSimulation, Window
from rt_sched.sim.bulk_tables import ChainQuestion, Questions
from rt_sched.sim.sample_feeds import GivenSamples
from rt_sched.sim.statistics import counted


def drawn_system(seed: int) -> MachineInput:
    """A random system; every third one has takeovers."""
    return takeover_system(seed) if seed % 3 == 2 else random_system(seed, ALL_FEATURES)


BLOCKS = pytest.mark.parametrize("first", range(0, 60, 20))


@BLOCKS
def test_drained_tables_change_no_schedule(first: int) -> None:
    for seed in range(first, first + 20):
        drawn = drawn_system(seed)
        whole = at_once(drawn)
        for rows, samples in ((1, 1), (7, 3)):
            windows = in_windows(drawn, rows, samples)
            for table, expected in whole.items():
                assert windows[table] == expected, (seed, rows, table)


@BLOCKS
def test_statistics_are_those_of_the_whole_trace(first: int) -> None:
    for seed in range(first, first + 20):
        assert difference(drawn_system(seed), rows=9, samples=4) is None, seed


def _busy(horizon_ns: int) -> object:
    tasks = [task(f"t{i}", 2 + i, period_ns=17 + 6 * i, deadline_ns=30, level=i) for i in range(4)]
    return system(tasks, cpu(Policy.EDF), horizon_ns=horizon_ns)


def test_memory_does_not_grow_with_the_length_of_a_run() -> None:
    sizes = []
    for horizon_ns in (10_000, 1_000_000):
        simulation = BulkSimulation(_busy(horizon_ns), Questions(), rows=64)
        windows: list[int] = []

        def see(window: Window, windows: list[int] = windows) -> None:
            windows.append(sum(table.nbytes for table in (*window.machine, *window.bulk)))

        simulation.run(0, 0, GivenSamples(_busy(horizon_ns)), see=see)
        sizes.append(max(windows))
        assert len(windows) > horizon_ns // 1000
    assert sizes[0] == sizes[1]


def test_a_backlog_makes_tables_grow_and_loses_nothing() -> None:
    overloaded = system([task("t", 3, period_ns=2, deadline_ns=9)], horizon_ns=4000)
    counts = bulk_counts(overloaded, Questions(), rows=16, samples=1)
    assert (counts.tasks[0].jobs, counts.tasks[0].completed, counts.tasks[0].unfinished) == (2000, 1333, 667)
    assert counts.tasks[0].response.max_is_censored is False
    assert in_windows(overloaded, 16, 1) == at_once(overloaded)


def test_runs_add_up_and_workers_do_not_matter() -> None:
    drawn = random_system(3, ALL_FEATURES)
    targets = [edge.target for edge in drawn.edges]

    def bulk_of(runs: list[int]) -> BulkSimulation:
        simulation = BulkSimulation(drawn, Questions())
        for run in runs:
            simulation.run(run, run, GivenSamples(drawn))
        return simulation

    whole = counted([bulk_of(list(range(6))).bulk], 6, targets)
    for division in ([[0, 2, 4], [1, 3, 5]], [[5], [3, 4], [0, 1, 2]], [[0, 1, 2, 3, 4, 5], []]):
        assert counted([bulk_of(runs).bulk for runs in division], 6, targets) == whole


def test_times_above_a_bound_are_counted_and_the_largest_is_named() -> None:
    late = system([task("a", 4, period_ns=10, level=0), task("b", 5, offset_ns=2, period_ns=20, level=1)])
    simulation = Simulation(late)
    simulation.run()
    jobs = simulation.trace().jobs
    responses = {name: jobs.finish_ns[jobs.task == i] - jobs.arrival_ns[jobs.task == i] for i, name in enumerate("ab")}
    bounds = (int(responses["a"].max()), int(responses["b"].max()) - 1)
    a, b = bulk_counts(late, Questions(bounds_ns=bounds), 4, 1).tasks
    assert (a.response.exceeded, b.response.exceeded) == (0, np.count_nonzero(responses["b"] > bounds[1]))
    assert b.response.at is not None
    assert b.response.at.number == int(np.argmax(responses["b"]))
    before = Questions(bounds_ns=bounds, bounds_until_ns=1)
    assert bulk_counts(late, before, 4, 1).tasks[1].response.exceeded == 0


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (("t0",), "needs a sensor or a timed task and at least one task more"),
        (("nobody", "t0"), "'nobody' is neither a sensor nor a timed task"),
        (("t0", "t1"), "no edge leads from 't0' to 't1'"),
    ],
)
def test_a_chain_that_is_none_is_refused(path: tuple[str, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        BulkSimulation(_busy(100), Questions((ChainQuestion("c", path, 10),)))


@settings(deadline=None)
@given(st.integers(0, 2**62), st.integers(1, 2**60))
def test_a_bin_is_at_most_a_64th_wide(value: int, usual: int) -> None:
    shift = shift_for(usual)
    place = bin_of(value, shift)
    assert 0 <= place < BINS
    if place < BINS - 1:
        last = last_of_bin(place, shift)
        first = last_of_bin(place - 1, shift) + 1 if place else 0
        assert first <= value <= last
        assert last - first < max(first / 64, 2**shift)
    else:
        assert value >= 32 * usual


def test_quantiles_are_never_too_small_and_at_most_a_64th_too_large() -> None:
    jobs = 4000
    demands = np.random.default_rng(5).integers(10**6, 9 * 10**6, jobs)
    one = task("t", 1, period_ns=10**7, deadline_ns=10**7, explicit_demands_ns=tuple(demands.tolist()))
    response = bulk_counts(system([one], horizon_ns=jobs * 10**7), Questions(), 64, 1).tasks[0].response
    ordered = np.sort(demands)
    assert (response.min_ns, response.max_ns, response.count) == (ordered[0], ordered[-1], jobs)
    assert response.mean_ns == pytest.approx(demands.mean())
    for thousandths, got in ((500, response.p50_ns), (990, response.p99_ns), (999, response.p999_ns)):
        exact = int(ordered[-(-jobs * thousandths // 1000) - 1])
        assert exact <= got <= exact * 65 / 64
