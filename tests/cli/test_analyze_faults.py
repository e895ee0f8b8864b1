"""`rt-sched analyze --faults`: the document with its exit code, and calls that are refused."""

from __future__ import annotations

import json

SYSTEM = """
rt_sched: 1
name: limp
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 12ms, memory: 2ms}}
  blind: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 3ms}, start_latency: 5ms}
  log: {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 10ms}, miss_limit: 1 of 5}
modes:
  normal: {tasks: [detect, log]}
  limp: {tasks: [blind, log], frequencies: {ecu.cpu: 500MHz}}
faults:
  lose_front: {lose: front, at: 90ms, detection: 60ms, reaction: 20ms, margin: 20ms, mode: limp, mode_after: 60ms}
  slow: {overrun: detect, jobs: [3], demand: 60ms}
"""


def test_the_verdict_counts_faults(cli, tmp_path):
    path, out = tmp_path / "limp.yaml", tmp_path / "out.json"
    path.write_text(SYSTEM)
    document = cli("analyze", path, "--faults", "all", "--json", "-o", out, code=1).document
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
