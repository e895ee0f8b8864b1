"""`rt-sched analyze --faults`: the document with its exit code, and calls that are refused."""

from __future__ import annotations

import json


def test_the_verdict_counts_faults(cli, limp, tmp_path):
    out = tmp_path / "out.json"
    document = cli("analyze", limp, "--faults", "all", "--json", "-o", out, code=1).document
    assert json.loads(out.read_text()) == document
    assert {one["name"]: one["verdict"] for one in document["modes"]} == {
        "normal": "schedulable",
        "limp": "schedulable",
    }
    assert (document["verdict"], document["faults"]["verdict"]) == ("unschedulable", "unschedulable")


def test_a_task_set_has_no_faults(cli, tmp_path):
    path = tmp_path / "set.csv"
    path.write_text("name,wcet,period\na,1,10\n")
    assert "--faults" in cli("analyze", "--taskset", path, "--faults", "all", code=2).err
