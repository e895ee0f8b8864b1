"""Evidence of runs: what a run folder adds to a report, and which folders are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.report.evidence import evidence
from rt_sched.app.report.job import ReportRequest, report_document
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.config import load_system
from rt_sched.errors import DataError
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.planner import make_plan
from rt_sched.record.trace_file import save_trace
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.sim import Simulation

MS = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, reviewed_text: str) -> Path:
    """A run folder as a replay leaves it, of half a second in which all jobs need their worst case."""
    folder = tmp_path_factory.mktemp("evidence")
    file = folder / "system.yaml"
    file.write_text(reviewed_text)
    system = load_system(file, stages=ImportedStages())
    horizon_ns = 500 * MS
    given = lower(
        system,
        make_plan(system, None),
        nominal_samples(system, horizon_ns),
        horizon_ns=horizon_ns,
        execution=Execution.WCET,
    )
    simulation = Simulation(given)
    simulation.run()
    target = folder / "run-1"
    target.mkdir()
    save_trace(simulation.trace(), target / "trace.npz")
    monitors = [
        {"assumption": "execution", "text": "executed", "holds": True, "checked": 50, "broken": 0, "unit": "ns"}
    ]
    summary = {
        "status": "ok",
        "reason": "",
        "clock": "lockstep",
        "tier": "modelled",
        "duration_ns": horizon_ns,
        "tasks": [{"name": task.name, "jobs": 5, "misses": 0, "drops": 0, "overruns": 0} for task in system.tasks],
        "chains": [
            {"name": "see", "reaction_max_ns": 90 * MS, "samples": 10, "lost": 1, "unreflected": 2, "repeated": 3}
        ],
        "monitors": monitors,
        "faults": [
            {"fault": "camera:front", "time_ns": MS, "detected_after_ns": 70 * MS, "recovered_after_ns": 72 * MS}
        ],
    }
    manifest = {
        "command": "rt-sched replay log",
        "seed": 0,
        "schedule_sha256": "0" * 64,
        "inputs": [{"path": "log", "sha256": "1"}, {"path": str(file), "sha256": file_sha256(file)}],
    }
    (target / "summary.json").write_text(json.dumps(summary))
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target


@pytest.fixture(scope="module")
def document(run: Path) -> dict[str, Any]:
    return report_document(ReportRequest(runs=(run,), margins=False), lambda _: None)


def test_a_run_names_its_system_and_every_job_is_compared(document) -> None:
    (told,) = document["evidence"]["runs"]
    rows = {row["name"]: row for row in told["tasks"]}
    assert told["modelled"]
    assert (rows["tidy"]["executed_max_ns"], rows["tidy"]["high_water_ppm"]) == (5 * MS, 1_000_000)
    assert sum(rows["tidy"]["histogram"]["counts"]) == rows["tidy"]["jobs_compared"] == 10
    assert all(row["jobs_above_bound"] == 0 for row in told["tasks"])
    for row in document["tasks"]:
        assert row["observed_ns"] == rows[row["name"]]["response_max_ns"] <= row["response_bound_ns"]


def test_assumptions_chains_and_requirements_know_the_run(document) -> None:
    (execution,) = [row for row in document["assumptions"] if row["key"] == "execution"]
    assert (execution["status"], execution["values_checked"]) == ("monitored", 50)
    (see,) = [row for row in document["chains"] if row["name"] == "see"]
    (seen,) = see["observed"]
    assert (see["reaction_observed_ns"], seen["lost"], seen["repeated"]) == (90 * MS, 1, 3)
    recovery = document["requirements"]["requirements"][0]["limits"][1]
    assert recovery["observed_ns"] == 72 * MS


def test_the_page_calls_modelled_durations_modelled(document) -> None:
    page = render_schedulability_report(document)
    assert "Durations are modelled" in page
    assert any("durations of all runs are modelled" in line for line in document["not_shown"])


def test_a_job_above_its_bound_is_a_finding(document, run, monkeypatch) -> None:
    monkeypatch.setattr("rt_sched.app.report.evidence.bounds_end_ns", lambda trace: trace.horizon_ns + 1)
    summary = json.loads((run / "summary.json").read_text())

    rows = [{**row, "response_bound_ns": 1} for row in document["tasks"]]
    system = load_system(run.parent / "system.yaml", stages=ImportedStages())
    (told,) = evidence([run], system, file_sha256(run.parent / "system.yaml"), rows)
    assert (
        sum(row["jobs_above_bound"] for row in told["tasks"]) == sum(row["jobs_compared"] for row in told["tasks"]) > 0
    )
    assert summary["status"] == "ok"


def test_a_run_of_another_state_of_the_system_is_refused(run, tmp_path, reviewed_text) -> None:
    other = tmp_path / "system.yaml"
    other.write_text(reviewed_text.replace("wcet: 12ms", "wcet: 11ms"))
    with pytest.raises(DataError, match="another system file, or of another state of it"):
        report_document(ReportRequest(str(other), (run,), margins=False), lambda _: None)


@pytest.mark.parametrize(("name", "text"), [("manifest.json", None), ("manifest.json", "[]"), ("summary.json", "{")])
def test_folders_without_a_run_are_refused(run, tmp_path, name, text) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for part in ("manifest.json", "summary.json"):
        (broken / part).write_text((run / part).read_text())
    if text is None:
        (broken / name).unlink()
    else:
        (broken / name).write_text(text)
    with pytest.raises(DataError, match=r"broken"):
        report_document(ReportRequest(str(run.parent / "system.yaml"), (broken,), margins=False), lambda _: None)
