"""Sensors watched while a paced run goes on: faults of every manner, also in lockstep, and the watch itself struck."""

from __future__ import annotations

import json
from itertools import groupby
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

Mode = tuple[str, str]

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
    return {**ended.summary, "rows": _found(ended), "folder": ended.folder}


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
    assert reaction is not None, lacking(told["folder"], decided=decided(told["folder"]))
    assert (reaction["state"], reaction["selected"]) == ("BACKUP", "backup")


def test_in_lockstep_most_faults_lead_to_the_same_decisions(tmp_path: Path, tier: str) -> None:
    fed_system(tmp_path)
    (tmp_path / "script.yaml").write_text(APART, encoding="utf-8")
    lockstep = after_faults(tmp_path)
    assert all(len(modes) > 2 for modes in lockstep.values())
    seen = []
    for _ in range(3):  # others may use the host, and degrade a run when a fault strikes
        paced = after_faults(tmp_path, "--tier", tier)
        assert paced.keys() == lockstep.keys()
        seen.append([name for name, modes in lockstep.items() if _goes_as(modes, paced[name])])
        if len(seen[-1]) * 2 > len(lockstep):
            return
    raise AssertionError(f"only {seen} lead to {lockstep}, {paced}")


def after_faults(folder: Path, *options: str) -> dict[str, list[Mode]]:
    """By fault the state and choice of the arbiter when it begins, and each time that they change before the next."""
    running = Faulted(folder, *options, paced=bool(options))
    ended = running.end()
    assert ended.code in (0, 1, 3), ended.errors
    modes = decided(running.folder)
    running.folder.rename(folder / f"run-{len(list(folder.glob('run-*')))}")
    begins_ns = {row["name"]: row["begin_ns"] for row in ended.summary["faults"]}
    ends_ns = [*list(begins_ns.values())[1:], modes[-1][0] + 1]
    return {
        name: [mode for mode, _ in groupby(mode for time_ns, mode in modes if begin_ns <= time_ns < end_ns)]
        for (name, begin_ns), end_ns in zip(begins_ns.items(), ends_ns, strict=True)
    }


def _goes_as(wanted: list[Mode], found: list[Mode]) -> bool:
    """Whether the arbiter begins and goes on alike, and then comes to the same state again; the road has both brake."""
    back = wanted[2][0]
    return found[:2] == wanted[:2] and back in [state for state, _ in found[2:]]


def decided(run: Path) -> list[tuple[int, Mode]]:
    """State and choice in every decision of the arbiter, with its instant in the run."""
    with (run / "output.mcap").open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        found = [
            (message.log_time, (decoded.state, decoded.selected))
            for _, channel, message, decoded in reader.iter_decoded_messages()
            if "decision" in channel.topic
        ]
        summary = reader.get_summary()
    assert summary is not None and summary.statistics is not None
    zero_ns = summary.statistics.message_start_time  # where sensors sit is written there
    return [(time_ns - zero_ns, mode) for time_ns, mode in found]


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
    assert losses[0]["unwatched_ns"] > losses[0]["back_ns"] - losses[0]["noticed_ns"]
    assert losses[0]["within_ns"] is not None and still["back_within_ns"] is not None


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
