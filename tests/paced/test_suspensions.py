"""Jobs that wait of their own accord in a paced run: for how long, how often, and what others do meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import EventKind, JobStatus

from .conftest import run_of

SYSTEM = """
rt_sched: 1
name: waiting
policy: dm
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors: {imu: {kind: imu, rate: 20Hz, attached_to: ecu, topic: /imu/*}}
tasks:
  urgent:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {period: 20ms}, execution: {wcet: 6ms}, deadline: 15ms,
     parameters: {ms: 4}}
  waits:
    {stage: "burning_stages:Waiter", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 18ms}, execution: {wcet: 12ms},
     deadline: 90ms, suspensions: [{after: 3ms, min: 1ms, max: 25ms}],
     parameters: {ms: 3, wait_ms: 15, longer_at: 8, twice_at: 11}}
  behind:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 18ms}, execution: {wcet: 10ms},
     deadline: 95ms, inputs: {imu: {from: imu, required: false, edge: latest}}, parameters: {ms: 5}}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Any:
    return run_of(tmp_path_factory.mktemp("waiting"), SYSTEM, tiers)


def _row(ended: Any) -> dict[str, Any]:
    (row,) = ended.summary["suspensions"]
    return row  # type: ignore[no-any-return]


def _events(folder: Path, kind: EventKind) -> dict[str, np.ndarray]:
    with np.load(folder / "trace.npz") as file:
        found = {key.partition(".")[2]: file[key] for key in file.files if key.startswith("events.")}
    told = found["kind"] == kind
    return {name: column[told] for name, column in found.items()}


def test_what_others_take_meanwhile_is_not_waited(ended: Any) -> None:
    """`urgent` takes a fifth of the core, from jobs that wait as from others."""
    row, jobs = _row(ended), ended.jobs("waits")
    assert row["declared_ns"] == 25_000_000 and row["declared_waits"] == 1 and row["jobs"] > 15
    assert 15_000_000 <= row["p50_ns"] < 20_000_000
    others_ns = (jobs["finish_ns"] - jobs["start_ns"] - jobs["executed_ns"])[jobs["status"] == JobStatus.COMPLETED]
    assert np.median(others_ns) > row["p50_ns"] + 3_000_000, "or it was never interrupted"


def test_a_job_that_waits_longer_breaks_the_assumption(ended: Any) -> None:
    row = _row(ended)
    (found,) = [one for one in ended.summary["monitors"] if one["assumption"] == "suspension"]
    assert row["longer"] >= 1 and row["max_ns"] >= 45_000_000 and not found["holds"]
    assert {"waits"} == {one["who"] for one in found["first"]} and 8 in {one["number"] for one in found["first"]}
    assert ended.summary["status"] in ("assumption_violated", "deadline_miss")


def test_a_job_that_waits_more_often_breaks_another(ended: Any) -> None:
    (found,) = [one for one in ended.summary["monitors"] if one["assumption"] == "waits"]
    assert not found["holds"] and found["checked"] == _row(ended)["jobs"] and _row(ended)["waits_max"] >= 2
    (second,) = [one for one in found["first"] if one["number"] == 11]
    assert second["evidence"] == "2 waits, assumed was at most 1 wait"


def test_bounds_count_the_wait(ended: Any) -> None:
    (task,) = [one for one in ended.summary["tasks"] if one["name"] == "waits"]
    assert task["bound_ns"] > 12_000_000 + 25_000_000
    assert any(term["kind"] == "suspension" and term["value_ns"] == 25_000_000 for term in task["bound_terms"])


def test_others_run_while_it_waits(ended: Any) -> None:
    waits, behind = ended.jobs("waits"), ended.jobs("behind")
    done = (waits["status"] == JobStatus.COMPLETED)[: len(behind["number"])]
    inside = (behind["finish_ns"][: len(done)] < waits["finish_ns"][: len(behind["number"])])[done]
    assert inside.mean() > 0.8
    begins, ends = _events(ended.folder, EventKind.SUSPEND), _events(ended.folder, EventKind.WAKE)
    assert (begins["time_ns"] + begins["value"] == np.sort(ends["time_ns"])).all() and len(begins["time_ns"]) > 15
    with np.load(ended.folder / "trace.npz") as file:
        slices = {key.partition(".")[2]: file[key] for key in file.files if key.startswith("slices.")}
    for job, begin_ns, length_ns in zip(begins["job"], begins["time_ns"], begins["value"], strict=True):
        mine = slices["job"] == job
        over_ns = np.minimum(slices["end_ns"], begin_ns + length_ns) - np.maximum(slices["start_ns"], begin_ns)
        assert not (over_ns[mine] > 0).any()
