"""Execution times that do not say their frequency hold at the start of a run, also in modes with another one."""

from __future__ import annotations

import pytest

from rt_sched.analysis import Verdict, analyze
from rt_sched.config import load_system_text
from rt_sched.planner import make_plan

SYSTEM = """
rt_sched: 1
name: m
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
tasks:
  blind: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 3msAT}}
modes:
  normal: {tasks: [blind]}
  limp: {tasks: [blind], frequencies: {ecu.cpu: SLOW}}
"""


@pytest.mark.parametrize("at", ["", ", at: 1GHz"])
@pytest.mark.parametrize(("slow", "bound_ms"), [("500MHz", 6), ("200MHz", 15), ("1GHz", 3)])
def test_a_slower_mode_has_longer_jobs(at: str, slow: str, bound_ms: int) -> None:
    text = SYSTEM.replace("AT", at).replace("SLOW", slow)
    system = load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)
    report = analyze(system, make_plan(system))
    found = {mode: report.task("blind", mode).bound for mode in ("normal", "limp")}
    assert {mode: bound and bound.value_ns for mode, bound in found.items()} == {
        "normal": 3_000_000,
        "limp": bound_ms * 1_000_000,
    }


def test_a_mode_too_slow_for_its_task_is_not_schedulable() -> None:
    text = SYSTEM.replace("AT", "").replace("SLOW", "50MHz")
    system = load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)
    report = analyze(system, make_plan(system))
    assert [mode.verdict for mode in report.modes] == [Verdict.SCHEDULABLE, Verdict.UNSCHEDULABLE]


def test_a_demand_is_moved_from_the_first_frequency_as_the_machine_does() -> None:
    text = SYSTEM.replace("1GHz", "2GHz").replace("3msAT", "9ns, at: 3GHz").replace("SLOW", "1GHz")
    system = load_system_text(text, file_name="m.yaml", base_dir=".", stages=None)
    report = analyze(system, make_plan(system))
    # 13.5 rounds up to 14 at the first frequency, which is 28 at half of it.
    found = [report.task("blind", mode).bound for mode in ("normal", "limp")]
    assert [bound and bound.value_ns for bound in found] == [14, 28]
