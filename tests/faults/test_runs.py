"""Whole runs with faults, stages and all, of a vehicle with one LiDAR: the reaction, the verdict, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_cases import ROOT
from one_lidar import SYSTEM
from typer.testing import CliRunner

from rt_sched.app.faults.campaign import run_campaign
from rt_sched.app.faults.job import FaultsRequest, opened, run_faults
from rt_sched.app.progress import Quiet
from rt_sched.cli.shared import app
from rt_sched.errors import ConfigError

LOG = str(ROOT / "replay_data" / "hazard_short.mcap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("faults")
    (path / "system.yaml").write_text(SYSTEM, encoding="utf-8")
    return path


@pytest.fixture
def run(folder):
    def document(*faults, stages=True, seed=0):
        script = folder / "script.yaml"
        lines = "".join(f"  f{number}: {fault}\n" for number, fault in enumerate(faults))
        script.write_text(f"rt_sched_faults: 1\nseed: {seed}\nfaults:\n{lines}", encoding="utf-8")
        system = str(folder / "system.yaml")
        return run_faults(FaultsRequest(system, script, LOG, stages=stages, threads=1, output=folder / "run"), Quiet())

    return document


def test_a_lost_lidar_is_detected_and_the_arbiter_reacts(run):
    document = run("{kind: lidar.loss, target: lidar_top, at: 400ms}")
    (row,) = document["faults"]
    assert (row["verdict"], row["detected_by"]) == ("detected", "silence")
    assert row["reaction"]["after_ns"] > row["detected_after_ns"]
    assert row["reaction"]["recovered_after_ns"] is None
    assert (document["status"], document["run"]["status"]) == ("ok", "ok")
    assert document["other_findings"] == []


def test_the_run_folder_holds_what_became_of_the_faults_as_a_page_too(run, folder):
    document = run("{kind: lidar.loss, target: lidar_top, at: 400ms}")
    assert json.loads((folder / "run" / "faults.json").read_text(encoding="utf-8")) == document
    page = (folder / "run" / "faults.html").read_text(encoding="utf-8")
    assert 'aria-label="detected 1, tolerated 0, unknown 0, late 0, silent 0"' in page
    assert 'aria-label="Detection of lidar.loss"' in page
    assert "1 fault of " in page


def test_what_changes_nothing_is_tolerated_and_what_does_is_silent(run):
    # No path of this vehicle reads the IMU; its bits flip unnoticed. One sweep without its front half is too little for
    # monitors, and leaves the path without a command.
    tolerated = run("{kind: payload.corrupt, target: imu, at: 700ms, for: 6ms, how: flip}", seed=4)
    assert [row["verdict"] for row in tolerated["faults"]] == ["tolerated"]
    assert tolerated["status"] == "ok"
    silent = run("{kind: lidar.sector, target: lidar_top, at: 550ms, for: 100ms, from: -90deg, to: 90deg}")
    assert [row["verdict"] for row in silent["faults"]] == ["silent"]
    assert silent["status"] == "silent"


def test_what_another_fault_does_to_commands_is_not_blamed_on_one_that_does_nothing(run):
    flipped = "{kind: payload.corrupt, target: imu, at: 700ms, for: 6ms, how: flip}"
    noticed = run(flipped, "{kind: lidar.loss, target: lidar_top, at: 400ms}", seed=4)
    assert [row["verdict"] for row in noticed["faults"]] == ["detected", "tolerated"]
    assert noticed["faults"][0]["reaction"] is not None
    sector = "{kind: lidar.sector, target: lidar_top, at: 550ms, for: 100ms, from: -90deg, to: 90deg}"
    unnoticed = run(flipped, sector, seed=4)
    assert [(row["kind"], row["verdict"]) for row in unnoticed["faults"]] == [
        ("lidar.sector", "silent"),
        ("payload.corrupt", "tolerated"),
    ]


def test_a_run_whose_last_message_is_dropped_ends_when_it_would_have(folder):
    quick = folder / "quick.yaml"
    quick.write_text(SYSTEM.replace("100Hz", "1kHz").replace("deadline: 5ms", "deadline: 1ms"), encoding="utf-8")
    script = folder / "last.yaml"
    request = FaultsRequest(str(quick), script, LOG, threads=1, output=folder / "last")
    with opened(request) as drive:
        samples = drive.timeline.samples
        last_ns, sensor = drive.timeline.last_arrival_ns, drive.system.sensors[samples.sensor[-1]].name
        assert last_ns - samples.arrival_ns[-2] > 2_000_000  # more than a cycle of the arbiter
    last = f"{{kind: message.drop, target: {sensor}, at: {last_ns}ns}}"
    script.write_text(f"rt_sched_faults: 1\nfaults:\n  f: {last}\n", encoding="utf-8")
    document = run_faults(request, Quiet())
    assert sensor == "imu"
    assert [row["verdict"] for row in document["faults"]] == ["tolerated"]


def test_documents_name_the_recording_as_it_was_given(folder):
    script = folder / "named.yaml"
    script.write_text("rt_sched_faults: 1\nfaults:\n  f: {kind: imu.loss, target: imu, at: 400ms}\n", encoding="utf-8")
    request = FaultsRequest(str(folder / "system.yaml"), script, "hazard_short", stages=False, threads=1)
    assert run_faults(request, Quiet())["recording"] == "hazard_short"
    assert run_campaign(request, 1, 0, ("imu.loss",), Quiet())["recording"] == "hazard_short"


def test_a_process_that_is_killed_begins_without_a_past(run):
    document = run("{kind: process.kill, target: backup, at: 350ms, restart: 200ms}")
    (row,) = document["faults"]
    assert (row["verdict"], row["detected_by"]) == ("detected", "alive")
    assert row["end_ns"] - row["begin_ns"] == 200_000_000
    assert document["run"]["status"] != "failed"


def test_without_stages_nothing_is_known_of_commands(run):
    document = run("{kind: payload.corrupt, target: imu, at: 700ms, for: 6ms, how: flip}", stages=False, seed=4)
    assert (document["status"], document["run"]) == ("unknown", None)
    assert document["faults"][0]["reaction"] is None


@pytest.mark.parametrize("loss", ["lidar.loss, target: lidar_top", "device.loss, target: orin"])
def test_what_is_lost_reaches_no_monitor(run, loss):
    document = run(
        f"{{kind: {loss}, at: 300ms, for: 300ms}}",
        "{kind: payload.corrupt, target: lidar_top, at: 400ms, for: 150ms}",
        "{kind: imu.stuck, target: imu, at: 650ms, for: 1ns}",
        "{kind: payload.corrupt, target: lidar_top, at: 650ms}",
        stages=False,
    )
    found = [(row["verdict"], row["detected_by"]) for row in document["faults"]]
    assert found[0] in [("detected", "silence"), ("detected", "heartbeat")]
    assert found[1:] == [("tolerated", None), ("tolerated", None), ("detected", "payload")]
    assert "payload" not in [one["monitor"] for one in document["other_findings"]]


def test_a_loss_on_top_of_another_takes_nothing_from_the_first(run):
    document = run(*["{kind: lidar.loss, target: lidar_top, at: 300ms}"] * 2, stages=False)
    assert [row["detected_by"] for row in document["faults"]] == ["silence"] * 2


def test_a_sensor_whose_messages_are_all_dropped_is_silent_even_if_nothing_else_comes_any_more(run):
    dropped = [f"{{kind: message.drop, target: {sensor}, at: 400ms}}" for sensor in ("lidar_top", "imu")]
    document = run(*dropped, stages=False)
    assert [(row["verdict"], row["detected_by"]) for row in document["faults"]] == [("detected", "silence")] * 2


def test_runs_of_one_script_are_equal(run):
    faults = ("{kind: message.drop, target: lidar_top, at: 200ms, share: 0.5}", "{kind: arbiter.kill, at: 600ms}")
    assert run(*faults, stages=False) == run(*faults, stages=False)


def test_what_cannot_be_carried_out_is_refused(run, folder):
    with pytest.raises(ConfigError) as error:
        run("{kind: process.kill, target: backup, at: 9s}")
    assert "it begins at 9s; the run ends at" in str(error.value.problems[0])


def test_a_campaign_is_the_same_again_and_a_longer_one_begins_with_it(folder):
    request = FaultsRequest(str(folder / "system.yaml"), Path("drawn"), LOG, stages=False, threads=1)
    kinds = ("imu.loss", "imu.stuck", "process.kill", "overrun")
    three, again, five = (run_campaign(request, runs, 5, kinds, Quiet()) for runs in (3, 3, 5))
    assert three == again
    assert five["runs"][:3] == three["runs"]
    assert sum(kind["runs"] for kind in five["kinds"]) == 5
    with pytest.raises(ConfigError, match=r"did you mean 'imu\.stuck'"):
        run_campaign(request, 1, 0, ("imu.stuk",), Quiet())
    with pytest.raises(ConfigError, match="has nothing that any of these kinds"):
        run_campaign(request, 1, 0, ("camera.black",), Quiet())


def test_jobs_that_overrun_in_a_campaign_are_there(folder):
    seldom = "  seldom: {runs_on: gateway.mcu, activation: {period: 500ms}, execution: {wcet: 1ms}, budget: 1ms}\n"
    system = folder / "seldom.yaml"
    system.write_text(SYSTEM.replace("  backup:\n", seldom + "  backup:\n", 1), encoding="utf-8")
    request = FaultsRequest(str(system), Path("drawn"), LOG, stages=False, threads=1)
    rows = [row for row in run_campaign(request, 20, 0, ("overrun",), Quiet())["runs"] if row["target"] == "seldom"]
    assert rows and {row["detected_by"] for row in rows} == {"budget"}


def test_the_faults_of_a_campaign_strike_while_the_recording_lasts(folder):
    slow = "  slow: {runs_on: gateway.mcu, activation: {period: 9s}, execution: {wcet: 3s}}\n"
    system = folder / "slow.yaml"
    system.write_text(SYSTEM.replace("  backup:\n", slow + "  backup:\n", 1), encoding="utf-8")
    request = FaultsRequest(str(system), Path("drawn"), LOG, stages=False, threads=1)
    rows = run_campaign(request, 4, 0, ("lidar.loss", "imu.loss"), Quiet())["runs"]
    assert [row["verdict"] for row in rows] == ["detected"] * 4


def test_the_commands_end_with_the_code_of_their_status(folder):
    script = folder / "cli.yaml"
    script.write_text(
        "rt_sched_faults: 1\nfaults:\n  f: {kind: imu.saturate, target: imu, at: 400ms}\n", encoding="utf-8"
    )
    call = ["faults", "run", str(folder / "system.yaml"), str(script), "--log", LOG, "--no-stages"]
    told = CliRunner().invoke(app, [*call, "--json"])
    assert (told.exit_code, json.loads(told.stdout)["schema"]) == (0, "rt-sched/faults-run/1")
    told = CliRunner().invoke(app, call)
    assert told.exit_code == 0
    assert "imu_range" in told.stdout
    assert "every fault was detected in time" in told.stdout
    call = ["faults", "campaign", str(folder / "system.yaml"), "--runs", "2", "--kind", "imu.saturate", "--log", LOG]
    told = CliRunner().invoke(app, [*call, "--report", str(folder / "coverage.html")])
    assert (told.exit_code, "imu.saturate" in told.stdout) == (0, True)
    assert "2 runs with one fault each" in (folder / "coverage.html").read_text(encoding="utf-8")
    told = CliRunner().invoke(app, [*call, "--report", str(folder / "nowhere" / "coverage.html")])
    assert isinstance(told.exception, ConfigError)


def test_the_list_names_every_kind_and_why_not(folder):
    listed = json.loads(CliRunner().invoke(app, ["faults", "list", "--json"]).stdout)
    assert len(listed["kinds"]) == 24
    assert [kind["kind"] for kind in listed["kinds"] if not kind["lockstep"]] == ["resource.hold"]
    not_paced = [kind["kind"] for kind in listed["kinds"] if not kind["paced"]]
    assert not_paced == []
    for kind in listed["kinds"]:
        for clock in ("lockstep", "paced"):
            assert bool(kind[f"{clock}_reason"]) != kind[clock]
        if kind["kind"] not in ("link.loss", "resource.hold"):  # this system has neither
            assert all(one["worst_case_ns"] for one in kind["paced_monitors"])
            assert all(one["worst_case_ns"] for one in kind["monitors"][:1])
    shown = CliRunner().invoke(app, ["faults", "list", str(folder / "system.yaml")]).stdout
    assert all(kind["kind"] in shown for kind in listed["kinds"])
