"""Worst cases from the literature that a simulation of the longest times does not show, found in a few runs."""

from __future__ import annotations

import pytest
from searched import Searched, searched

SUSPENDING = """
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  poll: {runs_on: ecu.cpu, activation: {min_separation: 2us}, execution: {wcet: 1us}, priority: 0}
  offload:
    runs_on: ecu.cpu
    activation: {min_separation: 20us}
    execution: {wcet: 5us}
    priority: 1
    suspensions:
      [{after: 1ns, max: 999ns}, {after: 2ns, max: 999ns}, {after: 3ns, max: 999ns}, {after: 4ns, max: 999ns},
       {after: 5ns, max: 999ns}]
  report: {runs_on: ecu.cpu, activation: {min_separation: 50us}, execution: {wcet: 1us}, priority: 2}
"""

#: `busy` keeps `read` from starting before `write` is done, unless it is short.
SHORTER = """
devices: {ecu: {processing_elements: {a: {kind: cpu}, b: {kind: cpu}}}}
tasks:
  write: {runs_on: ecu.a, activation: {period: 20ms}, execution: {wcet: 2ms}}
  busy: {runs_on: ecu.b, activation: {period: 10ms}, execution: {bcet: 1ms, wcet: 3ms}}
  read:
    {runs_on: ecu.b, activation: {period: 20ms}, execution: {wcet: 4ms}, inputs: {x: {from: write, required: false}}}
chains:
  seen: {path: [write, read], communication: implicit}
"""

#: Davis, Burns, Bril, Lukkien 2007, table 2, with a lower message that blocks: the second message of c is the worst.
LATE_INSTANCE = """
devices: {bus: {processing_elements: {can: {kind: cpu, preemption: none}}}}
tasks:
  a: {runs_on: bus.can, activation: {min_separation: 25us}, execution: {wcet: 10us}, priority: 0}
  b: {runs_on: bus.can, activation: {min_separation: 35us}, execution: {wcet: 10us}, priority: 1}
  c: {runs_on: bus.can, activation: {min_separation: 35us}, execution: {wcet: 10us}, priority: 2}
  d: {runs_on: bus.can, activation: {min_separation: 900us, offset: 3us}, execution: {wcet: 4us}, priority: 3}
"""

#: Spuri 1996: the worst response under EDF need not come when all are released together; here that of `one` does not.
DEADLINES = """
devices: {ecu: {processing_elements: {cpu: {kind: cpu, policy: edf}}}}
tasks:
  one: {runs_on: ecu.cpu, activation: {min_separation: 12us}, execution: {wcet: 3us}, deadline: 5us}
  two: {runs_on: ecu.cpu, activation: {min_separation: 6us}, execution: {wcet: 2us}, deadline: 6us}
  three: {runs_on: ecu.cpu, activation: {min_separation: 7us}, execution: {wcet: 2us}, deadline: 4us}
"""


def compared(system: Searched, runs: int, name: str, quantity: str = "response") -> tuple[int, int, int]:
    """Longest with worst-case times everywhere, longest found, bound."""
    simple = system.with_longest_times()[name, quantity]
    found = system.search(runs).found[system.goals.index(system.goal(name, quantity))]
    assert found is not None
    bound_ns = system.goal(name, quantity).bound_ns
    assert bound_ns is not None
    return simple, found.value_ns, bound_ns


def test_self_suspension_reaches_its_published_supremum() -> None:
    """C 1, 5, 1, T 2, 20, 50, S2 = 5: the supremum is 22, 21.995 in ticks of 1/1000; waits as jitter promise 12."""
    simple, found, bound = compared(searched(SUSPENDING), 400, "report")
    assert simple <= 12_000 < found
    assert (found, bound) == (21_995, 22_000)


def test_a_shorter_job_makes_a_chain_longer() -> None:
    simple, found, bound = compared(searched(SHORTER), 60, "seen", "reaction")
    assert (simple, found, bound) == (27_000_000, 47_000_000, 47_000_000)


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_late_instances_behind_a_blocker_are_found_without_preemption(name: str) -> None:
    system = searched(LATE_INSTANCE)
    simple, found, bound = compared(system, 120, name)
    assert simple < found == bound


def test_edf_responses_reach_their_bound_where_releasing_all_together_does_not() -> None:
    assert compared(searched(DEADLINES), 300, "one") == (5000, 6000, 6000)
