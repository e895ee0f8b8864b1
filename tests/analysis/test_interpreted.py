"""Few sets are tried by Python before numba is loaded: with the same results, and never for long."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import arrays, task_sets

from rt_sched.analysis import batch
from rt_sched.analysis.batch import BatchResult, Status, edf_response_times, edf_schedulable, fp_response_times
from rt_sched.kernels.compiling.patience import Patience

FUNCTIONS = [fp_response_times, edf_schedulable, edf_response_times]


class Endless(Patience):
    """Lasts although numba is loaded."""

    lasts = True  # type: ignore[assignment]


def by_python(analyse: Any, *arguments: Any, **options: Any) -> BatchResult:
    """With Python first, and no warning about an integer."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(batch, "_PATIENCE", Endless())
        found: BatchResult = analyse(*arguments, **options)
        return found


def assert_same(one: BatchResult, other: BatchResult) -> None:
    for name in ("response_ns", "status", "schedulable", "violation_ns", "worst_job", "worst_window_ns"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    np.testing.assert_array_equal(one.worst_arrival_ns, other.worst_arrival_ns)


@settings(max_examples=150, deadline=None)
@given(
    tasks=task_sets(),
    scale=st.sampled_from([1, 10**6, 2**54]),
    analyse=st.sampled_from(FUNCTIONS),
    preemptive=st.booleans(),
    few=st.sampled_from([10, 2**13]),
)
def test_python_gives_what_numba_gives(tasks: Any, scale: int, analyse: Any, preemptive: bool, few: int) -> None:
    options: dict[str, Any] = {"preemptive": preemptive}
    if analyse is not edf_schedulable:
        options["details"] = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "MOST_STEPS", 2**17)
        patch.setattr(batch, "_FEW_STEPS", few)
        assert_same(
            by_python(analyse, **arrays(tasks, scale), **options),
            analyse(**arrays(tasks, scale), **options),
        )


def test_what_takes_many_steps_is_left_to_numba() -> None:
    wcet, period = [[999_999, 1]], [[1_000_000, 10**9 + 7]]
    began = time.perf_counter()
    found = by_python(fp_response_times, wcet, period, jitter_ns=[[0, 10**9]])
    assert time.perf_counter() - began < 5
    assert_same(found, fp_response_times(wcet, period, jitter_ns=[[0, 10**9]]))
    assert (found.status == Status.OK).all()


def test_many_sets_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Endless()
    monkeypatch.setattr(batch, "_PATIENCE", patience)
    left_ns = patience._left_ns
    fp_response_times([[1, 2]] * 40, [[5, 9]] * 40)
    assert patience._left_ns == left_ns
    fp_response_times([[1, 2]], [[5, 9]])
    assert patience._left_ns < left_ns


WITHOUT_NUMBA = """
import json, sys
from rt_sched.analysis import batch
loaded = ["numba" in sys.modules]
rows = []
for _ in range({times}):
    rows.append(batch.fp_response_times({wcet}, {period}).response_ns.tolist())
    loaded.append("numba" in sys.modules)
print(json.dumps([loaded[0], loaded[1], loaded[-1], rows[0] == rows[-1]]))
"""


@pytest.mark.parametrize(
    ("wcet", "period", "times", "expected"),
    [
        ([[1, 2]], [[5, 9]], 3, [False, False, False, True]),
        ([[1, 2]] * 100, [[5, 9]] * 100, 1, [False, True, True, True]),
        ([list(range(1, 60))], [[4000 + 37 * n for n in range(59)]], 2000, [False, False, True, True]),
    ],
    ids=["a few", "many sets", "many calls"],
)
def test_numba_is_loaded_when_it_is_worth_it(wcet: Any, period: Any, times: int, expected: list[bool]) -> None:
    script = WITHOUT_NUMBA.format(wcet=wcet, period=period, times=times)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
