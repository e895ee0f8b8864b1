"""Tasks with LET in a paced run: they read at their arrival and publish at their deadline, however late the host is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import EventKind, JobStatus

from .conftest import Running, require

SYSTEM = """
rt_sched: 1
name: let
policy: dm
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors: {imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}}
tasks:
  sense:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 20Hz}, inputs: {imu: {from: imu}},
     communication: let, execution: {wcet: 5ms}, deadline: 30ms, parameters: {ms: 2, long_at: 12}}
  steer:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 20Hz, offset: 30ms},
     inputs: {imu: {from: sense, required: false}},
     communication: let, execution: {wcet: 5ms}, deadline: 50ms, parameters: {ms: 2}}
  look:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 20Hz, offset: 20ms},
     inputs: {imu: {from: sense, required: false}}, execution: {wcet: 5ms}, deadline: 20ms, parameters: {ms: 1}}
  follow:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, inputs: {imu: sense}, execution: {wcet: 5ms}, deadline: 40ms,
     parameters: {ms: 1}}
chains:
  steering: {path: [sense, steer], max_data_age: 300ms}
"""
#: In which `sense` takes five times as long, and still ends in time; job 20 of the other system is late.
LATE = SYSTEM.replace(
    "deadline: 30ms, parameters: {ms: 2, long_at: 12}", "deadline: 8ms, parameters: {ms: 3, long_at: 20}"
)


def _columns(folder: Path) -> dict[str, Any]:
    with np.load(folder / "trace.npz") as file:
        return {key: file[key] for key in file.files}


def _read(folder: Path, names: list[str], task: str) -> list[tuple[int, int]]:
    """Which job of its source each completed job of a task read: both by their numbers, -1 for none."""
    columns = _columns(folder)
    mine = (columns["jobs.task"] == names.index(task)) & (columns["jobs.status"] == JobStatus.COMPLETED)
    sources = columns["jobs.inputs"][mine, 0]
    numbers = np.where(sources >= 0, columns["jobs.number"][sources], -1)
    return list(zip(columns["jobs.number"][mine].tolist(), numbers.tolist(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Path:
    require(tiers, "fifo")
    where = tmp_path_factory.mktemp("let")
    for name, text in (("let", SYSTEM), ("late", LATE)):
        (where / f"{name}.yaml").write_text(text)
    return where


def _run(folder: Path, name: str, tier: str = "fifo") -> Any:
    where = folder / f"{name}-{tier}"
    return Running(where, "--tier", tier, "--duration", "2s", system=folder / f"{name}.yaml").end()


@pytest.fixture(scope="module", params=["fifo", "deadline"])
def ended(folder: Path, tiers: dict[str, TierReport], request: pytest.FixtureRequest) -> Any:
    require(tiers, request.param)
    return _run(folder, "let", request.param)


def test_every_job_reads_what_it_reads_in_lockstep(folder: Path, ended: Any) -> None:
    names = [row["name"] for row in ended.summary["tasks"]]
    lockstep = Running(folder / f"lockstep-{ended.folder.name}", system=folder / "let.yaml", paced=False).end()
    assert lockstep.code in (0, 1, 3), lockstep.errors
    sense = ended.jobs("sense")
    in_time = np.isin(sense["status"], (JobStatus.COMPLETED, JobStatus.SKIPPED))
    late = sense["number"][~in_time | (sense["finish_ns"] > sense["deadline_ns"])]
    for task in ("steer", "look", "follow"):
        found = dict(_read(ended.folder, names, task))
        modelled = dict(_read(lockstep.folder, names, task))
        sure = [number for number in found.keys() & modelled.keys() if modelled[number] < late.min(initial=1000)]
        assert sure and all(modelled[number] == found[number] for number in sure), task


def test_nothing_is_read_before_its_instant(ended: Any) -> None:
    names = [row["name"] for row in ended.summary["tasks"]]
    sense = ended.jobs("sense")
    counts_ns = dict(zip(sense["number"].tolist(), sense["deadline_ns"].tolist(), strict=True))
    finished = sense["status"] == JobStatus.COMPLETED
    assert np.median((sense["deadline_ns"] - sense["finish_ns"])[finished]) > 5e6, "or there was nothing to wait for"
    for task in ("steer", "look", "follow"):
        start_ns = dict(zip(*(ended.jobs(task)[name].tolist() for name in ("number", "start_ns")), strict=True))
        for number, source in _read(ended.folder, names, task):
            assert source < 0 or start_ns[number] >= counts_ns[source]


def test_the_age_of_what_a_job_reads_is_the_same_each_time(ended: Any) -> None:
    """From arrival to arrival; `look` would read what is 20 ms old if outputs counted when they are made."""
    names = [row["name"] for row in ended.summary["tasks"]]
    made_ns = dict(zip(*(ended.jobs("sense")[name].tolist() for name in ("number", "arrival_ns")), strict=True))
    for task, age_ns in (("steer", 30e6), ("look", 70e6)):
        arrival_ns = dict(zip(*(ended.jobs(task)[name].tolist() for name in ("number", "arrival_ns")), strict=True))
        ages_ns = [arrival_ns[n] - made_ns[source] for n, source in _read(ended.folder, names, task) if source >= 0]
        assert np.median(ages_ns) == age_ns


def test_a_job_that_messages_activate_arrives_at_their_instant(ended: Any) -> None:
    follow, sense = ended.jobs("follow"), ended.jobs("sense")
    assert np.isin(follow["arrival_ns"], sense["deadline_ns"]).all()
    assert np.median(follow["start_ns"] - follow["arrival_ns"]) < 20e6


def test_the_trace_tells_what_became_of_every_output(ended: Any) -> None:
    columns = _columns(ended.folder)
    told = columns["events.kind"] == EventKind.LET_PUBLISH
    jobs = columns["events.job"][told]
    assert len(jobs) > 50
    assert (columns["events.time_ns"][told] == columns["jobs.deadline_ns"][jobs]).all()


def test_what_is_late_is_never_published(folder: Path) -> None:
    late = _run(folder, "late")
    names = [row["name"] for row in late.summary["tasks"]]
    columns, sense = _columns(late.folder), late.jobs("sense")
    unfinished = columns["events.job"][columns["events.kind"] == EventKind.LET_UNFINISHED]
    assert 20 in columns["jobs.number"][unfinished][columns["jobs.task"][unfinished] == names.index("sense")]
    assert sense["finish_ns"][20] > sense["deadline_ns"][20]
    missed = set(sense["number"][sense["finish_ns"] > sense["deadline_ns"]].tolist())
    for task in ("steer", "look", "follow"):
        assert not missed & {source for _, source in _read(late.folder, names, task)}


def test_bounds_of_what_they_activate_hold_in_either_tier(ended: Any) -> None:
    (row,) = [one for one in ended.summary["tasks"] if one["name"] == "follow"]
    assert row["bound_ns"] is not None and row["response_p99_ns"] > 0
    jobs = ended.jobs("follow")
    response_ns = (jobs["finish_ns"] - jobs["arrival_ns"])[jobs["status"] == JobStatus.COMPLETED]
    assert np.median(response_ns) < row["bound_ns"] <= row["deadline_ns"]
