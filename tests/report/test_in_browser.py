"""The page in a real browser: nothing is wider than the window, nothing is fetched, and its script does its work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_probe import BROWSER, MISSING, look

from rt_sched.report.run_report import render_run_report

pytestmark = pytest.mark.skipif(BROWSER is None, reason=MISSING)

PROBE = """
<script>
const seen = { errors: window.problems };
const table = document.querySelector("#tasks table.sortable");
const column = (k) => [...table.tBodies[0].rows].map((r) => Number(r.cells[k].dataset.v));
const head = [...table.tHead.rows[0].cells].findIndex((c) => c.textContent === "Max");
seen.width = window.innerWidth;
seen.tooWide = document.documentElement.scrollWidth - window.innerWidth;
table.tHead.rows[0].cells[head].querySelector("button").click();
seen.sorted = column(head);
seen.sortedHow = table.tHead.rows[0].cells[head].getAttribute("aria-sort");
table.tHead.rows[0].cells[head].querySelector("button").click();
seen.sortedAgain = column(head);
const filter = document.querySelector("#tasks .filter input");
filter.value = "front WIDE"; filter.dispatchEvent(new Event("input"));
seen.filtered = [...table.tBodies[0].rows].filter((r) => !r.hidden).map((r) => r.cells[0].textContent.trim());
const canvas = document.querySelector(".gantt-canvas");
const before = canvas.clientWidth;
document.querySelector('.zoom [data-zoom="1"]').click();
document.querySelector(".gantt-scroll").dispatchEvent(new KeyboardEvent("keydown", { key: "+" }));
seen.zoomed = document.querySelector(".zoom output").textContent;
seen.wider = canvas.clientWidth > before;
document.querySelector('.zoom [data-zoom="0"]').click();
seen.fitted = canvas.clientWidth === before;
dispatchEvent(new Event("beforeprint"));
seen.folded = [...document.querySelectorAll("details")].filter((d) => !d.open).length;
seen.fetched = performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:"));
seen.labels = [...document.querySelectorAll("input, button")].filter((e) => !(e.textContent || e.ariaLabel)).length;
parent.document.documentElement.dataset.seen = JSON.stringify(seen);
</script>
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_at_work(quad_report: Any, tmp_path: Path, width: int) -> None:
    seen = look(render_run_report(quad_report), PROBE, width, tmp_path)
    assert seen["width"] == width
    assert seen["errors"] == []
    assert seen["fetched"] == []
    assert seen["tooWide"] <= 0
    largest = sorted((t["response_max_ns"] for t in quad_report.summary["tasks"]), reverse=True)
    assert (seen["sorted"], seen["sortedHow"]) == (largest, "descending")
    assert seen["sortedAgain"] == largest[::-1]
    assert sorted(seen["filtered"]) == ["infer_front_wide", "post_front_wide", "pre_front_wide"]
    assert (seen["zoomed"], seen["wider"], seen["fitted"]) == ("4×", True, True)
    assert seen["folded"] == 0
    assert seen["labels"] == 0


def test_long_names_do_not_widen_the_page(report_with: Any, quad: Any, tmp_path: Path) -> None:
    _, steps, periods, changed = quad
    steps = [changed(s, name="n" * 300) if s.name == "backup" else s for s in steps]
    report = report_with(steps, periods, summary={"system": "s" * 300, "recording": "/" * 300, "warnings": ["w" * 900]})
    assert look(render_run_report(report), PROBE, 390, tmp_path)["tooWide"] <= 0
