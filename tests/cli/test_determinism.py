"""Equal inputs give equal hashes; what shall change the schedule does change it."""

import shutil
from fractions import Fraction

import pytest
from cli_runs import EPOCH_NS, QUAD_ORIN, SHIPPED_LOG, Cli, Run, by_name, write_log

#: Ends the process when it opens a file whose name speaks of ground truth, or imports the scene that has it.
NO_TRUTH = """
import os, sys
def watch(event, details):
    if event == "open" and "truth" in os.path.basename(str(details[0])):
        os.write(2, b"ground truth was opened"); os._exit(99)
    if event == "import" and details[0].startswith("sensors.scene"):
        os.write(2, b"the scene was imported"); os._exit(99)
sys.addaudithook(watch)
"""

#: Two IMU streams that need 40 and 57 % of one core: every deadline is met under EDF, not under fixed priorities.
CROWDED = """
rt_sched: 1
name: crowded
devices: {box: {processing_elements: {cpu: {kind: cpu, cores: 1}}}}
sensors:
  fast: {kind: imu, rate: 20Hz, latency: 2ms, jitter: 2ms, capture_jitter: 1ms, attached_to: box, topic: /fast}
  slow: {kind: imu, rate: 100/7Hz, latency: 2ms, jitter: 2ms, capture_jitter: 1ms, attached_to: box, topic: /slow}
tasks:
  turn_fast: &turn {stage: "pipelines.imu:Integrate", runs_on: box.cpu, inputs: {imu: fast},
    parameters: {sensor: fast}, execution: {bcet: 19ms, wcet: 20ms}}
  turn_slow: {<<: *turn, inputs: {imu: slow}, parameters: {sensor: slow}, execution: {bcet: 39ms, wcet: 40ms}}
"""


def hashes(folder):
    return Run(folder, None).hashes


def test_another_place_other_threads_and_no_ground_truth_change_nothing(cli, tmp_path, short_run):
    """The log alone is copied to an empty folder: nothing of the scene that it shows lies anywhere near."""
    log = shutil.copy(SHIPPED_LOG, tmp_path / "renamed.mcap")
    system = shutil.copy(QUAD_ORIN, tmp_path / "system.yaml")
    cli("replay", log, "--system", system, "--threads", 4, "-o", "elsewhere/run", prelude=NO_TRUTH, anew=True)
    assert hashes(tmp_path / "elsewhere/run") == short_run.hashes


def test_the_guard_against_ground_truth_works(cli, tmp_path):
    truth = tmp_path / "hazard_truth.json"
    truth.write_text("{}")
    assert cli("replay", truth, prelude=NO_TRUTH, code=99).err.endswith("ground truth was opened")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A folder with a log and a system in which every decision of the scheduler shows."""
    folder = tmp_path_factory.mktemp("crowded")
    write_log(folder / "log.mcap", seconds=1, imus={"/fast": 20, "/slow": Fraction(100, 7)})
    (folder / "system.yaml").write_text(CROWDED)
    return folder


@pytest.fixture(scope="module")
def crowded_runs(crowded):
    """Runs of the crowded system, by name."""
    cli = Cli(crowded)
    runs = {}
    for name, policy, seed, threads in (
        ("rms", "rms", 7, 1),
        ("again", "rms", 7, 3),
        ("other seed", "rms", 8, 1),
        ("edf", "edf", 7, 1),
    ):
        options = ("--policy", policy, "--seed", seed, "--threads", threads)
        ended = cli("replay", "log.mcap", "--system", "system.yaml", "-o", name, *options, code=None)
        runs[name] = Run(crowded / name, ended)
    return runs


def test_seed_and_policy_change_the_schedule_and_repetition_does_not(crowded_runs):
    assert crowded_runs["rms"].hashes == crowded_runs["again"].hashes
    assert len({crowded_runs[name].hashes[0] for name in ("rms", "other seed", "edf")}) == 3
    assert crowded_runs["other seed"].read("manifest.json")["seed"] == 8
    assert crowded_runs["edf"].read("manifest.json")["policy"] == "edf"


def test_edf_meets_the_deadlines_that_fixed_priorities_miss(crowded_runs):
    rms, edf = crowded_runs["rms"], crowded_runs["edf"]
    assert (rms.ended.code, rms.summary["status"]) == (1, "deadline_miss")
    assert by_name(rms.summary["tasks"])["turn_slow"]["misses"] > 0
    assert "turn_slow" in rms.ended.out
    assert (edf.ended.code, edf.summary["status"]) == (0, "ok")


def test_the_time_of_recording_changes_nothing(cli, tmp_path, logs, monkeypatch):
    """The same drive, recorded a day later: the run's time line begins with the recording."""
    cli("replay", logs / "imu.mcap", "-o", "today")
    monkeypatch.setattr("cli_runs.EPOCH_NS", EPOCH_NS + 86_400 * 10**9)
    write_log(tmp_path / "imu.mcap", seconds=0.5, imus={"/imu/data": 100})
    cli("replay", tmp_path / "imu.mcap", "-o", "tomorrow")
    assert hashes(tmp_path / "today") == hashes(tmp_path / "tomorrow")
