"""The analysis of faults as a section of the document, and as tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rt_sched.app.analyze.job import analysed_system, analysis_document
from rt_sched.app.analyze.tables import print_analysis
from rt_sched.errors import AnalysisNotApplicable


def _document(argument: str, faults: str):
    return analysis_document(analysed_system(argument, None, None, faults=faults))


def _shown(document) -> str:
    console = Console(file=io.StringIO(), width=400)
    print_analysis(document, console)
    return console.file.getvalue()


def test_scenarios_and_changes_of_mode_are_told(limp):
    document = _document(limp, "all")
    section = document["faults"]
    assert (document["verdict"], section["verdict"]) == ("unschedulable", "unschedulable")
    assert [(one["name"], one["verdict"]) for one in section["scenarios"]] == [
        ("lose_front", "schedulable"),
        ("slow", "unschedulable"),
    ]
    first = section["scenarios"][0]["cases"][0]
    assert (first["mode"], first["mode_after"], first["transition"]) == ("normal", "limp", "normal->limp")
    handling = first["handling"]
    assert (handling["reaction_ns"], handling["margin_ns"], handling["longest_detection_ns"]) == (
        11_000_000,
        29_000_000,
        60_000_000,
    )
    assert [one["name"] for one in section["transitions"]] == ["normal->limp", "limp->normal"]
    (log,) = [one for one in section["transitions"][0]["tasks"] if one["name"] == "log"]
    assert (log["presence"], log["bound_before_ns"], log["response_bound_ns"], log["bound_after_ns"]) == (
        "kept",
        22_000_000,
        44_000_000,
        32_000_000,
    )
    for task in section["scenarios"][1]["cases"][0]["tasks"]:
        assert sum(term["value_ns"] for term in task["terms"]) == task["response_bound_ns"]
    assert {(one["mode"], one["task"], one["at_most"]) for one in section["misses"]} == {
        ("normal", "log", 0),
        ("limp", "log", 0),
    }
    shown = _shown(document)
    assert "faults unschedulable" in shown
    assert "Change of mode normal->limp: schedulable" in shown
    assert "task log: 82ms of 100ms, 48ms by overruns: schedulable" in shown
    assert "misses of detect: at most 1 of any 10 jobs" in shown


def test_only_named_scenarios(limp):
    section = _document(limp, "lose_front")["faults"]
    assert [one["name"] for one in section["scenarios"]] == ["lose_front"]
    assert [one["name"] for one in section["transitions"]] == ["normal->limp"]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [("lose_back", "unknown fault lose_back; there are: all, lose_front, slow"), (",", "--faults names no scenario")],
)
def test_unknown_scenarios_are_named(limp, wanted, text):
    with pytest.raises(AnalysisNotApplicable, match=text):
        analysed_system(limp, None, None, faults=wanted)


def test_the_arbiter_notices_what_the_example_declares():
    section = _document("quad_orin", "lose_front_wide,lose_lidar_top,lose_orin_1")["faults"]
    handled = {one["name"]: one["cases"][0]["handling"] for one in section["scenarios"]}
    derived = {name: one["detection_derived_ns"] for name, one in handled.items()}
    assert derived == {"lose_front_wide": 99_500_000, "lose_lidar_top": 210_500_000, "lose_orin_1": 99_500_000}
    assert handled["lose_orin_1"]["path"] == "brake_backup"
    assert section["verdict"] == "schedulable"
