"""Random systems with chains of every kind: no run exceeds a bound, and bounds are close to what runs show."""

from __future__ import annotations

import numpy as np
from chain_checks import Outcome, check_chains


def test_no_run_exceeds_a_bound() -> None:
    found = [check_chains(seed, runs=3) for seed in range(36)]
    assert [text for one in found for text in one.violations] == []
    counts = sum((one.counts for one in found), found[0].counts.__class__())
    assert counts["chains judged"] > 30
    assert min(counts["chain_phases"], counts["chain_sporadic"]) > 20
    assert counts["repeats"] >= 1
    assert 2 * counts["tighter than the sum"] > counts["bounds"] - 3 * counts["1 segments"]
    assert float(np.median(_shares(found, "reaction chain_phases"))) > 0.85
    assert float(np.median(_shares(found, "reaction chain_sporadic"))) > 0.8


def _shares(found: list[Outcome], name: str) -> list[float]:
    return [share for one in found for share in one.shares.get(name, [])]
