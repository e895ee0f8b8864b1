"""`rt-sched what-if`: both verdicts beside each other, the new one decides the exit code."""

from __future__ import annotations

import pytest
from cli_runs import QUAD_ORIN, Cli, by_name

SMALL = """rt_sched: 1
name: small
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
sensors: {front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 12ms}}
  plan: {runs_on: ecu.cpu, activation: {rate: 20Hz}, inputs: {seen: {from: detect, required: false}}, execution: {wcet: 9ms}}
chains: {see: {path: [front, detect, plan], max_reaction: 200ms}}
"""  # noqa: E501


@pytest.fixture
def small(cli: Cli) -> str:
    (cli.folder / "small.yaml").write_text(SMALL)
    return "small.yaml"


def test_the_document_holds_old_new_and_difference(cli: Cli, small: str) -> None:
    document = cli("what-if", small, "--set", "tasks.detect.wcet=20ms", "--json").document
    assert (document["schema"], document["old_verdict"], document["verdict"]) == (
        "rt-sched/what-if/1",
        "schedulable",
        "schedulable",
    )
    tasks = by_name(document["tasks"])
    detect = tasks["detect"]
    assert (detect["change"], detect["difference_ns"]) == ("worse", 8_000_000)
    assert detect["new"]["response_bound_ns"] - detect["old"]["response_bound_ns"] == 8_000_000
    (see,) = document["chains"]
    assert see["reaction_difference_ns"] > 0
    (core,) = document["processors"]
    assert core["difference"] == pytest.approx(0.16)
    assert document["changes"] == [
        {"option": "--set", "argument": "tasks.detect.wcet=20ms", "did": ["tasks.detect.execution.wcet is 20ms"]}
    ]


def test_what_got_worse_comes_first_and_the_new_verdict_decides(cli: Cli, small: str) -> None:
    ended = cli("what-if", small, "--add-camera", "rear", "--set", "tasks.plan.wcet=30ms", code=1)
    lines = ended.out.splitlines()
    assert "small: schedulable -> unschedulable" in lines
    assert "Utilisation" in ended.out
    document = cli("what-if", small, "--set", "tasks.plan.wcet=30ms", "--json").document
    assert [row["name"] for row in document["tasks"]] == ["plan", "detect"]
    better = cli("what-if", small, "--remove", "task:plan")
    assert "plan" in better.out and "removed" in better.out


def test_a_wrong_call_is_told_at_once(cli: Cli, small: str) -> None:
    assert "say what is to change" in cli("what-if", small, code=2).err
    ended = cli("what-if", small, "--set", "tasks.detekt.wcet=1ms", "--remove", "camera:fromt", code=2)
    assert "did you mean 'detect'?" in ended.err and "did you mean 'front'?" in ended.err
    assert "2 problems found" in ended.err
    wrong = cli("what-if", small, "--set", "tasks.detect.deadline=5", "--json", code=2)
    assert wrong.document["problems"][0].startswith(
        "--set tasks.detect.deadline=5  tasks.detect.deadline: '5' has no unit"
    )


def test_one_more_camera_on_the_example(cli: Cli) -> None:
    document = cli("what-if", QUAD_ORIN, "--add-camera", "rear_2:like=rear,device=orin-4", "--json", code=None).document
    tasks = by_name(document["tasks"])
    assert {name for name, row in tasks.items() if row["change"] == "added"} == {
        "pre_rear_2", "infer_rear_2", "post_rear_2"
    }  # fmt: skip
    assert tasks["infer_rear_2"]["new"]["pe"] == "orin-4.gpu"
    assert document["tasks"][0]["new"]["pe"] == "orin-4.gpu", "the GPU that got more work is hit first"
    loads = by_name(document["processors"])
    assert loads["orin-4.gpu.0"]["difference"] == pytest.approx(7.6 * 30 / 1000)
