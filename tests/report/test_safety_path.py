"""The section on the safety path: what is shared, what the checks found, and nothing where nothing is known."""

from __future__ import annotations

from typing import Any

import pytest

from rt_sched.report.run_report import render_run_report
from rt_sched.report.safety_path import E2E_COLUMNS, safety_path_view

SHARED = {"tasks": [], "sensors": ["top"], "message_types": ["Command", "PointCloud"], "devices": ["<orin>"]}
ROW = {"source": "control.command", "task": "arbiter", "input": "primary", "ok": 12, "no_new_data": 30, "error": 1}


def test_kinds_in_words_and_counts_in_the_order_of_columns() -> None:
    view = safety_path_view({"safety_path": {"shared": SHARED, "e2e": [ROW]}})
    assert view is not None
    shared = dict(view.shared)
    assert (shared["Message types"], shared["Tasks"]) == (("Command", "PointCloud"), ())
    ((source, target, counts),) = view.checks
    assert (source, target) == ("control.command", "arbiter.primary")
    assert [n for n, _ in counts] == [12, 30, 0, 0, 1]
    assert [key for key, _, is_finding in E2E_COLUMNS if is_finding] == ["repeated", "wrong_sequence", "error"]


@pytest.mark.parametrize("summary", [{}, {"safety_path": None}, {"safety_path": {"shared": None, "e2e": []}}])
def test_without_knowledge_there_is_no_section(summary: dict[str, Any]) -> None:
    assert safety_path_view(summary) is None


def test_without_a_backup_the_checks_are_shown_alone() -> None:
    view = safety_path_view({"safety_path": {"shared": None, "e2e": [ROW]}})
    assert view is not None
    assert view.shared == ()
    assert len(view.checks) == 1


def test_the_page_shows_the_section_and_marks_findings(report_with: Any) -> None:
    page = render_run_report(report_with(summary={"safety_path": {"shared": SHARED, "e2e": [ROW]}}))
    section = page[page.index('<section id="safety-path">') :].partition("</section>")[0]
    assert "PointCloud" in section
    assert "&lt;orin&gt;" in section
    assert "<orin>" not in section
    assert section.count('class="n bad"') == 1
    assert 'id="safety-path"' not in render_run_report(report_with(summary={"safety_path": None}))


def test_the_page_says_what_the_actuators_side_did(report_with: Any) -> None:
    record = {
        "cycle_ns": 5_000_000,
        "command_age_limit_ns": 30_000_000,
        "bound_ns": 35_000_000,
        "cycles": 200,
        "commands": 1,
        "refused": 2,
        "refusals": ["E2E: <ERROR>"],
        "longest_gap_ns": None,
        "looks_apart_max_ns": 7_000_000,
        "oldest_command_ns": 29_000_000,
        "minimal_risk": [{"since_ns": 525_000_000, "after_ns": 34_890_026}],
    }
    page = render_run_report(report_with(summary={"actuator": record}))
    section = page[page.index('<section id="safety-path">') :].partition("</section>")[0]
    for words in (
        "200 times",
        "once 7.00\xa0ms apart",
        "1 command;",
        "2 messages: E2E: &lt;ERROR&gt;",
        "MINIMAL_RISK from 525.0\xa0ms on, 34.89\xa0ms",
    ):
        assert words in section
