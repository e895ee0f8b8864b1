"""`rt-sched analyze --margins`: how much longer jobs may execute, as a table and in the document."""

from __future__ import annotations

import json

SYSTEM = """
rt_sched: 1
name: two
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  fast: {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 2ms}}
  slow: {runs_on: ecu.cpu, activation: {period: 30ms}, execution: {wcet: WCET}}
"""


def test_margins_are_told_beside_the_bounds(cli, tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(SYSTEM.replace("WCET", "6ms"))
    document = json.loads(cli("analyze", path, "--margins", "--json").out)
    (mode,) = document["margins"]
    assert mode["scaling_ppm"] == 2_500_000
    # Three jobs of the fast one and one of the slow one then fill 30 ms.
    assert [(one["name"], one["margin_ns"]) for one in mode["tasks"]] == [("fast", 6_000_000), ("slow", 18_000_000)]
    shown = cli("analyze", path, "--margins").out
    assert "may grow to 2.500000 of what they are" in shown
    assert "300.0 %" in shown


def test_a_system_that_misses_has_no_margins(cli, tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(SYSTEM.replace("WCET", "30ms"))
    (mode,) = json.loads(cli("analyze", path, "--margins", "--json", code=1).out)["margins"]
    assert mode["tasks"] == []
    assert mode["scaling_ppm"] < 1_000_000
    assert "margins" not in json.loads(cli("analyze", path, "--json", code=1).out)


def test_a_task_set_has_no_margins(cli, tmp_path):
    path = tmp_path / "set.csv"
    path.write_text("name,wcet,period\na,1,10\n")
    assert "--margins" in cli("analyze", "--taskset", path, "--margins", code=2).err


def test_no_output_replaces_the_file_that_is_analysed(cli, tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(SYSTEM.replace("WCET", "6ms"))
    assert "is the file that is analysed" in cli("analyze", path, "-o", path, code=2).err
    assert path.read_text() == SYSTEM.replace("WCET", "6ms")
