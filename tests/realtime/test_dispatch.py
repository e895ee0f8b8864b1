"""From release to start, in every tier that is there: never early, and as many starts as releases."""

from __future__ import annotations

import pytest
from dispatch import compiled_loop, edf_by_priorities, in_c, in_python, of_tier

from rt_sched.runtime.host.tiers import Tier

RELEASES = 25


@pytest.mark.parametrize("tier", list(Tier))
def test_starts_of_a_tier(tier, request):
    if tier is not Tier.USER:
        request.getfixturevalue(tier.value)
    lateness = of_tier(tier, in_python, RELEASES)
    assert len(lateness) == RELEASES
    assert min(lateness) >= 0


@pytest.mark.usefixtures("fifo")
def test_starts_where_priorities_follow_deadlines():
    lateness = edf_by_priorities(RELEASES)
    assert len(lateness) == RELEASES
    assert min(lateness) >= 0


def test_the_loop_in_c_measures_the_same_thing(tmp_path):
    program = compiled_loop(tmp_path)
    if program is None:
        pytest.skip("no C compiler (cc)")
    lateness = of_tier(Tier.USER, in_c(program), RELEASES)
    assert len(lateness) == RELEASES
    assert min(lateness) >= 0
