"""A plan with takeovers in a report: what each loss costs, how soon its paths are back, and what runs showed."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "planner" / "failover"))
from failover_rigs import RIG
from page_reading import numbers_without_origin

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.report.instants import instants_section
from rt_sched.app.report.job import ReportRequest, report_document
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.errors import DataError
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.report.schedulability.schema import report_schema

MS = 1_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A system file and a plan that answers its losses."""
    folder = tmp_path_factory.mktemp("takeovers")
    file, plan = folder / "rig.yaml", folder / "plan.yaml"
    file.write_text(RIG.replace("  EXTRA\n", ""))
    system = load_system(file, stages=ImportedStages())
    plan.write_text(plan_text(system, plan_takeovers(system, make_plan(system, None))))
    return file, plan


@pytest.fixture(scope="module")
def planned(files: tuple[Path, Path]) -> dict[str, Any]:
    file, plan = files
    return report_document(ReportRequest(str(file), margins=False, plan=plan), lambda _: None)


def measured(document: dict[str, Any]) -> dict[str, Any]:
    """Recoveries as a benchmark writes them, of every declared loss, half as long as their bounds."""
    spread = lambda most_ns: {"min": most_ns // 8, "p50": most_ns // 4, "p99": most_ns // 3, "max": most_ns // 2}  # noqa: E731
    losses = [
        {
            "loss": row["takeover"]["losses"][0],
            "instants": 100,
            "detected_ns": spread(row["handling"]["detection_ns"]),
            "recovered_ns": spread(row["recovered_ns"]),
            "detection_bound_ns": row["handling"]["detection_ns"],
            "recovery_bound_ns": row["recovered_ns"],
            "limit_ns": 100 * MS,
            "over_bound": 0,
            "not_recovered": 0,
        }
        for row in document["faults"]["rows"]
        if row["declared"]
    ]
    return {"schema": "rt-sched/failover/1", "run": {"commit": "c0ffee", "made": "2026-01-01"}, "losses": losses}


def test_each_loss_tells_what_takes_over_and_how_soon(planned) -> None:
    rows = {row["fault"]: row for row in planned["faults"]["rows"]}
    assert planned["faults"]["planned"]
    lost = rows["lose_b"]["takeover"]
    assert {one["task"] for one in lost["moves"]} == {"watch", "fuse", "decide"}
    assert lost["move_count"] == 3
    for row in (rows["lose_a"], rows["lose_b"], rows["lose_front"]):
        handling = row["handling"]
        counted = [one["recovered_ns"] for one in row["takeover"]["recoveries"] if one["counted"]]
        assert row["recovered_ns"] == handling["detection_ns"] + handling["decision_ns"] + max(counted)
    assert rows["lose_a"]["chains_kept"] == ["ahead", "behind"], "the camera goes on elsewhere"
    assert rows["lose_front"]["chains_lost"] == ["ahead"]


def test_the_slowest_handling_is_split_into_parts_that_add_up(planned) -> None:
    worst = planned["faults"]["worst"]
    assert sum(one["value_ns"] for one in worst["parts"]) == worst["recovered_ns"]
    assert worst["detection_ns"] + worst["reaction_ns"] + worst["margin_ns"] == worst["limit_ns"] == 100 * MS
    slowest = max(row["recovered_ns"] for row in planned["faults"]["rows"] if row["declared"])
    assert worst["recovered_ns"] == slowest


def test_without_a_plan_the_parts_add_up_as_well(reviewed) -> None:
    worst = reviewed["faults"]["worst"]
    assert not reviewed["faults"]["planned"]
    assert sum(one["value_ns"] for one in worst["parts"]) == worst["recovered_ns"]
    assert any("no plan that has any" in line for line in reviewed["not_shown"])


def test_the_plan_is_an_input_with_its_hash(planned, files) -> None:
    assert [one["path"] for one in planned["reproduction"]["inputs"]] == [str(one) for one in files]
    assert len({one["sha256"] for one in planned["reproduction"]["inputs"]}) == 2


def test_recoveries_at_many_instants_stand_beside_their_bounds(planned, tmp_path) -> None:
    file = tmp_path / "recoveries.json"
    file.write_text(json.dumps(measured(planned)))
    document = copy.deepcopy(planned)
    document["faults"]["instants"] = instants_section(file, document["faults"]["rows"])
    validator = jsonschema.Draft202012Validator(report_schema())
    assert [error.message for error in validator.iter_errors(document)] == []
    losses = document["faults"]["instants"]["losses"]
    assert [one["fault"] for one in losses] == ["lose_a", "lose_b", "lose_front"]
    page = render_schedulability_report(document)
    assert page.count('class="chart spread"') == len(losses)
    assert "Recoveries from device:b" in page
    assert numbers_without_origin(document) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(schema="rt-sched/failover/9"), "is no document rt-sched/failover/1"),
        (lambda one: one["losses"][0].pop("instants"), "its losses lack some of"),
        (lambda one: one["losses"][0].update(loss="device:elsewhere"), "no takeover of the report answers"),
        (lambda one: one["losses"][1].update(recovery_bound_ns=1), "it is of another system or plan"),
        (lambda one: one["losses"][1].update(detection_bound_ns=None), "it is of another system or plan"),
    ],
)
def test_recoveries_of_something_else_are_refused(planned, tmp_path, change, said) -> None:
    given = measured(planned)
    change(given)
    file = tmp_path / "other.json"
    file.write_text(json.dumps(given))
    with pytest.raises(DataError, match=said):
        instants_section(file, planned["faults"]["rows"])


@pytest.mark.parametrize(
    ("text", "said"), [(None, "there is no such file"), ("{", "is not JSON"), ("[]", "holds no JSON object")]
)
def test_files_that_are_no_documents_are_refused(planned, tmp_path, text, said) -> None:
    file = tmp_path / "file.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DataError, match=said):
        instants_section(file, planned["faults"]["rows"])
