"""The batch kernels agree with the papers' recurrences on random sets, whatever the load."""

from __future__ import annotations

import numpy as np
import pytest
import textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import arrays, task_sets

from rt_sched.analysis import batch
from rt_sched.analysis.batch import Status, edf_response_times, edf_schedulable, fp_response_times

EXAMPLES = settings(max_examples=150, deadline=None)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets whose busy period never ends are given up early."""
    monkeypatch.setattr(batch, "MOST_STEPS", 2**21)


def assert_agrees(result: batch.BatchResult, expected: list[int | None]) -> None:
    for response, status, wanted in zip(result.response_ns[0], result.status[0], expected, strict=True):
        if wanted is None:
            assert (response, status != Status.OK) == (-1, True)
        else:
            assert (response, status) == (wanted, Status.OK)


def _assume_short(tasks: list[textbook.Task], preemptive: bool, most: int) -> None:
    """Leave out sets whose busy period ends so late that the plain oracle, which looks at every instant, takes long."""
    if textbook.load(tasks) <= 1:
        assume((textbook.edf_limit(tasks, preemptive) or 0) <= most)


@EXAMPLES
@given(tasks=task_sets())
def test_preemptive_fixed_priority(tasks: list[textbook.Task]) -> None:
    expected = [textbook.fp_preemptive(i, tasks) for i in range(len(tasks))]
    assert_agrees(fp_response_times(**arrays(tasks)), expected)


@EXAMPLES
@given(tasks=task_sets(), equal=st.lists(st.booleans(), min_size=5, max_size=5))
def test_equal_priorities_delay_each_other(tasks: list[textbook.Task], equal: list[bool]) -> None:
    levels = np.cumsum([not same for same in equal])[: len(tasks)].tolist()
    expected = [textbook.fp_preemptive(i, tasks, levels) for i in range(len(tasks))]
    assert_agrees(fp_response_times(**arrays(tasks), levels=levels), expected)


@EXAMPLES
@given(tasks=task_sets(), classic=st.booleans())
def test_non_preemptive_fixed_priority(tasks: list[textbook.Task], classic: bool) -> None:
    expected = [textbook.fp_non_preemptive(i, tasks, classic) for i in range(len(tasks))]
    assert_agrees(fp_response_times(**arrays(tasks), preemptive=False, classic=classic), expected)


@EXAMPLES
@given(tasks=task_sets(), cut=st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_last_regions(tasks: list[textbook.Task], cut: list[float]) -> None:
    regions = [max(1, int(share * task.C)) for share, task in zip(cut, tasks, strict=False)]
    expected = [textbook.fp_last_region(i, tasks, regions[i], task.B) for i, task in enumerate(tasks)]
    assert_agrees(fp_response_times(**arrays(tasks), last_region_ns=[regions]), expected)


@EXAMPLES
@given(tasks=task_sets(), preemptive=st.booleans())
def test_edf_demand(tasks: list[textbook.Task], preemptive: bool) -> None:
    result = edf_schedulable(**arrays(tasks), preemptive=preemptive)
    if textbook.load(tasks) > 1:
        assert (result.status[0], bool(result.schedulable[0])) == (Status.UNBOUNDED, False)
        return
    _assume_short(tasks, preemptive, 5000)
    first = textbook.edf_first_violation(tasks, preemptive)
    if first is None:
        assert result.status[0] != Status.OK or result.violation_ns[0] >= 0
        assert not result.schedulable[0]
        return
    assert result.status[0] == Status.OK
    assert bool(result.schedulable[0]) == (first == -1)
    at = int(result.violation_ns[0])
    if first >= 0:
        assert at >= 0
        assert textbook.demand_bound(tasks, at) + textbook.edf_blocking(tasks, at, preemptive) > at
    else:
        assert at == -1


@EXAMPLES
@given(tasks=task_sets(), preemptive=st.booleans())
def test_edf_responses(tasks: list[textbook.Task], preemptive: bool) -> None:
    _assume_short(tasks, preemptive, 600)
    expected = [textbook.edf_response(i, tasks, preemptive) for i in range(len(tasks))]
    assert_agrees(edf_response_times(**arrays(tasks), preemptive=preemptive), expected)
