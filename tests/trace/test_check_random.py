"""The checker on random systems with every feature: silent on what the machine makes, awake to what is changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace

import numpy as np
import pytest
from agreement import bulk
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_systems import ALL_FEATURES, Feature, random_system
from takeover_systems import takeover_system

from rt_sched.sim import Simulation
from rt_sched.trace import (
    DropTable,
    EventTable,
    JobTable,
    SampleTable,
    SliceTable,
    Trace,
    TransferTable,
)
from rt_sched.trace.checker import check_trace

BLOCKS, PER_BLOCK = 6, 60

#: Columns that only repeat what the run was given, or that can change without any rule noticing it.
_UNCHECKED = {"samples.capture_ns", "samples.arrival_ns"}


def run(seed: int, features: frozenset[Feature]) -> Trace:
    simulation = Simulation(random_system(seed, features))
    simulation.run()
    return simulation.trace()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_silent_on_random_systems(block: int) -> None:
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        result = check_trace(run(seed, ALL_FEATURES))
        assert result.ok, f"system {seed}: {[str(violation) for violation in result.violations]}"


def test_silent_on_random_takeovers() -> None:
    for seed in range(90):
        trace = bulk(takeover_system(seed))
        assert [str(violation) for violation in check_trace(trace).violations] == [], f"system {seed}"


@pytest.mark.parametrize("feature", [None, *Feature])
def test_silent_on_single_features(feature: Feature | None) -> None:
    for seed in range(1000, 1020):
        result = check_trace(run(seed, frozenset() if feature is None else frozenset([feature])))
        assert result.ok, f"system {seed}: {[str(violation) for violation in result.violations]}"


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(13254, id="a lock owner outlives the removal of its task and then says skip_next"),
        pytest.param(14171, id="a lock owner outlives the removal of its task and then says degrade"),
        pytest.param(6760, id="a dispatched job unlocks at once and another gets a core in the next round"),
        pytest.param(14119, id="the job of a table entry unlocks at once and is then aborted"),
        pytest.param(14894, id="a waiting job inherits a key from one that waits as soon as it is dispatched"),
        pytest.param(35802, id="an arrival pays for a throttled job that is skipped at once"),
        pytest.param(34143, id="a job of a better key becomes ready when the one before it is skipped"),
        pytest.param(40915, id="a job loses its core at once to one that inherits a key in the next round"),
        pytest.param(41344, id="a slice's own job takes its core back and waits at once"),
        pytest.param(63625, id="a job that spun locks and unlocks at one executed time and is then preempted"),
        pytest.param(80868, id="a job is granted a dead owner's lock at the instant at which its task is removed"),
    ],
)
def test_silent_on_rare_instants(seed: int) -> None:
    assert [str(violation) for violation in check_trace(run(seed, ALL_FEATURES)).violations] == []


def test_a_budget_is_looked_at_after_the_instant_of_an_unlock_at_dispatch() -> None:
    some = {Feature.SECTIONS, Feature.SLICES, Feature.TABLES, Feature.FREQUENCY, Feature.BUDGETS}
    trace = run(303818, frozenset(some | {Feature.DEADLINES, Feature.MODES, Feature.POINTS}))
    assert [str(violation) for violation in check_trace(trace).violations] == []


def test_a_job_that_became_the_oldest_before_its_processor_switched_to_high() -> None:
    some = {Feature.CORES, Feature.POINTS, Feature.SECTIONS, Feature.FREQUENCY}
    trace = run(709112, frozenset(some | {Feature.MSRP, Feature.BUDGETS, Feature.DEADLINES, Feature.CRITICALITY}))
    assert [str(violation) for violation in check_trace(trace).violations] == []


def corrupted(trace: Trace, table: str, column: str, row: int, step: int) -> Trace | None:
    """The trace with one number changed: a flag turned, any other moved by `step`; None for an empty table."""
    rows = getattr(trace, table)
    values = getattr(rows, column).copy()
    if not len(values):
        return None
    place = (row % len(values), *(step % size for size in values.shape[1:]))
    values[place] = not values[place] if values.dtype == np.bool_ else values[place] + step
    return replace(trace, **{table: replace(rows, **{column: values})})


_TABLES = (JobTable, SliceTable, DropTable, SampleTable, TransferTable, EventTable)
_NAMES = ("jobs", "slices", "drops", "samples", "transfers", "events")
_COLUMNS = [
    (name, column.name)
    for name, table in zip(_NAMES, _TABLES, strict=True)
    for column in fields(table)
    if f"{name}.{column.name}" not in _UNCHECKED
]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 200),
    column=st.sampled_from(_COLUMNS),
    row=st.integers(0, 10**6),
    step=st.sampled_from((-2, -1, 1, 2)),
)
def test_any_changed_number_raises_no_error(seed: int, column: tuple[str, str], row: int, step: int) -> None:
    changed = corrupted(run(seed, ALL_FEATURES), *column, row, step)
    if changed is not None:
        check_trace(changed)


def test_most_changed_numbers_are_noticed() -> None:
    """Per column at least nine in ten; a delay of what nobody waits for may break no rule."""
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    rng = np.random.default_rng(1)
    for seed in range(40):
        trace = run(seed, ALL_FEATURES) if seed % 4 else bulk(takeover_system(seed))
        for table, column in _COLUMNS:
            changed = corrupted(trace, table, column, int(rng.integers(10**6)), int(rng.choice((-2, -1, 1, 2))))
            if changed is not None:
                tried[f"{table}.{column}"] += 1
                noticed[f"{table}.{column}"] += not check_trace(changed).ok
    rates = {name: noticed[name] / count for name, count in tried.items() if count >= 10}
    assert {name: round(rate, 2) for name, rate in rates.items() if rate < 0.9} == {}
    assert len(rates) > 30
    assert sum(noticed.values()) >= 0.97 * sum(tried.values())
