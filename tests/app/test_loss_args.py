"""`--pairs`: names of what is lost at one time, and every mistake at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "failover"))
from failover_rigs import rig

from rt_sched.app.inputs.loss_args import parse_losses
from rt_sched.errors import ConfigError
from rt_sched.model import System


@pytest.fixture(scope="module")
def system() -> System:
    return rig(
        ("rear: {kind: camera", "a: {kind: camera"),
        ("{image: rear}", "{image: a}"),
        ("[rear,", "[a,"),
        ("  lose_a: {lose: a, at: 1s}\n", ""),
    )


def test_pairs_are_sets_by_full_or_short_names(system: System) -> None:
    found = parse_losses(("front+device:a, device:b + front", "device:b+front", "front+camera:a+b"), system)
    assert [" ".join(one) for one in found] == [
        "camera:front device:a",
        "camera:front device:b",
        "camera:a camera:front device:b",
    ]


def test_every_mistake_is_told_at_once(system: System) -> None:
    with pytest.raises(ConfigError) as wrong:
        parse_losses(("frnt+device:b", "a+b", "front+front", "", "front"), system)
    told = [one.message for one in wrong.value.problems]
    assert len(told) == 5
    assert told[0].startswith("there is no '' to lose")
    assert told[1] == "'a' may be camera:a or device:a"
    assert told[2].startswith("there is no 'frnt' to lose; valid: camera:front, camera:a, device:a, device:b")
    assert told[2].endswith("did you mean front?")
    assert all(one.startswith("name two things") for one in told[3:])
