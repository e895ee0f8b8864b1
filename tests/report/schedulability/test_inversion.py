"""Waits for resources with a protocol and without: what is bounded, and the inversion as the kernel plays it."""

from __future__ import annotations

import pytest

MS = 1_000_000

#: A user over a holder, each with a section of its own; what runs in between; where.
SYSTEM = """
rt_sched: 1
name: shared
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 2SWITCH}}}}
resources: {map: {protocol: PROTOCOL}}
tasks:
  user: {runs_on: ecu.cpu, core: 0, priority: 0, activation: {period: 50ms}, execution: {wcet: 4ms},
    critical_sections: [{resource: map, from: 1ms, to: 2ms}]}
  medium: {runs_on: ecu.cpu, core: CORE, priority: 1, activation: {period: 50ms}, execution: {wcet: 7ms}}
  holder: {runs_on: ecu.cpu, core: 0, priority: 2, activation: {period: 100ms}, execution: {wcet: 9ms},
    critical_sections: [{resource: map, from: 2ms, to: 5ms}]}
"""


def text(protocol: str, core: int = 0, switch: str = "") -> str:
    return SYSTEM.replace("PROTOCOL", protocol).replace("CORE", str(core)).replace("SWITCH", switch)


@pytest.mark.parametrize("protocol", ["priority_inheritance", "priority_ceiling"])
def test_the_medium_task_delays_the_user_only_without_the_protocol(report_on, protocol) -> None:
    """Under it: what is left of 3 ms, and 4 ms. Without: 7 ms of the medium task, too. The lock is 1 ns old."""
    document = report_on(text(protocol))
    section = document["resources"]
    (example,) = section["examples"]
    assert (example["task"], example["holder"], example["between"]) == ("user", "holder", ["medium"])
    times = {one["protocol"]: one["run"]["response_ns"] for one in example["runs"]}
    assert times == {protocol: 7 * MS - 1, "none": 14 * MS - 1}
    (wait,) = section["resources"][0]["waits"]
    assert (wait["task"], wait["with_ns"], wait["without_ns"], wait["between"]) == ("user", 3 * MS, None, ["medium"])


def test_where_nothing_runs_in_between_the_section_is_all_there_is(report_on) -> None:
    section = report_on(text("priority_ceiling", core=1))["resources"]
    assert section["examples"] == []
    (wait,) = section["resources"][0]["waits"]
    assert (wait["with_ns"], wait["without_ns"], wait["between"]) == (3 * MS, 3 * MS, [])


def test_no_protocol_has_no_bound_and_its_run_is_shown(report_on) -> None:
    document = report_on(text("none"))
    section = document["resources"]
    (example,) = section["examples"]
    assert [one["protocol"] for one in example["runs"]] == ["none"]
    (wait,) = section["resources"][0]["waits"]
    assert (wait["with_ns"], wait["without_ns"]) == (None, None)
    assert document["verdict"] == "inconclusive"
    assert {one["task"] for one in section["unbounded"]} >= {"user"}


def test_the_holder_has_the_lock_also_where_switches_cost_time(report_on) -> None:
    """A switch before every start and resume: the user is 4 ms long and starts twice at most."""
    (example,) = report_on(text("priority_inheritance", switch=", switch_cost: 100us"))["resources"]["examples"]
    with_it, without = (one["run"] for one in example["runs"])
    first = with_it["pieces"][0]
    assert first["task"] == "holder"
    assert with_it["response_ns"] < without["response_ns"]
    assert without["response_ns"] - with_it["response_ns"] >= 7 * MS
