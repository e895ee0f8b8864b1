"""No response of random systems, run in any legal way, exceeds what any method says of it."""

from __future__ import annotations

from collections import Counter

import pytest
from random_checks import check

_BLOCK, _BLOCKS = 125, 8
#: Least counts over all blocks: bounds found, loads refused, tasks without a bound, worst jobs that were not the first.
_LEAST = {
    "fp_response_time": (700, 60, 80, 10),
    "edf_response_time": (350, 40, 120, 15),
    "fifo_response_time": (50, 2, 10, 1),
    "self_suspension": (25, 300, 8, 0),
    "suspension_oblivious": (50, 400, 8, 1),
    "amc_rtb": (35, 300, 10, 0),
    "amc_max": (35, 300, 10, 0),
    "global_fp": (80, 250, 15, 0),
    "global_edf": (35, 150, 20, 0),
    "slice_supply": (180, 2, 25, 2),
    "table_entries": (90, 1, 30, 0),
    "offset_simulation": (60, 400, 4, 0),
    "offset_response_time": (150, 200, 10, 3),
}
_totals: Counter[str] = Counter()


@pytest.mark.parametrize("block", range(_BLOCKS))
def test_no_response_exceeds_a_bound(block: int) -> None:
    violations = []
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        outcome = check(seed, runs=3, verdicts=seed % 4 == 0)
        violations += outcome.violations
        _totals.update(outcome.counts)
    assert not violations
    _totals["blocks"] += 1


def test_every_method_was_met_often() -> None:
    if _totals["blocks"] < _BLOCKS:
        pytest.skip("needs all blocks of test_no_response_exceeds_a_bound in this process")
    kinds = ("accepted", "refused", "inconclusive", "later job")
    met = {name: tuple(_totals[f"{name} {kind}"] for kind in kinds) for name in _LEAST}
    lacking = {
        name: (met[name], least)
        for name, least in _LEAST.items()
        if any(have < want for have, want in zip(met[name], least, strict=True))
    }
    assert not lacking
    assert _totals["verdict schedulable"] > 300
    assert _totals["verdict unschedulable"] > 100
    assert _totals["verdict inconclusive"] > 50


@pytest.mark.parametrize("seed", [22597, 23260])
def test_switches_of_nested_inheritance_and_of_shared_queues(seed: int) -> None:
    """Systems whose switches last as long as jobs: each one between a job and what it waits for counts."""
    assert check(seed).violations == []
