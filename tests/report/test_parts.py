"""Number formats, axes, curves and the drawing of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.errors import DataError
from rt_sched.messages import ArbiterState, Detections2D
from rt_sched.report import svg
from rt_sched.report.annotate import MAX_SIDE_PX, annotate
from rt_sched.report.arbiter_timeline import MOST_DRAWN, arbiter_time_line, thinned
from rt_sched.report.histograms import binned
from rt_sched.report.text import axis_labels, axis_values_ns, clipped, count, percent, time_ms, time_with_unit

MS = 1_000_000
INT62 = 2**62 - 1


@pytest.mark.parametrize(
    ("value", "short", "long"),
    [
        (None, "–", "–"),
        (0, "0.00", "0\u00a0ns"),
        (850, "0.85 µs", "850\u00a0ns"),
        (12_340, "0.01", "12.34\u00a0µs"),
        (33_333_333, "33.33", "33.33\u00a0ms"),
        (124_680_000, "124.68", "124.7\u00a0ms"),
        (4_000_000_000, "4\u202f000.00", "4.00\u00a0s"),
        (-5 * MS, "-5.00", "-5.00\u00a0ms"),
    ],
)
def test_times(value: int | None, short: str, long: str) -> None:
    assert time_ms(value) == short
    assert time_with_unit(value) == long


def test_percent_never_rounds_across_the_limit() -> None:
    assert percent(1.0, 0) == "100\u00a0%"
    assert percent(1.0001, 0) == "101\u00a0%"
    assert percent(0.9999, 0) == "99\u00a0%"
    assert percent(0.1234) == "12.3\u00a0%"
    assert percent(None) == percent(float("nan")) == "–"


def test_counts_and_clipping() -> None:
    assert count(1_234_567) == "1\u202f234\u202f567"
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefghij", 6) == "abc…ij"


@given(st.integers(0, INT62), st.integers(1, INT62), st.integers(2, 12))
def test_axis_values_lie_inside_and_are_told_apart(start: int, span: int, ticks: int) -> None:
    values = axis_values_ns(start, start + span, ticks)
    assert all(start <= v <= start + span for v in values)
    assert len(values) <= 2 * ticks + 1
    if len(values) > 1 and values[-1] < 2**50:
        labels = axis_labels(values, span)
        assert len(set(labels)) == len(labels)


@given(st.lists(st.integers(-(10**6), INT62), max_size=50), st.integers(1, INT62), st.integers(1, 120))
def test_every_value_is_in_a_bin(values: list[int], end: int, bins: int) -> None:
    counts = binned(np.array(values, dtype=np.int64), end, bins)
    assert len(counts) == bins
    assert sum(counts) == len(values)


def test_bins_are_where_the_values_are() -> None:
    assert binned(np.array([0, 9, 10, 99, 100, 500], dtype=np.int64), 100, 10) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 3]


def test_elements_are_escaped() -> None:
    made = svg.element("text", "<a & b>", class_='q"', view_box="0 0 1 1", x=0.5, y=None)
    assert made == '<text class="q&#34;" viewBox="0 0 1 1" x="0.5">&lt;a &amp; b&gt;</text>'


def test_columns_are_linear_and_a_single_value_stays_visible() -> None:
    drawn = svg.columns([0, 1, 1000], 0, 40, "bars")
    assert "M1 100V95H2V100Z" in drawn
    assert "M2 100V0H3V100Z" in drawn
    assert "M0" not in drawn


def test_a_curve_breaks_where_there_is_no_value() -> None:
    drawn = svg.step_line([(0.0, 0.5), (0.1, 1.0), None, (0.5, 0.0)], 0, 10, "line")
    assert 'd="M0 50H100V0M500 100"' in drawn


def test_thinning_keeps_the_gravest_of_every_interval(quad_report: Any) -> None:
    base = quad_report.arbiter[10][1]
    from dataclasses import replace

    many = [(i * 1000, replace(base, decided_at_ns=i * 1000)) for i in range(6 * MOST_DRAWN)]
    many[7777] = (7_777_000, replace(base, state=ArbiterState.MINIMAL_RISK))
    horizon = 6 * MOST_DRAWN * 1000
    kept = thinned(many, horizon)
    assert len(kept) == MOST_DRAWN
    assert many[7777] in kept
    line = arbiter_time_line(many, (), horizon)
    assert line is not None and len(line.notes) == 1


def test_time_line_shows_states_faults_and_braking(quad_report: Any) -> None:
    line = arbiter_time_line(quad_report.arbiter, quad_report.summary["faults"], quad_report.trace.horizon_ns)
    assert line is not None
    assert line.sources == ("primary", "backup")
    assert line.emergency and line.recovery
    for words in (
        "NOMINAL from 60.00\u00a0ms for 240.0\u00a0ms",
        "backup from 420.0\u00a0ms for 80.00\u00a0ms",
        "Emergency braking from 350.0\u00a0ms",
        "F1 camera:front_wide at 300.0\u00a0ms; detected after 38.00\u00a0ms; recovered after 71.00\u00a0ms",
        "Requested acceleration: -8.0 to 0.0 m/s²",
        "Time to collision: least 660.0\u00a0ms",
    ):
        assert words in line.figure
    assert arbiter_time_line([], (), 1) is None


def detections(boxes: list[list[float]], width: int = 100, height: int = 60) -> Detections2D:
    number = len(boxes)
    return Detections2D(
        0,
        "optical",
        "front",
        height,
        width,
        np.array(boxes, dtype=np.float32).reshape(number, 4),
        np.full(number, 0.5, np.float32),
        np.zeros(number, np.int32),
        ("car",) * number,
    )


def decoded(jpeg: bytes) -> np.ndarray[Any, Any]:
    import cv2

    return np.asarray(cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR))


def test_boxes_are_drawn_where_they_are_and_the_input_stays() -> None:
    image = np.full((600, 1000, 3), 128, np.uint8)
    before = image.copy()
    drawn = decoded(annotate(image, detections([[20, 20, 60, 50]]), ""))
    assert np.array_equal(image, before)
    assert drawn.shape == (384, MAX_SIDE_PX, 3)
    changed = np.argwhere(np.abs(drawn.astype(int) - 128).max(axis=2) > 40)
    rows, columns = changed.min(axis=0), changed.max(axis=0)
    scale = MAX_SIDE_PX / 100
    assert abs(columns[1] - 60 * scale) < 8 and abs(columns[0] - 50 * scale) < 8
    assert abs(rows[1] - 20 * scale) < 8
    assert 20 * scale - 40 < rows[0] < 20 * scale


def test_boxes_outside_and_broken_ones_do_no_harm() -> None:
    image = np.zeros((60, 100, 3), np.uint8)
    boxes = [[-50.0, -50.0, 500.0, 500.0], [float("nan"), 0.0, 10.0, float("inf")], [90.0, 55.0, 99.0, 59.0]]
    assert decoded(annotate(image, detections(boxes), "frame 7 – é")).shape == (60, 100, 3)
    assert decoded(annotate(np.zeros((3, 2, 3), np.uint8), detections([[0.0, 0.0, 1.0, 1.0]]), "x" * 500)).shape == (
        3,
        2,
        3,
    )


@pytest.mark.parametrize("shape", [(10, 10), (10, 10, 4), (0, 10, 3)])
def test_what_is_no_image_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="need uint8"):
        annotate(np.zeros(shape, np.uint8), detections([]), "")
