"""Messages over emulated links in a paced run: order, delay, what the trace tells, and links that are lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus

from .conftest import ROOT, Running, require

SYSTEM = """
rt_sched: 1
name: linked
policy: dm
devices:
  ecu-a: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
  ecu-b: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}
deploy: {ecu-a.cpu: 0, ecu-b.cpu: 1}
links: {ethernet: {bandwidth: 1MB/s, latency: 3ms, between: [ecu-a, ecu-b]}}
sensors: {imu: {kind: imu, rate: 200Hz, jitter: 1ms, attached_to: ecu-a, topic: /imu/*}}
tasks:
  large:
    {stage: "burning_stages:Burn", runs_on: ecu-a.cpu, activation: {rate: 20Hz, offset: 12ms},
     inputs: {imu: {from: imu}},
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 20ms, output_size: 10kB, parameters: {ms: 1}}
  small:
    {stage: "burning_stages:Burn", runs_on: ecu-a.cpu, inputs: {imu: large},
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 20ms, output_size: 1kB, parameters: {ms: 1}}
  far_large:
    {stage: "burning_stages:Burn", runs_on: ecu-b.cpu, inputs: {imu: {from: large, link: ethernet}},
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 30ms, parameters: {ms: 1}}
  far_small:
    {stage: "burning_stages:Burn", runs_on: ecu-b.cpu, inputs: {imu: {from: small, link: ethernet}},
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 30ms, parameters: {ms: 1}}
  dated:
    {stage: "burning_stages:Burn", runs_on: ecu-a.cpu, activation: {rate: 20Hz, offset: 37ms},
     inputs: {imu: {from: imu}}, communication: let,
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 10ms, output_size: 1kB, parameters: {ms: 1}}
  far_dated:
    {stage: "burning_stages:Burn", runs_on: ecu-b.cpu, inputs: {imu: {from: dated, link: ethernet}},
     execution: {bcet: 0.1ms, wcet: 5ms}, deadline: 30ms, parameters: {ms: 1}}
chains:
  far: {path: [large, far_large], max_latency: 100ms}
"""
#: On the link, and then on the way.
LARGE_NS, SMALL_NS, LATENCY_NS = 10_000_000, 1_000_000, 3_000_000


def columns(folder: Path, table: str) -> dict[str, np.ndarray]:
    """Of a table of the trace in a run folder."""
    with np.load(folder / "trace.npz") as file:
        return {key.partition(".")[2]: file[key] for key in file.files if key.startswith(f"{table}.")}


def _sent(ended: Any, target: str) -> dict[str, np.ndarray]:
    """The transfers to a task."""
    edge = {"far_large": 2, "far_small": 3, "far_dated": 5}[target]
    table = columns(ended.folder, "transfers")
    return {name: column[table["edge"] == edge] for name, column in table.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Path:
    require(tiers, "fifo")
    where = tmp_path_factory.mktemp("linked")
    (where / "linked.yaml").write_text(SYSTEM)
    return where


@pytest.fixture(scope="module")
def ended(folder: Path) -> Any:
    return Running(folder / "run", "--tier", "fifo", "--duration", "2s", system=folder / "linked.yaml").end()


def test_nothing_arrives_before_the_link_has_sent_it(ended: Any) -> None:
    assert ended.code in (0, 1, 3), ended.errors
    for target, transfer_ns in (("far_large", LARGE_NS), ("far_small", SMALL_NS), ("far_dated", SMALL_NS)):
        sent = _sent(ended, target)
        there = sent["delivered_ns"] >= 0
        assert there.sum() > 30
        assert (sent["end_ns"] - sent["start_ns"] == transfer_ns).all() and (
            sent["start_ns"] >= sent["queued_ns"]
        ).all()
        late_ns = (sent["delivered_ns"] - sent["end_ns"])[there] - LATENCY_NS
        assert (late_ns >= 0).all() and np.median(late_ns) < 5e6
        jobs = ended.jobs(target)
        assert np.isin(jobs["arrival_ns"], sent["delivered_ns"]).all()
        assert (jobs["start_ns"] >= jobs["arrival_ns"])[jobs["status"] == JobStatus.COMPLETED].all()


def test_the_link_sends_one_message_after_the_other(ended: Any) -> None:
    """`small` publishes while what `large` has published is on the link."""
    table = columns(ended.folder, "transfers")
    assert (np.diff(table["queued_ns"]) >= 0).all()
    assert (table["start_ns"][1:] >= table["end_ns"][:-1]).all()
    small = _sent(ended, "far_small")
    assert np.median(small["start_ns"] - small["queued_ns"]) > 5e6


def test_what_is_dated_goes_over_the_link_when_it_counts(ended: Any) -> None:
    sent, dated = _sent(ended, "far_dated"), ended.jobs("dated")
    assert np.isin(sent["queued_ns"], dated["deadline_ns"]).all() and len(sent["queued_ns"])


def test_every_job_reads_what_it_reads_in_lockstep(folder: Path, ended: Any) -> None:
    lockstep = Running(folder / "lockstep", system=folder / "linked.yaml", paced=False).end()
    names = [row["name"] for row in lockstep.summary["tasks"]]
    for source, target in (("large", "far_large"), ("small", "far_small"), ("dated", "far_dated")):
        read, published = [], []
        for one in (ended.folder, lockstep.folder):
            jobs = columns(one, "jobs")
            done = jobs["status"] == JobStatus.COMPLETED
            mine = done & (jobs["task"] == names.index(target))
            read.append(jobs["number"][jobs["inputs"][mine, 0]].tolist())
            sent = done & (jobs["task"] == names.index(source))
            if source == "dated":  # what it makes after its deadline goes nowhere
                sent &= jobs["finish_ns"] <= jobs["deadline_ns"]
            published.append(jobs["number"][sent].tolist())
        assert len(read[0]) > 10 and read[0] == published[0][: len(read[0])]
        assert published[0] != published[1][: len(published[0])] or read[0] == read[1][: len(read[0])]


def test_the_result_calls_it_emulated(ended: Any) -> None:
    (row,) = ended.summary["links"]
    assert row["link"] == "ethernet" and row["kind"] == "emulated"
    assert row["messages"] >= row["delivered"] > 90 and row["late_max_ns"] >= row["late_p50_ns"] > 0
    assert any("emulated" in note for note in ended.summary["notes"])
    assert any(one["assumption"] == "links" for one in ended.summary["monitors"])


def test_bounds_allow_for_the_process_of_the_link(ended: Any) -> None:
    (chain,) = ended.summary["chains"]
    modelled_ns = LARGE_NS + LATENCY_NS
    assert chain["latency_bound_ns"] > modelled_ns + ended.summary["links"][0]["allowed_ns"]


@pytest.fixture(scope="module")
def reserved(folder: Path, tiers: dict[str, TierReport]) -> Any:
    require(tiers, "deadline")
    return Running(folder / "reserved", "--tier", "deadline", "--duration", "2s", system=folder / "linked.yaml").end()


def test_a_reservation_carries_every_message(reserved: Any) -> None:
    assert reserved.code in (0, 1, 3), reserved.errors
    for target in ("far_large", "far_small", "far_dated"):
        sent = _sent(reserved, target)
        there = sent["delivered_ns"] >= 0
        assert there.sum() > 30
        late_ns = (sent["delivered_ns"] - sent["end_ns"])[there] - LATENCY_NS
        assert (late_ns >= 0).all() and np.median(late_ns) < 5e6
        assert np.isin(reserved.jobs(target)["arrival_ns"], sent["delivered_ns"]).all()


def test_bounds_allow_for_a_period_of_that_reservation(reserved: Any) -> None:
    (chain,), (link,) = reserved.summary["chains"], reserved.summary["links"]
    assert reserved.summary["supply_loss"] is None or not reserved.summary["supply_loss"]["counted"]
    assert chain["latency_bound_ns"] > LARGE_NS + LATENCY_NS + link["allowed_ns"]


def test_a_core_without_room_for_the_link_is_named(folder: Path, tiers: dict[str, TierReport]) -> None:
    require(tiers, "deadline")
    full = SYSTEM.replace("wcet: 5ms", "wcet: 13ms").replace("deadline: 10ms", "deadline: 20ms")
    (folder / "full.yaml").write_text(full)
    tried = Running(folder / "none", "--tier", "deadline", "--duration", "1s", system=folder / "full.yaml").end()
    assert tried.code == 2 and "for the link ethernet" in tried.errors and "admits" in tried.errors


def test_the_example_runs_with_reservations(folder: Path, tiers: dict[str, TierReport]) -> None:
    """Its cores are too full for bounds, as ordinary processes have less than the kernel would lend them."""
    require(tiers, "deadline")
    linked = ROOT / "examples" / "host_linked.yaml"
    ended = Running(folder / "example", "--tier", "deadline", "--duration", "2s", system=linked).end()
    assert ended.code in (0, 1, 3), ended.errors
    (row,) = ended.summary["links"]
    assert row["delivered"] > 25 and row["late_p50_ns"] < row["allowed_ns"]
    assert {worker["class"] for worker in ended.summary["workers"]} == {"SCHED_DEADLINE"}
