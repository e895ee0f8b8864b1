"""`rt-sched check-trace`, and what a replay says when its trace is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from checked_systems import edited, traced
from cli_runs import Cli, Ended

from rt_sched.app.runs.check_trace import check_document, check_run
from rt_sched.app.runs.status import Losses, run_status
from rt_sched.errors import DataError
from rt_sched.record.trace_file import save_trace
from rt_sched.trace.checker import Rule


def check_trace(*arguments: object) -> Ended:
    return Cli(Path.cwd())("check-trace", *arguments, code=None)


def test_a_good_trace(tmp_path: Path) -> None:
    save_trace(traced("inheritance"), tmp_path / "trace.npz")
    ended = check_trace(tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, f"no violation, {len(Rule)} rules checked\n", "")


def test_a_bad_trace_is_a_defect_and_each_violation_is_printed(tmp_path: Path) -> None:
    save_trace(edited(traced("edf"), "jobs", 1, missed=True), tmp_path / "trace.npz")
    ended = check_trace(tmp_path / "trace.npz")
    assert ended.code == 4
    assert ended.out == (
        "0.000012 ms  soon #0: its deadline at 12 ns counts as not missed (rule 3, times)\n"
        f"1 violation, {len(Rule)} rules checked\n"
    )
    document = check_trace(tmp_path, "--json").document
    assert (document["schema"], document["status"]) == ("rt-sched/trace-check/1", "failed")
    assert document["violations"] == [
        {
            "rule": "times",
            "semantics": 3,
            "time_ns": 12,
            "where": "soon #0",
            "expected": "its deadline at 12 ns counts as not missed",
        }
    ]
    assert document["violation_counts"] == {"times": 1}


def test_a_folder_without_a_trace(tmp_path: Path) -> None:
    ended = check_trace(tmp_path)
    assert ended.code == 2
    assert ended.err == (
        f"rt-sched: {tmp_path}: holds no trace.npz; give a run folder that replay or simulate has written\n"
    )
    with pytest.raises(DataError):
        check_run(tmp_path / "nowhere.npz")


def test_a_run_whose_trace_is_wrong_has_failed() -> None:
    found = check_document(edited(traced("edf"), "jobs", 1, missed=True))

    def status_with(trace_check: dict[str, Any]) -> tuple[str, str]:
        return run_status(
            late=(),
            chains=(),
            faults=(),
            trace_check=trace_check,
            violated=None,
            tripped=None,
            losses=Losses(),
            arbiter_states=(),
            after_recording_ns=0,
        )

    status, reason = status_with(found)
    assert status == "failed"
    assert reason == (
        "a defect of rt-sched: its trace breaks the scheduling rules 1 times, "
        "first soon #0 at 0.000 ms: its deadline at 12 ns counts as not missed"
    )
    assert status_with(check_document(traced("edf")))[0] == "ok"
