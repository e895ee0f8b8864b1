"""A run that somebody watches: what the table says, the keys, and that a pause never makes a run look good."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paced_kills import write_small_system

from rt_sched.app.paced.keys import Keys
from rt_sched.app.paced.verdict import paced_status
from rt_sched.runtime.host.polling import comes
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.jobs.journal import NONE, Journal
from rt_sched.runtime.paced.standing import Standing, standings
from rt_sched.trace.records import JobStatus

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "replay_data" / "hazard.mcap"
_HANG_S = 120.0


def _journal(jobs: list[tuple[int, int | None, int | None, int]]) -> Journal:
    """Jobs as (arrival, start, finish, deadline)."""
    journal = Journal(1, 32)
    for arrival_ns, start_ns, finish_ns, deadline_ns in jobs:
        row = journal.rows[journal.begin(arrival_ns, arrival_ns, deadline_ns, 1)]
        row["start_ns"] = NONE if start_ns is None else start_ns
        row["finish_ns"] = NONE if finish_ns is None else finish_ns
        if finish_ns is not None:
            row["status"] = JobStatus.COMPLETED
    return journal


def test_a_job_that_is_overdue_counts_before_it_ends() -> None:
    journal = _journal([(0, 1, 9, 10), (20, 21, 35, 30), (40, 41, None, 50)])
    assert standings(["a"], [journal], 50) == (Standing("a", 3, True, 1, 15, 15),)
    assert standings(["a"], [journal], 51)[0].misses == 2
    journal.suppress(60, 70, 1)
    assert standings(["a"], [journal], 100)[0].misses == 2  # nobody owes a job that was suppressed


def test_nothing_is_known_before_the_first_job() -> None:
    assert standings(["a"], [Journal(0, 4)], 10) == (Standing("a", 0, False, 0, None, None),)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9)), max_size=12))
def test_misses_are_those_that_the_jobs_have(jobs: list[tuple[int, int, int]]) -> None:
    rows = [(100 * k + a, 100 * k + a, 100 * k + a + c, 100 * k + a + d) for k, (a, c, d) in enumerate(jobs)]
    (found,) = standings(["a"], [_journal(rows)], 10**6)
    assert found.misses == sum(finish > deadline for _, _, finish, deadline in rows)
    assert found.response_max_ns == max((finish - arrival for arrival, _, finish, _ in rows), default=None)


def test_a_paused_run_is_never_ok() -> None:
    assert paced_status("ok", "all met", tier=Tier.FIFO, lost=0, late=None, pauses=1)[0] == "incomplete"
    assert paced_status("deadline_miss", "late", tier=Tier.FIFO, lost=0, late=None, pauses=1) == (
        "deadline_miss",
        "late",
    )


class _Watched:
    """`rt-sched replay --paced --live` on a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        system = write_small_system(folder)
        self._ours, theirs = pty.openpty()
        call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
        options = ["--paced", "--live", "--tier", "user", "--duration", "2s", "-o", str(folder / "run")]
        self.process = subprocess.Popen(
            [sys.executable, "-c", call, "replay", str(LOG), "--system", str(system), *options],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            cwd=ROOT,
            env=os.environ
            | {"PYTHONPATH": f"{ROOT}:{system.parent}", "TERM": "xterm", "COLUMNS": "150", "LINES": "60"},
        )
        os.close(theirs)
        self._seen = ""

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, pattern: str) -> str:
        """What fits the pattern in what comes from now on."""
        until, self._seen = time.monotonic() + _HANG_S, ""
        while (found := re.search(pattern, self._seen)) is None:
            assert time.monotonic() < until, self._seen[-2000:]
            if comes(self._ours, 0.5):
                self._seen += os.read(self._ours, 65536).decode("utf-8", "replace")
        return found.group()

    def end(self) -> tuple[int, str]:
        """Exit code, and what was shown last."""
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                break
            if not data:
                break
            self._seen += data.decode("utf-8", "replace")
        os.close(self._ours)
        return self.process.wait(_HANG_S), self._seen


def test_keys_pause_and_step(tmp_path: Path) -> None:
    """Times are shown in milliseconds, so that no step is too short to be seen."""
    watched = _Watched(tmp_path)
    watched.wait_for(r"0\.\d{3} of 2\.000 s")
    watched.press(" ")
    stood = watched.wait_for(r"\d\.\d{3} of 2\.000 s, paused")
    assert watched.wait_for(r"\d\.\d{3} of 2\.000 s, paused") == stood
    watched.press("n")
    while (stepped := watched.wait_for(r"\d\.\d{3} of 2\.000 s, paused")) == stood:
        pass
    assert 0 < float(stepped[:5]) - float(stood[:5]) < 1
    watched.press(" ")
    watched.wait_for(r"\d\.\d{3} of 2\.000 s   space")
    code, shown = watched.end()
    assert code in (1, 3)  # 1 where a loaded host made jobs late
    assert "paused" in shown
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert len(summary["pauses"]) == 2
    assert all(pause["lasted_ns"] > 0 for pause in summary["pauses"])
    assert summary["status"] != "ok"
    with np.load(tmp_path / "run" / "trace.npz") as trace:
        assert len(trace["jobs.task"]) > 20


def test_a_terminal_that_goes_away_presses_no_keys() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        with Keys() as keys:
            assert keys.there and keys.pressed() == ""
            os.write(ours, b" n")
            assert comes(theirs, 10)
            assert keys.pressed() == " n"
            os.close(ours)
            assert keys.pressed() == "" and not keys.there
            assert keys.pressed() == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--paced", "--live"], ["terminal"]),
        (
            ["--live", "--tier", "fifo", "--rate", "0.5", "--duration", "1s"],
            ["--live", "--tier", "--rate", "--duration"],
        ),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: list[str], words: list[str]) -> None:
    call = "import sys; sys.argv[0] = 'rt-sched'; from rt_sched.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", call, "replay", str(LOG), *options, "-o", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ended.returncode == 2
    assert all(word in ended.stderr for word in words)
    assert not (tmp_path / "run").exists()
