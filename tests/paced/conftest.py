"""Paced runs as a user starts them, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.planner import make_plan
from rt_sched.planner.failover.plan import failover_plan
from rt_sched.runtime.host.tiers import TierReport, available_tiers

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "evidence"))
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from paced_kills import write_small_system  # noqa: E402

SYSTEM = ROOT / "examples" / "host_two_cores.yaml"
FAILOVER = ROOT / "examples" / "host_failover.yaml"
LOG = ROOT / "replay_data" / "hazard.mcap"
_LIMIT_S = 150
_SHARED = Path("/dev", "shm")


@dataclass(frozen=True)
class Ended:
    """A run that has ended: its exit code, what it said, its summary and its job records, where there are any."""

    code: int
    errors: str
    summary: dict[str, Any]
    folder: Path

    def jobs(self, task: str) -> dict[str, np.ndarray]:
        """Columns of the jobs of a task."""
        names = [row["name"] for row in self.summary["tasks"]]
        with np.load(self.folder / "trace.npz") as file:
            columns = {key.removeprefix("jobs."): file[key] for key in file.files if key.startswith("jobs.")}
        mine = columns["task"] == names.index(task)
        return {name: column[mine] for name, column in columns.items()}


class Running:
    """A paced run, or one in lockstep, in a process group of its own."""

    def __init__(self, folder: Path, *options: str, system: Path = SYSTEM, paced: bool = True) -> None:
        self.folder = folder
        hears = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
        call = f"{hears}; import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
        arguments = ["replay", str(LOG), "--system", str(system), "--json", "-o", str(folder), *options]
        self.process = subprocess.Popen(
            [sys.executable, "-c", call, *arguments, *(("--paced",) if paced else ())],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{Path(__file__).parent}:{system.parent}"},
        )

    def members(self) -> dict[int, str]:
        """The processes that belong to it, with their names."""
        return {pid: name for pid, name, _ in self._processes()}

    def _processes(self) -> Iterator[tuple[int, str, int]]:
        """Each with its name and its parent."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            state, parent, _, session = rest.split()[:4]
            if int(session) == self.process.pid and state not in "ZX":
                yield int(entry.name), name, int(parent)

    def pid_of(self, name: str) -> int:
        """The process of this name; of a task, the one that serves it now."""
        return next(pid for pid, found in self.members().items() if found == name)

    def supervisor_of(self, device: str) -> int:
        """The process that the run itself has started for a device; what this one forks has its name at first."""
        wanted = f"rt-sup-{device}", self.process.pid
        return next(pid for pid, *found in self._processes() if tuple(found) == wanted)

    def wait_until_begun(self) -> None:
        """Until run time has begun, when the process that publishes samples takes its second name."""
        end = time.monotonic() + _LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            if "rt-publishing" in self.members().values():
                return
            time.sleep(0.1)
        raise AssertionError(f"it never began: {self.process.poll()}")

    def end(self) -> Ended:
        """Waits for its end. No process of it is left."""
        out, errors = self.process.communicate(timeout=_LIMIT_S)
        until = time.monotonic() + 10
        while self.members() and time.monotonic() < until:
            time.sleep(0.1)
        assert not self.members(), self.members()
        return Ended(self.process.returncode, errors, json.loads(out) if out.strip() else {}, self.folder)


@pytest.fixture(scope="session")
def tiers() -> dict[str, TierReport]:
    """What this host has."""
    return {report.tier.value: report for report in available_tiers()}


def require(tiers: dict[str, TierReport], tier: str) -> None:
    """Skips the test where this host does not have the tier."""
    if not tiers[tier].available:
        pytest.skip(f"this host has no tier {tier}: {'; '.join(tiers[tier].reasons)}")


def run_of(folder: Path, text: str, tiers: dict[str, TierReport]) -> Ended:
    """Two seconds of a system in the tier `fifo`, on the shipped log."""
    require(tiers, "fifo")
    (folder / "system.yaml").write_text(text)
    ended = Running(folder / "run", "--tier", "fifo", "--duration", "2s", system=folder / "system.yaml").end()
    assert ended.code in (0, 1, 3), ended.errors
    return ended


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A system of three tasks on one core, two of which keep a spare."""
    return write_small_system(tmp_path)


@pytest.fixture(autouse=True)
def _two_cores() -> None:
    if not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("needs the host cores 0 and 1, which the example deploys to")


@pytest.fixture(autouse=True)
def _nothing_left_in_shared_memory() -> Any:
    before = {entry.name for entry in _SHARED.iterdir()}
    yield
    left = {entry.name for entry in _SHARED.iterdir() if entry.name.startswith("rt-sched")} - before
    assert not left


def lacking(folder: Path, **found: object) -> str:
    """What a run says of what it lacked, for the reader of an assertion that failed; `found`: what it was about."""
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    told = {key: summary.get(key) for key in ("status", "reason", "feed", "losses", "alerts", "failover")}
    return "; ".join(f"{key}: {value}" for key, value in {**found, **told}.items())


def write_failover(folder: Path, heartbeat: str) -> tuple[Path, Path]:
    """examples/host_failover.yaml with another watch, and a plan for it that answers the loss of ecu-a."""
    text, declared = FAILOVER.read_text(encoding="utf-8"), "{period: 5ms, misses: 3, margin: 2ms}"
    assert declared in text
    file, plan = folder / "host_failover.yaml", folder / "plan.yaml"
    file.write_text(text.replace(declared, heartbeat), encoding="utf-8")
    system = load_system(file, stages=ImportedStages())
    found = failover_plan(system, make_plan(system, None), [("device:ecu-a",)])
    plan.write_text(plan_text(system, found.plan), encoding="utf-8")
    return file, plan
