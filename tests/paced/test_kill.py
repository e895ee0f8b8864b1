"""What is killed at any instant: the run ends, says so, keeps what was finished, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from paced_kills import campaign_of

from rt_sched.runtime.host.tiers import TierReport

from .conftest import Running


def test_workers_die_at_any_instant(tiers: dict[str, TierReport]) -> None:
    tier = "fifo" if tiers["fifo"].available else "user"
    found = campaign_of(48, tier=tier, seed=1, per_run=24)
    assert found.problems == []
    assert found.kills > 8
    assert found.losses > 0
    assert found.came_back > 0


@pytest.mark.parametrize(
    ("sent", "told", "name"),
    [
        (signal.SIGKILL, "SIGKILL", "rt-sup-ecu"),
        (signal.SIGKILL, "SIGKILL", "rt-publishing"),
        (signal.SIGSTOP, "stands still", "rt-sup-ecu"),
        (signal.SIGSTOP, "stands still", "rt-publishing"),
        (signal.SIGSTOP, "stands still", "rt-decode"),
    ],
)
def test_without_a_part_that_nothing_replaces_the_run_ends(
    tmp_path: Path, small: Path, sent: signal.Signals, told: str, name: str
) -> None:
    """What stands still is as good as none."""
    running = Running(tmp_path / "run", "--tier", "user", "--rate", "0.1", system=small)
    running.wait_until_begun()
    os.kill(running.pid_of(name), sent)
    ended = running.end()
    assert ended.code == 2
    assert told in ended.errors
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_stopped_as_a_whole_goes_on(tmp_path: Path, small: Path) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--duration", "1s", "--rate", "0.3", system=small)
    running.wait_until_begun()
    for number, wait_s in ((signal.SIGSTOP, 1.5), (signal.SIGCONT, 0.0)):
        os.killpg(running.process.pid, number)
        time.sleep(wait_s)
    ended = running.end()
    assert ended.code in (1, 3)
    assert ended.summary["feed"]["missing"] == 0 < ended.summary["feed"]["late"]
    steps = [ended.errors.index(text) for text in ("starting the processes", "running", "writing the run folder")]
    assert steps == sorted(steps)


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "hung up"),
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
)
def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path, small: Path, number: int, code: int, told: str) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--rate", "0.1", system=small)
    running.wait_until_begun()
    os.kill(running.process.pid, number)
    ended = running.end()
    assert ended.code == code
    assert ended.errors.endswith(f"rt-sched: {told}\n" if told else "")


def test_who_hangs_up_ends_a_run_in_its_own_way(tmp_path: Path, small: Path) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--rate", "0.1", system=small)
    running.wait_until_begun()
    os.killpg(running.process.pid, signal.SIGHUP)
    ended = running.end()
    assert ended.code == 129
    assert "ended early" not in ended.errors and "Traceback" not in ended.errors
