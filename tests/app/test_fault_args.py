"""`--fault link:NAME@TIME` names a link of the system."""

from __future__ import annotations

from pathlib import Path

import pytest

from rt_sched.app.inputs.fault_args import parse_faults
from rt_sched.config import load_system
from rt_sched.errors import ConfigError
from rt_sched.model import Fault, FaultKind, System


@pytest.fixture(scope="module")
def system() -> System:
    return load_system(Path(__file__).parents[1] / "config" / "valid_full.yaml", stages=None)


def test_a_link_can_be_lost(system: System) -> None:
    assert parse_faults(["link:backbone@2s"], system) == (Fault(FaultKind.LINK, "backbone", 2 * 10**9),)


def test_an_unknown_link_is_named_with_those_there_are(system: System) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_faults(["link:backbon@2s"], system)
    assert str(caught.value).endswith("full has no link 'backbon'; valid: backbone; did you mean backbone?")
