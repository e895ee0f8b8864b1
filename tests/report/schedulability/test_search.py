"""A search for bad cases as evidence: how near it comes to the bounds, and what of it is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
from page_reading import numbers_without_origin

from rt_sched.app.report.job import ReportRequest, report_document
from rt_sched.app.report.search import search_section
from rt_sched.errors import DataError
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.report.schedulability.schema import report_schema


def searched(document: dict[str, Any], share: float = 0.5) -> dict[str, Any]:
    """A search in the system of a report that came as near to every bound."""
    bounds = [("task", row["name"], "response", row["response_bound_ns"]) for row in document["tasks"]]
    bounds += [
        ("chain", row["name"], quantity, row[f"{quantity}_bound_ns"])
        for row in document["chains"]
        for quantity in ("reaction", "latency", "data_age")
    ]
    targets = [
        {
            "name": name,
            "kind": kind,
            "quantity": quantity,
            "value_ns": None if bound_ns is None else int(bound_ns * share),
            "bound_ns": bound_ns,
            "bound_method": "some",
            "tightness": share,
            "limit_ns": None,
            "strategy": "critical instant",
            "begun_with": None,
            "run": 7,
            "seed": 3,
            "job": f"{name}#4",
            "time_ns": 1,
            "scenario": f"cases/{name}.yaml",
        }
        for kind, name, quantity, bound_ns in bounds
    ]
    return {
        "schema": "rt-sched/search/1",
        "status": "ok",
        "reason": "no run exceeded a bound, a deadline or a limit",
        "system": document["system"],
        "seed": 3,
        "runs": 1000,
        "interrupted": False,
        "targets": targets,
    }


@pytest.fixture
def report_with_search(tmp_path, reviewed_text):
    """The report on the reviewed system with this search beside it."""

    def make(found: dict[str, Any]) -> dict[str, Any]:
        system, file = tmp_path / "system.yaml", tmp_path / "search.json"
        system.write_text(reviewed_text)
        file.write_text(json.dumps(found))
        return report_document(ReportRequest(str(system), margins=False, search=file), lambda _: None)

    return make


def test_every_target_is_told_with_its_share_of_the_bound(reviewed, report_with_search) -> None:
    document = report_with_search(searched(reviewed))
    assert [error.message for error in jsonschema.Draft202012Validator(report_schema()).iter_errors(document)] == []
    found = document["evidence"]["search"]
    assert len(found["targets"]) == len(reviewed["tasks"]) + 3 * len(reviewed["chains"])
    assert found["median_tightness_ppm"] == 500_000
    (kind,) = [one for one in document["summary"]["quality"] if one["kind"] == "Search for bad cases"]
    assert kind["text"].endswith("median of worst found / bound 50.0\u00a0%")
    assert [one["path"].rsplit("/", 1)[-1] for one in document["reproduction"]["inputs"]] == [
        "system.yaml",
        "search.json",
    ]
    page = render_schedulability_report(document)
    assert "cases/detect.yaml" in page
    assert numbers_without_origin(document) == []
    assert document["verdict"] == reviewed["verdict"] == "schedulable"


def test_without_a_search_the_report_says_so(reviewed) -> None:
    (kind,) = [one for one in reviewed["summary"]["quality"] if one["kind"] == "Search for bad cases"]
    assert (kind["count"], kind["text"]) == (0, "no evidence of this kind in this report")


@pytest.mark.parametrize(
    ("status", "verdict"), [("deadline_miss", "unschedulable"), ("bound_violated", "inconclusive")]
)
def test_what_a_search_found_against_the_system_is_a_finding(reviewed, report_with_search, status, verdict) -> None:
    document = report_with_search({**searched(reviewed), "status": status, "reason": "track#4: too late"})
    assert document["verdict"] == verdict
    first = document["summary"]["findings"][0]
    assert (first["kind"], first["name"], first["why"]) == ("search", status, "track#4: too late")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(schema="rt-sched/search/2"), "is no document rt-sched/search/1"),
        (lambda one: one.pop("runs"), "lacks some of"),
        (lambda one: one["targets"][0].pop("bound_ns"), "lacks some of"),
        (lambda one: one.update(targets=None), "lacks some of"),
        (lambda one: one.update(system="other"), "is a search in other"),
        (lambda one: one["targets"][0].update(bound_ns=1), "of another system, state of it, or plan"),
        (lambda one: one["targets"][0].update(name="nobody"), "of another system, state of it, or plan"),
    ],
)
def test_searches_of_something_else_are_refused(reviewed, tmp_path, change, said) -> None:
    found = copy.deepcopy(searched(reviewed))
    change(found)
    file = tmp_path / "search.json"
    file.write_text(json.dumps(found))
    with pytest.raises(DataError, match=said):
        search_section(file, reviewed["system"], reviewed["tasks"], reviewed["chains"])
