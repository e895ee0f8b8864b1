"""The page in a real browser: nothing too wide, cut or on top of anything, nothing fetched; links, marks, the graph."""

from __future__ import annotations

import pytest
from browser_probe import BROWSER, MISSING, look

from rt_sched.app.report.files import write_pdf
from rt_sched.report.schedulability import render_schedulability_report

pytestmark = pytest.mark.skipif(BROWSER is None, reason=MISSING)

PROBE = """
<script>
const seen = { errors: window.problems };
seen.width = innerWidth;
seen.tooWide = document.documentElement.scrollWidth - innerWidth;
const clipped = ".scroll, svg, .lane-names, .waterfall-names";
seen.wide = [...document.querySelectorAll("main *")].filter((e) => !e.closest(clipped)
  && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 5);
const fold = document.querySelectorAll("details.derivation")[2];
location.hash = "#" + fold.id;
dispatchEvent(new HashChangeEvent("hashchange"));
seen.opened = fold.open;
const mention = document.querySelector('[data-task="track"]');
mention.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
seen.lit = document.querySelectorAll(".linked").length;
seen.others = [...document.querySelectorAll(".linked")].filter((e) => e.dataset.task !== "track").length;
const head = [...document.querySelectorAll("#bounds table.sortable th")].find((c) => c.textContent === "Bound");
head.querySelector("button").click();
const column = [...head.parentElement.cells].indexOf(head);
seen.sorted = [...head.closest("table").tBodies[0].rows].map((r) => Number(r.cells[column].dataset.v));
const chain = document.querySelector('.system-graph a[data-chain="see"]');
chain.focus();
seen.framed = document.querySelectorAll(".system-graph g.linked .halo").length;
seen.described = document.querySelector(".graph-detail").innerText;
dispatchEvent(new Event("beforeprint"));
const visible = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 0;
seen.cut = [...document.querySelectorAll("main *")].filter((e) => visible(e) && !e.closest("svg, [title]")
  && /hidden|clip/.test(getComputedStyle(e).overflowX) && (e.scrollWidth > e.clientWidth + 1
  || e.scrollHeight > e.clientHeight + 1)).map((e) => e.tagName + "." + e.className).slice(0, 5);
seen.spilled = [...document.querySelectorAll("td, th")].filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.textContent).slice(0, 5);
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
seen.met = [...document.querySelectorAll("svg")].flatMap((drawing) => {
  const texts = [...drawing.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
  return texts.flatMap(([a, x], i) => texts.slice(i + 1).filter(([, y]) => meet(x, y)).map(([b]) => `${a} | ${b}`));
}).slice(0, 5);
seen.folded = [...document.querySelectorAll("details")].filter((d) => !d.open).length;
seen.fetched = performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !n.startsWith("data:"));
parent.document.documentElement.dataset.seen = JSON.stringify(seen);
</script>
"""


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_the_page_at_work(reviewed, tmp_path, width) -> None:
    seen = look(render_schedulability_report(reviewed), PROBE, width, tmp_path)
    assert seen["width"] == width
    assert (seen["errors"], seen["fetched"]) == ([], [])
    assert (seen["tooWide"] <= 0, seen["wide"]) == (True, [])
    assert seen["opened"]
    assert seen["lit"] > 5
    assert seen["others"] == 0
    assert seen["sorted"] == sorted((row["response_bound_ns"] for row in reviewed["tasks"]), reverse=True)
    assert seen["folded"] == 0
    assert (seen["cut"], seen["spilled"], seen["met"]) == ([], [], [])
    assert seen["framed"] == 4, "the sensor and the tasks of the chain"
    assert "Reaction" in seen["described"]


def test_the_page_is_printed(late, tmp_path) -> None:
    assert BROWSER is not None
    page, target = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(render_schedulability_report(late), encoding="utf-8")
    write_pdf(page, target, BROWSER)
    assert target.read_bytes().startswith(b"%PDF-")
