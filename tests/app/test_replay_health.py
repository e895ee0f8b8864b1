"""An arbiter that asks for the reports of the sensors' monitors gets them in lockstep, at the declared latencies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rt_sched.app.faults.job import FaultsRequest, run_faults
from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay
from rt_sched.errors import DeploymentError
from rt_sched.units import NS_PER_MS

ROOT = Path(__file__).resolve().parents[2]
LOG = str(ROOT / "replay_data" / "hazard.mcap")
ASKS_NOT = "view_age_limit_ms: {front_wide: 500}"
ASKS = f"{ASKS_NOT}, health_age_limit_ms: 200"
BLACK = "{kind: camera.black, target: front_wide, at: 0.8s, for: 0.2s}"
CUT = "{kind: payload.corrupt, target: lidar_top, how: cut, at: 1.9s, for: 0.15s}"
FROZEN = "{kind: camera.freeze, target: front_wide, at: 3.0s, for: 0.2s}"


def system_with(folder: Path, parameters: str) -> str:
    """The shipped example, its arbiter with other parameters."""
    text = (ROOT / "examples" / "host_two_cores.yaml").read_text(encoding="utf-8")
    assert ASKS_NOT in text
    (folder / "system.yaml").write_text(text.replace(ASKS_NOT, parameters), encoding="utf-8")
    return str(folder / "system.yaml")


def told(folder: Path, parameters: str, *faults: str) -> dict[str, Any]:
    """The document of a run with faults."""
    lines = "".join(f"  f{number}: {fault}\n" for number, fault in enumerate(faults))
    (folder / "script.yaml").write_text(f"rt_sched_faults: 1\nfaults:\n{lines}", encoding="utf-8")
    system = system_with(folder, parameters)
    return run_faults(FaultsRequest(system, folder / "script.yaml", LOG, output=folder / "run"), Quiet())


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told(tmp_path_factory.mktemp("fed"), ASKS, BLACK, CUT, FROZEN)


def test_the_arbiter_reacts_to_what_monitors_find(fed: dict[str, Any]) -> None:
    reactions = [(row["reaction"]["state"], row["reaction"]["selected"]) for row in fed["faults"]]
    assert reactions == [("BACKUP", "backup"), ("DEGRADED", "primary"), ("BACKUP", "backup")]


def test_it_knows_within_two_cycles_and_never_before_the_look(fed: dict[str, Any]) -> None:
    health = fed["health"]
    # Pictures that are black are equal, too.
    assert [one["monitor"] for one in health["findings"]] == ["black", "frozen", "payload", "frozen"]
    for one in health["findings"]:
        assert one["time_ns"] % health["period_ns"] == 0
        assert health["period_ns"] <= one["time_ns"] - one["message_ns"] <= health["delay_ns"]
    for row, one in zip(fed["faults"], [health["findings"][number] for number in (0, 2, 3)], strict=True):
        known_ns, reacted_ns = one["time_ns"], row["begin_ns"] + row["reaction"]["after_ns"]
        assert known_ns <= reacted_ns <= known_ns + 60 * NS_PER_MS  # the next job of the arbiter, every 40 ms


def test_trust_is_back_after_good_samples(fed: dict[str, Any]) -> None:
    camera = [one["trusted"] for one in fed["health"]["trust"] if one["sensor"] == "front_wide"]
    assert camera == [True, False, True, False, True]
    lidar = [one["time_ns"] for one in fed["health"]["trust"] if one["sensor"] == "lidar_top"]
    _, lost_ns, back_ns = lidar
    assert back_ns - lost_ns >= (fed["health"]["good_samples"] - 1) * 95 * NS_PER_MS


def test_an_arbiter_that_does_not_ask_goes_by_ages_alone(tmp_path: Path) -> None:
    document = told(tmp_path, ASKS_NOT, BLACK)
    assert document["health"] is None
    reaction = document["faults"][0]["reaction"]
    assert reaction["state"] == "NOMINAL" and reaction["after_ns"] > 1000 * NS_PER_MS  # the car ahead brakes


def test_a_lost_camera_is_silent_and_an_arbiter_that_began_anew_is_told(tmp_path: Path) -> None:
    kill, loss = "{kind: arbiter.kill, at: 0.5s, restart: 20ms}", "{kind: camera.loss, target: front_wide, at: 1.8s}"
    document = told(tmp_path, ASKS, kill, loss)
    assert [one["monitor"] for one in document["health"]["findings"]] == ["silence"]
    reaction = document["faults"][1]["reaction"]
    assert (reaction["state"], reaction["selected"]) == ("BACKUP", "backup")
    assert reaction["after_ns"] < 300 * NS_PER_MS  # by ages it would be 500 ms


def test_sensors_of_which_all_that_would_come_is_dropped_are_silent(tmp_path: Path) -> None:
    dropped = [f"{{kind: message.drop, target: {sensor}, at: 3s}}" for sensor in ("front_wide", "lidar_top")]
    document = told(tmp_path, ASKS, *dropped)
    silent = [one["sensor"] for one in document["health"]["findings"] if one["monitor"] == "silence"]
    assert silent == ["front_wide", "lidar_top"]
    assert all(row["detected_by"] == "silence" for row in document["faults"])


def test_an_age_limit_that_reports_cannot_keep_is_refused_as_in_paced_runs(tmp_path: Path) -> None:
    system = system_with(tmp_path, ASKS.replace("200", "20"))
    with pytest.raises(DeploymentError, match=r"health_age_limit_ms: 20 is too short; sensors are reported on every"):
        run_replay(ReplayRequest(LOG, system, output=tmp_path / "run"), Quiet())
