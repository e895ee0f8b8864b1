"""Faults injected with --fault: what is lost ends, every message stays accounted for, the safety path notices."""

import pytest
from cli_runs import QUAD_ORIN, SHIPPED_LOG, Cli, Run, by_name

FAULT_NS = 400_000_000


@pytest.fixture(scope="module")
def replay_with(tmp_path_factory):
    """Replays the shipped short log with faults; one run per set of faults."""
    folder = tmp_path_factory.mktemp("faults")
    runs = {}

    def run(*faults):
        if faults not in runs:
            options = [part for fault in faults for part in ("--fault", fault)]
            name = f"run{len(runs)}"
            ended = Cli(folder)("replay", SHIPPED_LOG, "--system", QUAD_ORIN, *options, "-o", name, "--json", code=None)
            runs[faults] = Run(folder / name, ended)
        return runs[faults]

    return run


CAMERA, LIDAR_DEVICE = "camera:front_wide@0.4s", "device:orin-4@400ms"


@pytest.mark.parametrize("fault", [CAMERA, LIDAR_DEVICE])
def test_losses_are_counted_and_are_not_incompleteness(replay_with, fault):
    run = replay_with(fault)
    assert run.summary["status"] != "incomplete"
    for topic in run.summary["topics"]:
        parts = ("delivered", "unread", "dropped", "undecodable", "quarantined", "lost_to_faults", "unmapped")
        assert topic["recorded"] == sum(topic[part] for part in parts), topic


@pytest.mark.parametrize("fault", [CAMERA, LIDAR_DEVICE])
def test_only_a_late_recovery_makes_the_run_a_failure(replay_with, fault):
    run = replay_with(fault)
    (outcome,) = run.summary["faults"]
    limit = outcome["recovery_limit_ns"]
    late = limit is not None and outcome["recovered_after_ns"] > limit
    assert (run.ended.code, run.summary["status"]) == ((1, "deadline_miss") if late else (0, "ok"))
    assert (fault.partition("@")[0] in run.summary["reason"]) == late


@pytest.mark.parametrize("fault", [CAMERA, LIDAR_DEVICE])
def test_the_safety_path_notices_and_goes_on(replay_with, fault):
    summary = replay_with(fault).summary
    (outcome,) = summary["faults"]
    assert outcome["fault"] == fault.partition("@")[0]
    assert outcome["time_ns"] == FAULT_NS
    assert 0 < outcome["detected_after_ns"] <= outcome["recovered_after_ns"]
    assert outcome["recovered_after_ns"] <= summary["duration_ns"] - FAULT_NS
    arbiter = summary["arbiter"]
    assert "MINIMAL_RISK" not in arbiter["state_time_ns"]
    assert arbiter["state_time_ns"]["DEGRADED"] > 0
    assert sum(arbiter["decisions"].values()) == by_name(summary["tasks"])["arbiter"]["completed"]
    assert sum(arbiter["state_time_ns"].values()) <= summary["duration_ns"]


def test_a_lost_camera_is_silent_from_then_on(replay_with, short_run):
    summary = replay_with(CAMERA).summary
    topics, tasks = by_name(summary["topics"]), by_name(summary["tasks"])
    lost = topics["/camera/front_wide/compressed"]
    assert 11 <= lost["delivered"] <= 13
    assert lost["lost_to_faults"] == 24 - lost["delivered"]
    assert sum(topic["lost_to_faults"] for topic in summary["topics"]) == lost["lost_to_faults"]
    assert {tasks[f"{part}_front_wide"]["jobs"] for part in ("pre", "infer", "post")} == {lost["delivered"]}
    assert tasks["infer_front_standard"]["jobs"] == 24
    assert {row["camera"]: row["frames"] for row in summary["detections"]}["front_wide"] == lost["delivered"]
    chain = by_name(summary["chains"])["brake_front_wide"]
    assert chain["judged_until_ns"] == FAULT_NS
    assert "camera:front_wide" in (replay_with(CAMERA).folder / "report.html").read_text(encoding="utf-8")
    assert replay_with(CAMERA).hashes != short_run.hashes


def test_a_lost_device_completes_no_job_after_its_loss(replay_with):
    summary = replay_with(LIDAR_DEVICE).summary
    for task in summary["tasks"]:
        on_lost_device = task["pe"].startswith("orin-4.")
        if on_lost_device and task["jobs"]:
            assert task["completed"] <= 5, task
            assert task["completed"] + task["lost"] + task["aborted"] + task["skipped"] == task["jobs"], task
        elif not on_lost_device:
            assert task["lost"] == 0, task
    utilisation = {pe["name"]: pe["utilisation"] for pe in summary["pes"]}
    assert 0 < utilisation["orin-4.cpu"] < 1


def test_the_run_before_a_fault_is_that_without_it(replay_with, short_run):
    """The seeded execution times do not depend on what else happens."""
    with_fault, without = replay_with(CAMERA).summary, short_run.summary
    for name in ("infer_rear", "cluster", "pre_front_standard"):
        assert by_name(with_fault["tasks"])[name]["jobs"] == by_name(without["tasks"])[name]["jobs"]
    assert by_name(with_fault["tasks"])["infer_rear"] == by_name(without["tasks"])["infer_rear"]


def test_losing_everything_that_looks_ahead_ends_in_a_minimal_risk_manoeuvre(replay_with):
    """Without camera and LiDAR both paths fall silent, for good: no fault is recovered from."""
    run = replay_with("camera:front_wide@0.1s", "camera:front_standard@0.1s", "lidar:lidar_top@0.1s")
    summary = run.summary
    assert [outcome["fault"] for outcome in summary["faults"]] == [
        "camera:front_standard",
        "camera:front_wide",
        "lidar:lidar_top",
    ]
    states = summary["arbiter"]["state_time_ns"]
    assert states["MINIMAL_RISK"] > 0
    assert states.get("NOMINAL", 0) < summary["duration_ns"] // 2
    assert all(outcome["recovered_after_ns"] is None for outcome in summary["faults"])
    assert (run.ended.code, summary["status"]) == (1, "deadline_miss")


def test_equal_faults_give_equal_hashes_on_any_number_of_threads(replay_with, cli, tmp_path):
    options = ("--fault", LIDAR_DEVICE, "--threads", 3, "-o", "again")
    cli("replay", SHIPPED_LOG, "--system", QUAD_ORIN, *options, code=None)
    assert Run(tmp_path / "again", None).hashes == replay_with(LIDAR_DEVICE).hashes


def test_a_plan_with_takeovers_is_carried_out(cli, tmp_path):
    """The device that fuses and decides is lost: its work goes on elsewhere, and every frame is accounted for."""
    cli("plan", QUAD_ORIN, "--heuristics", "-o", "plan.yaml", code=None)
    options = ("--plan", "plan.yaml", "--fault", "device:orin-1@0.4s", "-o", "run", "--json")
    run = Run(tmp_path / "run", cli("replay", SHIPPED_LOG, "--system", QUAD_ORIN, *options, code=None))
    (outcome,) = run.summary["faults"]
    assert outcome["detected_by"] == "heartbeat"
    assert outcome["detected_after_ns"] < outcome["switched_after_ns"] < outcome["recovered_after_ns"] <= 100_000_000
    assert {"fuse", "control"} <= set(outcome["takeover"]["moves"])
    assert {path["origin"] for path in outcome["paths"]} >= {"front_wide", "front_standard"}
    assert run.summary["status"] == "ok"
    assert run.summary["bounds_exceeded"] == []
    assert "BACKUP" not in run.summary["arbiter"]["state_time_ns"]
