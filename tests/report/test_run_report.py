"""The page: well-formed, self-contained, every number from the data, hostile text as text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from rt_sched.report.run_report import MOST_BYTES, AnnotatedFrame, render_run_report

MS = 1_000_000
VOID = {"meta", "link", "img", "input", "br", "wbr", "hr", "rect", "line", "path"}
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "n" * 300,
    "שלום_עולם",
    "\u202eevil",
    "{{ 7*7 }}{% raw %}",
    "nul\x00 and \ud800 &amp;",
)


class Page(HTMLParser):
    """Collects elements and text, and fails on tags that do not nest."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data: str) -> None:
        if "script" in self.open or "style" in self.open:
            return
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def cells_of(self, first: str) -> list[list[str]]:
        """Rows whose first cell begins with `first`, cells stripped."""
        return [[c.strip() for c in row] for row in self.rows if row and row[0].strip() == first]


@pytest.fixture(scope="module")
def html(quad_report: Any) -> str:
    return render_run_report(quad_report)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_is_one_well_formed_document_with_every_section(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for name in ("verdict", "chains", "tasks", "schedule", "processors", "arbiter", "frames", "topics", "reproduction"):
        assert name in ids
    links = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    assert links <= {f"#{i}" for i in ids}


def test_asks_for_nothing_outside_itself(html: str, page: Page) -> None:
    assert not re.search(r"https?://|@import|url\(", html)
    for tag, attrs in page.tags:
        for name in ("src", "href", "xlink:href", "data", "srcset", "action"):
            value = attrs.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and policy.startswith("default-src 'none'")


def test_task_table_states_the_numbers_of_the_summary(page: Page, quad_report: Any) -> None:
    for task in quad_report.summary["tasks"]:
        row = next(r for r in page.cells_of(task["name"]) if len(r) == 11)
        assert row[2:6] == [str(task[k]) for k in ("jobs", "misses", "drops", "overruns")]
        assert row[8] == f"{task['deadline_ns'] / MS:.2f}"
        assert row[7] == f"{task['response_max_ns'] / MS:.2f}"
        assert row[6] == f"{task['response_p99_ns'] / MS:.2f}"
        assert row[9] == "–"
    titles = {attrs.get("title") for _, attrs in page.tags}
    assert {f"{t['response_max_ns']} ns" for t in quad_report.summary["tasks"]} <= titles


def test_a_response_cut_off_by_the_end_is_marked(report_with: Any, quad: Any) -> None:
    _, steps, periods, changed = quad
    steps = [changed(s, low_ns=250 * MS, high_ns=251 * MS) if s.name == "backup" else s for s in steps]
    page = Page(render_run_report(report_with(steps, periods)))
    assert next(r for r in page.cells_of("backup") if len(r) == 11)[7].startswith("≥\u00a0")
    assert not any("≥" in r[7] for r in page.cells_of("fuse") if len(r) == 11)


def test_a_bound_is_printed_where_there_is_one(report_with: Any) -> None:
    report = report_with()
    tasks = [{**t, "bound_ns": 12_345_678} if t["name"] == "fuse" else t for t in report.summary["tasks"]]
    page = Page(render_run_report(replace(report, summary={**report.summary, "tasks": tasks})))
    assert next(r for r in page.cells_of("fuse") if len(r) == 11)[9] == "12.35"


def test_assumptions_that_broke_and_bounds_that_were_exceeded_are_named(report_with: Any) -> None:
    report = report_with()
    deviation = {"who": "imu<b>", "number": 7, "time_ns": 40 * MS, "evidence": "3ms, assumed was at most 2ms"}
    held = {"assumption": "jitter", "text": "release after arrival: at most what is assumed", "holds": True}
    monitors = [
        held | {"checked": 12, "broken": 0, "first": []},
        held | {"assumption": "sensor_rate", "holds": False, "checked": 9, "broken": 2, "first": [deviation]},
    ]
    over = {"who": "fuse", "quantity": "response", "number": 3, "time_ns": 0, "value_ns": 9 * MS, "bound_ns": 8 * MS}
    summary = {**report.summary, "monitors": monitors, "bounds_exceeded": [over]}
    page = Page(render_run_report(replace(report, summary=summary)))
    assert page.cells_of("jitter")[0][2:] == ["12", "0", "–"]
    row = page.cells_of("sensor rate")[0]
    assert row[2:4] == ["9", "2"]
    assert row[4].startswith("imu<b> #7 at 40") and row[4].endswith(": 3ms, assumed was at most 2ms")
    assert "fuse #3 (response 9.00, bound 8.00)" in page.text


def test_chain_table_states_maxima_and_limits(page: Page, quad_report: Any) -> None:
    brake = quad_report.chains[0]
    row = next(r for r in page.rows if r and r[0].startswith("brake_front_wide"))
    cells = [re.sub(r"\s+", " ", c).strip() for c in row]
    for cell, spread, limit in zip(
        cells[1:4],
        (brake.measurement.reaction, brake.measurement.latency, brake.measurement.data_age),
        ("200.00", "100.00", "90.00"),
        strict=True,
    ):
        assert cell == f"{spread.max_ns / MS:.2f} / {limit}"
    assert cells[4:] == [str(brake.measurement.unreflected), str(brake.measurement.lost)]


def test_first_screen_names_the_tightest_chain_and_the_worst_task(html: str, quad_report: Any) -> None:
    first = Page(html[: html.index('<section id="chains"')] + "</main></body></html>").text
    tasks = quad_report.summary["tasks"]
    worst = max(tasks, key=lambda t: t["response_max_ns"] / t["deadline_ns"])
    assert worst["name"] in first
    peaks = [
        (c.measurement.reaction.max_ns / c.chain.max_reaction_ns, c.chain.name)
        for c in quad_report.chains
        if c.chain.max_reaction_ns
    ]
    assert max(peaks)[1] in first
    assert "durations are modelled" in first
    assert "124" in first and "of 125 recorded" in first and "1 undecodable" in first
    assert "/gps/fix has no sensor" in first


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("ok", "Every deadline was met"),
        ("deadline_miss", "A limit was exceeded"),
        ("assumption_violated", "An assumption did not hold"),
        ("bound_violated", "A bound was exceeded"),
        ("incomplete", "The run is incomplete"),
        ("failed", "The run failed"),
        ("surprising", "Status: surprising"),
    ],
)
def test_status_is_said_in_words(quad_report: Any, status: str, words: str) -> None:
    page = Page(render_run_report(replace(quad_report, summary={**quad_report.summary, "status": status})))
    assert words in page.text
    assert page.text.count("Every deadline was met") == (2 if status == "ok" else 0)


def test_a_missed_job_is_a_missed_deadline(quad_report: Any) -> None:
    tasks = [{**task, "misses": 1} for task in quad_report.summary["tasks"]]
    summary = {**quad_report.summary, "status": "deadline_miss", "tasks": tasks}
    assert "Deadlines were missed" in Page(render_run_report(replace(quad_report, summary=summary))).text


def test_the_reason_of_the_summary_is_given(quad_report: Any) -> None:
    summary = {**quad_report.summary, "status": "incomplete", "reason": "3 <messages> could not be decoded"}
    assert "3 <messages> could not be decoded." in Page(render_run_report(replace(quad_report, summary=summary))).text


def test_a_chain_over_its_limit_is_no_missed_job(quad_report: Any) -> None:
    rows = [
        {**c, "data_age_max_ns": 2_543_451_094} if c["name"] == "brake_front_wide" else c
        for c in quad_report.summary["chains"]
    ]
    summary = {**quad_report.summary, "status": "deadline_miss", "chains": rows}
    page = Page(render_run_report(replace(quad_report, summary=summary)))
    assert "A chain exceeded its limit" in page.text
    assert "the data age of brake_front_wide reached 2.54\u00a0s; the limit is 90.00\u00a0ms." in page.text
    assert "data age, 28.3 times 90.00\u00a0ms" in page.text
    assert "Deadlines were missed" not in page.text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "no limit set"),
        ({"recovery_limit_ns": 100 * MS}, "71\u00a0% of 100.0\u00a0ms"),
        ({"recovery_limit_ns": 50 * MS}, "142\u00a0% of 50.00\u00a0ms"),
        ({"recovered_after_ns": None}, "not recovered from"),
        ({"recovered_after_ns": None, "detected_after_ns": None}, "not detected"),
    ],
)
def test_first_screen_says_how_the_fault_went(quad_report: Any, changes: dict[str, Any], words: str) -> None:
    faults = [{**quad_report.summary["faults"][0], **changes}]
    html = render_run_report(replace(quad_report, summary={**quad_report.summary, "faults": faults}))
    first = Page(html[: html.index('<section id="chains"')] + "</main></body></html>").text
    assert "Slowest recovery" in first and "camera:front_wide" in first and words in first
    assert ('<td class="n bad">' in html) == (changes.get("recovery_limit_ns") == 50 * MS)


def test_every_recorded_message_is_accounted_for(quad_report: Any) -> None:
    topics = [
        {"name": "/a", "recorded": 120, "delivered": 40, "dropped": 3, "undecodable": 2, "lost_to_faults": 75},
        {"name": "/b", "recorded": 10, "delivered": 0, "dropped": 0, "undecodable": 0, "unmapped": 9},
    ]
    page = Page(render_run_report(replace(quad_report, summary={**quad_report.summary, "topics": topics})))
    assert page.cells_of("Topic")[0][1:] == [
        "Recorded",
        "Delivered",
        "Dropped",
        "Undecodable",
        "Lost to faults",
        "Unmapped",
        "Unaccounted",
    ]
    assert page.cells_of("/a")[0][1:] == ["120", "40", "3", "2", "75", "–", "0"]
    assert page.cells_of("/b")[0][1:] == ["10", "0", "0", "0", "–", "9", "1"]
    assert "of 130 recorded; 3 dropped, 2 undecodable, 75 lost to faults, 10 not used" in page.text


def test_quarantined_messages_have_a_column_and_a_word_on_the_first_screen(quad_report: Any) -> None:
    topics = [{"name": "/a", "recorded": 9, "delivered": 5, "dropped": 0, "undecodable": 0, "quarantined": 4}]
    html = render_run_report(replace(quad_report, summary={**quad_report.summary, "topics": topics}))
    page = Page(html)
    assert page.cells_of("Topic")[0][1:] == ["Recorded", "Delivered", "Dropped", "Undecodable", "Quarantined"]
    assert page.cells_of("/a")[0][1:] == ["9", "5", "0", "0", "4"]
    assert "of 9 recorded; 0 dropped, 0 undecodable, 4 quarantined" in page.text
    assert '<td class="n bad" data-v="4">4</td>' in html


def test_tasks_are_coloured_by_stage_unless_told_otherwise(quad_report: Any) -> None:
    from rt_sched.report.sections import legend

    tasks = [{**t, "stage": "pipelines.detector:Infer"} for t in quad_report.summary["tasks"] if "infer" in t["name"]]
    tasks.append({"name": "arbiter", "stage": "safety.arbiter_stage:Arbiter"})
    report = replace(quad_report, summary={"tasks": tasks}, task_groups={"infer_left": "special"})
    found = legend(report)
    colour = dict(zip(report.trace.task_names, found.colours, strict=True))
    assert found.names[colour["infer_rear"]] == "detector"
    assert found.names[colour["infer_left"]] == "special"
    assert found.names[colour["arbiter"]] == "safety"
    assert found.names[colour["fuse"]] == "brake_front_wide"
    assert found.names[-1] == "other" and colour["pre_rear"] == 7


def test_misses_are_counted_and_marked(report_with: Any, quad: Any) -> None:
    _, steps, periods, changed = quad
    steps = [changed(s, deadline_ns=9 * MS) if s.name == "infer_front_wide" else s for s in steps]
    report = report_with(steps, periods)
    misses = next(t["misses"] for t in report.summary["tasks"] if t["name"] == "infer_front_wide")
    assert misses > 0
    html = render_run_report(report)
    row = next(r for r in Page(html).cells_of("infer_front_wide") if len(r) == 11)
    assert row[3] == str(misses)
    assert 'class="piece group-0 missed worst"' in html
    assert "overstepped its deadline most" in html


def test_schedule_shows_every_job_that_ran_in_the_worst_cycle(page: Page, quad_report: Any) -> None:
    from rt_sched.trace.statistics import worst_cycle

    trace, cycle = quad_report.trace, worst_cycle(quad_report.trace)
    assert cycle is not None
    inside = (trace.slices.end_ns > cycle.start_ns) & (trace.slices.start_ns < cycle.end_ns)
    pieces = sum("piece " in (attrs.get("class") or "") for _, attrs in page.tags)
    assert pieces == int(np.count_nonzero(inside))
    for job in np.unique(trace.slices.job[inside]).tolist():
        name = f"{trace.task_names[trace.jobs.task[job]]} #{trace.jobs.number[job]}"
        row = next(r for r in page.cells_of(name) if len(r) == 8)
        response = int(trace.jobs.finish_ns[job] - trace.jobs.arrival_ns[job])
        assert row[6] == (f"{response / MS:.2f}" if response >= 10_000 else f"{response / 1000:.2f} µs")


def test_hostile_names_stay_text(report_with: Any, quad: Any) -> None:
    _, steps, periods, changed = quad
    renamed = {steps[3 * i].name: name for i, name in enumerate(HOSTILE)}
    steps = [changed(s, name=renamed.get(s.name, s.name), source=renamed.get(s.source, s.source)) for s in steps]
    report = report_with(steps, periods)
    names = list(HOSTILE)
    summary = {
        **report.summary,
        "system": names[0],
        "recording": names[1],
        "policy": names[1],
        "clock": names[1],
        "tier": names[0],
        "warnings": names,
        "topics": [{"name": n, "recorded": 1, "delivered": 1, "dropped": 0, "undecodable": 0} for n in names],
        "pes": [{"name": n, "utilisation": 0.5} for n in names],
        "faults": [{"fault": n, "time_ns": MS, "detected_after_ns": None, "recovered_after_ns": None} for n in names],
        "arbiter": {"state_time_ns": dict.fromkeys(names, MS), "decisions": dict.fromkeys(names, 1)},
    }
    manifest = {
        "command": names,
        "inputs": [{"path": n, "sha256": n} for n in names],
        "versions": {n: n for n in names},
    }
    frames = [AnnotatedFrame(n, MS, b"\xff\xd8\xff\xd9", 2, 2, n) for n in names]
    groups = {n: n for n in names}
    html = render_run_report(
        replace(report, summary=summary, manifest=manifest, frames=frames, task_groups=groups, chains=())
    )
    page = Page(html)
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert all(a["src"] is not None and a["src"].startswith("data:image/jpeg") for t, a in page.tags if t == "img")
    shown = page.text
    for name in names[:6]:
        assert name in shown
    assert "nul\ufffd and \ufffd &amp;" in shown
    html.encode("utf-8")


def test_reads_without_its_script(html: str, quad_report: Any) -> None:
    bare = Page(re.sub(r"<script>.*?</script>", "", html, flags=re.S))
    hidden = [attrs for _, attrs in bare.tags if "hidden" in attrs]
    assert [a["class"] for a in hidden] == ["zoom"]
    assert all(name in bare.text for name in quad_report.trace.task_names)


def test_has_dark_and_print_styles(html: str) -> None:
    assert "@media (prefers-color-scheme: dark)" in html
    assert "@media print" in html


def test_same_data_give_the_same_page(html: str, quad_report: Any) -> None:
    assert render_run_report(quad_report) == html


def test_frames_stay_within_the_size_of_the_page(quad_report: Any) -> None:
    frames = [AnnotatedFrame("c", i * MS, bytes(90_000), 640, 400, "") for i in range(120)]
    html = render_run_report(replace(quad_report, frames=frames))
    assert len(html.encode()) <= MOST_BYTES
    page = Page(html)
    shown = sum(tag == "img" for tag, _ in page.tags)
    assert 20 < shown < 120
    assert f"{shown} of 120 camera frames are shown" in page.text


def test_a_run_that_did_nothing_has_a_page(quad_report: Any, report_with: Any, quad: Any) -> None:
    step, _, _, _ = quad
    empty = report_with([step("idle", "quiet", "dev.cpu.0", 1, 2, MS)], {"quiet": 10**12})
    jobs, slices, samples = empty.trace.jobs, empty.trace.slices, empty.trace.samples
    none = {
        "jobs": type(jobs)(*(getattr(jobs, f)[:0] for f in jobs.__dataclass_fields__)),
        "slices": type(slices)(*(getattr(slices, f)[:0] for f in slices.__dataclass_fields__)),
        "samples": type(samples)(*(getattr(samples, f)[:0] for f in samples.__dataclass_fields__)),
    }
    summary = {"status": "incomplete", "tasks": [{"name": "idle", "jobs": 0}]}
    report = replace(empty, trace=replace(empty.trace, **none), summary=summary, manifest={}, chains=(), arbiter=())
    page = Page(render_run_report(report))
    assert "The run is incomplete" in page.text
    assert "0 jobs of 1 task on 0 processors" in page.text
    assert next(r for r in page.cells_of("idle"))[2] == "0"


def test_many_tasks_are_capped_in_pictures_and_said_so(report_with: Any, quad: Any) -> None:
    step, _, _, _ = quad
    steps = [step(f"t{i}", "s", f"d{i // 8}.cpu.{i % 8}", MS, 2 * MS, 10 * MS) for i in range(450)]
    page = Page(render_run_report(report_with(steps, {"s": 100 * MS}, chains=(), arbiter=())))
    assert "The first 400 of 450 response-time histograms are shown." in page.text
    assert "64 of 450 processors that ran are drawn." in page.text
    assert all(page.cells_of(f"t{i}") for i in range(450))
