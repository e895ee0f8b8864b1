"""The batch functions at the edges of what may be given: the textbook's answer, a status, or a refusal by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import textbook
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.analysis import batch
from rt_sched.analysis.batch import BatchResult, Status, edf_response_times, edf_schedulable, fp_response_times
from rt_sched.errors import AnalysisNotApplicable

ALL: list[Callable[..., BatchResult]] = [fp_response_times, edf_schedulable, edf_response_times]
#: Multiples of a unit near the limit of 2**60 ns, too.
SCALES = (1, 10**6, 2**54)
KINDS = ("i8", ">i8", "list")
Row = tuple[int, int, int, int]


@st.composite
def edge_rows(draw) -> list[Row]:  # type: ignore[no-untyped-def]
    """(wcet, period, deadline, jitter): nothing, all of a period or more, deadlines of 0, jitter beyond periods."""
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        period = draw(st.sampled_from([1, 1, 2, 3, 4, 6, 0]))
        wcet = draw(st.sampled_from([0, 1, 1, 1, max(1, period // 2), period, period + 1]))
        deadline = draw(st.sampled_from([1, max(1, wcet), max(1, wcet - 1), period, 2 * period, 0]))
        jitter = draw(st.sampled_from([0, 0, 1, period, 3 * period + 1]))
        rows.append((wcet, period, deadline, jitter))
    return rows


def _expected(rows: list[Row], preemptive: bool) -> tuple[list[int | None], list[int | None], bool | None]:
    """Responses under fixed priorities and EDF, 0 for tasks of no work, and whether EDF meets all deadlines."""
    tasks = [textbook.Task(*row) for row in rows if row[0]]
    respond = textbook.fp_preemptive if preemptive else textbook.fp_non_preemptive
    by_level = iter([respond(i, tasks) for i in range(len(tasks))])
    by_deadline = iter([textbook.edf_response(i, tasks, preemptive) for i in range(len(tasks))])
    fits: bool | None = True
    if tasks:
        first = textbook.edf_first_violation(tasks, preemptive) if textbook.load(tasks) <= 1 else 0
        fits = None if first is None else first < 0
    return [next(by_level) if row[0] else 0 for row in rows], [next(by_deadline) if row[0] else 0 for row in rows], fits


@settings(max_examples=80, deadline=None)
@given(rows=edge_rows(), preemptive=st.booleans(), scale=st.sampled_from(SCALES), kind=st.sampled_from(KINDS))
def test_every_edge_has_the_textbooks_answer(rows: list[Row], preemptive: bool, scale: int, kind: str) -> None:
    scale = scale if preemptive else 1
    columns = [np.array([column], np.int64) * scale for column in zip(*rows, strict=True)]
    columns = [column.tolist() if kind == "list" else column.astype(kind) for column in columns]
    wrong = any(wcet and 0 in (period, deadline) for wcet, period, deadline, _ in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "MOST_STEPS", 2**18)
        fixed, test, by_deadline = (analyse(*columns, preemptive=preemptive) for analyse in ALL)
    if wrong:
        for result in (fixed, test, by_deadline):
            assert (result.status == Status.OUT_OF_RANGE).all()
            assert not result.schedulable.any()
        return
    want_fixed, want_by_deadline, fits = _expected(rows, preemptive)
    for result, wanted in ((fixed, want_fixed), (by_deadline, want_by_deadline)):
        for place, value in enumerate(wanted):
            status, found = Status(result.status[0, place]), int(result.response_ns[0, place])
            if value is None:
                assert (status is Status.OK, found) == (False, -1)
            else:
                assert (status, found) == (Status.OK, value * scale)
            met = value is not None and (rows[place][0] == 0 or value <= rows[place][2])
            assert bool(result.schedulable[0, place]) == met
    if fits is not None:
        assert bool(test.schedulable[0]) == fits


def test_the_edges_are_met() -> None:
    """Of the rows that the property is about, many are of each kind."""
    met: Counter[str] = Counter()

    @settings(max_examples=150, deadline=None, database=None)
    @given(rows=edge_rows())
    def count(rows: list[Row]) -> None:
        load = textbook.load([textbook.Task(*row) for row in rows if row[0] and row[1]])
        met["full"] += load == 1
        met["overloaded"] += load > 1
        met["late"] += any(jitter > period for _, period, _, jitter in rows)
        met["nothing"] += any(wcet == 0 for wcet, *_ in rows)
        met["deadline 0"] += any(deadline == 0 for _, _, deadline, _ in rows)

    count()
    assert all(met[key] >= 5 for key in ("full", "overloaded", "late", "nothing", "deadline 0")), met


@pytest.mark.parametrize("analyse", ALL)
@pytest.mark.parametrize(
    ("wcet", "words"),
    [
        ([[1, 2], [3]], "wcet_ns has rows of different length; fill them with tasks of wcet 0"),
        (np.ma.masked_array([[1, 2]], [[False, True]]), "wcet_ns has masked values"),
        (np.array([[True, False]]), "wcet_ns has the type bool"),
        (np.array([[1, 2]], object), "wcet_ns has the type object"),
        (np.array([[1, 2]], np.uint64), "wcet_ns has the type uint64"),
        ([["1", "2"]], "wcet_ns has the type <U1"),
        ([[float("nan"), 1]], "wcet_ns has the type float64"),
        (np.array([[1, 2]], "m8[ns]"), "wcet_ns has the type timedelta64"),
        (3, r"wcet_ns has the shape \[\]; it needs \[n_sets, n_tasks\]"),
        ([[[1]]], r"wcet_ns has the shape \[1, 1, 1\]; it needs \[n_sets, n_tasks\]"),
        (None, "wcet_ns has the type object"),
    ],
)
def test_what_are_no_whole_nanoseconds_is_refused(analyse, wcet, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(AnalysisNotApplicable, match=words):
        analyse(wcet, [[4, 5]])


@pytest.mark.parametrize("analyse", ALL)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, ">i8"])
def test_all_whole_numbers_are_taken_in_any_layout(analyse, kind) -> None:  # type: ignore[no-untyped-def]
    tables = [np.array(table, kind) for table in ([[1, 2], [3, 4]], [[40, 50], [60, 70]])]
    wanted, found = analyse([[1, 3], [2, 4]], [[40, 60], [50, 70]]), analyse(*(table.T for table in tables))
    assert (wanted.response_ns == found.response_ns).all()
    assert (wanted.schedulable == found.schedulable).all()


def test_a_task_of_no_work_has_no_release_jitter_either() -> None:
    for analyse in (fp_response_times, edf_response_times):
        result = analyse([[1, 0]], [[9, 0]], jitter_ns=[[0, 5]], release_jitter_ns=[[0, 5]])
        assert (result.status == Status.OK).all()
        assert result.response_ns.tolist() == [[1, 0]]
