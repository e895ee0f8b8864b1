"""Every single fault at many instants: the losses of the arbiter lead to MINIMAL_RISK in time, whatever the instant."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "evidence"))

from single_faults import Asked, Part, Remembered, asked_faults, main, not_struck, result, struck_rows, too_late  # noqa: E402

from rt_sched.app.faults.job import opened  # noqa: E402
from rt_sched.app.faults.prepared import Struck  # noqa: E402
from rt_sched.faults.script import FaultScript, Injection, Trigger  # noqa: E402
from rt_sched.messages.sensor import EncodedImage  # noqa: E402
from rt_sched.units import NS_PER_MS  # noqa: E402
from safety.monitors.pictures import look_at  # noqa: E402

ASKED = Asked("quad_orin", "hazard_short", None, 5)
BOUND_NS = 35 * NS_PER_MS


@pytest.mark.parametrize(("kind", "target"), [("device.loss", "gateway"), ("arbiter.kill", "arbiter")])
def test_the_end_of_the_arbiter_is_noticed_and_answered_at_every_instant(kind: str, target: str) -> None:
    rows = struck_rows(ASKED, kind, target)
    assert [row["verdict"] for row in rows] == ["detected"] * 5
    assert len({row["detected_after_ns"] for row in rows}) == 5
    after = [row["reaction"]["after_ns"] for row in rows]
    assert min(after) > 0
    assert max(after) <= BOUND_NS
    assert too_late(rows, {target}, BOUND_NS) == []
    assert too_late(rows, {target}, max(after) - 1) == [f"{kind} of {target}"]
    assert too_late([{**rows[0], "reaction": None}], {target}, BOUND_NS) == [f"{kind} of {target}"]


def test_every_kind_that_lockstep_carries_out_and_every_target_is_asked_for() -> None:
    with opened(ASKED.request) as drive:
        found = list(asked_faults(drive, []))
        missing = not_struck(drive)
        names = {one.name for one in (*drive.system.sensors, *drive.system.devices)} | set(drive.task_names)
    assert len(found) == len(set(found))
    assert {target for _, target in found} | set(missing) == names
    assert list(asked_faults(drive, ["arbiter.kill"])) == [("arbiter.kill", "arbiter")]


def test_what_is_done_is_not_struck_again_and_what_is_of_something_else_is_not_taken(tmp_path: Path) -> None:
    asked = Asked("quad_orin", "hazard_short", None, 2)
    file = tmp_path / "faults.json.part"
    whole = result(asked, ["imu.loss", "arbiter.kill"], ["imu", "arbiter"], 1)
    assert [one["target"] for one in whole["targets"]] == ["imu", "arbiter"]
    assert whole["recording"] == "replay_data/hazard_short.mcap"

    head = {key: whole[key] for key in list(whole)[: list(whole).index("not_struck") + 1]}
    part = Part(file, {**head, "run": head["run"]["commit"]})
    done = [{**row, "verdict": "late"} for row in struck_rows(asked, "imu.loss", "imu")]
    part.add(done)
    with file.open("a", encoding="utf-8") as lines:
        lines.write('[{"kind": "arbiter.kill", "tar')  # a call that was ended while it wrote
    assert list(Part(file, {**head, "run": head["run"]["commit"]}).done) == [("imu.loss", "imu")]
    again = result(asked, ["imu.loss", "arbiter.kill"], [], 1, file)
    assert [one["late"] for one in again["targets"]] == [2, 0]
    assert not file.exists()

    Part(file, {**head, "instants": 3}).add(done)
    assert result(asked, ["imu.loss"], [], 1, file)["status"] == "ok"


def test_what_is_remembered_of_a_picture_is_what_a_look_at_it_shows() -> None:
    look = Remembered()
    pictures = [EncodedImage(0, "", "mono8", bytes([level]) * 64, 8, 8, 8) for level in (0, 128, 255, 0)]
    assert [look(one) for one in pictures] == [look_at(one) for one in pictures]
    assert look(pictures[0]) is look(pictures[3])
    assert look(EncodedImage(0, "", "jpeg", b"")) is None


def test_what_a_recording_has_nothing_of_can_be_struck_on_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(json.dumps({"not_struck": ["imu", "left"]}))
    call = ["", "quad_orin", "--instants", "1", "--rest-of", str(before), "--kind", "imu.loss", "--kind", "camera.loss"]
    monkeypatch.setattr(sys, "argv", [*call, "--json", str(after)])
    assert main() == 0
    assert [one["target"] for one in json.loads(after.read_text())["targets"]] == ["imu"]


def test_messages_are_read_again_only_where_a_fault_strikes_them() -> None:
    with opened(ASKED.request) as drive:
        for kind, target, again in (("process.kill", "fuse", False), ("camera.black", "rear", True)):
            fault = Injection("fault", kind, target, Trigger(500 * NS_PER_MS))
            struck = Struck(drive, FaultScript((fault,)), "")
            assert (struck.timeline is not drive.timeline) == again
            assert np.array_equal(struck.timeline.samples.arrival_ns, drive.timeline.samples.arrival_ns)
