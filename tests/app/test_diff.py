"""Comparisons of system files, documents and runs, and what cannot be compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.diff.job import DiffRequest, difference
from rt_sched.app.diff.text import markdown
from rt_sched.app.show.job import shown_system
from rt_sched.errors import AnalysisNotApplicable, ConfigError, DataError

SYSTEM = """\
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors:
  cam: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /cam}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: cam}, execution: {wcet: 10ms}, deadline: 30ms}
  plan: {runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 2ms}, inputs: {objects: detect}}
  log: {runs_on: ecu.cpu, activation: {period: 100ms}, execution: {wcet: 30ms}}
chains:
  brake: {path: [cam, detect, plan], max_latency: 60ms}
"""


def compared(tmp_path: Path, before: str, after: str, **more: Any) -> dict[str, Any]:
    for name, text in (("a.yaml", before), ("b.yaml", after)):
        (tmp_path / name).write_text(text)
    return difference(DiffRequest(str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), **more))


def rows(document: dict[str, Any]) -> list[tuple[str, str, str, Any, Any]]:
    return [(row["part"], row["name"], row["key"], row["before"], row["after"]) for row in document["inputs"]]


def moved(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(r["kind"], r["name"], r["change"]) for r in document["verdicts"] if r["change"] != "same"]


def test_another_order_and_renamed_parts_change_nothing(tmp_path: Path) -> None:
    lines = SYSTEM.splitlines()
    reordered = "\n".join([*lines[:6], lines[8], lines[7], lines[6], *lines[9:]])
    document = compared(tmp_path, SYSTEM, re.sub(r"(?<!/)\bcam\b", "eye", reordered.replace("detect", "find")))
    assert rows(document) == [("sensors", "eye", "", "cam", "eye"), ("tasks", "find", "", "detect", "find")]
    assert (moved(document), document["worse"]) == ([], False)
    assert next(row for row in document["verdicts"] if row["name"] == "find")["old_name"] == "detect"


def test_a_longer_execution_is_told_with_all_that_it_moves(tmp_path: Path) -> None:
    document = compared(tmp_path, SYSTEM, SYSTEM.replace("wcet: 10ms", "wcet: 12ms"))
    assert ("tasks", "detect", "execution.wcet_ns", 10_000_000, 12_000_000) in rows(document)
    assert not document["worse"]
    grew = {name: row for row in document["verdicts"] if (name := row["name"]) and row["change"] == "grew"}
    assert set(grew) == {"detect", "log", "brake"}
    assert grew["detect"]["times"] == [
        {
            "name": "response",
            "value_before_ns": 12_000_000,
            "limit_before_ns": 30_000_000,
            "margin_before_ns": 18_000_000,
            "value_after_ns": 14_000_000,
            "limit_after_ns": 30_000_000,
            "margin_after_ns": 16_000_000,
        }
    ]
    assert compared(tmp_path, SYSTEM, SYSTEM.replace("wcet: 10ms", "wcet: 12ms"), strict=True)["worse"]


def test_a_miss_stands_first_and_back_again_nothing_is_worse(tmp_path: Path) -> None:
    longer = SYSTEM.replace("wcet: 10ms", "wcet: 29ms")
    document = compared(tmp_path, SYSTEM, longer)
    worse = [row for row in document["verdicts"] if row["worse"]]
    assert document["worse"]
    assert document["verdicts"][: len(worse)] == worse
    assert {row["name"] for row in worse} >= {"detect", "nominal"}
    back = compared(tmp_path, longer, SYSTEM)
    assert not back["worse"]
    assert back["counts"]["better"] == document["counts"]["worse"]


def test_what_is_new_is_worse_only_when_it_is_bad(tmp_path: Path) -> None:
    fine = SYSTEM.replace(
        "chains:", "  extra: {runs_on: ecu.cpu, activation: {period: 1s}, execution: {wcet: 1ms}}\nchains:"
    )
    document = compared(tmp_path, SYSTEM, fine)
    assert ("task", "extra", "added") in moved(document)
    assert not document["worse"]
    bad = compared(tmp_path, SYSTEM, fine.replace("wcet: 1ms", "wcet: 900ms"))
    assert bad["worse"]
    assert ("task", "extra", "removed") in moved(compared(tmp_path, fine, SYSTEM))


def analysis(**tasks: tuple[str, int | None, int]) -> dict[str, Any]:
    return {
        "schema": "rt-sched/analysis/1",
        "system": "s",
        "policy": "rms",
        "verdict": "schedulable",
        "modes": [{"name": "nominal", "verdict": "schedulable"}],
        "tasks": [
            {
                "name": name,
                "mode": "nominal",
                "verdict": verdict,
                "reason": f"because of {name}",
                "response_bound_ns": bound_ns,
                "deadline_ns": deadline_ns,
            }
            for name, (verdict, bound_ns, deadline_ns) in tasks.items()
        ],
        "chains": [],
        "assumptions": [],
    }


def run(status: str = "ok", misses: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "schema": "rt-sched/run-summary/1",
        "status": status,
        "reason": "",
        "system": "s",
        "tasks": [{"name": "a", "jobs": 9, "misses": misses, "response_max_ns": 5, "deadline_ns": 9}],
        "chains": [{"name": "c", "path": ["s", "a"], "outputs": 3, "latency_max_ns": 7, "latency_limit_ns": 8}],
        "faults": [{"fault": "camera:s", "recovered_after_ns": 5, "recovery_limit_ns": 9}],
        "monitors": [{"assumption": "execution", "holds": True, "broken": 0}],
    } | more


def written(folder: Path, name: str, document: Any) -> str:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_documents_are_compared_as_they_are(tmp_path: Path) -> None:
    before = written(tmp_path, "a.json", analysis(a=("schedulable", 5, 9), b=("schedulable", 5, 9)))
    after = written(tmp_path, "b.json", analysis(b=("inconclusive", None, 9), a=("schedulable", 6, 9)))
    document = difference(DiffRequest(before, after))
    assert moved(document) == [("task", "b", "worse"), ("task", "a", "grew")]
    assert document["verdicts"][0]["reason"] == "because of b"
    assert document["inputs"] == []


def test_runs_are_judged_by_what_was_missed(tmp_path: Path) -> None:
    before = written(tmp_path, "a.json", run())
    after = run("deadline_miss", 2, monitors=[{"assumption": "execution", "holds": False, "broken": 4}])
    after["chains"][0]["latency_max_ns"] = 9
    after["faults"][0]["recovered_after_ns"] = None
    (tmp_path / "run").mkdir()
    written(tmp_path / "run", "summary.json", after)
    document = difference(DiffRequest(before, str(tmp_path / "run")))
    worse = {(row["kind"], row["name"]): row["verdict_after"] for row in document["verdicts"] if row["worse"]}
    assert worse == {
        ("run", "as a whole"): "deadline_miss",
        ("task", "a"): "deadline_miss",
        ("chain", "c"): "over_limit",
        ("fault", "camera:s"): "not_recovered",
        ("assumption", "execution"): "broken",
    }


def test_faults_of_one_side_only_are_left_out_and_said(tmp_path: Path) -> None:
    with_faults = analysis(a=("schedulable", 5, 9))
    with_faults["verdict"] = "unschedulable"
    with_faults["faults"] = {
        "scenarios": [
            {
                "name": "lose_cam",
                "cases": [
                    {
                        "mode": "nominal",
                        "verdict": "unschedulable",
                        "reason": "late",
                        "handling": {"limit_ns": 100, "margin_ns": -3},
                    }
                ],
            }
        ]
    }
    one = written(tmp_path, "a.json", analysis(a=("schedulable", 5, 9)))
    other = written(tmp_path, "b.json", with_faults)
    document = difference(DiffRequest(one, other))
    assert not document["worse"]
    assert "a.json says nothing of faults" in document["notes"][0]
    assert {row["kind"] for row in document["verdicts"]} == {"mode", "task"}
    both = difference(DiffRequest(other, other))
    fault = next(row for row in both["verdicts"] if row["kind"] == "fault")
    assert (fault["times"][0]["value_after_ns"], fault["times"][0]["margin_after_ns"]) == (103, -3)


def test_a_report_holds_the_whole_system_and_is_compared_with_its_file(tmp_path: Path) -> None:
    file = written(tmp_path, "a.yaml", SYSTEM)
    model = shown_system(file, None)
    for task in model["tasks"]:
        task |= {"processor": "ecu.cpu.0", "level": 3}
    report = analysis() | {"schema": "rt-sched/schedulability-report/1", "model": model, "faults": {"rows": []}}
    document = difference(DiffRequest(written(tmp_path, "report.json", report), file))
    assert (document["inputs"], document["before"]["kind"]) == ([], "report")
    other = written(tmp_path, "b.yaml", SYSTEM.replace("deadline: 30ms", "deadline: 25ms"))
    document = difference(DiffRequest(str(tmp_path / "report.json"), other))
    assert rows(document) == [("tasks", "detect", "deadline_ns", 30_000_000, 25_000_000)]


PLAN = """\
rt_sched_plan: 1
system: two
policy: rms
processors:
  ecu.cpu.0: {policy: fixed_priority, preemptive: true}
placements:
  detect: {processor: ecu.cpu.0, level: 0}
  plan: {processor: ecu.cpu.0, level: 1}
  log: {processor: ecu.cpu.0, level: 2}
"""


def test_plans_are_compared_by_name_and_judged_for_their_system(tmp_path: Path) -> None:
    swapped = PLAN.replace("level: 0", "level: 9").replace("level: 1}", "level: 0}").replace("level: 9", "level: 1")
    document = compared(tmp_path, PLAN, swapped)
    assert rows(document) == [
        ("placements", "detect", "level", "0", "1"),
        ("placements", "plan", "level", "1", "0"),
    ]
    assert document["verdicts"] == []
    judged = compared(tmp_path, PLAN, swapped, system=written(tmp_path, "system.yaml", SYSTEM))
    assert ("task", "detect", "grew") in moved(judged)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            '{"schema": "x/1"}',
            "{",
            ["a.json: holds x/1; documents that can be compared: rt-sched/", "b.json:1:2  is not JSON"],
        ),
        (
            "[]",
            '{"schema": "rt-sched/analysis/2"}',
            ["a.json: holds no JSON object", "this version reads rt-sched/analysis/1"],
        ),
        ('{"a": 1}', '"\\ud800"', ["a.json: holds no schema", "b.json: holds no JSON object"]),
    ],
)
def test_what_is_wrong_with_both_sides_is_told_at_once(
    tmp_path: Path, before: str, after: str, words: list[str]
) -> None:
    request = DiffRequest(written(tmp_path, "a.json", before), written(tmp_path, "b.json", after))
    with pytest.raises(ConfigError) as wrong:
        difference(request)
    assert all(word in str(wrong.value) for word in words), str(wrong.value)


@pytest.mark.parametrize(
    "damage",
    [
        {"tasks": "none"},
        {"tasks": [{"mode": "nominal"}]},
        {"tasks": [7]},
        {"modes": {"a": 1}},
        {"faults": [1]},
        {"faults": {"scenarios": [{"name": "x", "cases": [7]}]}},
        {"chains": [{"name": None}]},
        {"assumptions": [7]},
    ],
)
def test_damaged_documents_are_refused(tmp_path: Path, damage: dict[str, Any]) -> None:
    good = written(tmp_path, "a.json", analysis(a=("schedulable", 5, 9)))
    bad = written(tmp_path, "b.json", analysis(a=("schedulable", 5, 9)) | damage)
    with pytest.raises((ConfigError, DataError)) as wrong:
        difference(DiffRequest(good, bad))
    assert "b.json" in str(wrong.value)


def test_kinds_that_cannot_be_compared_name_those_that_can(tmp_path: Path) -> None:
    one, other = written(tmp_path, "a.json", run()), written(tmp_path, "b.json", analysis())
    with pytest.raises(
        AnalysisNotApplicable, match=r"a\.json is a run, and .*b\.json is an analysis document; what can"
    ):
        difference(DiffRequest(one, other))
    with pytest.raises(AnalysisNotApplicable, match="--system names the system of two plan files"):
        difference(DiffRequest(one, one, system="quad_orin"))


def test_markdown_keeps_hostile_names_in_their_cells(tmp_path: Path) -> None:
    name = "a|b`c\n| x | @all <img src=x> [l](javascript:1) *"
    before = written(tmp_path, "a.json", analysis(**{name: ("schedulable", 5, 9)}))
    after = written(tmp_path, "b.json", analysis(**{name: ("unschedulable", 10, 9)}))
    text = markdown(difference(DiffRequest(before, after)))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table} == {6}
    assert not any(sign in text for sign in ("<img", "@all", "`c", "[l]"))
