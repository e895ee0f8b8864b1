"""Where jobs of several elements run on one core of the host at a time, nothing is said to bound them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rt_sched.app.paced.shared_cores import shared_cores, why_core_is_contended
from rt_sched.config import load_system_text
from rt_sched.model import Placement, Plan, System, Takeover
from rt_sched.planner import make_plan

SYSTEM = """
rt_sched: 1
name: shared
devices:
  a: {processing_elements: {cpu: {kind: cpu}}}
  b: {processing_elements: {cpu: {kind: cpu}}}
  c: {processing_elements: {cpu: {kind: cpu}}}
deploy: {a.cpu: 0, b.cpu: CORE, c.cpu: 0}
tasks:
  one: {runs_on: a.cpu, activation: {rate: 10Hz}, execution: {wcet: 1ms}}
  two: {runs_on: b.cpu, activation: {rate: 10Hz}, execution: {wcet: 1ms}}
"""


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rt_sched.runtime.paced.deployment.allowed_cores", lambda: frozenset({0, 1}))


def planned(core: int) -> tuple[System, Plan]:
    text = SYSTEM.replace("CORE", str(core))
    system = load_system_text(text, file_name="x", base_dir=Path(), stages=None)
    return system, make_plan(system)


def on(plan: Plan, device: str) -> int:
    return next(index for index, one in enumerate(plan.processors) if one.device == device)


def test_elements_that_work_at_the_same_time_are_contended() -> None:
    system, plan = planned(core=0)
    why = why_core_is_contended(system, plan)
    assert why is not None and "host core 0" in why and "a.cpu" in why and "b.cpu" in why


def test_an_element_that_only_stands_by_is_not() -> None:
    system, plan = planned(core=1)
    assert shared_cores(system) == "core 0 for a.cpu and c.cpu"
    assert why_core_is_contended(system, plan) is None
    to_c = Placement("one", on(plan, "c"), 0)
    assert why_core_is_contended(system, replace(plan, takeovers=(Takeover(("device:a",), (to_c,)),))) is None


def test_what_a_takeover_brings_beside_what_goes_on_is() -> None:
    system, plan = planned(core=1)
    to_c = Placement("two", on(plan, "c"), 0)
    assert why_core_is_contended(system, replace(plan, takeovers=(Takeover(("device:b",), (to_c,)),))) is not None
