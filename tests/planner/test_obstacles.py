"""What is said where no plan is accepted: the constraint that is really in the way, and what would have to give."""

from __future__ import annotations

import pytest
from planned_systems import system_of

from rt_sched.planner.objectives import Objective
from rt_sched.planner.obstacles import obstacles
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.stopping import Stop

ONE_CPU = "processing_elements: {x: {kind: cpu}}"
TWO = f"devices: {{a: {{memory: 1GB, {ONE_CPU}}}, b: {{memory: 500MB, {ONE_CPU}}}}}\n"
CORES = "devices: {a: {processing_elements: {x: {kind: cpu, cores: 2}, y: {kind: cpu}}}}\n"


def _memory(*megabytes: int) -> str:
    rows = (
        f"  t{n}: {{runs_on: a.x, candidates: b.x, activation: {{rate: 10Hz}}, execution: {{wcet: 1ms}}, "
        f"memory: {one}MB}}\n"
        for n, one in enumerate(megabytes)
    )
    return f"{TWO}tasks:\n{''.join(rows)}"


LOCKS = "resources: {map: {protocol: priority_inheritance}}\n"
LOCKED = "execution: {wcet: 5ms}, critical_sections: [{resource: map, from: 1ms, to: 2ms}]"
KINDS = {
    "one task too large": (
        _memory(1100),
        "memory: task t0 needs 1.1 GB, and no device that it may run on has more than 1 GB; give a device more, or the",
    ),
    "all together too much": (
        _memory(600, 600, 600),
        "memory: the tasks do not fit into the devices at all; they need 1.8 GB, the devices have 1.5 GB",
    ),
    "whole tasks do not fill what is left": (
        _memory(600, 600, 200),
        "memory: the tasks do not fit into the devices where they may run; they need 1.4 GB, the devices have 1.5 GB",
    ),
    "a lock over two elements": (
        f"{CORES}{LOCKS}tasks:\n"
        f"  one: {{runs_on: a.x, activation: {{rate: 10Hz}}, {LOCKED}}}\n"
        f"  two: {{runs_on: a.y, activation: {{rate: 20Hz}}, {LOCKED}}}\n",
        "resources: no element may run all of one, two, which share a resource whose protocol works on one core",
    ),
    "a chain that samples too seldom": (
        f"{CORES}tasks:\n"
        "  one: {runs_on: a.x, activation: {rate: 10Hz}, execution: {wcet: 6ms}}\n"
        "  two: {runs_on: a.y, activation: {min_separation: 50ms, max_separation: 70ms}, inputs: {i: one}, "
        "execution: {wcet: 4ms}}\n"
        "chains: {go: {path: [one, two], max_latency: 75ms}}\n",
        "chain go: the bound on latency exceeds its limit; latency 80ms of 75ms, 70ms of it sampling of two",
    ),
    "a core that too many are bound to": (
        f"{CORES}tasks:\n"
        "  one: {runs_on: a.x, core: 1, activation: {rate: 10Hz}, execution: {wcet: 60ms}}\n"
        "  two: {runs_on: a.x, core: 1, activation: {rate: 10Hz}, execution: {wcet: 60ms}}\n",
        "task two on a.x.1: a legal run misses: all jobs need their worst case, sensors deliver nominally; one, two "
        "fill it to 120 %",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_reason_is_the_true_one(kind: str) -> None:
    text, reason = KINDS[kind]
    system = system_of(text)
    planned = optimise(system, Objective.LATENCY, Stop(5), search=False)
    found = obstacles(system, planned)
    assert any(one.startswith(reason) for one in found), found
    assert not any("exclude each other" in one for one in found)
