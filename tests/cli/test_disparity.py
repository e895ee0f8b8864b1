"""`analyze` shows the time disparities that have a limit, and tells all of them in the document."""

from __future__ import annotations

from cli_runs import Cli

SYSTEM = """
rt_sched: 1
name: two_views
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors:
  near: {kind: camera, rate: 100Hz, latency: 1ms, attached_to: ecu, topic: /near}
  far: {kind: camera, rate: 20Hz, latency: 2ms, attached_to: ecu, topic: /far}
tasks:
  fuse:
    {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 2ms}, max_disparity: LIMIT,
     inputs: {a: {from: near, required: false}, b: {from: far, required: false}}}
  other:
    {runs_on: ecu.cpu, activation: {rate: 10Hz}, execution: {wcet: 1ms},
     inputs: {a: {from: near, required: false}, b: {from: far, required: false}}}
"""


def test_a_limit_that_holds_and_one_that_does_not(cli: Cli) -> None:
    (cli.folder / "fine.yaml").write_text(SYSTEM.replace("LIMIT", "51ms"))
    (cli.folder / "tight.yaml").write_text(SYSTEM.replace("LIMIT", "50ms"))
    fine, tight = (
        cli("analyze", "fine.yaml", "--json").document,
        cli("analyze", "tight.yaml", "--json", code=3).document,
    )
    rows = {row["name"]: row for row in fine["disparities"]}
    assert rows["fuse"]["disparity_bound_ns"] == 51_000_000 == sum(t["value_ns"] for t in rows["fuse"]["terms"])
    assert (rows["fuse"]["disparity_limit_ns"], rows["other"]["disparity_limit_ns"]) == (51_000_000, None)
    assert (rows["fuse"]["verdict"], fine["verdict"], tight["verdict"]) == (
        "schedulable",
        "schedulable",
        "inconclusive",
    )
    assert (rows["fuse"]["older"], rows["fuse"]["younger"]) == ("b", "a")
    shown = cli("analyze", "tight.yaml", code=3).out
    assert "Time disparity of inputs (ms)" in shown
    assert "disparity of fuse: input b may be older than a by 1ms more than the limit, and then be left out" in shown
    assert "other " not in shown.split("Time disparity")[1].split("disparity of fuse")[0]
