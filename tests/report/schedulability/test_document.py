"""The document of a report: what it says of a system, and how its parts hang together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rt_sched.app.diff.job import DiffRequest, difference
from rt_sched.report.schedulability.schema import report_schema

MS = 1_000_000
PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "report.schema.json"


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every number, word and truth value with the way to it; rows of a list are told by name where they have one."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            name = item.get("name", index) if isinstance(item, dict) else index
            yield from leaves(item, (*path, str(name)))
    else:
        yield path, value


def task(document: dict[str, Any], name: str) -> dict[str, Any]:
    (row,) = [one for one in document["tasks"] if one["name"] == name]
    return row


def test_the_published_schema_is_that_of_the_program() -> None:
    assert json.loads(PUBLISHED.read_text()) == report_schema(), (
        "run rt-sched schema --report > docs/report.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(report_schema())


def test_documents_keep_to_the_schema(reviewed, late) -> None:
    validator = jsonschema.Draft202012Validator(report_schema())
    for document in (reviewed, late):
        assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)] == []


def test_the_schema_refuses_what_the_document_does_not_say(late) -> None:
    validator = jsonschema.Draft202012Validator(report_schema())
    assert not validator.is_valid({**late, "verdict": "fine"})
    assert not validator.is_valid({**late, "more": 1})
    assert not validator.is_valid({key: value for key, value in late.items() if key != "not_shown"})
    assert not validator.is_valid({**late, "tasks": [{**late["tasks"][0], "deadline_ns": 1.5}]})


def test_one_worst_case_changes_exactly_what_depends_on_it(reviewed, reviewed_text, report_on) -> None:
    """`tidy` is more urgent than log only, on the core that it shares with track and log."""
    other = report_on(
        reviewed_text.replace("rate: 20Hz}, execution: {wcet: 5ms}", "rate: 20Hz}, execution: {wcet: 6ms}")
    )
    before, after = (
        {path: value for path, value in leaves(one) if path[0] != "critical_runs"} for one in (reviewed, other)
    )
    assert before.keys() == after.keys()
    changed = {path for path in before if before[path] != after[path]}
    moved = {path[1] for path in changed if path[0] == "tasks"}
    assert moved == {one for one in moved if task(reviewed, one)["processor"] == "ecu.cpu.0"} >= {"tidy", "log"}
    bounds = {path[1] for path in changed if path[0] == "tasks" and path[2] == "response_bound_ns"}
    assert bounds == {"tidy", "log"}
    assert not any(path[0] in ("faults", "requirements", "safety_path") and "detect" in path for path in changed)
    assert {path for path in changed if path[0] == "chains"} == set()
    digests = {path for path in changed if path[-1] == "sha256"}
    assert len(digests) == 1


def test_a_report_differs_from_its_own_system_file_in_nothing(reviewed, reviewed_text, tmp_path) -> None:
    file, report = tmp_path / "reviewed.yaml", tmp_path / "report.json"
    file.write_text(reviewed_text)
    report.write_text(json.dumps(reviewed))
    found = difference(DiffRequest(str(report), str(file)))
    assert (found["inputs"], found["before"]["kind"]) == ([], "report")
    file.write_text(reviewed_text.replace("wcet: 12ms", "wcet: 11ms"))
    assert {row["name"] for row in difference(DiffRequest(str(report), str(file)))["inputs"]} == {"detect"}


def test_terms_derivations_and_windows_agree(reviewed, late) -> None:
    for document in (reviewed, late):
        for row in document["tasks"]:
            assert sum(term["value_ns"] for term in row["terms"]) == row["response_bound_ns"]
            assert row["own"]["cost_ns"] == sum(row["own"][key] for key in ("wcet_ns", "overhead_ns", "spin_ns"))
            assert all(t["jobs"] * t["each_ns"] == t["value_ns"] for t in row["terms"] if t["jobs"] is not None)
            worst = next(job for job in row["derivation"]["jobs"] if job["job"] == row["derivation"]["worst"])
            assert worst["finish_ns"] - worst["arrival_ns"] == worst["response_ns"] == row["response_bound_ns"]
        for chain in document["chains"]:
            for quantity, terms in chain["terms"].items():
                assert sum(term["value_ns"] for term in terms) == chain[f"{quantity}_bound_ns"]


def test_a_late_system_says_where_and_why(late) -> None:
    """4 ms twice before the 9 ms are done: 17 ms, 3 more than the 14 that are left."""
    assert late["verdict"] == "unschedulable"
    (finding,) = late["summary"]["findings"]
    assert (finding["kind"], finding["name"], finding["verdict"]) == ("task", "slow", "unschedulable")
    assert "3.000\u00a0ms over its deadline of 14.000\u00a0ms" in finding["why"]
    assert late["summary"]["changes"] == [
        "task slow is 3.000\u00a0ms over: most of what delays it is interference by quick, 8.000\u00a0ms"
    ]
    (run,) = [one for one in late["critical_runs"] if one["task"] == "slow"]
    assert (run["missed"], run["response_ns"]) == (True, 17 * MS)
    assert [(one["task"], (one["end_ns"] - one["start_ns"]) // MS) for one in run["pieces"][:4]] == [
        ("quick", 4),
        ("slow", 6),
        ("quick", 4),
        ("slow", 3),
    ]


def test_every_single_loss_is_told_and_only_declared_ones_count(reviewed) -> None:
    rows = {row["fault"]: row for row in reviewed["faults"]["rows"]}
    assert {name: row["declared"] for name, row in rows.items()} == {
        "blind": True,
        "top": False,
        "ecu": False,
        "mcu": False,
    }
    assert rows["blind"]["chains_kept"] == ["feel"]
    assert rows["blind"]["recovered_ns"] == 80 * MS
    assert rows["mcu"]["chains_kept"] == []
    worst = reviewed["faults"]["worst"]
    assert worst["detection_ns"] + worst["reaction_ns"] + worst["margin_ns"] == worst["limit_ns"] == 100 * MS
    assert any("ecu" in line and "no scenario" in line for line in reviewed["not_shown"])


def test_of_a_large_system_only_declared_losses_are_analysed_and_the_others_named(
    report_on, reviewed, reviewed_text, monkeypatch
) -> None:
    monkeypatch.setattr("rt_sched.app.report.faults.MOST_TASKS", 6)
    document = report_on(reviewed_text)
    assert [row["fault"] for row in document["faults"]["rows"]] == ["blind"]
    assert document["faults"]["not_analysed"] == ["top", "ecu", "mcu"]
    assert any("top, ecu, mcu" in line and "system is large" in line for line in document["not_shown"])
    assert document["verdict"] == reviewed["verdict"]


def test_the_safety_path_is_argued_step_by_step(reviewed) -> None:
    section = reviewed["safety_path"]
    assert [step["holds"] for step in section["argument"]] == [True] * len(section["argument"])
    assert "every 10.000\u00a0ms" in section["argument"][0]["text"]
    assert [(row["role"], row["task"]) for row in section["budgets"]] == [
        ("arbiter", "arbiter"),
        ("primary", "track"),
        ("backup", "backup"),
    ]
    assert section["shared"]["sensors"] == []
    delays = {(row["task"], row["by"].split(" in ")[0]): row["lower"] for row in section["interference"]}
    assert delays[("track", "log")] is True, "a section of a QM task blocks a task of level B"


def test_a_path_that_nobody_bounds_is_not_shown_to_be_in_time(report_on, reviewed_text) -> None:
    section = report_on(reviewed_text.replace("feel: {path: [top, backup, arbiter], max_reaction: 150ms}", ""))[
        "safety_path"
    ]
    assert [step["holds"] for step in section["argument"]][-1] is None


def test_resources_tell_what_would_happen_without_the_protocol(reviewed) -> None:
    (resource,) = reviewed["resources"]["resources"]
    assert [(one["task"], one["length_ns"]) for one in resource["sections"]] == [("track", MS), ("log", 5 * MS)]
    assert [(one["task"], one["between"], one["without_ns"]) for one in resource["waits"]] == [
        ("track", ["tidy"], None)
    ]
    blocked = [(one["task"], one["by"], one["value_ns"]) for one in reviewed["resources"]["blocking"]]
    assert ("track", "log in map", 5 * MS) in blocked


def test_assumptions_are_numbered_and_say_how_they_are_checked(reviewed) -> None:
    rows = reviewed["assumptions"]
    assert [row["number"] for row in rows] == [f"A{number}" for number in range(1, len(rows) + 1)]
    status = {row["key"]: row["status"] for row in rows}
    assert (status["plan"], status["execution"], status["system_file"]) == ("proved", "declared only", "declared only")
    origins = {one["origin"] for row in rows for one in row["origins"]}
    assert origins == {"declared", '<b>measured</b> & "kept"'}
    known = {row["number"] for row in rows}
    assert all(set(row["assumption_numbers"]) <= known and row["assumption_numbers"] for row in reviewed["tasks"])


def test_margins_are_told_where_they_were_searched(reviewed, late) -> None:
    assert reviewed["margins"] is None
    assert any("margins were not searched" in line for line in reviewed["not_shown"])
    (mode,) = late["margins"]["modes"]
    assert mode["not_proven"] is not None


def test_a_reader_of_the_first_screen_alone_can_answer(reviewed) -> None:
    told = reviewed["summary"]
    assert told["tightest_chain"]["chain"] == "feel"
    assert told["tightest_chain"]["margin_ns"] == 150 * MS - told["tightest_chain"]["bound_ns"]
    assert told["worst_fault"]["fault"] == "blind"
    kinds = {one["kind"]: one["text"] for one in told["quality"]}
    for kind in ("Hardware in the loop", "Paced runs, durations measured"):
        assert kinds[kind] == "no evidence of this kind in this report"


@pytest.mark.parametrize(
    "text",
    [
        "rt_sched: 1\nname: tiny\ndevices: {d: {processing_elements: {c: {kind: cpu}}}}\n"
        "tasks: {t: {runs_on: d.c, activation: {rate: 10Hz}, execution: {wcet: 1ms}}}\n"
    ],
)
def test_a_system_without_anything_but_a_task_has_a_report(report_on, text) -> None:
    document = report_on(text)
    assert document["verdict"] == "schedulable"
    assert (document["chains"], document["safety_path"], document["summary"]["tightest_chain"]) == ([], None, None)
