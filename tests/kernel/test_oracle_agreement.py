"""The kernel agrees with the tick-by-tick oracle on random systems, job by job, in bulk and stepped."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from agreement import disagreement
from features_met import LEAST_PER_1000_TAKEOVERS, as_table, lacking
from kernel_systems import ALL_FEATURES, Feature, random_system
from oracle import simulate
from takeover_systems import takeover_system

from rt_sched.lowering.machine_input import MachineInput, OverrunAction

BLOCKS, PER_BLOCK = 10, 100

Drawn = Callable[[int], MachineInput]
#: What drawn systems met: the tests of agreement leave it to those that count, as the oracle takes its time.
_MET: dict[tuple[Drawn, int], Counter[str]] = {}


def mixed_system(seed: int) -> MachineInput:
    return random_system(seed, ALL_FEATURES)


def disagreements(draw: Drawn, seeds: range) -> list[tuple[int, str]]:
    found = []
    for seed in seeds:
        met: Counter[str] = Counter()
        if difference := disagreement(draw(seed), met):
            found.append((seed, difference))
        _MET[draw, seed] = met
    return found


def met_by(draw: Drawn, seeds: range) -> Counter[str]:
    met: Counter[str] = Counter()
    for seed in seeds:
        met.update(_MET[draw, seed] if (draw, seed) in _MET else simulate(draw(seed)).met)
    return met


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernel_equals_oracle_on_random_systems(block: int) -> None:
    assert disagreements(mixed_system, range(block * PER_BLOCK, (block + 1) * PER_BLOCK)) == []


@pytest.mark.parametrize("feature", Feature, ids=lambda feature: feature.value)
def test_kernel_equals_oracle_on_each_feature_alone(feature: Feature) -> None:
    seeds = range(10_000, 10_040)
    assert [(seed, found) for seed in seeds if (found := disagreement(random_system(seed, {feature})))] == []


def test_random_systems_met_every_feature_often_enough() -> None:
    met = met_by(mixed_system, range(BLOCKS * PER_BLOCK))
    print(as_table(met, BLOCKS * PER_BLOCK))
    assert lacking(met, BLOCKS * PER_BLOCK) == {}


def test_kernel_equals_oracle_on_random_takeovers() -> None:
    assert disagreements(takeover_system, range(120)) == []


def test_random_takeovers_met_every_feature_often_enough() -> None:
    met = met_by(takeover_system, range(400))
    print(as_table(met, 400, LEAST_PER_1000_TAKEOVERS))
    assert lacking(met, 400, LEAST_PER_1000_TAKEOVERS) == {}


#: Systems in which a job with its budget used up gets a lock, and releases it in phase 6 at the same executed time.
LATE_RELEASES = [(505475, 0), (514511, 1), (516235, 0)]


@pytest.mark.parametrize("action", [OverrunAction.ABORT, OverrunAction.THROTTLE, OverrunAction.SKIP_NEXT])
@pytest.mark.parametrize(("seed", "index"), LATE_RELEASES)
def test_budget_used_up_is_enforced_after_a_release_in_dispatch(seed: int, index: int, action: OverrunAction) -> None:
    given = random_system(seed, {Feature.SECTIONS, Feature.FREQUENCY, Feature.BUDGETS, Feature.CORES})
    tasks = list(given.tasks)
    separation_ns = tasks[index].separation_ns
    if action == OverrunAction.THROTTLE and not separation_ns:
        separation_ns = 5
    tasks[index] = replace(tasks[index], overrun_action=action, separation_ns=separation_ns)
    assert disagreement(replace(given, tasks=tuple(tasks))) is None


def test_budget_used_up_is_enforced_after_a_release_in_dispatch_on_a_system_as_drawn() -> None:
    features = {
        Feature.CORES,
        Feature.POINTS,
        Feature.SECTIONS,
        Feature.FREQUENCY,
        Feature.MSRP,
        Feature.BUDGETS,
        Feature.DEADLINES,
        Feature.CRITICALITY,
    }
    assert disagreement(random_system(706454, features)) is None
