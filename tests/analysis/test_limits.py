"""Whatever the numbers: a status or a refusal, never a wrong bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rt_sched.analysis import batch
from rt_sched.analysis.batch import BatchResult, Status, edf_response_times, edf_schedulable, fp_response_times
from rt_sched.errors import AnalysisNotApplicable

ALL: list[Callable[..., BatchResult]] = [fp_response_times, edf_schedulable, edf_response_times]
EVERY = pytest.mark.parametrize("analyse", ALL)
PREEMPTION = pytest.mark.parametrize("preemptive", [True, False])
BIG = 2**60


@EVERY
@PREEMPTION
@pytest.mark.parametrize(
    "change",
    [
        {"wcet_ns": [[-1, 2]]},
        {"period_ns": [[0, 10]]},
        {"deadline_ns": [[0, 10]]},
        {"deadline_ns": [[5, BIG + 1]]},
        {"jitter_ns": [[-1, 0]]},
        {"blocking_ns": [[0, 2**62]]},
        {"wcet_ns": [[2**63 - 1, 1]]},
    ],
)
def test_a_number_out_of_range_marks_its_set_only(analyse, preemptive, change) -> None:  # type: ignore[no-untyped-def]
    fine = {"wcet_ns": [[1, 2]], "period_ns": [[5, 10]], "deadline_ns": [[5, 10]]}
    fine |= {"jitter_ns": [[0, 0]], "blocking_ns": [[0, 0]]}
    both = {key: np.concatenate((change.get(key, value), value)) for key, value in fine.items()}
    result = analyse(**both, preemptive=preemptive)
    assert (result.status[0] == Status.OUT_OF_RANGE).all()
    assert not result.schedulable[0].any()
    assert (result.response_ns[0] == -1).all()
    assert (result.status[1] == Status.OK).all()
    assert result.schedulable[1].all()


@EVERY
@PREEMPTION
def test_more_load_than_one_is_unbounded(analyse, preemptive) -> None:  # type: ignore[no-untyped-def]
    result = analyse([[3, 3, 2]], [[6, 6, 10**9]], preemptive=preemptive)
    assert result.status.ravel()[-1] == Status.UNBOUNDED
    assert not result.schedulable.ravel()[-1]


def test_a_load_above_one_by_less_than_any_float_shows() -> None:
    period = [BIG, BIG - 1, BIG - 3]
    half = [BIG // 2, (BIG - 1) // 2 + 1, 1]
    assert edf_schedulable([half], [period]).status[0] == Status.UNBOUNDED
    assert fp_response_times([half], [period]).status[0].tolist()[1:] == [Status.UNBOUNDED] * 2


@EVERY
@PREEMPTION
def test_the_largest_numbers_do_not_overflow(analyse, preemptive, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(batch, "MOST_STEPS", 2**16)
    rng = np.random.default_rng(3)
    for _ in range(60):
        count = int(rng.integers(1, 30))
        period = BIG - rng.integers(0, 2 ** int(rng.integers(1, 60)), (1, count))
        period = np.maximum(period >> rng.integers(0, 59, (1, count)), 1)
        wcet = np.maximum((period / count).astype(np.int64), 1)
        jitter = rng.integers(0, BIG, (1, count)) * rng.integers(0, 2, (1, count))
        blocking = rng.integers(0, BIG, (1, count)) * rng.integers(0, 2, (1, count))
        deadline = np.maximum(rng.integers(1, BIG, (1, count)), 1)
        result = analyse(wcet, period, deadline, jitter, blocking, preemptive=preemptive)
        good = result.status == Status.OK
        if result.response_ns.size:
            assert (result.response_ns[good] >= (wcet + jitter)[good]).all()
            assert (result.response_ns[~good] == -1).all()
        assert not result.schedulable[~good].any()


def test_a_busy_period_that_never_ends_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_STEPS", 2**12)
    result = fp_response_times([[1, 1]], [[2, 2]], blocking_ns=[[0, 1]])
    assert result.status[0].tolist() == [Status.OK, Status.NOT_CONVERGED]
    assert result.response_ns[0].tolist() == [1, -1]
    assert not result.schedulable[0, 1]


@EVERY
@PREEMPTION
def test_empty_batches(analyse, preemptive) -> None:  # type: ignore[no-untyped-def]
    for shape in ((0, 3), (3, 0), (0, 0)):
        result = analyse(np.zeros(shape, np.int64), np.zeros(shape, np.int64), preemptive=preemptive)
        assert len(result.status) == shape[0]


@EVERY
def test_shapes_and_types_are_refused_by_name(analyse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AnalysisNotApplicable, match=r"period_ns has the shape \[1, 3\]; it needs \[1, 2\]"):
        analyse([[1, 2]], [[5, 6, 7]])
    with pytest.raises(AnalysisNotApplicable, match="wcet_ns has the type float64; times are int64 nanoseconds"):
        analyse([[1.0, 2.0]], [[5, 6]])
    with pytest.raises(AnalysisNotApplicable, match="times are int64 nanoseconds"):
        analyse([[2**70, 1]], [[5, 6]])


@EVERY
def test_the_arguments_stay_what_they_are(analyse) -> None:  # type: ignore[no-untyped-def]
    given = [np.array([[1, 0, 2]]), np.array([[5, 0, 9]]), np.array([[5, 0, 9]])]
    copies = [table.copy() for table in given]
    first, second = analyse(*given), analyse(*given)
    assert all((table == copy).all() for table, copy in zip(given, copies, strict=True))
    assert (first.response_ns == second.response_ns).all()


def test_many_tasks() -> None:
    count = 10_000
    period = np.arange(1, count + 1)[None, :] * 10**6
    result = fp_response_times(np.full((1, count), 80), period)
    assert (result.status == Status.OK).all()
    assert (np.diff(result.response_ns[0]) >= 80).all()
    assert edf_schedulable(np.full((1, count), 80), period).schedulable.all()


def test_rows_are_the_same_whatever_thread_takes_them() -> None:
    rng = np.random.default_rng(11)
    period = np.sort(rng.integers(100, 10_000, (700, 6)), axis=1)
    wcet = np.maximum(period // 8, 1)
    for analyse in ALL:
        for preemptive in (True, False):
            whole = analyse(wcet, period, preemptive=preemptive)
            for row in range(0, 700, 97):
                single = analyse(wcet[row], period[row], preemptive=preemptive)
                assert (single.response_ns[0] == whole.response_ns[row]).all()
                assert (single.schedulable[0] == whole.schedulable[row]).all()
