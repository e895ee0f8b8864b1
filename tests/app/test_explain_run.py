"""Run folders explained: targets, near matches, damage, and sums that add up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))

from checked_systems import traced

from rt_sched.app.explain.run import explained_run
from rt_sched.app.explain.run_text import run_explanation_text
from rt_sched.app.runs.summary import SUMMARY_SCHEMA
from rt_sched.errors import ConfigError, DataError
from rt_sched.record.trace_file import TRACE_FILE, save_trace
from rt_sched.trace.job_names import job_anchor


def folder_of(system: str, folder: Path, **chains: list[str]) -> Path:
    """A run folder with a trace of a small system and what a summary says of it."""
    trace = traced(system)
    folder.mkdir(exist_ok=True)
    save_trace(trace, folder / TRACE_FILE)
    term = {"kind": "interference", "value_ns": 6, "by": "high", "jobs": 3, "each_ns": 2}
    summary = {
        "schema": SUMMARY_SCHEMA,
        "tasks": [
            {"name": name, "bound_ns": 30, "bound_method": "some_method", "bound_terms": [term], "without_data": 0}
            for name in trace.task_names
        ],
        "chains": [
            {
                "name": name,
                "path": path,
                "latency_bound_ns": 40,
                "latency_limit_ns": None,
                "latency_bound_terms": [{"kind": "response", "value_ns": 9, "by": path[-1]}],
            }
            for name, path in chains.items()
        ],
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "report.html").write_text(f'<tr id="{job_anchor(trace, 0)}">')
    return folder


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    return folder_of("chain", tmp_path / "run", brake=["camera", "detect", "act"], look=["camera", "detect"])


def test_a_task_stands_for_its_worst_job_with_the_bound_beside_each_part(tmp_path: Path) -> None:
    run = folder_of("preemption", tmp_path / "run")
    document = explained_run("low", run, None)
    job = document["job"]
    assert (document["what"], document["chosen"]) == ("job", "its job with the longest response")
    assert (job["name"], job["response_ns"], job["bound_ns"], job["status"]) == ("low#0", 27, 30, "completed")
    assert sum(part["value_ns"] for part in job["parts"]) == sum(one["value_ns"] for one in job["sums"]) == 27
    others = job["sums"][1]
    assert (others["kind"], others["by"], others["jobs"]) == ("core", ["high"], 3)
    assert (others["value_ns"], others["in_bound_ns"]) == (5, 6)
    assert document["link"] is None
    text = run_explanation_text(document)
    assert "high (higher priority), 3 jobs" in text
    assert "in the bound 6ns" in text
    assert explained_run("high#0", run, None)["link"] == f"{run / 'report.html'}#job-high-0"


@pytest.mark.parametrize("target", ["camera#0", "camera@0", "camera@5ns", "camera@14ns"])
def test_frames_by_number_and_by_time(chain: Path, target: str) -> None:
    frame = explained_run(target, chain, "brake")["frame"]
    (brake,) = frame["chains"]
    assert (frame["name"], frame["capture_ns"], brake["output"]) == ("camera#0", 5, "act#1")
    assert brake["latency_ns"] == sum(step["value_ns"] for step in brake["steps"]) == 11
    assert [step["name"] for step in brake["steps"]] == ["camera#0", "detect#0", "act#1"]
    assert brake["steps"][-1]["in_bound"] == [{"kind": "response", "value_ns": 9, "by": "act"}]


def test_a_sensor_alone_stands_for_its_longest_frame_on_all_chains(chain: Path) -> None:
    document = explained_run("camera", chain, None)
    assert document["chosen"] == "its frame with the longest way"
    assert [one["name"] for one in document["frame"]["chains"]] == ["brake", "look"]
    assert "waiting to be read (sampling delay)" in run_explanation_text(document)


def test_what_never_came_is_said(chain: Path) -> None:
    document = explained_run("camera#2", chain, "brake")
    assert document["frame"]["status"] == "lost"
    assert "led to no output" in run_explanation_text(document)
    assert "never arrived there" in run_explanation_text(document)


@pytest.mark.parametrize(
    ("system", "target", "words"),
    [
        ("criticality", "music#0", "aborted after 3ns, as its processor went to HI mode"),
        ("budget", "greedy#0", "aborted after 6ns, as its budget was used up"),
        ("loss", "here#0", "lost after 5ns, as p was lost"),
        ("chain", "act#0", "skipped after 0ns, as no message on objects"),
        ("throttle", "served#2", "unfinished after 36ns, as the run ended first"),
        ("frequency", "work#0", "it had 2ns more to execute than declared"),
        ("inheritance", "middle", "low#0 (holds bus)"),
        ("suspension", "camera#0", "suspended"),
    ],
)
def test_how_jobs_ended_and_why_they_waited(tmp_path: Path, system: str, target: str, words: str) -> None:
    assert words in run_explanation_text(explained_run(target, folder_of(system, tmp_path / "run"), None))


@pytest.mark.parametrize(
    ("target", "chain_name", "words"),
    [
        ("detct#1", "brak", ["did you mean 'detect'", "unknown chain 'brak'; did you mean 'brake'"]),
        ("detect#99", None, ["detect has no job 99; it has #0 to #"]),
        ("camera#x", None, ["'x' is not the number of a sample; write camera#12, or camera@1.5s"]),
        ("camera@x", None, ["'x' is not a time"]),
        ("camera@1ns", None, ["camera has no sample by 1ns; its first is at 5ns"]),
        ("detect", "brake", ["is for frames, and detect is a task's"]),
        ("#1", None, ["unknown task or sensor ''"]),
        ("detect#-1", None, ["'-1' is not the number of a job"]),
        ("detect#99999999999999999999", None, ["is not the number of a job"]),
    ],
)
def test_wrong_names_say_what_there_is(chain: Path, target: str, chain_name: str | None, words: list[str]) -> None:
    with pytest.raises(ConfigError) as wrong:
        explained_run(target, chain, chain_name)
    assert all(word in str(wrong.value) for word in words), str(wrong.value)


def test_a_sensor_without_a_chain_says_where_chains_begin(tmp_path: Path) -> None:
    run = folder_of("pairs", tmp_path / "run", look=["left", "fusion"])
    with pytest.raises(ConfigError, match="no chain begins at right; chains begin at left"):
        explained_run("right#0", run, None)
    with pytest.raises(ConfigError, match="a trace alone does not say which chains there are"):
        explained_run("right#0", run / TRACE_FILE, None)
    assert explained_run("fusion", run / TRACE_FILE, None)["job"]["bound_ns"] is None


def damaged(summary: dict[str, Any], **more: Any) -> str:
    return json.dumps(summary | more)


def test_half_run_folders_name_everything_that_is_missing(chain: Path) -> None:
    trace, summary = chain / TRACE_FILE, chain / "summary.json"
    good = json.loads(summary.read_text())
    for text, words in (
        (damaged(good, schema="x"), "holds x; this version reads"),
        (damaged(good, tasks=[3]), "tasks is not a list of objects with names"),
        (damaged(good, chains=[{"name": "brake"}]), "chain brake has no path"),
        (damaged(good, chains=[{"name": "b", "path": ["camera", "nobody"]}]), "does not belong to the trace beside it"),
        ("{", "summary.json:1:2  is not JSON"),
    ):
        summary.write_text(text)
        with pytest.raises(ConfigError) as wrong:
            explained_run("detect", chain, None)
        assert words in str(wrong.value)
    trace.write_bytes(trace.read_bytes()[:100])
    with pytest.raises(ConfigError) as both:
        explained_run("detect", chain, None)
    assert len(both.value.problems) == 2
    summary.unlink()
    trace.unlink()
    with pytest.raises(DataError, match=r"holds no trace\.npz"):
        explained_run("detect", chain, None)


def test_records_that_refer_to_nothing_are_refused(chain: Path) -> None:
    with np.load(chain / TRACE_FILE) as archive:
        arrays = dict(archive)
    arrays["slices.job"] = arrays["slices.job"] + 10_000
    np.savez_compressed(chain / TRACE_FILE, **arrays)
    with pytest.raises(ConfigError, match="the records of the trace are not in form"):
        explained_run("detect", chain, None)
