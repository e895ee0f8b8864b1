"""What is killed at any instant: the run ends, says so, keeps what was finished, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from rt_sched.trace.records import JobStatus

from .conftest import Running


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--duration", "4s")
    running.wait_until_begun()
    victims = []
    for name in ("understand", "backup", "arbiter"):
        pid = running.pid_of(name)
        os.kill(pid, signal.SIGKILL)
        victims.append((name, pid))
        time.sleep(0.1)
    ended = running.end()
    assert ended.summary["status"] in ("incomplete", "deadline_miss"), ended.errors
    assert sorted((row["task"], row["pid"]) for row in ended.summary["losses"]) == sorted(victims)
    for row in ended.summary["losses"]:
        jobs = ended.jobs(row["task"])
        served = jobs["arrival_ns"] > row["noticed_ns"]
        assert (jobs["status"][served] == JobStatus.COMPLETED).any(), f"{row['task']} does not go on"
        before = jobs["finish_ns"][(jobs["finish_ns"] >= 0) & (jobs["finish_ns"] < row["noticed_ns"])]
        assert len(before), "what was finished is kept"


@pytest.mark.parametrize("name", ["rt-supervisor", "rt-publishing"])
def test_without_a_part_that_nothing_replaces_the_run_ends(tmp_path: Path, name: str) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--duration", "30s")
    running.wait_until_begun()
    os.kill(running.pid_of(name), signal.SIGKILL)
    ended = running.end()
    assert ended.code == 2
    assert "SIGKILL" in ended.errors
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    running = Running(tmp_path / "run", "--tier", "user", "--duration", "30s")
    running.wait_until_begun()
    os.kill(running.process.pid, number)
    ended = running.end()
    assert ended.code == code
