"""Processes above all tasks delay these also where levels do not order the jobs, or where nothing preempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.app.paced.host_supply import host_share, with_supply_loss
from rt_sched.config import load_system_text
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.feed.publisher import Publisher
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.wakeups import Wakeups
from rt_sched.units import NS_PER_MS

SYSTEM = """
rt_sched: 1
name: interrupted
policy: POLICY
devices: {ecu: {processing_elements: {cpu: {kind: cpu, preemptive: PREEMPTIVE}}}}
deploy: {ecu.cpu: 0}
tasks:
  short: {runs_on: ecu.cpu, activation: {rate: 25Hz}, execution: {wcet: 2ms}, deadline: 5ms}
"""
LONG = "  long: {runs_on: ecu.cpu, activation: {rate: 25Hz}, execution: {wcet: 4ms}, deadline: 20ms}\n"


def loaded(policy: str, more: str = "", *, preemptive: bool) -> System:
    text = SYSTEM.replace("POLICY", policy).replace("PREEMPTIVE", str(preemptive).lower()) + more
    return load_system_text(text, file_name="x", base_dir=Path(), stages=None)


def bounds(
    policy: str, more: str = "", *, preemptive: bool = True, sample_ms: float = 3, lost_ms: int = 0
) -> dict[str, TaskBound]:
    """By task. The publisher needs `sample_ms` for each sample, the kernel `lost_ms` of every second for others."""
    system = loaded(policy, more, preemptive=preemptive)
    publisher = Publisher(0, (Wakeups("camera", int(sample_ms * NS_PER_MS), 100 * NS_PER_MS),))
    loss = SupplyLoss(lost_ms * NS_PER_MS, 1000 * NS_PER_MS, "the fair server") if lost_ms else None
    share = host_share(system, make_plan(system), Tier.FIFO, Beside(publisher, ()), loss)
    found = mode_bounds(mode_loads(share.system, share.plan)[0], share.methods)
    return {one.task.name: one for one in found.values()}


def value_ns(one: TaskBound) -> int | None:
    return None if one.bound is None else one.bound.value_ns


def test_under_edf_a_sample_comes_before_every_job_whatever_its_deadline() -> None:
    found = bounds("edf")["short"]
    assert value_ns(found) == 5 * NS_PER_MS and found.bound is not None and not found.bound.exact


@pytest.mark.parametrize(("sample_ms", "lost_ms"), [(3.5, 0), (3, 919)])
def test_under_edf_nothing_is_said_where_a_job_may_be_late(sample_ms: float, lost_ms: int) -> None:
    found = bounds("edf", sample_ms=sample_ms, lost_ms=lost_ms)
    assert {value_ns(one) for one in found.values()} == {None}
    assert "short may be late" in found["short"].reason


def test_where_nothing_preempts_samples_come_in_the_middle_of_every_job() -> None:
    for policy in ("edf", "dm"):
        found = bounds(policy, LONG, preemptive=False)
        response_ns = value_ns(found["short"])
        assert response_ns is not None
        assert (2 + 3 + 4 + 3) * NS_PER_MS - 1 <= response_ns <= (2 + 3 + 4 + 3) * NS_PER_MS, policy
        assert value_ns(found["samples published: camera"]) == 3 * NS_PER_MS


def test_who_asks_for_the_whole_core_leaves_no_bounds() -> None:
    found = bounds("dm", preemptive=False, sample_ms=100)
    assert value_ns(found["short"]) is None and "whole core" in found["short"].reason


def test_the_kernel_may_take_its_part_of_two_seconds_in_a_row() -> None:
    system = loaded("dm", preemptive=True)
    loss = SupplyLoss(50 * NS_PER_MS, 1000 * NS_PER_MS, "the fair server")
    system, plan = with_supply_loss(system, make_plan(system), loss, "ecu.cpu.0")
    found = mode_bounds(mode_loads(system, plan)[0], METHODS)
    assert value_ns(found[0]) == (2 + 2 * 50) * NS_PER_MS
