"""Every run that is tried is a legal one: no scheduling rule and no assumption is broken, and no bound exceeded."""

from __future__ import annotations

import numpy as np
import pytest
from random_cases import random_case
from random_distributed_cases import random_distributed
from searched import Searched, searched

from rt_sched.lowering import check_plan
from rt_sched.lowering.freedoms import freedoms
from rt_sched.lowering.scenarios import scenario_problems
from rt_sched.search.candidates import Candidate, longest, run, scenario_of
from rt_sched.search.critical import critical_instant, just_missed
from rt_sched.search.goals import Goal, Seen, seen_in
from rt_sched.search.mutations import mutated, scene_of
from rt_sched.search.random_choices import random_candidate
from rt_sched.trace.checker import check_trace
from rt_sched.trace.records import JobStatus, Trace

#: Jitter, suspension, sections, a clock that is off, a sensor that a task reads and one that sets tasks off.
ALL_KINDS = """
devices:
  ecu: {processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu}}, clock: {offset: 3us, sync_error: 2us}}
triggers: {shutter: {rate: 10kHz}}
sensors:
  left: {kind: camera, trigger: shutter, latency: 4us, jitter: 2us, attached_to: ecu, topic: /l}
  right: {kind: camera, trigger: shutter, latency: 4us, jitter: 1us, attached_to: ecu, topic: /r}
  imu: {kind: imu, rate: 20kHz, latency: 2us, jitter: 1us, capture_jitter: 2us, attached_to: ecu, topic: /i}
resources: {bus: {protocol: priority_inheritance}}
tasks:
  turn: {runs_on: ecu.cpu, inputs: {x: imu}, execution: {bcet: 1us, wcet: 3us}}
  see: {runs_on: ecu.cpu, inputs: {x: left}, execution: {bcet: 4us, wcet: 9us}}
  infer: {runs_on: ecu.gpu, inputs: {x: see}, execution: {bcet: 5us, wcet: 12us}}
  look: {runs_on: ecu.gpu, inputs: {x: right}, execution: {bcet: 2us, wcet: 11us}}
  decide:
    {runs_on: ecu.cpu, activation: {period: 100us, offset: 60us, jitter: 5us}, execution: {bcet: 2us, wcet: 6us},
     inputs: {a: {from: infer, required: false}, b: {from: turn, required: false}},
     critical_sections: [{resource: bus, from: 1us, to: 3us}]}
  call:
    {runs_on: ecu.cpu, activation: {min_separation: 150us, jitter: 4us}, execution: {bcet: 3us, wcet: 8us},
     suspensions: [{after: 1us, min: 1us, max: 4us}]}
  log:
    {runs_on: ecu.cpu, activation: {min_separation: 400us, max_separation: 600us}, execution: {bcet: 6us, wcet: 12us},
     critical_sections: [{resource: bus, from: 2us, to: 7us}]}
chains: {act: {path: [left, see, infer, decide]}, turned: {path: [imu, turn, decide]}}
"""


def tried(system: Searched, rng: np.random.Generator, steps: int) -> list[tuple[Candidate, Trace]]:
    """Candidates of every kind, one made from the other."""
    space, found = system.space, []
    for _ in range(2):
        candidate = longest(space) if rng.random() < 0.5 else random_candidate(space, rng)
        for _ in range(steps):
            trace = run(space, candidate)
            found.append((candidate, trace))
            goal = system.goals[int(rng.integers(0, len(system.goals)))]
            candidate = changed(system, goal, candidate, trace, rng)
    return found


def changed(system: Searched, goal: Goal, candidate: Candidate, trace: Trace, rng: np.random.Generator) -> Candidate:
    space, seen = system.space, seen_in(trace, [goal])[0]
    rows = np.flatnonzero(trace.jobs.status == JobStatus.COMPLETED)
    if rng.random() < 0.4 and len(rows):
        return critical_instant(space, candidate, trace, int(rng.choice(rows)), rng)
    if goal.path and seen is not None and rng.random() < 0.5:
        return just_missed(space, candidate, trace, goal.path, seen.job, rng)
    return mutated(scene_of(space, goal, tuple(space.tasks), candidate, trace, seen), rng)


def check(system: Searched, seed: int, steps: int) -> int:
    """How many runs kept all assumptions; bounds hold in these."""
    allowed, kept = freedoms(system.space.system, system.space.plan), 0
    for candidate, trace in tried(system, np.random.default_rng(seed), steps):
        assert not check_trace(trace).violations
        assert scenario_problems(allowed, scenario_of(system.space, candidate, trace, system.space.horizon_ns)) == []
        assert system.broken(trace) is None
        kept += 1
        for goal, seen in zip(system.goals, seen_in(trace, system.goals), strict=True):
            assert seen is None or goal.bound_ns is None or seen.value_ns <= goal.bound_ns, goal
    return kept


def test_runs_with_every_kind_of_choice_are_legal() -> None:
    system = searched(ALL_KINDS)
    assert all(goal.bound_ns for goal in system.goals)
    assert check(system, 1, 12) == 24


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7])
def test_runs_of_random_systems_are_legal(seed: int) -> None:
    system, plan = random_case(seed)
    assert check_plan(system, plan) == []
    check(searched(system, plan), seed, 6)


@pytest.mark.parametrize("seed", [1, 2])
def test_runs_of_random_distributed_systems_are_legal(seed: int) -> None:
    check(searched(*random_distributed(seed)), seed, 4)


def test_the_worst_value_of_a_chain_is_over_when_its_output_appears() -> None:
    """A run that ends 1 ns later shows the same; one that ends then does not."""
    system = searched(ALL_KINDS)
    for candidate, trace in tried(system, np.random.default_rng(3), 4):
        for goal, seen in zip(system.goals, seen_in(trace, system.goals), strict=True):
            if seen is None:
                continue
            assert isinstance(seen, Seen)
            assert _until(system, goal, candidate, seen.end_ns + 1) == seen.value_ns


def _until(system: Searched, goal: Goal, candidate: Candidate, horizon_ns: int) -> int | None:
    from dataclasses import replace

    space = replace(system.space, given=replace(system.space.given, horizon_ns=horizon_ns), horizon_ns=horizon_ns)
    seen = seen_in(run(space, candidate), [goal])[0]
    return None if seen is None else seen.value_ns
