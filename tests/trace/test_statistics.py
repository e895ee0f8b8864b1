"""Statistics of hand-written traces, and the percentile against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.trace import JobStatus
from rt_sched.trace.statistics import (
    measure_processing_elements,
    measure_processors,
    measure_tasks,
    spread_of,
    worst_cycle,
)


@pytest.mark.parametrize("count", [1, 2, 3, 50, 99, 100, 101, 199, 200, 201, 1000])
def test_percentiles_are_the_smallest_values_that_enough_do_not_exceed(count):
    values = np.random.default_rng(count).integers(0, 50, count)
    spread = spread_of(values)
    for percent, found in ((50, spread.p50_ns), (99, spread.p99_ns)):
        enough = [v for v in sorted(values.tolist()) if 100 * sum(values <= v) >= percent * count]
        assert found == enough[0]
    assert (spread.count, spread.min_ns, spread.max_ns) == (count, values.min(), values.max())


def test_the_spread_of_nothing_has_no_values():
    assert spread_of(np.array([], dtype=np.int64)).p99_ns is None


@pytest.fixture
def busy(new_trace):
    builder = new_trace(["fast", "slow", "idle"], ["s"], ["o.cpu.0", "o.cpu.1", "o.gpu.0"])
    builder.edge("s", "fast")
    builder.edge("fast", "slow")
    frame = builder.sample("s", 0, 0)
    builder.job("fast", 0, 10, inputs=[frame], deadline=20, slices=[("o.cpu.0", 0, 10)])
    builder.job(
        "slow",
        0,
        60,
        deadline=50,
        missed=True,
        overrun=True,
        capture=0,
        slices=[("o.cpu.0", 10, 40), ("o.cpu.0", 50, 60)],
    )
    builder.job("fast", 40, 50, deadline=20, slices=[("o.cpu.0", 40, 50)])
    builder.job("fast", 60, status=JobStatus.SKIPPED)
    builder.job("fast", 62, status=JobStatus.ABORTED, missed=True, slices=[("o.cpu.0", 62, 64)])
    builder.job("fast", 63, status=JobStatus.LOST)
    builder.job("fast", 64, status=JobStatus.SUPPRESSED)
    builder.job("fast", 70, deadline=100, slices=[("o.cpu.1", 90, 105)])
    builder.drop(30, 1, 0)
    builder.drop(35, 1, 2)
    builder.drop(36, 0, frame)
    return builder


def test_outcomes_per_task(busy):
    fast, slow, idle = measure_tasks(busy.build(horizon=100))
    outcomes = (fast.completed, fast.unfinished, fast.skipped, fast.aborted, fast.lost, fast.suppressed)
    assert outcomes == (2, 1, 1, 1, 1, 1)
    assert fast.jobs == sum(outcomes)
    assert (fast.misses, fast.overruns, fast.drops) == (1, 0, 1)
    assert (slow.misses, slow.overruns, slow.drops, slow.response.max_ns) == (1, 1, 2, 60)
    assert (idle.jobs, idle.response.count, idle.response.max_ns) == (0, 0, None)


def test_an_unfinished_job_counts_as_long_as_it_has_waited(busy):
    fast, slow, _ = measure_tasks(busy.build(horizon=100))
    assert (fast.response.count, fast.response.min_ns, fast.response.max_ns) == (3, 10, 30)
    assert (fast.censored, fast.largest_is_censored) == (1, True)
    assert (slow.censored, slow.largest_is_censored) == (0, False)


def test_utilisation_counts_what_lies_inside_the_run(busy):
    trace = busy.build(horizon=100)
    assert [(p.name, p.busy_ns, p.utilisation) for p in measure_processors(trace)] == [
        ("o.cpu.0", 62, 0.62),
        ("o.cpu.1", 10, 0.10),
        ("o.gpu.0", 0, 0.0),
    ]
    assert [(p.name, p.processors, p.busy_ns, p.utilisation) for p in measure_processing_elements(trace)] == [
        ("o.cpu", 2, 72, 0.36),
        ("o.gpu", 1, 0, 0.0),
    ]


def test_the_worst_cycle_lies_around_the_worst_ratio_of_response_and_deadline(busy):
    cycle = worst_cycle(busy.build(horizon=100))
    assert (cycle.task, cycle.job, cycle.response_ns, cycle.deadline_ns) == ("slow", 1, 60, 50)
    assert (cycle.start_ns, cycle.end_ns) == (0, 66)


def test_the_worst_cycle_reaches_back_to_the_data_but_not_for_ever(new_trace):
    builder = new_trace(["t"], [], ["o.cpu.0"])
    builder.job("t", 1_000, 1_050, deadline=100, capture=900)
    assert (worst_cycle(builder.build(horizon=5_000)).start_ns) == 880
    builder.job("t", 2_000, 2_060, deadline=100, capture=10)
    cycle = worst_cycle(builder.build(horizon=5_000))
    assert (cycle.job, cycle.start_ns, cycle.end_ns) == (1, 1_660, 2_140)


def test_there_is_no_worst_cycle_without_a_response(new_trace):
    builder = new_trace(["t"], [], ["o.cpu.0"])
    assert worst_cycle(builder.build()) is None
    builder.job("t", 0, status=JobStatus.SKIPPED)
    assert worst_cycle(builder.build()) is None
