"""The loss of the arbiter: MINIMAL_RISK within declared times, and never while the arbiter is well."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rt_sched.app.analyze.job import analysed_system, analysis_document
from rt_sched.app.analyze.tables import print_analysis
from rt_sched.errors import AnalysisNotApplicable

MS = 1_000_000
SYSTEM = """
rt_sched: 1
name: guarded
devices: {{mcu: {{processing_elements: {{cpu: {{kind: cpu, cores: 1}}}}}}}}
tasks:
  control: {{runs_on: mcu.cpu, activation: {{rate: 50Hz}}, execution: {{wcet: 2ms}}, deadline: 20ms}}
  arbiter: {{runs_on: mcu.cpu, activation: {activation}, execution: {{wcet: {wcet}}},
    inputs: {{c: {{from: control, edge: latest, required: false}}}}}}
{safety}
"""


def document(folder: Path, *, safety: str, activation: str = "{rate: 100Hz}", wcet: str = "1ms"):
    file = folder / "system.yaml"
    file.write_text(SYSTEM.format(safety=safety, activation=activation, wcet=wcet), encoding="utf-8")
    return analysis_document(analysed_system(str(file), None, None, faults="all"))


def safety(actuator: str, recovery: str = "100ms") -> str:
    return f"safety: {{arbiter: arbiter, primary: control, recovery_limit: {recovery}, actuator: {actuator}}}"


def test_the_bound_is_the_limit_of_age_and_a_cycle(tmp_path):
    found = document(tmp_path, safety=safety("{cycle: 4ms, command_age_limit: 25ms}"))
    row = found["faults"]["arbiter"]
    assert (row["task"], row["bound_ns"], row["limit_ns"], row["margin_ns"]) == ("arbiter", 29 * MS, 100 * MS, 71 * MS)
    assert sum(one["value_ns"] for one in row["terms"]) == row["bound_ns"]
    (response,) = [one["response_bound_ns"] for one in found["tasks"] if one["name"] == "arbiter"]
    assert row["commands_apart_ns"] == 10 * MS + response
    assert (row["verdict"], found["verdict"]) == ("schedulable", "schedulable")
    console = Console(file=io.StringIO(), width=200)
    print_analysis(found, console)
    shown = console.file.getvalue()
    assert "Loss of the arbiter (ms)" in shown
    assert "29.000" in shown


@pytest.mark.parametrize(
    ("actuator", "recovery", "more", "reason"),
    [
        ("{command_age_limit: 10500us}", "100ms", {}, "while the arbiter is well its commands are up to 11ms apart"),
        ("{command_age_limit: 40ms}", "44ms", {}, "the bound exceeds the recovery limit by 1ms"),
        ("{}", "100ms", {"wcet": "11ms"}, "the response of arbiter has no bound"),
    ],
)
def test_what_it_does_not_keep_is_inconclusive_with_the_reason(tmp_path, actuator, recovery, more, reason):
    found = document(tmp_path, safety=safety(actuator, recovery), **more)
    row = found["faults"]["arbiter"]
    assert row["verdict"] == found["faults"]["verdict"] == "inconclusive"
    assert row["reason"].startswith(reason)


def test_a_system_without_an_arbiter_or_any_fault_has_nothing_to_analyse(tmp_path):
    with pytest.raises(AnalysisNotApplicable, match="declares no faults"):
        document(tmp_path, safety="")
