"""Measured execution times: what a profile file says is what every command uses, and what is wrong in one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.profile.call import profile_request
from rt_sched.app.profile.job import profile
from rt_sched.app.profile.text import profile_text, write_profile
from rt_sched.app.progress import Quiet
from rt_sched.config import load_system
from rt_sched.errors import ConfigError, DeploymentError
from rt_sched.units import NS_PER_MS

ROOT = Path(__file__).resolve().parents[2]
LOG = str(ROOT / "replay_data" / "hazard_short.mcap")
SYSTEM = """
rt_sched: 1
name: small
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 2}}}}
sensors: {lidar_top: {kind: lidar, rate: 10Hz, attached_to: ecu, topic: /lidar/top/*}}
tasks:
  pre: {stage: "pipelines.lidar:Preprocess", runs_on: ecu.cpu, inputs: {points: lidar_top},
        execution: {wcet: 40ms}, parameters: {sensor: lidar_top}}
  cluster: {stage: "pipelines.lidar:Cluster", runs_on: ecu.cpu, inputs: {obstacles: pre}, execution: {wcet: 40ms}}
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("profile") / "small.yaml"
    path.write_text(SYSTEM)
    request = profile_request(
        str(path),
        LOG,
        duration="450ms",
        jobs=3,
        margin="1.5",
        contention=True,
        salvage=False,
        command="rt-sched profile",
    )
    return profile(request, Quiet())


def test_every_stage_is_measured(document: dict[str, Any]) -> None:
    assert [row["name"] for row in document["tasks"]] == ["pre", "cluster"]
    for row in document["tasks"]:
        assert row["jobs"] == 3
        for figures in (row["alone"], row["contended"]):
            if figures is not None:
                assert 0 < figures["min_ns"] <= figures["p50_ns"] <= figures["p99_ns"] <= figures["max_ns"]


def test_the_budget_follows_from_the_rule(document: dict[str, Any]) -> None:
    for row in document["tasks"]:
        seen = [figures for figures in (row["alone"], row["contended"]) if figures is not None]
        highest_ns, lowest_ns = max(one["max_ns"] for one in seen), min(one["min_ns"] for one in seen)
        tenth_ns = NS_PER_MS // 10
        assert row["wcet_ns"] % tenth_ns == 0
        assert 0 <= row["wcet_ns"] - highest_ns * 3 / 2 < tenth_ns
        assert 0 <= lowest_ns / 2 - row["bcet_ns"] < tenth_ns / 10
        assert sum(row["histogram"]["counts"]) == row["jobs"] * len(seen)
    assert "1.5" in document["rule"]


def test_a_system_that_names_the_file_has_its_times(document: dict[str, Any], tmp_path: Path) -> None:
    write_profile(document, tmp_path / "host.yaml")
    (tmp_path / "small.yaml").write_text(SYSTEM + "profile: host.yaml\n")
    system = load_system(tmp_path / "small.yaml", stages=ImportedStages())
    rows = {row["name"]: row for row in document["tasks"]}
    for task in system.tasks:
        times, row = task.execution, rows[task.name]
        assert (times.bcet_ns, times.wcet_ns) == (row["bcet_ns"], row["wcet_ns"])
        assert times.profile_ns[0] == times.bcet_ns and times.profile_ns[-1] <= times.wcet_ns
        assert times.origin == f"measured on {document['measured_on']}"


def test_a_file_that_cannot_be_written_leaves_nothing(document: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DeploymentError):
        write_profile(document, tmp_path / "no" / "host.yaml")
    assert list(tmp_path.iterdir()) == []


GOOD = {"rt_sched_profile": 1, "system": "small", "measured_on": "here"}
TIMES = {"bcet": "1ms", "wcet": "4ms", "profile": ["1ms", "2ms", "3ms"]}


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ({**GOOD, "tasks": {"detect": TIMES}}, "unknown task 'detect'"),
        ({**GOOD, "tasks": {"pre": {**TIMES, "wcet": "2ms"}}}, "ascend"),
        ({**GOOD, "tasks": {"pre": {**TIMES, "profile": ["3ms", "2ms"]}}}, "ascend"),
        ({**GOOD, "tasks": {"pre": {**TIMES, "profile": ["1ms"]}}}, "profile"),
        ({**GOOD, "tasks": {"pre": {**TIMES, "bcet": "-1ms"}}}, "bcet"),
        ({**GOOD, "tasks": {"pre": {**TIMES, "bcet": "1"}}}, "bcet"),
        ({**GOOD, "tasks": {"pre": {"wcet": "1ms"}}}, "needs the key 'bcet'"),
        ({**GOOD, "rt_sched_profile": 7, "tasks": {"pre": TIMES}}, "version 1"),
        ({"tasks": {"pre": TIMES}}, "needs the key 'rt_sched_profile'"),
        ([1, 2], "a profile file"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_at_its_place(inside: object, words: str, tmp_path: Path) -> None:
    (tmp_path / "host.yaml").write_text(json.dumps(inside))
    (tmp_path / "small.yaml").write_text(SYSTEM + "profile: host.yaml\n")
    with pytest.raises(ConfigError) as caught:
        load_system(tmp_path / "small.yaml", stages=ImportedStages())
    assert any(words in str(problem) and problem.file.endswith("host.yaml") for problem in caught.value.problems)


def test_a_file_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SYSTEM + "profile: host.yaml\n")
    with pytest.raises(ConfigError) as caught:
        load_system(tmp_path / "small.yaml", stages=ImportedStages())
    (problem,) = caught.value.problems
    assert problem.file.endswith("small.yaml") and problem.line > 1 and "no such file" in problem.message


@pytest.mark.parametrize(("words", "option"), [({"duration": "3"}, "--duration"), ({"margin": "0.5"}, "--margin")])
def test_a_wrong_call_is_told(words: dict[str, str], option: str) -> None:
    given = {"duration": "1s", "margin": "1", **words}
    with pytest.raises(ConfigError, match=option):
        profile_request("x", LOG, jobs=1, contention=False, salvage=False, command="", **given)


def test_the_text_can_be_read_back_whole(document: dict[str, Any]) -> None:
    text = profile_text(document)
    assert text.count("\n  pre:\n") == 1 and "x-alone" in text and document["log_sha256"] in text
