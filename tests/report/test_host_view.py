"""The section on the host of a paced run: what was asked for beside what was reported, and losses."""

from __future__ import annotations

from typing import Any

from rt_sched.report.host_view import host_view
from rt_sched.report.run_report import render_run_report

WORKER = {"pid": 71, "asked": "SCHED_FIFO priority 80", "asked_core": 1, "cores": [1]}
PACED: dict[str, Any] = {
    "clock": "paced",
    "tier": "fifo",
    "rate": "1/2",
    "workers": [
        {"task": "<brake>", "scheduling": "SCHED_FIFO priority 80", **WORKER},
        {"task": "plan", "scheduling": "SCHED_OTHER", **WORKER},
        {"task": "gone", "scheduling": None, **WORKER, "cores": None},
    ],
    "start_lateness": [{"task": "plan", "jobs": 3, "p50_ns": 20_000, "p99_ns": 1_230_000, "max_ns": 2_000_000}],
    "losses": [{"task": "gone", "pid": 72, "noticed_ns": None, "by_budget": False, "back_ns": None}],
    "feed": {"published": 120, "late": 2, "late_above_ns": 1_000_000, "max_ns": 3_000_000},
    "alerts": [{"task": "plan", "monitor": "stop", "time_ns": 7_000_000}] * 9,
    "supply_loss": {"lost_ns": 50_000_000, "period_ns": 1_000_000_000, "why": "the fair server"},
}


def test_only_runs_by_the_clock_of_a_host_have_it() -> None:
    assert host_view({"clock": "lockstep"}) is None
    assert host_view({}) is None
    assert host_view({"clock": "paced"}) is not None


def test_links_are_called_what_they_are() -> None:
    link = {"link": "ethernet", "kind": "emulated", "messages": 12, "delivered": 11, "late_max_ns": 300_000}
    view = host_view({**PACED, "links": [link, {**link, "link": "bus", "delivered": 0}]})
    assert view is not None
    told = " ".join(view.lead)
    assert "The emulated link ethernet took 12 messages and delivered 11, at most 300.0\xa0µs later" in told
    assert "bus" not in told


def test_each_worker_has_the_lateness_of_its_task() -> None:
    view = host_view(PACED)
    assert view is not None
    assert [row["lateness"].get("p99_ns") for row in view.workers] == [None, 1_230_000, None]
    told = " ".join(view.lead)
    for words in (
        "Tier fifo",
        "1/2",
        "derived",
        "120 samples",
        "2 samples later",
        "stop of plan at 7.00",
        "and 1 more",
        "fair server",
    ):
        assert words in told


def test_the_page_marks_what_the_kernel_reported_otherwise(report_with: Any) -> None:
    page = render_run_report(report_with(summary=PACED))
    section = page[page.index('<section id="host">') :].partition("</section>")[0]
    assert "&lt;brake&gt;" in section
    assert "<brake>" not in section
    assert section.count('class="bad"') == 2
    assert "ended before it was asked" in section
    assert "1.23" in section
    assert "killed or died" in section
    assert 'id="host"' not in render_run_report(report_with(summary={}))


SECTIONS: dict[str, Any] = {
    "resources": [
        {
            "resource": "bus",
            "protocol": "priority_inheritance",
            "mechanism": "inheritance",
            "abandoned": [
                {"task": "plan", "pid": 73, "found_by": "<brake>", "found_ns": 8_000_000},
                {"task": None, "pid": 74, "found_by": None, "found_ns": None},
            ],
        },
        {"resource": "map", "protocol": "none", "mechanism": "plain", "abandoned": []},
    ],
    "held": [
        {
            "task": "<brake>",
            "resource": "bus",
            "sections": 41,
            "declared_ns": 2_000_000,
            "executed_max_ns": 2_340_000,
            "held_max_ns": 3_450_000,
            "wait_max_ns": 4_560_000,
            "longer": 1,
            "long_waits": 0,
        }
    ],
    "long_waits": [{"task": "plan", "job": 5, "resource": "bus", "time_ns": 9_000_000}],
}
DEGRADED = {"task": "sense", "jobs": [4, 9], "overruns": 3, "declared_ns": 1_000_000, "executed_max_ns": 1_670_000}


def _section(page: str) -> str:
    return page[page.index('<section id="host">') :].partition("</section>")[0]


def test_resources_tell_who_guarded_them_and_who_was_lost() -> None:
    view = host_view({**PACED, "sections": SECTIONS})
    assert view is not None
    bus, other = view.resources
    assert "priority_inheritance, by a mutex with inheritance; 2 owners lost in a section" in bus
    assert "plan (process 73), found by <brake> at 8.00" in bus and "process 74, and nobody asked afterwards" in bus
    assert other == "map: none, by a plain mutex; no owner was lost."
    assert any("job 5 of plan for bus at 9.00" in sentence for sentence in view.lead)


def test_the_page_has_sections_and_jobs_that_were_to_do_less(report_with: Any) -> None:
    degraded = [{**DEGRADED, "longer": 2}]
    section = _section(render_run_report(report_with(summary={**PACED, "sections": SECTIONS, "degraded": degraded})))
    for text in ("2.34", "3.45", "4.56", ">41<", "1.67", 'class="n bad">1<', 'class="n bad">2<', 'class="n">0<'):
        assert text in section, text
    assert section.count("<table") == 4 and "<brake>" not in section


def test_runs_without_them_have_neither(report_with: Any) -> None:
    section = _section(render_run_report(report_with(summary={**PACED, "sections": None, "degraded": []})))
    assert section.count("<table") == 2 and "Critical sections" not in section and "do less" not in section


def test_waits_of_jobs_are_told_beside_what_is_declared() -> None:
    row = {"task": "infer", "jobs": 7, "declared_ns": 9_000_000, "declared_waits": 1, "max_ns": 8_500_000}
    views = [host_view({**PACED, "suspensions": [{**row, "longer": longer, "more_often": 0}]}) for longer in (0, 3)]
    good, bad = (" ".join(view.lead) for view in views if view is not None)
    assert "infer waited for at most 8.50" in good and "9.00\xa0ms in 1 wait are declared." in good
    assert "are declared: 3 longer, 0 more often." in bad
