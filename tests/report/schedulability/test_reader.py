"""What a reader who knows nothing but the report must be able to follow, and must not be led to believe."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from rt_sched.analysis import analyze
from rt_sched.app.analyze.faults import fault_section
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.report.faults import faults_of
from rt_sched.app.report.summary import load_ppm
from rt_sched.config import load_system
from rt_sched.planner import make_plan
from rt_sched.report.schedulability import render_schedulability_report
from rt_sched.report.schedulability.numbers import ppm, ppm_down


def transport(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in document["assumptions"] if row["key"] == "transport"]


def test_messages_without_a_link_are_an_assumption(reviewed) -> None:
    (row,) = transport(reviewed)
    assert row["tasks"] == ["arbiter"]
    assert row["status"] == "declared only"
    assert any("between devices" in line for line in reviewed["not_shown"])


def test_messages_over_a_link_are_none(report_on, reviewed_text) -> None:
    linked = reviewed_text.replace("primary: {from: track,", "primary: {from: track, link: wire, size: 1kB,").replace(
        "resources:", "links: {wire: {between: [ecu, mcu], bandwidth: 1Gbit/s, latency: 0.2ms}}\nresources:", 1
    )
    document = report_on(linked)
    assert transport(document) == []
    assert not any("between devices" in line for line in document["not_shown"])


def test_the_derived_detection_is_the_sum_of_its_parts() -> None:
    system = load_system(resolve("quad_orin"), stages=ImportedStages())
    plan = make_plan(system)
    one = dataclasses.replace(system, fault_scenarios=system.fault_scenarios[:1])
    report = analyze(one, plan)
    declared = fault_section(one, plan, report, None, [one.fault_scenarios[0].name])
    worst = faults_of(dataclasses.replace(one, sensors=system.sensors[:1], devices=()), plan, report, declared)["worst"]
    assert worst["detection_parts"]
    assert sum(part["value_ns"] for part in worst["detection_parts"]) == worst["detection_derived_ns"]
    assert worst["detection_ns"] == max(worst["detection_derived_ns"], worst["detection_declared_ns"])


def test_a_detection_that_nothing_derives_is_told_as_declared(reviewed) -> None:
    assert reviewed["faults"]["worst"]["detection_parts"] == []
    assert "nothing in the model derives" in render_schedulability_report(reviewed)


def test_a_loss_that_nobody_claims_stands_on_the_first_screen(reviewed) -> None:
    unclaimed = reviewed["summary"]["faults"]["unclaimed"]
    assert set(unclaimed) == {"top", "ecu"}  # for mcu, with the arbiter, the actuators' side answers
    page = render_schedulability_report(reviewed)
    first = page[page.index('id="verdict"') : page.index('id="system"')]
    assert all(name in first[first.index("not claimed") :] for name in unclaimed)


def test_the_device_of_the_arbiter_has_the_bound_of_the_actuators_side(reviewed) -> None:
    rows = {row["fault"]: row for row in reviewed["faults"]["rows"]}
    bound_ns = reviewed["faults"]["arbiter"]["bound_ns"]
    assert {name for name, row in rows.items() if row["minimal_risk_ns"] is not None} == {"mcu"}
    assert rows["mcu"]["minimal_risk_ns"] == bound_ns
    assert rows["mcu"]["reason"].startswith("the actuators' side is in MINIMAL_RISK within")
    page = render_schedulability_report(reviewed)
    row = page[page.index('id="fault-mcu"') :]
    row = row[: row.index("</tr>")]
    assert "MINIMAL_RISK" in row and "not claimed" not in row


def test_an_arbiter_that_is_lost_for_too_long_is_not_claimed_on_the_first_screen(report_on, reviewed_text) -> None:
    document = report_on(
        reviewed_text.replace("recovery_limit: 100ms", "recovery_limit: 100ms, actuator: {command_age_limit: 120ms}")
    )
    summary, arbiter = document["summary"], document["faults"]["arbiter"]
    assert document["verdict"] == arbiter["verdict"] == "inconclusive"
    assert (summary["faults"]["unclaimed"], summary["faults"]["not_known"]) == (["top", "ecu"], ["mcu"])
    assert [(one["kind"], one["name"], one["why"]) for one in summary["findings"]] == [
        ("loss of the arbiter", "arbiter", arbiter["reason"])
    ]
    page = render_schedulability_report(document)
    first = page[page.index('id="verdict"') : page.index('id="system"')]
    assert "mcu" in first[first.index("not known: losing") :] and arbiter["reason"] in first
    assert "Nothing is open" not in first


def test_an_arbiter_whose_loss_is_proven_leaves_nothing_open(reviewed) -> None:
    assert reviewed["faults"]["arbiter"]["verdict"] == "schedulable"
    assert reviewed["summary"]["faults"]["not_known"] == []
    assert "not known: losing" not in render_schedulability_report(reviewed)


def test_every_method_that_is_named_has_a_source_and_a_row(reviewed) -> None:
    told = dict(reviewed["reproduction"]["methods"])
    named = {row["method"] for row in reviewed["tasks"] if row["method"]}
    named |= {method for row in reviewed["chains"] for method in row["methods"].values()}
    named |= {row["method"] for row in reviewed["disparities"] if row["method"]}
    assert named == told.keys()
    assert all(re.search(r"(19|20)\d\d", source) for source in told.values())
    assert {row["method"] for row in reviewed["reproduction"]["validation"]["methods"]} == named


@pytest.mark.parametrize(
    ("value", "up", "down"), [(176_471, "17.7", "17.6"), (999_999, "100.0", "99.9"), (0, "0.0", "0.0")]
)
def test_what_should_be_small_is_rounded_up_and_what_should_be_large_down(value: int, up: str, down: str) -> None:
    assert f">{up}<" in ppm(value)
    assert f">{down}<" in ppm_down(value)


@pytest.mark.parametrize(("load", "expected"), [(0.456, 456_000), (0.1 + 0.2, 300_000), (1 / 3, 333_334), (1.0, 10**6)])
def test_a_load_is_rounded_up_by_what_it_is_and_not_by_what_a_float_makes_of_it(load: float, expected: int) -> None:
    assert load_ppm(load) == expected


def test_a_requirement_on_tasks_of_a_lower_level_says_so(reviewed) -> None:
    first = reviewed["requirements"]["requirements"][0]
    below = {limit["limit"]: limit["levels_below"] for limit in first["limits"]}
    assert below == {"chains.see.max_reaction": [], "safety.recovery_limit": []}


def test_levels_are_compared_task_by_task(report_on, reviewed_text) -> None:
    document = report_on(reviewed_text.replace("asil: B(D)", "asil: D"))
    (limit,) = (
        one
        for one in document["requirements"]["requirements"][0]["limits"]
        if one["limit"] == "chains.see.max_reaction"
    )
    assert limit["levels_below"] == ["detect (B)", "track (B)"]
    assert "lower level" in render_schedulability_report(document)
