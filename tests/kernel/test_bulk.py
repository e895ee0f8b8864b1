"""Bulk simulation in tables that are drained: the same schedule, and the statistics of the whole trace."""

from __future__ import annotations

import pytest
from bulk_traces import at_once, in_windows
from kernel_systems import ALL_FEATURES, random_system


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_drained_tables_change_no_schedule(first: int) -> None:
    for seed in range(first, first + 10):
        given = random_system(seed, ALL_FEATURES)
        whole = at_once(given)
        for rows, samples in ((1, 1), (7, 3), (64, 64)):
            windows = in_windows(given, rows, samples)
            for table, expected in whole.items():
                assert windows[table] == expected, (seed, rows, samples, table)
