"""What the machine allows; a test that needs more is skipped, and says what is missing."""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from rt_sched.runtime.host.tiers import Tier, TierReport, available_tiers


@contextmanager
def _alone() -> Iterator[None]:
    """Only one test process at a time: reservations and cpusets are those of the whole machine."""
    with (Path(tempfile.gettempdir()) / f"rt-sched-tests-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def tiers() -> dict[Tier, TierReport]:
    """The tiers of this machine, tried out."""
    with _alone():
        return {report.tier: report for report in available_tiers()}


@pytest.fixture
def need(tiers: dict[Tier, TierReport]) -> Callable[[Tier], None]:
    """Skips a test where a tier is not there, and only there."""

    def needed(tier: Tier) -> None:
        if not tiers[tier].available:
            pytest.skip(f"tier {tier.value}: {'; '.join(tiers[tier].reasons)}")

    return needed


@pytest.fixture
def fifo(need: Callable[[Tier], None]) -> None:
    need(Tier.FIFO)


@pytest.fixture
def deadline(need: Callable[[Tier], None]) -> Iterator[None]:
    need(Tier.DEADLINE)
    with _alone():
        yield


@pytest.fixture
def page() -> Iterator[mmap.mmap]:
    """A page of memory that children share."""
    with mmap.mmap(-1, mmap.PAGESIZE) as memory:
        yield memory
