"""Injected faults as evidence: coverage and detection beside what is declared, and what of it is refused."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

import jsonschema
import pytest
from page_reading import numbers_without_origin

from rt_sched.app.report.injected import injected_section
from rt_sched.app.report.job import ReportRequest, report_document
from rt_sched.errors import DataError
from rt_sched.faults.kinds import KINDS
from rt_sched.faults.spread import by_kind, counted
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.report.schedulability.schema import report_schema

MS = 1_000_000


def fault(number: int, kind: str, verdict: str, after_ms: int | None, worst_ms: int | None) -> dict[str, Any]:
    return {
        "name": f"run-{number}",
        "kind": kind,
        "target": "front",
        "verdict": verdict,
        "detected_after_ns": None if after_ms is None else after_ms * MS,
        "worst_case_ns": None if worst_ms is None else worst_ms * MS,
        "reaction": None if after_ms is None else {"after_ns": (after_ms + 1) * MS, "recovered_after_ns": None},
    }


GOOD = (
    fault(0, "camera.black", "detected", 41, 67),
    fault(1, "camera.black", "detected", 52, 67),
    fault(2, "process.kill", "tolerated", None, None),
)


def documents(system: str, *rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same faults in a run, a campaign, and at many instants."""
    head = {
        "system": system,
        "recording": "drive.mcap",
        "clock": "lockstep",
        "status": "ok",
        "system_sha256": "",
    }
    targets = [{"target": "front", "kind": rows[0]["kind"], **counted(rows)}]
    kinds = by_kind(rows)
    return {
        "run": {"schema": "rt-sched/faults-run/1", **head, "faults": list(rows)},
        "campaign": {"schema": "rt-sched/faults-campaign/1", **head, "kinds": kinds, "runs": list(rows)},
        "single": {
            "schema": "rt-sched/single-faults/1",
            **head,
            "instants": 3,
            "kinds": kinds,
            "targets": targets,
            "not_struck": ["top"],
        },
    }


@pytest.fixture
def report_with(tmp_path, reviewed_text):
    """The report on the reviewed system with these documents beside it."""

    def make(*found: dict[str, Any]) -> dict[str, Any]:
        system = tmp_path / "system.yaml"
        system.write_text(reviewed_text)
        sha256 = hashlib.sha256(system.read_bytes()).hexdigest()
        files = [tmp_path / f"faults{number}.json" for number in range(len(found))]
        for file, one in zip(files, found, strict=True):
            file.write_text(json.dumps({**one, "system_sha256": sha256}))
        return report_document(ReportRequest(str(system), margins=False, injected=tuple(files)), lambda _: None)

    return make


def test_all_three_documents_say_the_same_of_the_same_faults(report_with) -> None:
    document = report_with(*documents("reviewed", *GOOD).values())
    assert [error.message for error in jsonschema.Draft202012Validator(report_schema()).iter_errors(document)] == []
    run, campaign, single = document["faults"]["injected"]
    assert run["kinds"] == campaign["kinds"] == single["kinds"]
    assert (run["runs"], run["detected"], run["tolerated"], run["silent"]) == (3, 2, 1, 0)
    assert run["kinds"][0]["detected_ns"]["max_ns"] == 52 * MS
    assert (run["instants"], single["instants"], single["not_struck"]) == (None, 3, ["top"])
    missing = {kind.name for kind in KINDS} - set(run["kinds_not_struck"])
    assert missing == {"camera.black", "process.kill"}
    assert run["kinds_not_struck"] == campaign["kinds_not_struck"] == single["kinds_not_struck"]
    assert document["verdict"] == "schedulable"
    (kind,) = [one for one in document["summary"]["quality"] if one["kind"] == "Injected faults"]
    assert kind["text"] == "9 faults, 6 detected in time, 3 tolerated"
    assert numbers_without_origin(document) == []
    assert {one["path"].rsplit("/", 1)[-1] for one in document["reproduction"]["inputs"]} >= {"faults0.json"}


def test_coverage_and_detection_are_drawn(report_with, reviewed) -> None:
    without = render_schedulability_report(reviewed)
    page = render_schedulability_report(report_with(documents("reviewed", *GOOD)["single"]))
    assert 'aria-label="Coverage: detected 2, tolerated 1, unknown 0, late 0, silent 0"' in page
    assert "No fault of these kinds:" in page
    assert "No fault of these kinds:" not in without
    assert 'aria-label="Detection of camera.black"' in page
    assert 'aria-label="Detection of camera.black front"' in page
    assert page.count('class="bars"') == without.count('class="bars"') + 2
    assert "Not struck" in page
    assert "Coverage: detected" not in without
    assert "Injected faults" in without


def test_the_first_screen_tells_of_every_verdict(report_with) -> None:
    faults = (*GOOD, fault(3, "overrun", "unknown", None, None), fault(4, "camera.black", "late", 80, 67))
    document = report_with(documents("reviewed", *faults)["run"])
    (kind,) = [one for one in document["summary"]["quality"] if one["kind"] == "Injected faults"]
    assert kind["text"] == "5 faults, 2 detected in time, 1 tolerated, 1 late, 1 not known"


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("late", "noticed later than declared"),
        ("silent", "changed commands unnoticed"),
        ("unknown", "not known, as nobody noticed and nothing tells of commands"),
    ],
)
def test_a_fault_that_was_neither_noticed_in_time_nor_tolerated_leaves_the_report_open(
    report_with, verdict, said
) -> None:
    bad = fault(3, "camera.black", verdict, 80 if verdict == "late" else None, 67 if verdict == "late" else None)
    document = report_with(documents("reviewed", *GOOD, bad)["campaign"])
    assert document["verdict"] == "inconclusive"
    (finding,) = document["summary"]["findings"]
    assert (finding["kind"], finding["why"]) == ("injected fault", f"4 injected faults: 1 {said}")


@pytest.mark.parametrize("name", ["run", "campaign", "single"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(schema="rt-sched/search/1"), "is no document on faults"),
        (lambda one: one.update(system_sha256="other"), "as another system file has it"),
        (lambda one: one.pop("system_sha256"), "make it again with this version"),
        (lambda one: one.get("kinds", one.get("faults"))[0].pop("kind"), "lack some of"),
    ],
)
def test_documents_of_something_else_are_refused(tmp_path, name, change, said) -> None:
    found = copy.deepcopy(documents("reviewed", *GOOD)[name])
    change(found)
    file = tmp_path / "faults.json"
    file.write_text(json.dumps(found))
    with pytest.raises(DataError, match=said):
        injected_section([file], "reviewed", "")
