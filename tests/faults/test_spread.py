"""Counts and spreads over many faults, kind by kind."""

from __future__ import annotations

from typing import Any

from rt_sched.faults.spread import by_kind, histogram, spread


def fault(
    kind: str, verdict: str, noticed_ns: int | None, worst_ns: int | None, **reaction: int | None
) -> dict[str, Any]:
    found = {"after_ns": None, "recovered_after_ns": None, **reaction} if reaction else None
    return {
        "kind": kind,
        "verdict": verdict,
        "detected_after_ns": noticed_ns,
        "worst_case_ns": worst_ns,
        "reaction": found,
    }


def test_each_of_a_spread_is_one_of_the_values() -> None:
    assert spread([]) is None
    assert spread([7]) == {"min_ns": 7, "p50_ns": 7, "p99_ns": 7, "max_ns": 7}
    assert spread([*range(200), 1000]) == {"min_ns": 0, "p50_ns": 100, "p99_ns": 198, "max_ns": 1000}


def test_kinds_stand_in_their_order_with_times_of_those_that_promise_one() -> None:
    rows = [
        fault("overrun", "detected", 30, 50, after_ns=40, recovered_after_ns=90),
        fault("camera.black", "detected", 8, None),
        fault("overrun", "late", 70, 60, after_ns=80, recovered_after_ns=None),
        fault("overrun", "silent", None, None),
    ]
    black, overrun = by_kind(rows)
    assert (black["kind"], black["runs"], black["detected"], black["detected_ns"]) == ("camera.black", 1, 1, None)
    assert (overrun["runs"], overrun["detected"], overrun["late"], overrun["silent"]) == (3, 1, 1, 1)
    assert overrun["detected_ns"] == {"min_ns": 30, "p50_ns": 70, "p99_ns": 70, "max_ns": 70}
    assert (overrun["worst_case_max_ns"], overrun["detected_after_max_ns"]) == (60, 70)
    assert overrun["reacted_ns"]["min_ns"] == 40
    assert overrun["recovered_ns"] == {"min_ns": 90, "p50_ns": 90, "p99_ns": 90, "max_ns": 90}


def test_a_histogram_reaches_just_beyond_what_is_declared() -> None:
    found = histogram([0, 1799, 1800, 1801, 5000], 1800)
    assert found == {"bin_ns": 101, "counts": [1, *[0] * 16, 3, 0, 1]}
    (kind,) = by_kind([fault("overrun", "detected", 30, 50), fault("overrun", "late", 70, 60)])
    assert kind["detected_histogram"] == histogram([30, 70], 60)
    assert by_kind([fault("overrun", "silent", None, None)])[0]["detected_histogram"] is None
