"""What a replay leaves behind and prints."""

import hashlib
import json

import pytest
from cli_runs import QUAD_ORIN, RUN_FILES, SHIPPED_LOG, by_name
from mcap.reader import make_reader


@pytest.fixture(scope="module")
def summary(short_run):
    return short_run.summary


def test_the_run_folder_holds_exactly_its_files(short_run):
    assert {entry.name for entry in short_run.folder.iterdir()} == RUN_FILES
    assert all(entry.stat().st_size > 0 for entry in short_run.folder.iterdir())
    assert [entry.name for entry in short_run.folder.parent.iterdir()] == ["run"]


def test_json_prints_the_summary_document_and_nothing_else(short_run):
    assert short_run.ended.document == short_run.summary
    assert short_run.ended.out == json.dumps(short_run.summary, indent=2, ensure_ascii=False) + "\n"
    assert "replaying" in short_run.ended.err


CONTRACT = {
    "tasks": {
        "name",
        "jobs",
        "misses",
        "drops",
        "overruns",
        "response_max_ns",
        "response_p99_ns",
        "deadline_ns",
        "bound_ns",
    },
    "chains": {"name", "reaction_max_ns", "data_age_max_ns", "reaction_bound_ns", "data_age_bound_ns"},
    "topics": {"name", "recorded", "delivered", "dropped", "undecodable"},
    "pes": {"name", "utilisation"},
}


def test_the_summary_has_the_keys_of_the_contract(summary):
    assert summary["schema"].startswith("rt-sched/run-summary/")
    assert (summary["status"], summary["clock"]) == ("ok", "lockstep")
    assert summary["tier"]
    for part, keys in CONTRACT.items():
        assert summary[part], part
        for row in summary[part]:
            assert keys <= row.keys(), part
    assert {"state_time_ns", "decisions"} <= summary["arbiter"].keys()
    assert summary["faults"] == []


def test_all_times_are_whole_nanoseconds(summary):
    def check(value, name):
        if isinstance(value, dict):
            for key, inner in value.items():
                assert key == key.lower() or name == "state_time_ns", key
                check(inner, name if name == "state_time_ns" else key)
        elif isinstance(value, list):
            for inner in value:
                check(inner, name)
        elif name.endswith("_ns"):
            assert value is None or type(value) is int, name

    check(summary, "")


def test_every_recorded_message_is_accounted_for(summary):
    with SHIPPED_LOG.open("rb") as stream:
        read = make_reader(stream).get_summary()
    counted = {read.channels[channel].topic: count for channel, count in read.statistics.channel_message_counts.items()}
    assert {topic["name"]: topic["recorded"] for topic in summary["topics"]} == counted
    for topic in summary["topics"]:
        parts = ("delivered", "unread", "dropped", "undecodable", "quarantined", "lost_to_faults", "unmapped")
        assert topic["recorded"] == sum(topic[part] for part in parts), topic
        assert topic["delivered"] == topic["recorded"], topic


def test_jobs_follow_from_what_was_recorded(summary):
    tasks = by_name(summary["tasks"])
    assert {tasks[f"{part}_front_wide"]["jobs"] for part in ("pre", "infer", "post")} == {24}
    assert (tasks["cluster"]["jobs"], tasks["ego_motion"]["jobs"]) == (8, 160)
    assert all(task["misses"] == 0 and task["without_data"] == 0 for task in tasks.values())


def test_the_detectors_find_the_cars(summary):
    seen = {row["camera"]: row for row in summary["detections"]}
    assert seen.keys() == {"front_wide", "front_standard", "rear"}
    for camera in ("front_wide", "front_standard"):
        frames_with_cars = sum(row["frames"] for row in seen[camera]["classes"] if row["class"] == "car")
        assert frames_with_cars >= seen[camera]["frames"] * 3 // 4, camera


def test_chains_are_measured_from_sensor_to_command(summary):
    chains = by_name(summary["chains"])
    assert chains.keys() == {"brake_front_wide", "brake_lidar", "brake_backup", "picture_on_orin_2"}
    for chain in chains.values():
        assert 0 < chain["latency_p50_ns"] <= chain["latency_max_ns"] <= chain["reaction_max_ns"]
        assert chain["data_age_max_ns"] > 0


def test_a_recording_that_lacks_sensors_says_so(summary):
    note = next(note for note in summary["notes"] if "no topic" in note)
    for sensor in ("front_tele", "right", "left", "surround_left", "surround_right"):
        assert sensor in note
    assert {task["jobs"] for task in summary["tasks"] if task["name"].endswith("front_tele")} == {0}


def test_the_manifest_says_what_the_run_was_made_from(short_run):
    manifest = short_run.read("manifest.json")
    inputs = {entry["path"]: entry["sha256"] for entry in manifest["inputs"]}
    assert inputs == {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in (SHIPPED_LOG, QUAD_ORIN)}
    assert manifest["seed"] == 0
    assert manifest["versions"].keys() >= {"rt-sched", "python", "numpy", "numba", "onnxruntime"}
    assert manifest["machine"]["cpus"] >= 1
    for key in ("schedule_sha256", "outputs_sha256"):
        assert len(bytes.fromhex(manifest[key])) == 32


def test_the_output_recording_holds_what_the_pipelines_published(short_run):
    with (short_run.folder / "output.mcap").open("rb") as stream:
        counts = make_reader(stream).get_summary()
    topics = {channel.topic: counts.statistics.channel_message_counts[id_] for id_, channel in counts.channels.items()}
    assert len(counts.schemas) >= 3
    for camera in ("front_wide", "front_standard", "rear"):
        assert any(camera in topic and count == 24 for topic, count in topics.items()), topics


def test_the_report_is_one_file_that_stands_alone(short_run):
    page = (short_run.folder / "report.html").read_text(encoding="utf-8")
    for text in ("brake_front_wide", "infer_front_wide", short_run.hashes[0], "<svg"):
        assert text in page
    for reference in ('src="http', "src='http", 'href="http', "url(http", "@import"):
        assert reference not in page


def test_without_json_tables_go_to_stdout_and_progress_to_stderr(cli, logs):
    ended = cli("replay", logs / "imu.mcap", "-o", "run")
    assert "replaying" not in ended.out
    assert "replaying" in ended.err
    for text in ("/imu/data", "motion_from_imu", "ok", "report.html"):
        assert text in ended.out


def test_runs_are_numbered_where_no_folder_is_named_and_replaced_where_one_is(cli, logs, tmp_path):
    cli("replay", logs / "imu.mcap")
    cli("replay", logs / "imu.mcap")
    cli("replay", logs / "imu.mcap", "--seed", 5, "-o", "runs/imu")
    assert sorted(entry.name for entry in (tmp_path / "runs").iterdir()) == ["imu", "imu-2"]
    assert json.loads((tmp_path / "runs/imu/manifest.json").read_text())["seed"] == 5
