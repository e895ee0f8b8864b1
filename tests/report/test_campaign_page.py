"""The page of a campaign: its table and its bar say what the document says, and everything in it is text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from rt_sched.faults.spread import by_kind
from rt_sched.report.campaign_page import campaign_page as page_of


def run(number: int, kind: str, verdict: str, after_ns: int | None = None, target: str = "front") -> dict[str, Any]:
    return {
        "name": f"run-{number}",
        "kind": kind,
        "target": target,
        "begin_ns": 1_500_000_000,
        "verdict": verdict,
        "detected_by": None if after_ns is None else "black",
        "detected_after_ns": after_ns,
        "worst_case_ns": None if after_ns is None else 67_000_000,
        "drawn": {"share": "1/2"},
        "reaction": None,
    }


def document(*runs: dict[str, Any], status: str = "ok") -> dict[str, Any]:
    return {
        "system": "small",
        "recording": "drive.mcap",
        "seed": 5,
        "clock": "lockstep",
        "status": status,
        "kinds": by_kind(runs),
        "runs": list(runs),
    }


def campaign_page(found: dict[str, Any]) -> str:
    return page_of(found, "4 runs & one fault each.")


FOUR = (
    run(0, "camera.black", "detected", 38_000_000),
    run(1, "camera.black", "tolerated"),
    run(2, "message.drop", "silent"),
    run(3, "message.drop", "detected", 12_000_000),
)


def rows(page: str, region: str) -> list[list[str]]:
    table = page.split(f'aria-label="{region}"')[1].split("</table>")[0]
    body = table.split("<tbody>")[1]
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>") if "<td" in row)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]


def test_the_table_counts_by_kind() -> None:
    found = rows(campaign_page(document(*FOUR, status="silent")), "Verdicts by kind of fault")
    assert found == [
        ["camera.black", "2", "1", "1", "0", "0", "0", "38.00", "67.00", "from the median on"],
        ["message.drop", "2", "1", "0", "0", "0", "1", "12.00", "67.00", "from the median on"],
    ]


def test_it_is_drawn_how_many_were_detected_after_how_long() -> None:
    page = campaign_page(document(*FOUR, status="silent"))
    assert page.count('class="bars"') == 2
    assert campaign_page(document(FOUR[1])).count('class="bars"') == 0


def test_detection_is_drawn_up_to_the_worst_case_and_reactions_are_told_where_there_are_any() -> None:
    one = document(FOUR[0])
    page = campaign_page(one)
    figure = page.split('aria-label="Detection of camera.black"')[1].split("</svg>")[0]
    places = {name: re.search(rf'<line [^>]*class="{name}"[^>]*>', figure) for name in ("bound-line", "quantile")}
    assert all(places.values()), figure
    assert 'x1="89.' in str(places["bound-line"]) or 'x1="90' in str(places["bound-line"])
    assert "Reaction after" not in page
    one["kinds"][0]["reacted_ns"] = one["kinds"][0]["detected_ns"]
    assert rows(campaign_page(one), "Verdicts by kind of fault")[0][-2:] == ["38.00", "–"]
    one["kinds"][0]["detected_ns"] = None
    assert "nothing promised" in campaign_page(one)


def test_the_bar_is_whole_and_in_proportion() -> None:
    page = campaign_page(document(*FOUR, status="silent"))
    bar = page.split('class="stack coverage"')[1].split("</div>")[0]
    assert 'aria-label="detected 2, tolerated 1, unknown 0, late 0, silent 1"' in bar
    widths = [float(width) for width in re.findall(r"width:([0-9.]+)%", bar)]
    assert widths == [50.0, 25.0, 25.0]


def test_what_was_missed_is_listed_with_what_was_drawn() -> None:
    found = rows(campaign_page(document(*FOUR, status="silent")), "Faults that were not detected in time")
    assert found == [["run-2", "message.drop", "front", "silent", "1\u202f500.00", "share 1/2"]]
    assert "Not detected in time" not in campaign_page(document(FOUR[0]))
    assert len(rows(campaign_page(document(*FOUR, status="silent")), "All faults")) == 4


@pytest.mark.parametrize("status", ["ok", "silent", "unknown"])
def test_the_page_needs_nothing_else_and_shows_everything_as_text(status: str) -> None:
    page = campaign_page(document(run(0, "camera.black", "silent", target="<script>x</script>\x00"), status=status))
    assert "<script" not in page
    assert "\x00" not in page
    assert "&lt;script&gt;" in page
    assert re.search(r"(src|href)=", page) is None
    assert page == campaign_page(
        document(run(0, "camera.black", "silent", target="<script>x</script>\x00"), status=status)
    )
