"""Sensors watched while a paced run goes on: faults of every manner, also in lockstep, and the watch itself struck."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from rt_sched.faults.kinds import BY_NAME
from rt_sched.runtime.host.tiers import TierReport
from rt_sched.units import NS_PER_MS

from .conftest import ROOT, SYSTEM, Ended, Running, lacking
from .test_faults import Faulted

FED = "view_age_limit_ms: {front_wide: 500}, health_age_limit_ms: 200"
SCRIPT = ROOT / "examples" / "faults" / "watched_sensors.yaml"
FOUND_BY = {"black": "black", "cut": "payload", "ahead": "stamp_age", "frozen": "frozen", "gone": "silence"}
#: Far enough apart for the arbiter to be as before in between.
APART = """
rt_sched_faults: 1
faults:
  black: {kind: camera.black, target: front_wide, at: 0.8s, for: 0.2s}
  cut: {kind: payload.corrupt, target: lidar_top, how: cut, at: 1.9s, for: 0.15s}
  frozen: {kind: camera.freeze, target: front_wide, at: 3.0s, for: 0.2s}
"""
UNWATCHED = """
rt_sched_faults: 1
faults:
  still: {kind: process.stall, target: rt-health, at: 1s, stall: 400ms}
  gone: {kind: process.kill, target: rt-health, at: 2.4s}
"""
#: Distances of two messages, at least.
GAP_NS = {"front_wide": 30 * NS_PER_MS, "lidar_top": 95 * NS_PER_MS}


def fed_system(folder: Path) -> Path:
    """The shipped example, with an arbiter that asks for the reports of monitors."""
    text = SYSTEM.read_text(encoding="utf-8")
    fed = text.replace("view_age_limit_ms: {front_wide: 500}", FED)
    assert fed != text
    (folder / "system.yaml").write_text(fed, encoding="utf-8")
    return folder / "system.yaml"


@pytest.fixture(scope="module")
def tier(tiers: dict[str, TierReport]) -> str:
    return "fifo" if tiers["fifo"].available else "user"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, tier: str) -> dict[str, Any]:
    """The document of a run with the faults; its rows by name are under `rows`, all of them found."""
    folder = tmp_path_factory.mktemp("watched")
    fed_system(folder)
    (folder / "script.yaml").write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    ended = Faulted(folder, "--tier", tier).end()
    return {**ended.summary, "rows": _found(ended)}


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory, tier: str) -> dict[str, Any]:
    """The document of a run whose sensors are well, and whose watch stands still and is killed later."""
    folder = tmp_path_factory.mktemp("unwatched")
    fed_system(folder)
    (folder / "script.yaml").write_text(UNWATCHED, encoding="utf-8")
    ended = Faulted(folder, "--tier", tier).end()
    rows = _found(ended)
    summary = json.loads((ended.folder / "summary.json").read_text(encoding="utf-8"))
    return {**ended.summary, "summary": summary, "rows": rows, "folder": ended.folder}


def _found(ended: Ended) -> dict[str, dict[str, Any]]:
    """The rows of the faults, by name."""
    assert ended.code in (0, 1, 3), ended.errors
    rows = {row["name"]: row for row in ended.summary["faults"]}
    missed = {name: row for name, row in rows.items() if row["detected_after_ns"] is None}
    assert not missed, lacking(ended.folder, missed=missed, findings=ended.summary["health"]["findings"])
    return rows


def test_monitors_find_every_fault_while_the_run_goes_on(told: dict[str, Any]) -> None:
    assert told["rows"].keys() == FOUND_BY.keys()
    found = {(row["sensor"], row["monitor"]) for row in told["health"]["findings"]}
    for name, row in told["rows"].items():
        assert row["in_run"] is True, row
        assert row["detected_by"] in BY_NAME[row["kind"]].found_paced_by
        assert (row["target"], FOUND_BY[name]) in found
        assert row["worst_case_ns"] > told["health"]["delay_ns"]


def test_what_is_found_is_known_soon_after_the_message_came(told: dict[str, Any]) -> None:
    health = told["health"]
    after_ns = [row["time_ns"] - row["message_ns"] for row in health["findings"]]
    assert min(after_ns) > 0
    assert median(after_ns) < 10 * health["period_ns"]
    assert health["samples"] > 100
    assert health["cpu_ns"] < health["cycles"] * health["cycle_wcet_ns"]


def test_trust_goes_with_a_fault_and_is_back_after_good_samples(told: dict[str, Any]) -> None:
    trust, good = told["health"]["trust"], told["health"]["good_samples"]
    for name, row in told["rows"].items():
        known_ns = row["begin_ns"] + row["detected_after_ns"]
        mine = [one for one in trust if one["sensor"] == row["target"]]
        before = [one for one in mine if one["time_ns"] <= known_ns + NS_PER_MS]
        assert not before[-1]["trusted"] and before[-1]["monitor"], name
        back = next((one for one in mine if one["time_ns"] > known_ns and one["trusted"]), None)
        assert back is not None, name
        assert back["time_ns"] - row["end_ns"] > (good - 1) * GAP_NS[row["target"]], name


def test_the_arbiter_takes_the_other_path_while_the_camera_is_black(told: dict[str, Any]) -> None:
    reaction = told["rows"]["black"]["reaction"]
    assert reaction is not None
    assert (reaction["state"], reaction["selected"]) == ("BACKUP", "backup")


def test_in_lockstep_the_same_faults_lead_to_the_same_decisions(tmp_path: Path, tier: str) -> None:
    fed_system(tmp_path)
    (tmp_path / "script.yaml").write_text(APART, encoding="utf-8")
    modes, reactions = [], []
    for clock in (("--tier", tier), None):
        running = Faulted(tmp_path, *(clock or ()), paced=clock is not None)
        ended = running.end()
        assert ended.code in (0, 1, 3), ended.errors
        reactions.append([_said(row["reaction"]) for row in ended.summary["faults"]])
        modes.append(decided(running.folder))
        running.folder.rename(tmp_path / f"run-{len(modes)}")
    agree = [one == other for one, other in zip(*reactions, strict=True)]
    assert None not in reactions[1]
    assert any(agree)  # others may use the host, and the paced run be degraded when a fault strikes
    paced = iter(modes[0])
    assert len(modes[1]) > 6 and (not all(agree) or all(mode in paced for mode in modes[1]))


def _said(reaction: dict[str, Any] | None) -> tuple[str, str] | None:
    return None if reaction is None else (reaction["state"], reaction["selected"])


def decided(run: Path) -> list[tuple[str, str]]:
    """State and choice of the arbiter, each time that they changed."""
    found: list[tuple[str, str]] = []
    with (run / "output.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, _, message in reader.iter_decoded_messages():
            if "decision" in channel.topic and found[-1:] != [(message.state, message.selected)]:
                found.append((message.state, message.selected))
    return found


def test_contents_are_all_right_without_a_fault(struck: dict[str, Any]) -> None:
    health = struck["health"]
    assert health["arbiter"] == "arbiter" and health["sensors"] == ["front_wide", "lidar_top"]
    of_the_host = {"silence", "rate", "stamp_age"}  # which may keep samples, or their publisher, from being in time
    assert not {row["monitor"] for row in health["findings"]} - of_the_host
    assert {row["sensor"] for row in health["trust"] if row["trusted"]} == {"front_wide", "lidar_top"}


def test_the_end_and_the_standstill_of_the_watch_are_noticed(struck: dict[str, Any]) -> None:
    gone, still = struck["rows"]["gone"], struck["rows"]["still"]
    within_ns = {"exit": 100 * NS_PER_MS, "alive": 250 * NS_PER_MS}
    for row in (gone, still):  # what stands still for too long is ended
        assert row["in_run"] and row["worst_case_ns"] == within_ns[row["detected_by"]]
    assert gone["detected_after_ns"] > 0
    assert gone["back_after_ns"] is None or gone["back_after_ns"] > gone["detected_after_ns"]
    losses = [one for one in struck["health"]["losses"] if one["noticed_ns"] > still["begin_ns"]]
    assert {one["by"] for one in losses} == {"still", "exit"}
    assert losses[0]["back_ns"] is not None, lacking(struck["folder"], losses=losses)
    assert losses[0]["back_ns"] > losses[0]["noticed_ns"]


def test_without_its_watch_the_arbiter_goes_on_degraded(struck: dict[str, Any]) -> None:
    reactions = [row["reaction"] for row in struck["rows"].values() if row["reaction"] is not None]
    assert "DEGRADED" in {one["state"] for one in reactions}
    assert struck["summary"]["arbiter"]["state_time_ns"]["DEGRADED"] > 200 * NS_PER_MS
    assert struck["actuator"]["minimal_risk"] == []


def test_an_age_limit_that_reports_cannot_keep_is_refused(tmp_path: Path) -> None:
    file = fed_system(tmp_path)
    file.write_text(file.read_text(encoding="utf-8").replace("health_age_limit_ms: 200", "health_age_limit_ms: 20"))
    ended = Running(tmp_path / "run", system=file).end()
    assert ended.code == 2
    assert "health_age_limit_ms: 20 is too short; sensors are reported on every" in ended.errors
