"""The watch over sensors, as people read it: on the terminal and in the report."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from rt_sched.app.health.table import print_health
from rt_sched.report.host_view import host_view

MS = 1_000_000
HEALTH: dict[str, Any] = {
    "sensors": ["front", "top"],
    "period_ns": 30 * MS,
    "delay_ns": 60 * MS,
    "cycles": 100,
    "late": 2,
    "missed": 3,
    "findings": [
        {"time_ns": 410 * MS, "message_ns": 402 * MS, "sensor": "front", "monitor": "black", "worst_case_ns": 127 * MS},
        {"time_ns": 900 * MS, "message_ns": 820 * MS, "sensor": "front", "monitor": "black", "worst_case_ns": 127 * MS},
    ],
    "trust": [
        {"time_ns": 100 * MS, "sensor": "front", "trusted": True, "monitor": None},
        {"time_ns": 410 * MS, "sensor": "front", "trusted": False, "monitor": "black"},
        {"time_ns": 700 * MS, "sensor": "front", "trusted": True, "monitor": None},
        {"time_ns": 900 * MS, "sensor": "front", "trusted": False, "monitor": "black"},
    ],
    "losses": [
        {"noticed_ns": 1200 * MS, "by": "exit", "back_ns": 1350 * MS, "unwatched_ns": 210 * MS, "within_ns": 720 * MS},
        {"noticed_ns": 2000 * MS, "by": "still", "back_ns": None, "unwatched_ns": 400 * MS, "within_ns": None},
    ],
}


def printed(health: dict[str, Any] | None) -> list[str]:
    console = Console(width=140, record=True, file=StringIO())
    print_health(health, console)
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_every_loss_of_trust_is_a_row_with_its_own_finding() -> None:
    lines = printed(HEALTH)
    assert lines[0] == "Sensors watched, every 30.000 ms (ms)"
    assert "front black 410.000 8.000 60.000 127.000 700.000" in lines
    assert "front black 900.000 80.000 60.000 127.000 –" in lines
    assert "top nothing – – – – –" in lines


def test_what_became_of_the_watch_itself_is_told() -> None:
    lines = printed(HEALTH)
    back = "the watch over sensors had ended, noticed at 1.200 s, reported again at 1.350 s"
    assert f"{back}; no sensor was watched for 210.000 ms, at most 720.000" in lines
    assert "the watch over sensors stood still, noticed at 2.000 s; no sensor was watched for 400.000 ms" in lines
    assert "2 of 100 cycles of the watch over sensors took longer than their period" in lines
    assert "3 samples came while the watch over sensors could not see them" in lines
    quiet = printed({**HEALTH, "losses": [], "late": 0, "missed": 0})
    assert not any("the watch over sensors" in line for line in quiet)


def test_nothing_is_said_where_nobody_watched() -> None:
    assert printed(None) == []


def test_the_report_says_what_was_found() -> None:
    view = host_view({"clock": "paced", "tier": "fifo", "health": HEALTH})
    assert view is not None
    (words,) = [words for words in view.lead if "were watched" in words]
    plain = words.replace("\u00a0", " ")
    assert plain.startswith(
        "front, top were watched while the run went on, every 30.00 ms: monitors found black of front"
    )
    assert "at 410.0 ms, black of front at 900.0 ms" in plain
    assert plain.endswith("lost 2 times, and no sensor was watched for 210.0 ms (at most 720.0 ms), 400.0 ms.")
    quiet = host_view({"clock": "paced", "tier": "fifo", "health": {**HEALTH, "findings": [], "losses": []}})
    assert quiet is not None and any("no monitor found anything." in words for words in quiet.lead)
    without = host_view({"clock": "paced", "tier": "fifo", "health": None})
    assert without is not None and not any("watched" in words for words in without.lead)
