"""Charts of schedules as files: well formed, with everything in them, however hostile the names are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from gantt_traces import Schedule, example

from rt_sched.report.gantt_page import chart_page, chart_svg
from rt_sched.report.gantt_rows import Chart, RowsOf, chart_of
from rt_sched.trace.interval import interval_of
from rt_sched.trace.records import SliceKind, Trace

HOSTILE = ("</style><script>alert(1)</script>]]>\x07\ufffe", '"><img src=x onerror=alert(1)>&amp;' + "n" * 300)
SVG = "{http://www.w3.org/2000/svg}"


def chart(trace: Trace, start: int, end: int, rows_of: RowsOf = RowsOf.TASKS, most: int = 1000) -> Chart:
    return chart_of(interval_of(trace, start, end), start, end, rows_of, most, most)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  (written here)


def drawn(root: ET.Element, kind: str) -> list[ET.Element]:
    return [one for one in root.iter() if kind in one.get("class", "").split()]


def titles(root: ET.Element, kind: str) -> list[str]:
    return [one.findtext(f"{SVG}title") or "" for one in drawn(root, kind)]


def test_everything_that_happens_is_in_the_picture() -> None:
    root = parsed(chart_svg(chart(example(), 0, 40), "a run"))
    assert len(drawn(root, "piece")) == 5
    assert len(drawn(root, "arrival")) == 3
    assert len(drawn(root, "deadline")) == 2
    assert len([one for one in drawn(root, "deadline") if "missed" in one.get("class", "")]) == 1
    assert titles(root, "holds") == ["holds bus for 5\u00a0ns", "holds bus for 18\u00a0ns"]
    assert titles(root, "blocked") == ["waits for bus for 15\u00a0ns"]
    assert titles(root, "speed") == ["p0: 1 MHz from 0\u00a0ns on", "p0: 0.5 MHz from 30\u00a0ns on"]
    low = next(one for one in drawn(root, "piece") if "low" in (one.findtext(f"{SVG}title") or ""))
    assert (low.get("x"), low.get("width")) == ("0%", "10%")
    assert "deadline missed" in (low.findtext(f"{SVG}title") or "")


def test_a_window_shows_its_part() -> None:
    root = parsed(chart_svg(chart(example(), 20, 30), "a run"))
    (piece,) = drawn(root, "piece")
    assert (piece.get("x"), piece.get("width")) == ("0%", "100%")
    assert titles(root, "speed") == ["p0: 1 MHz from 0\u00a0ns on"] or titles(root, "speed") == []
    assert titles(root, "holds") == ["holds bus for 5\u00a0ns"]


def test_switches_and_spins_look_different() -> None:
    schedule = Schedule(1)
    schedule.job(0, 0, [(0, 0, 2, SliceKind.SWITCH), (0, 2, 5, SliceKind.SPIN), (0, 5, 9)], deadline=10)
    root = parsed(chart_svg(chart(schedule.trace(10), 0, 10), "a run"))
    assert len(drawn(root, "switch")) == len(drawn(root, "spin")) == 1
    assert any(title.startswith("spin for t0") for title in titles(root, "spin"))


@pytest.mark.parametrize("rows_of", list(RowsOf))
def test_hostile_names_are_text(rows_of: RowsOf) -> None:
    one = chart(example(HOSTILE), 0, 40, rows_of)
    root = parsed(chart_svg(one, HOSTILE[0]))
    assert sum(1 for _ in root.iter(f"{SVG}script")) == 1
    assert not list(root.iter(f"{SVG}img"))
    page = chart_page(one, HOSTILE[0])
    assert len(re.findall("<script", page)) == 1
    assert "<img" not in page
    assert "\x07" not in page


@pytest.mark.parametrize("form", [chart_svg, chart_page])
def test_files_need_nothing_else(form: object) -> None:
    text = form(chart(example(), 0, 40), "a run")  # type: ignore[operator]
    addresses = set(re.findall(r"""(?:https?:)?//[^\s"'<>)]+""", text)) - {"http://www.w3.org/2000/svg"}
    assert not {address for address in addresses if address.startswith("http")}


def test_large_charts_say_what_is_left_out() -> None:
    schedule = Schedule(40)
    for number in range(400):
        schedule.job(number % 40, number, [(0, number, number + 1)], deadline=500)
    one = chart_of(schedule.trace(400), 0, 400, RowsOf.TASKS, 20, 100)
    assert one.end_ns == 100
    assert len(one.rows) == 20
    for text in (chart_svg(one, "a run"), chart_page(one, "a run")):
        assert "the first 100 of 400 pieces of execution" in text
        assert "The first 20 of 40 tasks" in text
    assert len(drawn(parsed(chart_svg(one, "a run")), "piece")) == 60
