"""Fusion on scenes made of numbers: one camera rig, one LiDAR, cars whose motion is known."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pipelines.control import Control
from pipelines.fusion import Fuse
from pipelines.planning import Plan
from pipelines.projection import CameraGeometry
from pipelines.understanding import Understand
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, Command, Detections2D, EgoMotion, TrackedObjects, canonical_digest
from rt_sched.ports import JobContext, SensorDescription, StageContext

MS = 1_000_000
CYCLE_NS = 33_333_333
SWEEP_NS = 100 * MS
FORWARD = ((0.0, 0.0, 1.0, 1.0), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))
CAMERA = SensorDescription("front", "camera", CYCLE_NS, 640, 400, (500.0, 500.0, 320.0, 200.0), FORWARD)
TELE = SensorDescription("tele", "camera", CYCLE_NS, 640, 400, (1000.0, 1000.0, 320.0, 200.0), FORWARD)
LIDAR = SensorDescription("top", "lidar", SWEEP_NS)
IMU = SensorDescription("imu", "imu", 5 * MS)
SENSORS = {sensor.name: sensor for sensor in (CAMERA, TELE, LIDAR, IMU)}
CAR = (4.5, 1.8, 1.5)

#: Position of a car's centre (x, y).
Place = tuple[float, float]


def sweep(capture_ns: int, places: Sequence[Place], size: Sequence[float] = CAR) -> Boxes3D:
    n = len(places)
    centers = np.array([[x, y, 0.75] for x, y in places], np.float32).reshape(n, 3)
    sizes = np.tile(np.array(size, np.float32), (n, 1)).reshape(n, 3)
    return Boxes3D(capture_ns, "vehicle", centers, sizes, np.zeros(n, np.float32), np.full(n, 60, np.int32))


def frame(
    capture_ns: int, places: Sequence[Place], sensor: SensorDescription = CAMERA, label: str = "car"
) -> Detections2D:
    """What a perfect detector finds of the visible cars."""
    calibrated = replace(sensor, intrinsics=sensor.intrinsics or CAMERA.intrinsics, sensor_to_vehicle=FORWARD)
    geometry = CameraGeometry.of(calibrated)
    assert geometry is not None
    centers = np.array([[x, y, 0.75] for x, y in places], np.float64).reshape(-1, 3)
    boxes, visible = geometry.project_boxes(centers, np.tile(CAR, (len(places), 1)))
    found: npt.NDArray[np.float32] = boxes[visible].astype(np.float32)
    n = len(found)
    scores, ids = np.full(n, 0.8, np.float32), np.full(n, 3, np.int32)
    return Detections2D(capture_ns, "optical", sensor.name, 400, 640, found, scores, ids, (label,) * n)


def started(
    sensors: Mapping[str, SensorDescription] = SENSORS, *, max_disparity_ns: int | None = None, **parameters: Any
) -> Fuse:
    stage = Fuse(**parameters)
    stage.start(StageContext("fusion", Path(), sensors, max_disparity_ns))
    return stage


def fuse(stage: Fuse, now_ns: int, **inputs: Any) -> TrackedObjects:
    job = JobContext("fusion", 0, now_ns, now_ns + MS, now_ns + 5 * MS, now_ns + CYCLE_NS)
    objects = stage.process(job, inputs)["objects"]
    assert isinstance(objects, TrackedObjects)
    return objects


def drive(
    stage: Fuse, seconds: float, gap: Any, *, lidar: bool = True, cameras: Sequence[SensorDescription] = (CAMERA,)
) -> list[TrackedObjects]:
    """Runs cycles with a car whose near end is `gap(t)` metres ahead of the origin; sensors are registers."""
    results = []
    for k in range(1, round(seconds * 30) + 1):
        now_ns = k * CYCLE_NS
        inputs: dict[str, Any] = {}
        if lidar:
            stamp = (now_ns - 40 * MS) // SWEEP_NS * SWEEP_NS
            inputs["boxes"] = sweep(stamp, [(gap(stamp / 1e9) + 2.25, 0.0)]) if stamp >= 0 else None
        for sensor in cameras:
            stamp = now_ns - 30 * MS
            inputs[f"detections_{sensor.name}"] = frame(stamp, [(gap(stamp / 1e9) + 2.25, 0.0)], sensor)
        results.append(fuse(stage, now_ns, **inputs))
    return results


def left_out(objects: TrackedObjects) -> dict[str, int]:
    return {weight.sensor: weight.left_out for weight in objects.weights}


def near_end(objects: TrackedObjects) -> float:
    return float(objects.positions_m[0, 0] - objects.sizes_m[0, 0] / 2.0)


def test_lidar_and_camera_give_one_labelled_object_at_the_right_place_and_speed() -> None:
    results = drive(started(), 2.0, lambda t: 30.0 - 5.0 * t)
    last = results[-1]
    now_s = last.capture_time_ns / 1e9
    assert last.track_ids.tolist() == [1]
    assert last.labels == ("car",)
    assert near_end(last) == pytest.approx(30.0 - 5.0 * now_s, abs=0.1)
    assert last.velocities_m_s[0] == pytest.approx([-5.0, 0.0], abs=0.1)
    assert last.scores[0] == pytest.approx(0.8)
    assert {ids for result in results for ids in result.track_ids.tolist()} == {1}
    assert {sensor for result in results for seen in result.seen_by for sensor in seen} == {"front", "top"}
    assert [view.sensor for view in last.views] == ["front", "top"]


def test_without_a_camera_the_label_is_unknown() -> None:
    last = drive(started(), 1.5, lambda t: 30.0 - 5.0 * t, cameras=())[-1]
    assert last.labels == ("unknown",)
    assert last.velocities_m_s[0, 0] == pytest.approx(-5.0, abs=0.1)


def test_without_a_lidar_the_flat_ground_gives_the_range() -> None:
    stage = started({"front": CAMERA})
    last = drive(stage, 2.0, lambda t: 25.0 - 4.0 * t, lidar=False)[-1]
    assert near_end(last) == pytest.approx(25.0 - 4.0 * last.capture_time_ns / 1e9, abs=0.3)
    assert last.velocities_m_s[0, 0] == pytest.approx(-4.0, abs=0.5)
    assert (last.labels, len(last.track_ids)) == (("car",), 1)


def test_while_the_lidar_sees_cameras_start_no_object_of_their_own() -> None:
    stage = started()
    for k in range(1, 31):
        now_ns = k * CYCLE_NS
        stamp = now_ns // SWEEP_NS * SWEEP_NS
        seen = frame(now_ns - 30 * MS, [(20.0, 0.0), (15.0, 4.0)])
        objects = fuse(stage, now_ns, boxes=sweep(stamp, [(20.0, 0.0)]), detections_front=seen)
    assert objects.labels == ("car",)
    # 300 ms after the last sweep they do.
    for k in range(31, 61):
        now_ns = k * CYCLE_NS
        objects = fuse(stage, now_ns, detections_front=frame(now_ns - 30 * MS, [(20.0, 0.0), (15.0, 4.0)]))
    assert objects.labels == ("car", "car")
    assert objects.positions_m[1] == pytest.approx([15.0, 4.0], abs=0.5)


def test_a_range_that_disagrees_with_the_height_is_less_certain() -> None:
    spread = []
    for shrink in (0.0, 30.0):
        seen = frame(0, [(20.0, 0.0)])
        seen.boxes_px[0, 1] += shrink
        stage = started({"front": CAMERA})
        fuse(stage, 0, detections_front=seen)
        spread.append(stage._objects.filter.covariance[0, 0, 0])
    assert spread[1] > 4.0 * spread[0]


def test_without_a_lidar_the_range_is_less_certain() -> None:
    both, camera_only = started(), started({"front": CAMERA})
    drive(both, 1.0, lambda t: 25.0)
    drive(camera_only, 1.0, lambda t: 25.0, lidar=False)
    spread = [stage._objects.filter.covariance[0, 0, 0] for stage in (both, camera_only)]
    assert spread[1] > 10.0 * spread[0]


def test_when_the_lidar_falls_silent_the_camera_carries_the_object_on() -> None:
    stage = started()
    first = drive(stage, 1.0, lambda t: 30.0 - 5.0 * t)[-1]
    for k in range(31, 61):
        now_ns = k * CYCLE_NS
        stamp = now_ns - 30 * MS
        last = fuse(stage, now_ns, detections_front=frame(stamp, [(30.0 - 5.0 * stamp / 1e9 + 2.25, 0.0)]))
    assert last.track_ids.tolist() == first.track_ids.tolist() == [1]
    assert near_end(last) == pytest.approx(20.0, abs=0.5)
    assert {v.sensor: v.capture_time_ns for v in last.views}["top"] == 900 * MS


def test_several_cameras_see_one_object() -> None:
    last = drive(started(), 1.0, lambda t: 40.0, cameras=(CAMERA, TELE))[-1]
    assert last.track_ids.tolist() == [1]
    assert set(last.seen_by[0]) >= {"front", "tele"}
    alone = drive(started({"front": CAMERA, "tele": TELE}), 1.0, lambda t: 40.0, lidar=False, cameras=(CAMERA, TELE))
    assert alone[-1].track_ids.tolist() == [1]


def test_an_input_that_is_read_again_is_fused_once() -> None:
    once, again = started(), started()
    box, seen = sweep(0, [(20.0, 0.0)]), frame(10 * MS, [(20.0, 0.0)])
    for k in range(1, 8):
        fuse(again, k * 20 * MS, boxes=box, detections_front=seen)
        fuse(once, k * 20 * MS, **({"boxes": box, "detections_front": seen} if k == 1 else {}))
    assert once._objects.items[0].hits == again._objects.items[0].hits == 2
    assert np.array_equal(once._objects.filter.covariance, again._objects.filter.covariance)
    assert left_out(fuse(again, 200 * MS)) == {"front": 0, "tele": 0, "top": 0}


def test_an_older_capture_of_the_same_sensor_is_ignored_and_counted_once() -> None:
    stage = started()
    fuse(stage, 100 * MS, boxes=sweep(90 * MS, [(20.0, 0.0)]))
    for now_ms in (110, 120):
        last = fuse(stage, now_ms * MS, boxes=sweep(50 * MS, [(40.0, 0.0)]))
    assert len(stage._objects.items) == 1
    assert left_out(last) == {"front": 0, "tele": 0, "top": 1}


def test_a_capture_from_the_future_waits() -> None:
    stage = started(confirm_hits=1, confirm_ms=0)
    box = sweep(150 * MS, [(20.0, 0.0)])
    assert len(fuse(stage, 100 * MS, boxes=box).track_ids) == 0
    assert len(fuse(stage, 160 * MS, boxes=box).track_ids) == 1


def test_time_that_steps_back_forgets_everything_once() -> None:
    stage = started()
    drive(stage, 1.0, lambda t: 20.0)
    again = drive(stage, 1.0, lambda t: 20.0)
    fresh = drive(started(), 1.0, lambda t: 20.0)
    assert [canonical_digest(result) for result in again] == [canonical_digest(result) for result in fresh]


def test_an_object_is_published_after_measurements_that_tell_its_speed() -> None:
    stage = started()
    for capture_ms, published in ((0, 0), (60, 0), (120, 0), (150, 1)):
        objects = fuse(stage, (capture_ms + 10) * MS, boxes=sweep(capture_ms * MS, [(20.0, 0.0)]))
        assert len(objects.track_ids) == published
    stage = started(confirm_hits=4)
    for capture_ms, published in ((0, 0), (100, 0), (200, 0), (300, 1)):
        objects = fuse(stage, (capture_ms + 10) * MS, boxes=sweep(capture_ms * MS, [(20.0, 0.0)]))
        assert len(objects.track_ids) == published


def test_a_young_object_that_a_sweep_misses_is_held_back_and_an_old_one_is_not() -> None:
    for age, published in ((5, 0), (6, 1)):
        stage = started()
        for k in range(age):
            fuse(stage, k * SWEEP_NS, boxes=sweep(k * SWEEP_NS, [(20.0, 0.0)]))
        assert len(fuse(stage, age * SWEEP_NS - 1).track_ids) == 1
        assert len(fuse(stage, age * SWEEP_NS, boxes=sweep(age * SWEEP_NS, [])).track_ids) == published
        again = sweep((age + 1) * SWEEP_NS, [(20.0, 0.0)])
        assert fuse(stage, (age + 1) * SWEEP_NS, boxes=again).track_ids.tolist() == [1]


def test_posts_of_a_fence_stand_still_although_the_next_one_comes_up_where_the_last_one_was() -> None:
    # At 20 m/s a post moves 2 m from sweep to sweep; posts are 2.2 m apart, so the next one appears 0.2 m off. What
    # stands elsewhere says how the world moves.
    stage = started()
    for k in range(12):
        travelled = 2.0 * k
        posts = [(5.0 + 2.2 * i - travelled % 2.2, 3.0) for i in range(12)] if k >= 5 else []
        walls = [(60.0 + 9.0 * i - travelled, -8.0 - i) for i in range(6)]
        objects = fuse(stage, k * SWEEP_NS, boxes=sweep(k * SWEEP_NS, [*posts, *walls], (0.2, 0.2, 1.0)))
    fence = objects.positions_m[:, 1] > 0.0
    assert fence.sum() >= 9
    assert objects.velocities_m_s[fence, 0] == pytest.approx(-20.0, abs=1.0)


def test_an_object_that_is_not_seen_any_more_is_dropped() -> None:
    # Sweeps up to 900 ms and no later one: published for 350 ms.
    stage = started()
    drive(stage, 1.0, lambda t: 20.0, cameras=())
    assert len(fuse(stage, 1_250 * MS).track_ids) == 1
    assert len(fuse(stage, 1_251 * MS).track_ids) == 0
    # Cameras up to 969.99999 ms: published for 200 ms, remembered for 350 ms.
    stage = started({"front": CAMERA})
    drive(stage, 1.0, lambda t: 20.0, lidar=False)
    assert len(fuse(stage, 1_169 * MS).track_ids) == 1
    assert len(fuse(stage, 1_170 * MS).track_ids) == 0
    assert len(stage._objects.items) == 1
    fuse(stage, 1_320 * MS)
    assert len(stage._objects.items) == 0


def test_an_object_overtaken_keeps_its_number_and_extent() -> None:
    results = drive(started(), 3.0, lambda t: 10.0 - 8.0 * t, cameras=())
    assert {tuple(r.track_ids.tolist()) for r in results if len(r.track_ids)} == {(1,)}
    last = results[-1]
    assert last.positions_m[0, 0] == pytest.approx(10.0 - 8.0 * last.capture_time_ns / 1e9 + 2.25, abs=0.2)
    assert last.velocities_m_s[0, 0] == pytest.approx(-8.0, abs=0.2)


def test_boxes_in_the_frame_of_the_lidar_are_carried_over() -> None:
    pose = ((0.0, -1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.5), (0.0, 0.0, 1.0, 1.9))
    stage = started({"top": replace(LIDAR, sensor_to_vehicle=pose)}, confirm_hits=1, confirm_ms=0)
    box = replace(sweep(0, [(2.0, -20.0)]), frame_id="lidar_top")
    objects = fuse(stage, 0, boxes=box)
    # x = 1 + 20, y = 0.5 + 2; the length lies across.
    assert objects.positions_m[0] == pytest.approx([21.0, 2.5])
    # The top, 1.9 + 0.75 + 0.75 m above the road, is the height.
    assert objects.sizes_m[0] == pytest.approx([1.8, 4.5, 3.4])


def test_the_vehicle_turns_without_taking_the_objects_along() -> None:
    # Turning left at 0.5 rad/s on the spot, a standing post swings to the right.
    stage = started({"top": LIDAR, "imu": IMU})
    for k in range(31):
        now_ns = k * SWEEP_NS // 3
        turned = 0.5 * (now_ns // SWEEP_NS * SWEEP_NS) / 1e9
        post = sweep(now_ns // SWEEP_NS * SWEEP_NS, [(20.0 * np.cos(turned), -20.0 * np.sin(turned))], (0.3, 0.3, 1.5))
        ego = EgoMotion(now_ns, "vehicle", 0.5, 0.0, 0.5 * now_ns / 1e9, 0.0)
        objects = fuse(stage, now_ns, boxes=post, ego=ego)
    assert np.abs(objects.velocities_m_s[0]).max() < 0.1
    assert [view.sensor for view in objects.views] == ["imu", "top"]


def scene(seed: int) -> list[tuple[int, dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    places = [(float(x), float(y)) for x, y in zip(rng.uniform(8, 50, 6), rng.uniform(-6, 6, 6), strict=True)]
    cycles = []
    for k in range(1, 20):
        now_ns = k * CYCLE_NS
        stamp = max(now_ns - 40 * MS, 0) // SWEEP_NS * SWEEP_NS
        jitter = np.random.default_rng(stamp).normal(0.0, 0.1, (6, 2))
        moved = [(x + dx, y + dy) for (x, y), (dx, dy) in zip(places, jitter, strict=True)]
        inputs = {
            "boxes": sweep(stamp, moved),
            "detections_front": frame(now_ns - 30 * MS, moved),
            "detections_tele": frame(now_ns - 30 * MS, moved, TELE, label="truck"),
        }
        cycles.append((now_ns, inputs))
    return cycles


def shuffled(inputs: dict[str, Any], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    result: dict[str, Any] = {}
    for name in reversed(list(inputs)):
        message = inputs[name]
        if isinstance(message, Boxes3D):
            order = rng.permutation(len(message.centers_m))
            fields = ["centers_m", "sizes_m", "yaws_rad", "num_points"]
            message = replace(message, **{field: getattr(message, field)[order] for field in fields})
        else:
            order = rng.permutation(len(message.boxes_px))
            fields = ["boxes_px", "scores", "class_ids"]
            names = tuple(message.class_names[i] for i in order)
            message = replace(message, class_names=names, **{f: getattr(message, f)[order] for f in fields})
        result[name] = message
    return result


@pytest.mark.parametrize("seed", range(4))
def test_neither_a_second_run_nor_the_order_of_inputs_changes_a_bit(seed: int) -> None:
    first, second, third = started(), started(), started()
    published = 0
    for now_ns, inputs in scene(seed):
        expected = fuse(first, now_ns, **inputs)
        published += len(expected.track_ids)
        assert canonical_digest(fuse(second, now_ns, **inputs)) == canonical_digest(expected)
        assert canonical_digest(fuse(third, now_ns, **shuffled(inputs, seed))) == canonical_digest(expected)
    assert published > 50


def test_a_camera_without_calibration_is_a_view_only_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    bare = replace(CAMERA, sensor_to_vehicle=None)
    with caplog.at_level(logging.WARNING):
        stage = started({"front": bare, "top": LIDAR})
    assert "front is not calibrated" in caplog.text
    last = drive(stage, 1.0, lambda t: 20.0, cameras=(bare,))[-1]
    assert last.labels == ("unknown",)
    assert [view.sensor for view in last.views] == ["front", "top"]


def test_nothing_at_all_gives_an_empty_result() -> None:
    objects = fuse(started({}), 0, boxes=None, ego=None, detections_front=None)
    assert (len(objects.track_ids), objects.labels, objects.views) == (0, (), ())
    assert objects.positions_m.shape == objects.velocities_m_s.shape == (0, 2)
    assert objects.sizes_m.shape == (0, 3)


def test_boxes_and_detections_that_are_not_finite_are_left_out() -> None:
    broken = sweep(0, [(20.0, 0.0), (30.0, 0.0)])
    broken.centers_m[0, 1] = np.nan
    lost = frame(0, [(20.0, 0.0)])
    lost.boxes_px[0, 2] = np.inf
    stage = started(confirm_hits=1, confirm_ms=0)
    assert fuse(stage, 0, boxes=broken, detections_front=lost).positions_m[:, 0].tolist() == [30.0]


def test_unknown_sensors_and_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(DeploymentError, match="lidar 'tap' is no such sensor; did you mean 'top'"):
        started(lidar="tap")
    with pytest.raises(ValueError, match="confirm_hits: 0 is out of range"):
        Fuse(confirm_hits=0)


@pytest.mark.parametrize(
    ("lidar", "latest_s", "tolerance"), [(True, 0.15, 0.2), (False, 0.35, 0.4)], ids=["lidar and camera", "camera only"]
)
def test_a_lead_vehicle_that_brakes_ends_in_an_emergency(lidar: bool, latest_s: float, tolerance: float) -> None:
    # 22 m from bumper to bumper (2 m ahead of the origin) at equal speed for 1 s, then the lead brakes with 6 m/s^2.
    # With the true gap 22 - 3 t^2 and closing speed 6 t the time to collision falls to 1.6 s 1.548 s later.
    def gap(t: float) -> float:
        return 22.0 - 3.0 * max(t - 1.0, 0.0) ** 2

    stage, decision = started(), (Understand(), Plan(), Control())
    for part in decision:
        part.start(StageContext("decision", Path(), SENSORS))
    emergencies: list[tuple[float, Command]] = []
    for objects in drive(stage, 3.0, lambda t: gap(t) + 2.0, lidar=lidar):
        now = objects.capture_time_ns
        job = JobContext("decision", 0, now, now, now, now)
        message: dict[str, Any] = {"objects": objects}
        for part in decision:
            message = dict(part.process(job, message))
        command = message["command"]
        if command.emergency:
            emergencies.append((now / 1e9, command))
    at_s, command = emergencies[0]
    assert 2.548 <= at_s <= 2.548 + latest_s
    truth_s = gap(at_s) / (6.0 * (at_s - 1.0))
    assert command.time_to_collision_ns == pytest.approx(truth_s * 1e9, rel=tolerance)
    assert emergencies[-1][0] == pytest.approx(3.0, abs=1e-3)
