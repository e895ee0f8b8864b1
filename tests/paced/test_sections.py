"""Critical sections in real processes: what a protocol is worth, owners that die, and jobs that are one section.

And jobs that do less after an overrun.
"""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

from .conftest import Ended, run_of

SENSORS = "{imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}}"
INVERTED = """
rt_sched: 1
name: inverted
devices: {{ecu: {{processing_elements: {{cpu: {{kind: cpu, cores: 1, switch_cost: 0.2ms}}}}}}}}
deploy: {{ecu.cpu: 1}}
sensors: {sensors}
resources: {{bus: {{protocol: {protocol}}}}}
tasks:
  high:
    {{stage: "burning_stages:Locker", runs_on: ecu.cpu, activation: {{period: 200ms, offset: 12ms}}, priority: 0,
     execution: {{wcet: 5ms}}, deadline: 150ms, critical_sections: [{{resource: bus, to: 3ms}}]}}
  middle:
    {{stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {{period: 200ms, offset: 14ms}}, priority: 1,
     execution: {{wcet: 70ms}}, deadline: 160ms, parameters: {{ms: 60}}}}
  low:
    {{stage: "burning_stages:Locker", runs_on: ecu.cpu, activation: {{period: 200ms, offset: 5ms}}, priority: 2,
     execution: {{wcet: 30ms}}, deadline: 190ms, parameters: {{inside_ms: 15}},
     critical_sections: [{{resource: bus, to: 25ms}}]}}
"""
TROUBLED = """
rt_sched: 1
name: troubled
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors: {imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}}
resources: {bus: {protocol: priority_inheritance}, map: {protocol: none}, idle: {protocol: none}}
tasks:
  runaway:
    {stage: "burning_stages:Locker", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 7ms}, execution: {wcet: 45ms},
     deadline: 99ms, budget: {limit: 12ms, granularity: 10ms, on_overrun: abort}, parameters: {forever_at: 6},
     critical_sections: [{resource: bus, to: 40ms}]}
  other:
    {stage: "burning_stages:Locker", runs_on: ecu.cpu, activation: {rate: 20Hz}, execution: {wcet: 6ms},
     deadline: 45ms, critical_sections: [{resource: bus, to: 4ms}]}
  whole:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 30ms}, execution: {wcet: 8ms},
     deadline: 80ms, parameters: {ms: 3}, critical_sections: [{resource: map, from: 1ms, to: 2ms}]}
  lesser:
    {stage: "burning_stages:Lesser", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 50ms}, execution: {wcet: 60ms},
     deadline: 95ms, budget: {limit: 25ms, on_overrun: degrade, degraded: 8ms},
     parameters: {ms: 6, less_ms: 1, long_at: 5}}
"""


@pytest.fixture(scope="module", params=["none", "priority_inheritance", "priority_ceiling"])
def inverted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]
) -> tuple[str, Ended]:
    """A run under each protocol in which the most urgent job asks for what the least urgent one holds."""
    text = INVERTED.format(sensors=SENSORS, protocol=request.param)
    return request.param, run_of(tmp_path_factory.mktemp(request.param), text, tiers)


def test_only_a_protocol_keeps_the_task_between_from_going_first(inverted: tuple[str, Ended]) -> None:
    protocol, ended = inverted
    high, middle = ended.jobs("high"), ended.jobs("middle")
    count = min(len(high["finish_ns"]), len(middle["finish_ns"]))
    between = (high["finish_ns"][:count] > middle["finish_ns"][:count]) & (middle["finish_ns"][:count] >= 0)
    assert count >= 8
    assert np.median(between) == (protocol == "none")
    (resource,) = ended.summary["sections"]["resources"]
    mechanism = {"none": "plain", "priority_inheritance": "inheritance", "priority_ceiling": "ceiling"}[protocol]
    assert (resource["protocol"], resource["mechanism"], resource["abandoned"]) == (protocol, mechanism, [])
    held = {row["task"]: row for row in ended.summary["sections"]["held"]}
    assert held.keys() == {"high", "low"}
    assert held["low"]["declared_ns"] == 25 * NS_PER_MS
    assert 15 * NS_PER_MS <= held["low"]["executed_max_ns"] <= held["low"]["held_max_ns"] + NS_PER_MS
    assert held["low"]["sections"] >= 8
    if protocol == "none":
        assert held["high"]["wait_max_ns"] > 60 * NS_PER_MS
    if protocol == "priority_ceiling":  # whoever could wait never starts
        assert np.median(high["start_ns"] - high["arrival_ns"]) > 5 * NS_PER_MS


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Ended:
    """A run in which one owner dies, one stage knows nothing of sections, and one task does less after an overrun."""
    return run_of(tmp_path_factory.mktemp("troubled"), TROUBLED, tiers)


def test_a_dead_owner_is_told_and_the_resource_goes_on(troubled: Ended) -> None:
    (loss,) = troubled.summary["losses"]
    assert (loss["task"], loss["by_budget"]) == ("runaway", True)
    bus = next(one for one in troubled.summary["sections"]["resources"] if one["resource"] == "bus")
    (died,) = bus["abandoned"]
    assert (died["task"], died["pid"]) == ("runaway", loss["pid"])
    assert died["found_by"] in ("other", "runaway") and died["found_ns"] > 0
    other, runaway = troubled.jobs("other"), troubled.jobs("runaway")
    assert runaway["status"][6] == JobStatus.ABORTED
    after = other["arrival_ns"] > died["found_ns"]
    assert (other["status"][after] == JobStatus.COMPLETED).sum() >= after.sum() - 1 > 10
    assert (runaway["status"][7:] == JobStatus.COMPLETED).sum() >= len(runaway["status"][7:]) - 1


def test_a_budget_waits_for_the_end_of_a_section_as_long_as_that_was_declared(troubled: Ended) -> None:
    executed_ns = (12 + 40) * NS_PER_MS
    (loss,) = troubled.summary["losses"]
    runaway = troubled.jobs("runaway")
    assert loss["noticed_ns"] - runaway["start_ns"][6] >= executed_ns
    usual = runaway["executed_ns"][runaway["status"] == JobStatus.COMPLETED]
    assert np.median(usual) < 12 * NS_PER_MS


def test_a_job_whose_stage_enters_nothing_is_one_section(troubled: Ended) -> None:
    held = {row["task"]: row for row in troubled.summary["sections"]["held"]}
    whole, jobs = held["whole"], troubled.jobs("whole")
    assert whole["resource"] == "map"
    assert whole["sections"] == whole["longer"] == (jobs["status"] == JobStatus.COMPLETED).sum()
    assert whole["executed_max_ns"] >= 3 * NS_PER_MS and whole["declared_ns"] == NS_PER_MS
    assert held["other"]["longer"] <= 1
    broken = next(one for one in troubled.summary["monitors"] if one["assumption"] == "sections")
    assert broken["broken"] >= 1 and {one["who"] for one in broken["first"]} >= {"whole"}
    assert troubled.summary["status"] != "ok"


def test_the_job_after_one_that_took_too_long_does_less(troubled: Ended) -> None:
    (row,) = troubled.summary["degraded"]
    jobs = troubled.jobs("lesser")
    executed_ns = jobs["executed_ns"]
    assert row["task"] == "lesser" and 6 in row["jobs"] and row["declared_ns"] == 8 * NS_PER_MS
    assert jobs["overrun"][5] and row["overruns"] >= 1
    assert executed_ns[5] > 25 * NS_PER_MS
    assert row["jobs"] == (np.flatnonzero(jobs["overrun"]) + 1).tolist()
    assert executed_ns[6] < 0.6 * np.median(executed_ns[7:])
