"""Global bounds at the scale of milliseconds: windows that creep are carried on at once, to the same bound."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.analysis.theory import global_tests
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.global_tests import global_edf_response_times, global_fp_response_times

MS = 1_000_000


@pytest.mark.parametrize("analyse", [global_fp_response_times, global_edf_response_times])
def test_carried_windows_end_where_crept_ones_do(analyse, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(17)
    sets, carried = [], []
    for _ in range(400):
        periods = [int(value) for value in rng.integers(4, 60, int(rng.integers(2, 8)))]
        tasks = [
            Timing(int(rng.integers(1, max(2, p * 2 // 3))), p, int(rng.integers(max(1, p // 2), p + 1)))
            for p in periods
        ]
        tasks = [Timing(min(t.wcet_ns, t.deadline_ns), t.period_ns, t.deadline_ns) for t in tasks]
        sets.append((tasks, int(rng.integers(1, 5))))
        carried.append(analyse(*sets[-1]))
    monkeypatch.setattr(global_tests, "_hopeless_ns", lambda *_: 0)
    assert carried == [analyse(tasks, cores) for tasks, cores in sets]
    found = [bound for bounds in carried for bound in bounds if bound is not None]
    assert len(found) > 500
    assert sum(None in bounds for bounds in carried) > 50


def test_milliseconds_do_not_take_millions_of_steps() -> None:
    tasks = [Timing(2 * MS, 10 * MS, 10 * MS), Timing(2 * MS, 10 * MS, 10 * MS), Timing(8 * MS, 11 * MS, 11 * MS)]
    assert global_fp_response_times(tasks, 2) == [2 * MS, 2 * MS, 10 * MS]
    assert global_edf_response_times(tasks, 2) == [4 * MS, 4 * MS, 10 * MS]
