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


CHAIN = """
rt_sched: 1
name: chain
devices:
  ecu:
    processing_elements:
      cpu: {kind: cpu, frequency: 1GHz, operating_points: [{frequency: 400MHz}, {frequency: 600MHz}, {frequency: 1GHz}]}
sensors: {cam: {kind: camera, rate: 20Hz, latency: 5ms, attached_to: ecu, topic: "/cam/*"}}
tasks:
  see: {runs_on: ecu.cpu, inputs: {image: cam}, execution: {wcet: 10ms}, deadline: 25ms}
chains: {look: {path: [cam, see], max_latency: 25ms}}
"""


def test_margins_of_chains_frequencies_and_rates(cli, tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN)
    ended = cli("analyze", path, "--margins", "--json", "-o", "out.json")
    (mode,) = ended.document["margins"]
    # After 5 ms on the way, 20 ms are left of the limit: half the frequency, or twice the work.
    (task,), (chain,), (element,), (rate,) = (mode[key] for key in ("tasks", "chains", "frequencies", "rates"))
    assert (task["margin_ns"], task["limited_by"]) == (10_000_000, "latency limit of look")
    assert chain["limits"] == [
        {"quantity": "latency", "bound_ns": 15_000_000, "limit_ns": 25_000_000, "margin_ns": 10_000_000}
    ]
    assert (chain["scaling_ppm"], chain["limited_by"]) == (2_000_000, "latency limit of look")
    assert (element["pe"], element["frequency_hz"]) == ("ecu.cpu", 10**9)
    assert (element["smallest_hz"], element["smallest_operating_point_hz"]) == (500_000_000, 600_000_000)
    # Jobs may follow each other every 10 ms.
    assert (rate["name"], rate["rate_hz"], rate["largest_rate_hz"]) == ("cam", "20", "100")
    assert rate["scaling_ppm"] == 5_000_000
    shown = cli("analyze", path, "--margins").out
    for line in (
        "look – 10.000 – 100.0 % latency limit of look",
        "ecu.cpu 1000.000 500.000 600.000 latency limit of look",
    ):
        assert line in " ".join(shown.split())
    assert "cam 20.000 100.000 +400.0 %" in " ".join(shown.split())


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
