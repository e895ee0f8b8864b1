"""For how long no sensor is watched when the watch itself is lost, beside what is declared."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from rt_sched.app.health.document import health_document, unwatched_too_long
from rt_sched.runtime.health_order import HealthOrder, HealthRecord, WatchLoss

MS = 1_000_000
END = 9_000 * MS
#: Twice a cycle of 30 ms, 100 ms until the end is noticed, 500 ms to start; of a standstill 1150 ms until it is ended.
KILLED, STILL = 720 * MS, 1_810 * MS
ORDER = HealthOrder(
    sensors=(),
    device="ecu",
    period_ns=30 * MS,
    cycle_wcet_ns=MS,
    processor=0,
    age_limit_ns=300 * MS,
    good_samples=3,
    reader=None,
)


def told(*losses: WatchLoss, rate: Fraction = Fraction(1)) -> dict[str, Any]:
    record = HealthRecord(
        ORDER,
        (),
        (),
        losses,
        cycles=9,
        late=0,
        samples=9,
        missed=0,
        cpu_ns=0,
        cycle_cpu_max_ns=0,
        cycle_max_ns=0,
    )
    document = health_document(record, END, rate)
    assert document is not None
    return document


def rows(document: dict[str, Any]) -> list[tuple[int | None, int | None]]:
    return [(one["unwatched_ns"], one["within_ns"]) for one in document["losses"]]


@pytest.mark.parametrize(("still", "within_ns"), [(False, KILLED), (True, STILL)])
def test_it_counts_from_the_last_report_to_the_next(still: bool, within_ns: int) -> None:
    last_ns = 970 * MS
    in_time = told(WatchLoss(1_050 * MS, still, last_ns + within_ns, last_ns))
    assert rows(in_time) == [(within_ns, within_ns)]
    assert unwatched_too_long(in_time) is None
    late = told(WatchLoss(1_050 * MS, still, last_ns + within_ns + 1, last_ns))
    assert "longer than the" in (unwatched_too_long(late) or "")


def test_what_never_comes_back_counts_until_the_run_ends() -> None:
    lately = told(WatchLoss(END - 300 * MS, False, None, END - 400 * MS))
    assert rows(lately) == [(400 * MS, KILLED)]
    assert unwatched_too_long(lately) is None
    assert unwatched_too_long(told(WatchLoss(END - 900 * MS, False, None, END - 1_000 * MS))) is not None


def test_one_that_ends_again_before_it_reports_has_no_bound() -> None:
    found = told(
        WatchLoss(1_000 * MS, False, None, 950 * MS),
        WatchLoss(1_500 * MS, False, 2_500 * MS, 950 * MS),
        WatchLoss(4_000 * MS, False, 4_200 * MS, 3_990 * MS),
    )
    assert rows(found) == [(None, None), (1_550 * MS, None), (210 * MS, KILLED)]
    assert unwatched_too_long(found) is None


def test_what_the_host_takes_is_more_of_a_faster_run() -> None:
    loss = WatchLoss(1_050 * MS, False, 1_400 * MS, 970 * MS)
    assert rows(told(loss, rate=Fraction(2)))[0][1] == 2 * KILLED
    assert rows(told(loss, rate=Fraction(1, 2)))[0][1] == KILLED


def test_nothing_is_said_where_nobody_watched() -> None:
    assert health_document(None, END) is None
    assert unwatched_too_long(None) is None
