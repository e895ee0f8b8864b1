"""A chart's page in a real browser: it fits, fetches nothing, and is enlarged and moved by button, key and finger."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_probe import BROWSER, MISSING, look
from gantt_traces import example

from rt_sched.report.gantt_page import chart_page
from rt_sched.report.gantt_rows import RowsOf, chart_of

pytestmark = pytest.mark.skipif(BROWSER is None, reason=MISSING)

PROBE = """
<script>
const seen = { errors: window.problems };
const chart = document.querySelector("svg.schedule[data-start]"), canvas = chart.querySelector(".canvas");
const view = () => [parseFloat(canvas.getAttribute("x")), parseFloat(canvas.getAttribute("width"))];
const key = (name) => chart.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const box = chart.getBoundingClientRect();
const finger = (type, id, x) => chart.dispatchEvent(new PointerEvent(type, {
  pointerId: id, clientX: box.left + x * box.width, clientY: box.top + 30, bubbles: true, pointerType: "touch" }));
chart.setPointerCapture = () => {};
seen.tooWide = document.documentElement.scrollWidth - window.innerWidth;
seen.first = view();
document.querySelector('.zoom [data-zoom="2"]').click();
seen.button = view();
key("+"); seen.key = view();
key("ArrowRight"); seen.right = view();
key("Home"); seen.home = view();
key("End"); seen.end = view();
seen.ticks = [...chart.querySelectorAll(".tick")].map((t) => t.textContent);
key("0"); seen.all = view();
const wheel = { deltaY: -200, ctrlKey: true, clientX: box.left + box.width / 2 };
chart.dispatchEvent(new WheelEvent("wheel", { ...wheel, bubbles: true, cancelable: true }));
seen.wheel = view();
key("0");
finger("pointerdown", 1, 0.4); finger("pointerdown", 2, 0.6);
finger("pointermove", 1, 0.3); finger("pointermove", 2, 0.7);
finger("pointerup", 1, 0.3); finger("pointerup", 2, 0.7);
seen.pinch = view();
const before = view()[0];
finger("pointerdown", 3, 0.5); finger("pointermove", 3, 0.6);
finger("pointermove", 3, 0.7); finger("pointerup", 3, 0.7);
seen.drag = view()[0] - before;
const piece = chart.querySelector(".piece");
for (const type of ["pointerdown", "pointerup"]) {
  piece.dispatchEvent(new PointerEvent(type, { pointerId: 5, bubbles: true }));
}
seen.pointed = document.querySelector("output.pointed").textContent;
seen.fetched = performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:"));
parent.document.documentElement.dataset.seen = JSON.stringify(seen);
</script>
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_chart_at_work(width: int, tmp_path: Path) -> None:
    page = chart_page(chart_of(example(), 0, 40, RowsOf.TASKS, 100, 100), "a run")
    seen = look(page, PROBE, width, tmp_path)
    assert seen["errors"] == []
    assert seen["fetched"] == []
    assert seen["tooWide"] <= 0
    assert (seen["first"], seen["all"]) == ([0, 100], [0, 100])
    assert (seen["button"], seen["key"]) == ([-50, 200], [-150, 400])
    assert seen["right"] == pytest.approx([-160, 400])
    assert (seen["home"][0], seen["end"]) == (0, [-300, 400])
    assert seen["ticks"][-1].endswith("ms")
    assert seen["ticks"][0].startswith("0.00003")
    assert seen["wheel"] == pytest.approx([-50, 200], abs=0.1)
    assert seen["pinch"][1] == pytest.approx(200, rel=0.02)
    assert seen["drag"] == pytest.approx(20, rel=0.1)
    assert "deadline" in seen["pointed"]
