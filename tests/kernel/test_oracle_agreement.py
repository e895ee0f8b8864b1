"""The kernel agrees with the tick-by-tick oracle on random systems, job by job, in bulk and stepped."""

from collections import Counter

import pytest
from agreement import disagreement
from features_met import as_table, lacking
from kernel_systems import ALL_FEATURES, Feature, random_system
from oracle import simulate

BLOCKS, PER_BLOCK = 10, 100


@pytest.mark.parametrize("block", range(BLOCKS))
def test_kernel_equals_oracle_on_random_systems(block: int) -> None:
    seeds = range(block * PER_BLOCK, (block + 1) * PER_BLOCK)
    assert [(seed, found) for seed in seeds if (found := disagreement(random_system(seed, ALL_FEATURES)))] == []


@pytest.mark.parametrize("feature", Feature, ids=lambda feature: feature.value)
def test_kernel_equals_oracle_on_each_feature_alone(feature: Feature) -> None:
    seeds = range(10_000, 10_040)
    assert [(seed, found) for seed in seeds if (found := disagreement(random_system(seed, {feature})))] == []


def test_random_systems_met_every_feature_often_enough() -> None:
    met: Counter[str] = Counter()
    for seed in range(BLOCKS * PER_BLOCK):
        met.update(simulate(random_system(seed, ALL_FEATURES)).met)
    print(as_table(met, BLOCKS * PER_BLOCK))
    assert lacking(met, BLOCKS * PER_BLOCK) == {}
