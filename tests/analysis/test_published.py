"""Bounds of published task sets, and those of a peer that is proven correct."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rt_sched.analysis.batch import BatchResult, Status, edf_response_times, fp_response_times

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
Analysis = Callable[[list[list[int]], list[list[int]], list[list[int]]], BatchResult]
ANALYSES: dict[str, Analysis] = {
    "fp_preemptive": fp_response_times,
    "fp_non_preemptive": lambda wcet, period, deadline: fp_response_times(wcet, period, deadline, preemptive=False),
    "fp_non_preemptive_classic": lambda wcet, period, deadline: fp_response_times(
        wcet, period, deadline, preemptive=False, classic=True
    ),
    "edf_preemptive": edf_response_times,
    "edf_non_preemptive": lambda wcet, period, deadline: edf_response_times(wcet, period, deadline, preemptive=False),
}


def _compare(entry: dict[str, list[list[int]]], *, padding: int, scale: int) -> int:
    """Compare every bound of an entry, with tasks of no work between its own, in another unit; how many there are."""
    columns = [[[*(scale * value for value in column), *[0] * padding]] for column in zip(*entry["tasks"], strict=True)]
    compared = 0
    for name, analyse in ANALYSES.items():
        if name not in entry:
            continue
        count = len(entry["tasks"])
        result = analyse(*columns)
        # What blocks has begun 1 unit before, however long the unit is; so only whole units of others scale.
        exact = "non_preemptive" not in name or name.endswith("classic") or scale == 1
        found = result.response_ns[0, :count].tolist()
        assert (result.status == Status.OK).all()
        expected = [scale * value for value in entry[name]]
        if exact:
            assert found == expected, (entry, name)
        else:
            assert all(0 <= have - want < scale for have, want in zip(found, expected, strict=True)), (entry, name)
        compared += count
    return compared


@pytest.mark.parametrize("entry", PUBLISHED["books"], ids=lambda entry: entry["source"])
def test_published_bounds(entry: dict[str, list[list[int]]]) -> None:
    assert sum(_compare(entry, padding=padding, scale=1) for padding in (0, 3)) >= 4
    assert _compare(entry, padding=1, scale=1000) >= 2


def test_bounds_of_the_peer() -> None:
    assert sum(_compare(entry, padding=2, scale=1) for entry in PUBLISHED["peer"]) > 2000
