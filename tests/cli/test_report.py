"""`rt-sched report` and `rt-sched analyze -o report.html`: files, exit codes, refusals."""

from __future__ import annotations

import json

import jsonschema
import pytest

SYSTEM = """
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  fast: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 4ms}}
  slow: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 9ms}, deadline: DEADLINE}
requirements:
  REQ-1: {limits: tasks.slow.deadline, asil: B}
"""


@pytest.fixture
def system(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(SYSTEM.replace("DEADLINE", "18ms"))
    return path


def test_a_report_of_a_system_with_everything_beside_it(cli, system, tmp_path):
    ended = cli("report", "--system", system, "-o", "two.html", "--csv", "two.csv", "--no-margins", "--json")
    document = ended.document
    assert (document["verdict"], document["margins"]) == ("schedulable", None)
    assert json.loads((tmp_path / "two.json").read_text()) == document
    page = (tmp_path / "two.html").read_text()
    assert page.lstrip().startswith("<!doctype html>")
    assert (
        (tmp_path / "two.csv").read_text().splitlines()[1].startswith("REQ-1,B,,,tasks.slow.deadline,nominal,18000000")
    )
    assert document["reproduction"]["command"].startswith("rt-sched report --system")
    schema = cli("schema", "--report").document
    jsonschema.Draft202012Validator(schema).validate(document)


def test_analyze_writes_the_page_where_its_name_says_so(cli, system, tmp_path):
    system.write_text(SYSTEM.replace("DEADLINE", "15ms"))
    ended = cli("analyze", system, "-o", "late.html", "--json", code=1)
    assert ended.document["schema"] == "rt-sched/analysis/1"
    beside = json.loads((tmp_path / "late.json").read_text())
    assert (beside["verdict"], beside["summary"]["findings"][0]["name"]) == ("unschedulable", "slow")
    assert "A deadline can be missed" in (tmp_path / "late.html").read_text()


def test_a_plan_takes_the_place_of_a_policy(cli, system, tmp_path):
    cli("plan", system, "--heuristics", "-o", "plan.yaml")
    document = cli("report", "-s", system, "--plan", "plan.yaml", "-o", "two.html", "--no-margins", "--json").document
    assert [one["path"].rsplit("/", 1)[-1] for one in document["reproduction"]["inputs"]] == ["two.yaml", "plan.yaml"]
    cli("analyze", system, "--plan", "plan.yaml", "-o", "same.html")
    assert json.loads((tmp_path / "same.json").read_text())["model"] == document["model"]


def test_the_exit_code_is_that_of_the_verdict(cli, system):
    system.write_text(SYSTEM.replace("DEADLINE", "15ms"))
    ended = cli("report", "-s", system, "-o", "late.html", "--no-margins", code=1)
    assert "unschedulable task slow" in ended.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report"], "give run folders, or a system file"),
        (["report", "-s", "two.yaml", "-o", "two.pdf"], "does not end in .html"),
        (["report", "nowhere"], "is no run folder"),
        (["report", "two.yaml"], "two.yaml is a file; run folders stand here, a system file with --system"),
        (["report", "nowhere", "-o", "nowhere/report.html"], "is the report of the run itself"),
        (["report", "-s", "two.yaml", "--search", "nothing.json"], "nothing.json: there is no such file"),
        (["report", "-s", "two.yaml", "--recoveries", "two.yaml"], "is not JSON"),
        (["report", "-s", "two.yaml", "--plan", "two.yaml"], "two.yaml"),
        (["analyze", "--taskset", "two.yaml", "-o", "two.html"], "a report is of a system file"),
    ],
)
def test_wrong_calls_are_refused_before_anything_is_written(cli, system, tmp_path, arguments, said):
    assert said in cli(*arguments, code=2).err
    assert not list(tmp_path.glob("*.html"))


def test_a_pdf_needs_a_browser(cli, system, tmp_path):
    ended = cli(
        "report", "-s", system, "--pdf", "two.pdf", code=2, prelude="import os\nos.environ['PATH'] = '/nowhere'"
    )
    assert "none of chromium" in ended.err
    assert not list(tmp_path.glob("*.html"))


def test_evidence_of_a_replay(cli, short_run, tmp_path):
    ended = cli("report", short_run.folder, "-o", "quad.html", "--no-margins", "--json")
    (run,) = ended.document["evidence"]["runs"]
    assert run["schedule_sha256"] == short_run.hashes[0]
    assert sum(task["jobs_above_bound"] for task in run["tasks"]) == 0 < sum(t["jobs_compared"] for t in run["tasks"])
    assert (tmp_path / "quad.html").stat().st_size < 5_000_000


def test_documents_on_faults_are_taken_or_refused_by_name(cli, system, tmp_path):
    (tmp_path / "faults.json").write_text("{}")
    ended = cli("report", "--system", system, "-o", "two.html", "--no-margins", "--faults", "faults.json", code=2)
    assert "faults.json: is no document on faults" in ended.err
