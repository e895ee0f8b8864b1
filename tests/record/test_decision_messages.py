"""The decision's messages in the recorded output, read back by an independent reader."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from rt_sched.messages import MotionPlan, ObjectChanges, SensorView, SensorWeight, Situation, TrackedObjects
from rt_sched.record.mcap_writer import OutputRecorder

MS = 1_000_000


def tracks(*weights: SensorWeight, speed: float | None = None) -> TrackedObjects:
    return TrackedObjects(
        50 * MS, "vehicle", np.array([17]), np.array([[12.5, 1.0]]), np.array([[-3.0, 0.0]]),
        np.array([[4.5, 1.8, 1.6]]), ("car",), np.array([0.9]), (("front",),), (SensorView("front", 45 * MS),),
        weights=weights, ego_speed_m_s=speed,
    )  # fmt: skip


def recorded(path, message):
    with OutputRecorder(path, time_zero_ns=1_700_000_000 * 10**9) as recorder:
        recorder.add(60 * MS, "task", "port", message)
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        return {channel.topic: decoded for _, channel, _, decoded in reader.iter_decoded_messages()}


@pytest.mark.parametrize("speed", [13.0, None])
def test_fusion_weights(tmp_path, speed):
    found = recorded(tmp_path / "o.mcap", tracks(SensorWeight("front", 0.75, 2), SensorWeight("top", 0.0), speed=speed))
    weights = found["/task/port/weights"]
    assert (list(weights.sensors), list(weights.weights), list(weights.left_out)) == (
        ["front", "top"],
        [0.75, 0],
        [2, 0],
    )
    assert weights.ego_speed_m_s == speed or (speed is None and math.isnan(weights.ego_speed_m_s))
    assert "/task/port/weights" not in recorded(tmp_path / "p.mcap", tracks())


def test_changes_of_objects(tmp_path):
    message = ObjectChanges(50 * MS, "vehicle", 7, False, tracks(), np.array([17]), np.array([3, 4]))
    found = recorded(tmp_path / "o.mcap", message)
    changes = found["/task/port"]
    assert (changes.sequence, changes.full, list(changes.changed_ids)) == (7, False, [17])
    assert (list(changes.created_ids), list(changes.removed_ids)) == ([17], [3, 4])
    assert found["/task/port/changed"].detections[0].id == "17"


def test_a_situation(tmp_path):
    names = [
        "gaps_m", "gap_sigmas_m", "closing_m_s", "closing_sigmas_m_s", "braking_m_s2", "in_path",
        "times_to_collision_s", "time_to_collision_sigmas_s", "needed_m_s2",
    ]  # fmt: skip
    arrays = {name: np.array([k + 0.5, math.inf]) for k, name in enumerate(names)}
    message = Situation(
        50 * MS, "vehicle", 40 * MS, True, None, -0.01, np.array([5, 6]), views=(), **arrays
    )  # fmt: skip
    situation = recorded(tmp_path / "o.mcap", message)["/task/port"]
    assert (situation.valid, situation.curvature_per_m, list(situation.track_ids)) == (True, -0.01, [5, 6])
    assert math.isnan(situation.speed_m_s)
    assert situation.data_time.nanosec == 40 * MS
    for k, name in enumerate(names):
        assert list(getattr(situation, name)) == [k + 0.5, math.inf]


@pytest.mark.parametrize("track_id", [None, 9])
def test_a_plan(tmp_path, track_id):
    ttc_ns = None if track_id is None else 1_500 * MS
    message = MotionPlan(
        50 * MS, 40 * MS, True, True, False, track_id, ttc_ns, -3.0, 13.0,
        np.array([100 * MS, 200 * MS]), np.array([-0.3, -0.6]), (),
    )  # fmt: skip
    plan = recorded(tmp_path / "o.mcap", message)["/task/port"]
    assert (plan.valid, plan.warning, plan.emergency, plan.acceleration_m_s2) == (True, True, False, -3.0)
    assert plan.track_id == (-1 if track_id is None else 9)
    assert plan.time_to_collision_s == (math.inf if track_id is None else 1.5)
    assert (list(plan.times_s), list(plan.speed_changes_m_s)) == ([0.1, 0.2], [-0.3, -0.6])
