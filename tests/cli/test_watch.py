"""`rt-sched analyze --watch` in a process of its own, with a file that really changes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from cli_runs import HANG_S

SYSTEM = """
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  fast: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 2ms}}
  slow: {runs_on: ecu.cpu, activation: {period: 30ms}, execution: {wcet: WCET}}
"""


def save(path: Path, wcet: str) -> None:
    """As editors do: the new file takes the place of the old one."""
    new = path.with_suffix(".new")
    new.write_text(SYSTEM.replace("WCET", wcet))
    new.replace(path)


def end(process: Any, number: signal.Signals) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out, err


def test_one_document_a_line_and_the_code_of_the_last_verdict(cli, tmp_path):
    path = tmp_path / "two.yaml"
    save(path, "6ms")
    process = cli.start("analyze", path, "--watch", "--json")
    first = json.loads(process.stdout.readline())
    assert (first["schema"], first["verdict"]) == ("rt-sched/analysis/1", "schedulable")
    assert "changes" not in first
    save(path, "x")
    wrong = json.loads(process.stdout.readline())
    assert (wrong["schema"], wrong["exit_code"]) == ("rt-sched/error/1", 2)
    assert "two.yaml:7" in wrong["problems"][0]
    save(path, "25ms")
    late = json.loads(process.stdout.readline())
    assert late["verdict"] == "unschedulable"
    assert {(row["name"], row["key"]) for row in late["changes"]} >= {
        ("slow", "response_bound_ns"),
        ("slow", "verdict"),
    }
    code, out, err = end(process, signal.SIGINT)
    assert (code, out) == (1, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_tables_then_changes(cli, tmp_path, number, code):
    path = tmp_path / "two.yaml"
    save(path, "6ms")
    process = cli.start("analyze", path, "--watch")
    assert process.stdout.readline().startswith("schedulable  two, policy")
    assert "watching" in next(line for line in process.stderr if "compiling" not in line)
    save(path, "7ms")
    assert any(line.startswith("schedulable; changed:") for line in iter(process.stdout.readline, ""))
    process.stdout.readline()
    assert process.stdout.readline().split() == ["task", "slow", "response", "bound", "8ms", "9ms"]
    assert end(process, number)[0] == code


def test_a_pipe_is_not_waited_for(cli, tmp_path):
    path = tmp_path / "two.yaml"
    os.mkfifo(path)
    assert "two.yaml  is no regular file" in cli("analyze", path, "--watch", code=2).err
    path.unlink()
    save(path, "6ms")
    process = cli.start("analyze", path, "--watch", "--json")
    assert json.loads(process.stdout.readline())["verdict"] == "schedulable"
    path.unlink()
    os.mkfifo(path)
    assert "is no regular file" in json.loads(process.stdout.readline())["problems"][0]
    path.unlink()
    save(path, "25ms")
    assert json.loads(process.stdout.readline())["verdict"] == "unschedulable"
    assert end(process, signal.SIGINT)[0] == 1


def test_a_file_that_is_not_there_is_a_wrong_call(cli, tmp_path):
    ended = cli("analyze", tmp_path / "none.yaml", "--watch", code=2)
    assert "none.yaml" in ended.err
    assert "watching" not in ended.err
