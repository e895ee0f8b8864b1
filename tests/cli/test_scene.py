"""`rt-sched scene` makes a recording and its truth, both or neither, and says what went wrong."""

import hashlib
import json
import signal

import pytest
from cli_runs import Cli
from mcap.reader import make_reader

SHORT = ("--camera", "front_wide", "--duration", "0.1s")


def test_the_list_names_every_scene_with_the_right_reaction(cli):
    ended = cli("scene", "--list", "--json")
    rows = {row["name"]: row for row in ended.document["scenes"]}
    assert ended.document["schema"] == "rt-sched/scenes/1"
    assert {"hazard", "no_hazard", "traffic", "pedestrian_crossing", "crossing_car", "occluded_pedestrian"} <= set(rows)
    assert {"cut_in", "stop_and_go", "night", "rain", "slope"} <= set(rows)
    assert (rows["hazard"]["reaction"], rows["no_hazard"]["reaction"]) == ("brake", "none")
    assert rows["hazard"]["duration_ns"] == 4 * 10**9
    text = cli("scene", "--list").out
    for row in rows.values():
        assert row["name"] in text
        assert row["summary"] in text


@pytest.fixture(scope="module")
def rain(tmp_path_factory):
    """A scene in a folder of its own, and how the command ended that made it."""
    folder = tmp_path_factory.mktemp("rain")
    return folder, Cli(folder)("scene", "rain", *SHORT, "--seed", 5, "--json")


def test_a_scene_is_a_recording_and_a_truth_that_say_the_same(rain):
    folder, ended = rain
    document = ended.document
    assert document["schema"] == "rt-sched/scene/1"
    assert (document["scene"], document["conditions"], document["seed"]) == ("rain", "rain", 5)
    recording = (folder / "rain.mcap").read_bytes()
    assert document["sha256"] == hashlib.sha256(recording).hexdigest()
    assert document["size_bytes"] == len(recording)
    with (folder / "rain.mcap").open("rb") as stream:
        counts = make_reader(stream).get_summary().statistics.message_count
    assert counts == sum(document["messages"].values()) == 3 + 1 + 20
    truth = json.loads((folder / "rain_truth.json").read_text(encoding="utf-8"))
    assert truth["expected"] == document["expected"]
    # It ends before anybody brakes.
    assert truth["expected"]["reaction"] == "none"
    assert (truth["scene"], truth["conditions"], truth["duration_ns"]) == ("rain", "rain", 10**8)
    assert len(truth["frames"]) == 3
    assert {entry.name for entry in folder.iterdir()} == {"rain.mcap", "rain_truth.json"}
    for word in ("ground truth", "rendering"):
        assert word in ended.err


def test_a_scene_can_be_read_and_equal_calls_give_equal_bytes(cli, tmp_path, rain):
    folder, ended = rain
    first = ended.document
    again, other = (
        cli("scene", "rain", *SHORT, "--seed", seed, "-o", f"{seed}.mcap", "--json").document for seed in (5, 2)
    )
    assert first["sha256"] == again["sha256"]
    assert (folder / "rain_truth.json").read_bytes() == (tmp_path / "5_truth.json").read_bytes()
    assert other["sha256"] != first["sha256"]
    assert cli("info", folder / "rain.mcap", "--json").document["messages"] == sum(first["messages"].values())


def test_an_actor_can_be_left_out(cli, tmp_path):
    document = cli("scene", "hazard", *SHORT, "--without", "lead", "--json").document
    assert document["without"] == ["lead"]
    assert document["expected"]["reaction"] == "none"
    truth = json.loads((tmp_path / "hazard_truth.json").read_text(encoding="utf-8"))
    assert truth["lead"] is None
    assert "lead" not in {actor["name"] for actor in truth["actors"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "NAME: missing; rt-sched scene --list shows the scenes"),
        (("hazzard",), "there is no scene 'hazzard'; did you mean hazard? valid: hazard, no_hazard"),
        (("hazard", "--duration", "4"), "--duration: '4' has no unit"),
        (("hazard", "--duration", "0s"), "--duration: 0s is out of range; a scene lasts up to 120s"),
        (("hazard", "--duration", "1e30s"), "--duration: 1e30s is out of range"),
        (("hazard", "--conditions", "snow"), "there are no conditions 'snow'; valid: day, night, rain, night_rain"),
        (("hazard", "--without", "deer"), "scene hazard has no actor 'deer'; it has lead"),
        (("hazard", "--camera", "roof"), "the vehicle has no camera 'roof'; it has front_wide"),
        (("hazard", "-o", "hazard.bag"), "hazard.bag: a scene is written as MCAP"),
        (("hazard", *SHORT, "-o", "missing/x.mcap"), "No such file or directory"),
        (("hazard", "--seed", "-1"), "--seed"),
    ],
)
def test_a_wrong_call_is_one_line_that_helps_and_leaves_nothing(cli, tmp_path, arguments, message):
    ended = cli("scene", *arguments, code=2)
    assert message in ended.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_forced(cli, tmp_path):
    mine = [tmp_path / "slope.mcap", tmp_path / "slope_truth.json"]
    for existing in mine:
        existing.write_text("mine")
        assert f"{existing.name}: exists; overwrite it with --force" in cli("scene", "slope", *SHORT, code=2).err
        assert existing.read_text() == "mine"
        existing.unlink()
    for existing in mine:
        existing.write_text("mine")
    cli("scene", "slope", *SHORT, "--force")
    assert all(existing.stat().st_size > 1000 for existing in mine)


def test_an_interrupted_scene_leaves_nothing(cli, tmp_path):
    with cli.start("scene", "hazard", "--duration", "1s") as process:
        for line in process.stderr:
            if "rendering" in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "rt-sched: interrupted"
    assert list(tmp_path.iterdir()) == []
