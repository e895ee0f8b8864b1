"""An ordinary process that never rests on each core: real-time tiers keep their deadlines, the user tier says it can't.

benchmarks/evidence/paced_hog.py does the same for longer.
"""

from __future__ import annotations

import numpy as np
import pytest
from paced_hog import CORES, hogs, shares_of_deadline

from rt_sched.runtime.host.tiers import TierReport

from .conftest import Ended, Running


@pytest.fixture(scope="module", params=["deadline", "fifo", "user"])
def beside_hogs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]
) -> Ended:
    tier = request.param
    if not tiers[tier].available:
        pytest.skip(f"this host has no tier {tier}: {'; '.join(tiers[tier].reasons)}")
    running = Running(tmp_path_factory.mktemp("hog") / tier, "--tier", tier, "--duration", "2.5s")
    running.wait_until_begun()
    with hogs(CORES):
        return running.end()


def test_real_time_tiers_keep_their_deadlines(beside_hogs: Ended) -> None:
    if beside_hogs.summary["tier"] == "user":
        pytest.skip("the user tier promises nothing: see the next test")
    assert beside_hogs.code in (0, 1, 3), beside_hogs.errors
    shares = shares_of_deadline(beside_hogs.folder)
    assert all(len(share) for share in shares.values())
    together = np.concatenate(list(shares.values()))
    assert np.quantile(together, 0.99, method="inverted_cdf") <= 1, {name: max(one) for name, one in shares.items()}
    assert beside_hogs.summary["status"] != "bound_violated", beside_hogs.summary["reason"]


def test_the_user_tier_says_that_it_promises_nothing(beside_hogs: Ended) -> None:
    summary = beside_hogs.summary
    if summary["tier"] != "user":
        pytest.skip("real-time tiers have bounds: see the test before")
    assert beside_hogs.code in (1, 3) and summary["status"] != "ok"
    assert any("no bounds" in note for note in summary["notes"])
    assert not any(row["bound_ns"] for row in summary["tasks"])
