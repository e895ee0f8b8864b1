"""Systems simulated in bulk from the command line: the document, its exit codes, traces, and what is refused."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from cli_runs import QUAD_ORIN, Cli, Ended, by_name
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

LATE = """
rt_sched: 1
name: late
devices: {ecu: {processing_elements: {cpu: {kind: cpu, busy_power: 3W, idle_power: 1W}, gpu: {kind: gpu}}}}
sensors:
  front: {kind: camera, rate: 20Hz, latency: 2ms, jitter: 1ms, attached_to: ecu, topic: /front}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: front}, execution: {bcet: 5ms, wcet: 20ms}, deadline: DEADLINE}
  decide: {runs_on: ecu.cpu, inputs: {boxes: detect}, execution: {wcet: 2ms}, deadline: 10ms}
  log: {runs_on: ecu.gpu, activation: {rate: 10Hz}, execution: {wcet: 10ms}, miss_limit: 1 of 5}
chains:
  see: {path: [front, detect, decide], max_latency: 60ms}
"""


def write(folder: Path, deadline: str = "30ms") -> Path:
    path = folder / "system.yaml"
    path.write_text(LATE.replace("DEADLINE", deadline))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulate")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def ended(folder: Path) -> Ended:
    """Three runs of two seconds with a lost camera, on two threads, and a plain trace of the first."""
    options = ("--duration", "2s", "--runs", 3, "--seed", 5, "--fault", "camera:front@1.5s", "--threads", 2)
    return Cli(folder)("simulate", "system.yaml", *options, "--trace", "jobs.csv", "--json")


def test_the_document_has_the_keys_of_the_contract(ended: Ended) -> None:
    document = ended.document
    assert document["schema"] == "rt-sched/simulation/1"
    assert (document["status"], document["clock"], document["tier"]) == ("ok", "lockstep", "modelled")
    keys = {
        "tasks": ("name", "jobs", "misses", "drops", "overruns", "response_max_ns", "response_p99_ns", "deadline_ns",
                  "bound_ns"),
        "chains": ("name", "reaction_max_ns", "data_age_max_ns", "reaction_bound_ns", "data_age_bound_ns"),
        "topics": ("name", "recorded", "delivered", "dropped", "undecodable"),
        "pes": ("name", "utilisation"),
        "faults": ("fault", "detected_after_ns", "recovered_after_ns"),
    }  # fmt: skip
    for part, names in keys.items():
        assert document[part], part
        for row in document[part]:
            assert set(names) <= row.keys(), part
    assert {"state_time_ns", "decisions"} <= document["arbiter"].keys()


def test_counts_are_those_of_all_runs(ended: Ended) -> None:
    document = ended.document
    tasks, (topic,) = by_name(document["tasks"]), document["topics"]
    assert tasks["log"]["jobs"] == 3 * 20
    assert (topic["delivered"], topic["lost_to_faults"]) == (3 * 30, 3 * 10)
    assert tasks["detect"]["jobs"] == tasks["decide"]["jobs"] == 3 * 30
    assert document["jobs"] == 3 * 80
    for task in tasks.values():
        assert task["response_min_ns"] <= task["response_p50_ns"] <= task["response_max_ns"] <= task["bound_ns"]
        assert task["response_over_bound"] == 0
        assert task["response_max_at"]["seed"] == 5 + task["response_max_at"]["run"]


def test_energy_follows_from_what_is_busy(ended: Ended) -> None:
    elements = by_name(ended.document["pes"])
    cpu = elements["ecu.cpu"]
    assert cpu["energy_per_run_mj"] == pytest.approx(2 * 1000 + 2 * 2000 * cpu["utilisation"])
    assert elements["ecu.gpu"]["energy_per_run_mj"] is None
    assert elements["ecu.gpu"]["utilisation"] == pytest.approx(0.1)


def test_the_same_seed_has_the_same_numbers_on_one_thread(folder: Path, ended: Ended) -> None:
    options = ("--duration", "2s", "--runs", 3, "--seed", 5, "--fault", "camera:front@1.5s", "--threads", 1)
    again = Cli(folder)("simulate", "system.yaml", *options, "--trace", "jobs.sag.csv", "--json").document
    assert again | {"wall_s": 0} == ended.document | {"wall_s": 0}


def test_the_plain_trace_has_every_job_of_the_first_run(folder: Path, ended: Ended) -> None:
    with (folder / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == ended.document["jobs"] // 3
    assert {row["status"] for row in rows} == {"completed"}
    detect = [row for row in rows if row["task"] == "detect"]
    assert sorted(int(row["number"]) for row in detect) == list(range(30))
    assert all(5_000_000 <= int(row["demand_ns"]) <= 20_000_000 for row in detect)


def test_late_jobs_end_with_1_and_are_seen_by_a_viewer(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, deadline="19ms")
    options = ("--execution", "adversarial", "--duration", "1s", "--trace", "run.pftrace")
    ended = cli("simulate", "system.yaml", *options, code=1)
    assert "deadline_miss" in ended.out
    names = [
        (entry.name, packet.timestamp)
        for packet in proto.Trace.FromString((tmp_path / "run.pftrace").read_bytes()).packet
        for entry in packet.interned_data.event_names
    ]
    assert "deadline miss: detect" in {name for name, _ in names}
    assert not list(tmp_path.glob("*.part"))


def test_every_mistake_in_the_options_is_told_at_once(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    options = ("--duration", "0s", "--execution", "worst", "--trace", "run.txt", "--policy", "lifo", "--runs", "3")
    options += ("--seed", str(2**63 - 2))
    ended = cli("simulate", "system.yaml", *options, "--json", code=2)
    assert ended.document["message"] == "5 problems found"
    valid = ("valid: profile, wcet, bcet, uniform, adversarial", "valid: rms, dm, opa, edf")
    for words in ("--duration", *valid, "must end in one of .sag.csv", f"at most {2**63 - 3}"):
        assert words in ended.err


def test_takeovers_of_a_plan_are_carried_out(cli: Cli, tmp_path: Path) -> None:
    cli("plan", QUAD_ORIN, "--heuristics", "-o", "plan.yaml", code=None)
    options = ("--plan", "plan.yaml", "--duration", "1s", "--runs", 2, "--fault", "device:orin-2@0.4s..0.7s")
    document = cli("simulate", QUAD_ORIN, *options, "--json").document
    (fault,) = document["faults"]
    assert 0 < fault["detected_after_ns"] < fault["switched_after_ns"] < 100_000_000
    tasks = by_name(document["tasks"])
    assert tasks["infer_front_tele"]["jobs"] > 2 * 27
    assert document["checked"]["trace_check"]["violations"] == []
    shown = cli("simulate", QUAD_ORIN, *options).out
    assert re.search(
        r"fault device:orin-2 at 400\.000 ms: noticed within [\d.]+ ms, taken over within [\d.]+ ms", shown
    )
    assert "bounds cover the runs until" in shown


def test_a_fault_after_the_end_is_refused(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path)
    ended = cli("simulate", "system.yaml", "--duration", "2s", "--fault", "camera:front@3s", code=2)
    assert "camera:front@3s" in ended.err
    assert "the run ends at 2s" in ended.err
