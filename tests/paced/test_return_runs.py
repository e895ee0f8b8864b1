"""A device of a paced run is lost and comes back for real: it is trusted late, and its tasks go back."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import EventKind, JobStatus

from .conftest import ROOT, Ended, Running, lacking, require, write_failover

sys.path.insert(0, str(ROOT / "benchmarks" / "evidence"))

from paced_failover import fused_twice

MOVED = ("pre_front_wide", "infer_front_wide", "post_front_wide")
#: As patient as a machine needs that runs other tests; and what was lost is trusted soon.
_PATIENT = "{period: 10ms, misses: 10, margin: 20ms}\n  return_after: 250ms"
_TRUST_NS = 250_000_000
#: At less than half the speed processes have more than twice the time to start.
_OPTIONS = ("--tier", "fifo", "--duration", "3.9s", "--rate", "0.4")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The example with a patient watch, and a plan for it."""
    return write_failover(tmp_path_factory.mktemp("returns"), _PATIENT)


@pytest.fixture(scope="module", params=["killed", "stopped"])
def ended(
    request: pytest.FixtureRequest,
    files: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
    tiers: dict[str, TierReport],
) -> Ended:
    """The processes of the device are killed, and started anew; or somebody stops them, and lets them go on."""
    require(tiers, "fifo")
    system, plan = files
    folder = tmp_path_factory.mktemp("runs") / request.param
    words = ["--plan", str(plan), *_OPTIONS]
    if request.param == "killed":
        return Running(folder, *words, "--fault", "device:ecu-a@0.73s..0.9s", system=system).end()
    running = Running(folder, *words, system=system)
    running.wait_until_begun()
    time.sleep(1.0)
    supervisor = running.supervisor_of("ecu-a")
    os.killpg(supervisor, signal.SIGSTOP)
    until = time.monotonic() + 5
    while _workers(running, supervisor) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _workers(running, supervisor), "nobody ended what may not go on"
    os.killpg(supervisor, signal.SIGCONT)
    return running.end()


def _workers(running: Running, supervisor: int) -> list[int]:
    """Those in the group of a supervisor that have not ended."""
    found = []
    for pid in running.members():
        with suppress(ProcessLookupError):
            found += [pid] if pid != supervisor and os.getpgid(pid) == supervisor else []
    return found


@pytest.fixture
def fault(ended: Ended) -> dict[str, Any]:
    """What the summary has of it, with all that belongs to a loss and a return."""
    assert ended.code in (0, 1, 3), ended.errors
    (found,) = ended.summary["faults"]
    times = ("until_ns", "switched_after_ns", "returned_after_ns", "recovered_after_ns")
    assert None not in [found[name] for name in times], lacking(ended.folder, fault=found)
    return found  # type: ignore[no-any-return]


def test_the_device_is_trusted_after_good_beats_and_the_plan_is_in_force_again(
    ended: Ended, fault: dict[str, Any]
) -> None:
    notices = ended.summary["failover"]["notices"]
    assert len(notices) == 2, lacking(ended.folder)
    lost, back = notices
    assert (lost["is_back"], back["is_back"]) == (False, True)
    assert fault["until_ns"] == back["last_sign_ns"] > lost["noticed_ns"]
    assert back["noticed_ns"] - back["last_sign_ns"] >= _TRUST_NS
    assert fault["returned_after_ns"] > back["noticed_ns"] - fault["time_ns"]
    assert "workers were lost" not in ended.summary["reason"]


def test_tasks_go_back_and_no_job_of_the_return_is_lost(ended: Ended, fault: dict[str, Any]) -> None:
    back_ns = fault["time_ns"] + fault["returned_after_ns"]
    with np.load(ended.folder / "trace.npz") as file:
        kinds, times = file["events.kind"], file["events.time_ns"]
    moves_ns = times[kinds == EventKind.TASK_MOVED]
    assert sorted(moves_ns.tolist()) == [fault["time_ns"] + fault["switched_after_ns"]] * 3 + [back_ns] * 3
    for task in MOVED:
        jobs = ended.jobs(task)
        assert ((jobs["arrival_ns"] >= back_ns) & (jobs["status"] == JobStatus.COMPLETED)).sum() >= 1, task
        assert not ((jobs["arrival_ns"] > fault["until_ns"]) & (jobs["status"] == JobStatus.LOST)).any(), task
    lost = {row["task"] for row in ended.summary["losses"] if row["with_device"]}
    assert lost == {*MOVED}


def test_no_frame_is_fused_twice_and_no_command_is_missing(ended: Ended, fault: dict[str, Any]) -> None:
    arbiter = ended.jobs("arbiter")
    over = arbiter["deadline_ns"] < ended.summary["duration_ns"]
    assert (arbiter["status"][over] == JobStatus.COMPLETED).mean() > 0.95
    names = [row["name"] for row in ended.summary["tasks"]]
    with np.load(ended.folder / "trace.npz") as file:
        jobs = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
    assert fused_twice(jobs, names, fault) == 0
