"""An ordinary process that never rests on each core: real-time tiers keep their deadlines, the user tier says it can't.

benchmarks/evidence/paced_hog.py does the same for longer.
"""

from __future__ import annotations

import numpy as np
import pytest
from paced_hog import CORES, hogs, shares_of_deadline

from rt_sched.runtime.host.tiers import TierReport

from .conftest import Ended, Running, require


@pytest.fixture(scope="module", params=["deadline", "fifo", "user"])
def beside_hogs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]
) -> Ended:
    tier = request.param
    require(tiers, tier)
    running = Running(tmp_path_factory.mktemp("hog") / tier, "--tier", tier, "--duration", "2.5s")
    running.wait_until_begun()
    with hogs(CORES):
        return running.end()


def test_a_tier_keeps_what_it_promises(beside_hogs: Ended) -> None:
    summary = beside_hogs.summary
    assert beside_hogs.code in (0, 1, 3), beside_hogs.errors
    if summary["tier"] == "user":
        assert summary["status"] != "ok" and any("no bounds" in note for note in summary["notes"])
        assert not any(row["bound_ns"] for row in summary["tasks"])
        return
    shares = shares_of_deadline(beside_hogs.folder)
    assert all(len(share) for share in shares.values())
    together = np.concatenate(list(shares.values()))
    assert np.quantile(together, 0.99, method="inverted_cdf") <= 1, {name: max(one) for name, one in shares.items()}
    assert summary["status"] != "bound_violated", summary["reason"]
