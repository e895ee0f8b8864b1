"""What each sensor counts, what is too old to count, doubles, unlikely objects, and the vehicle's own motion."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ego import EgoHistory
from pipelines.ego_speed import EgoSpeed, Sweep
from pipelines.fusion import Fuse
from pipelines.projection import CameraGeometry
from pipelines.weights import SensorWeights
from rt_sched.messages import Boxes3D, Deskew, Detections2D, EgoMotion, TrackedObjects
from rt_sched.ports import JobContext, SensorDescription, StageContext

MS = 1_000_000
CYCLE_NS = 33_333_333
FORWARD = ((0.0, 0.0, 1.0, 1.0), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))
BACKWARD = ((0.0, 0.0, -1.0, -1.0), (1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))
WIDE = SensorDescription("wide", "camera", CYCLE_NS, 640, 400, (400.0, 400.0, 320.0, 200.0), FORWARD)
TELE = SensorDescription("tele", "camera", CYCLE_NS, 640, 400, (800.0, 800.0, 320.0, 200.0), FORWARD)
REAR = SensorDescription("rear", "camera", CYCLE_NS, 640, 400, (400.0, 400.0, 320.0, 200.0), BACKWARD)
TOP = SensorDescription("top", "lidar", 100 * MS)
SENSORS = {sensor.name: sensor for sensor in (WIDE, TELE, REAR, TOP)}


def started(max_disparity_ns: int | None = None, sensors: Any = SENSORS, **parameters: Any) -> Fuse:
    stage = Fuse(**parameters)
    stage.start(StageContext("fuse", Path(), sensors, max_disparity_ns))
    return stage


def fuse(stage: Fuse, now_ns: int, **inputs: Any) -> TrackedObjects:
    objects = stage.process(JobContext("fuse", 0, now_ns, now_ns, now_ns, now_ns), inputs)["objects"]
    assert isinstance(objects, TrackedObjects)
    return objects


def boxes(capture_ns: int, *places: tuple[float, float], size: tuple[float, float, float] = (4.5, 1.8, 1.5)) -> Boxes3D:
    n = len(places)
    centers = np.array([[x, y, 0.75] for x, y in places], np.float32).reshape(n, 3)
    sizes = np.tile(np.array(size, np.float32), (n, 1)).reshape(n, 3)
    return Boxes3D(capture_ns, "vehicle", centers, sizes, np.zeros(n, np.float32), np.full(n, 60, np.int32))


def seen(
    capture_ns: int, sensor: SensorDescription, *places: tuple[float, float], shift_px: float = 0.0
) -> Detections2D:
    geometry = CameraGeometry.of(sensor)
    assert geometry is not None
    centers = np.array([[x, y, 0.75] for x, y in places], np.float64).reshape(-1, 3)
    found, visible = geometry.project_boxes(centers, np.tile((4.5, 1.8, 1.5), (len(places), 1)))
    pixels = (found[visible] + [0.0, shift_px, 0.0, shift_px]).astype(np.float32)
    n = len(pixels)
    ids = np.full(n, 3, np.int32)
    return Detections2D(capture_ns, "o", sensor.name, 400, 640, pixels, np.full(n, 0.8, np.float32), ids, ("car",) * n)


def weights(objects: TrackedObjects) -> dict[str, float]:
    return {weight.sensor: weight.weight for weight in objects.weights}


def test_shares_by_hand() -> None:
    # A car of 1.5 m at 20 m is 0.0469 picture widths high in wide, where edges are off by 0.004 widths: 8.5 % of the
    # height and the 3 % of every box make a variance of 0.00818; tele's is 0.00272. Wide alone has the rest of its
    # field.
    cameras = {name: CameraGeometry.of(SENSORS[name]) for name in ("wide", "tele", "rear")}
    shares = SensorWeights({k: v for k, v in cameras.items() if v is not None}, dict.fromkeys(cameras, 70 * MS))
    shares.update(100 * MS, {"wide": 90 * MS, "tele": 90 * MS, "rear": 90 * MS})
    assert shares.share("tele", 20.0, 0.0) == pytest.approx(0.7505, abs=1e-3)
    assert shares.share("wide", 20.0, 0.0) == pytest.approx(0.2495, abs=1e-3)
    # Far away twice the focal length is four times the weight; what is large in both is told as well by either.
    assert shares.share("tele", 400.0, 0.0) == pytest.approx(0.8, abs=1e-3)
    assert shares.share("tele", 1.0, 0.0) == pytest.approx(0.5, abs=1e-2)
    assert shares.share("wide", 20.0, 12.0) == pytest.approx(1.0)
    assert shares.share("rear", -20.0, 0.0) == pytest.approx(1.0)
    before = {weight.sensor: weight.weight for weight in shares.published({})}
    # The tele falls silent: 70 ms is still fresh, a nanosecond more is not.
    shares.update(160 * MS, {"wide": 150 * MS, "tele": 90 * MS, "rear": 150 * MS})
    assert {weight.sensor: weight.weight for weight in shares.published({})} == before
    shares.update(160 * MS + 1, {"wide": 150 * MS, "tele": 90 * MS, "rear": 150 * MS})
    after = {weight.sensor: weight.weight for weight in shares.published({})}
    assert (after["tele"], after["wide"], after["rear"]) == (0.0, 1.0, before["rear"])
    assert shares.share("wide", 20.0, 0.0) == 1.0


def test_a_lost_view_is_weighed_anew_within_100_ms_and_comes_back() -> None:
    stage, history = started(), {}
    for k in range(1, 40):
        now_ns = k * CYCLE_NS
        stamp = now_ns - 26 * MS
        inputs = {"detections_wide": seen(stamp, WIDE, (30.0, 0.0)), "detections_rear": seen(stamp, REAR, (-15.0, 0.0))}
        # The last frame of the tele before it is lost stays in its register.
        lost = 10 <= k < 30
        inputs["detections_tele"] = seen(9 * CYCLE_NS - 26 * MS if lost else stamp, TELE, (30.0, 0.0))
        history[k] = weights(fuse(stage, now_ns, **inputs))
    assert 0.0 < history[9]["wide"] < 1.0
    assert history[9]["tele"] > 0.5
    silent_ns = min(k for k in history if history[k]["tele"] == 0.0) * CYCLE_NS - (9 * CYCLE_NS - 26 * MS)
    assert silent_ns <= 100 * MS
    assert history[20]["wide"] == 1.0
    assert history[39] == history[9]
    # No sweep ever came.
    assert {row["top"] for row in history.values()} == {0.0}


def test_an_input_older_than_the_disparity_is_left_out_and_counted_once() -> None:
    for limit_ns, count in ((200 * MS, 0), (199 * MS, 1)):
        stage = started(limit_ns, confirm_hits=1, confirm_ms=0)
        inputs = {"boxes": boxes(100 * MS, (20.0, 0.0)), "detections_wide": seen(300 * MS, WIDE, (20.0, 0.0))}
        for now_ms in (310, 320):
            objects = fuse(stage, now_ms * MS, **inputs)
        assert {weight.sensor: weight.left_out for weight in objects.weights}["top"] == count
        assert ("top" in {view.sensor for view in objects.views}) is (count == 0)


def test_disparity_is_between_inputs_not_to_now() -> None:
    stage = started(50 * MS, confirm_hits=1, confirm_ms=0)
    objects = fuse(stage, 300 * MS, boxes=boxes(100 * MS, (20.0, 0.0)), detections_wide=seen(120 * MS, WIDE))
    assert [weight.left_out for weight in objects.weights] == [0, 0, 0, 0]


def test_cameras_that_disagree_on_the_range_still_see_one_object() -> None:
    # The tele looks 1.5 px too low, which is 2.2 m at 30 m for the other camera's eye.
    stage = started(sensors={"wide": WIDE, "tele": TELE})
    for k in range(1, 31):
        stamp = k * CYCLE_NS - 26 * MS
        inputs = {
            "detections_wide": seen(stamp, WIDE, (30.0, 0.0)),
            "detections_tele": seen(stamp, TELE, (30.0, 0.0), shift_px=1.5),
        }
        objects = fuse(stage, k * CYCLE_NS, **inputs)
        assert len(stage._objects.items) == 1
    assert objects.seen_by == (("tele", "wide"),)


def test_what_a_camera_placed_badly_is_no_double_of_what_the_lidar_finds_there() -> None:
    stage = started()
    for k in range(1, 40):
        stamp = k * CYCLE_NS - 26 * MS
        # Without a LiDAR at first; the camera looks too high, which puts the car at 24 m too far away.
        inputs: dict[str, Any] = {"detections_wide": seen(stamp, WIDE, (24.0, 0.0), shift_px=-5.0)}
        if k >= 20:
            inputs["boxes"] = boxes(k * CYCLE_NS // (100 * MS) * 100 * MS, (24.0, 0.0))
        objects = fuse(stage, k * CYCLE_NS, **inputs)
        if k == 19:
            assert objects.positions_m[0, 0] > 27.0
    assert objects.positions_m == pytest.approx(np.array([[24.0, 0.0]]), abs=0.2)


def test_what_flies_at_the_vehicle_needs_more_evidence_than_what_stands() -> None:
    # 25 m/s nearer from sweep to sweep while nothing else moves: chance matches look like this.
    first = {}
    for speed in (-2.0, -25.0):
        stage = started(sensors={"top": TOP})
        for k in range(12):
            objects = fuse(stage, k * 100 * MS, boxes=boxes(k * 100 * MS, (70.0 + speed * k / 10, 1.0)))
            if len(objects.track_ids):
                first.setdefault(speed, k)
    assert first[-2.0] == 2
    assert first[-25.0] >= 5


def test_a_vague_newcomer_does_not_take_the_box_of_an_object_that_is_well_known() -> None:
    # A box that appears once, 3 m ahead of a car that has long been followed and whose boxes jump by 0.4 m.
    stage = started(sensors={"top": TOP})
    for k in range(15):
        places = [(20.0 + (0.4 if k % 2 else 0.0), 0.0)] + ([(17.0 - 2.25, 0.0)] if k == 10 else [])
        objects = fuse(stage, k * 100 * MS, boxes=boxes(k * 100 * MS, *places))
    assert objects.track_ids.tolist() == [1]


def standing(seed: int = 0, n: int = 20) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.stack((rng.uniform(-40, 60, n), np.where(rng.random(n) < 0.5, -6.0, 6.0) + rng.uniform(-2, 2, n)), axis=1)


def sweep_of(world: np.ndarray[Any, Any], travelled_m: float, sides: tuple[float, float] = (0.6, 0.4)) -> Sweep:
    centers = np.column_stack((world[:, 0] - travelled_m, world[:, 1], np.full(len(world), 0.7)))
    return Sweep(centers, np.tile([*sides, 1.4], (len(world), 1)), np.zeros(len(world)))


@pytest.mark.parametrize("speed", [-3.0, 0.0, 8.0, 13.0, 30.0])
def test_what_stands_tells_the_speed(speed: float) -> None:
    estimate = EgoSpeed(None)
    for k in range(5):
        estimate.measure(sweep_of(standing(), speed * k / 10))
        estimate.follow(None, 0.1, 0.0, 0.0, 0.0)
    assert estimate.speed_m_s == pytest.approx(speed, abs=0.1)


def test_slivers_of_a_wall_and_the_car_ahead_tell_nothing() -> None:
    estimate = EgoSpeed(None)
    for _ in range(6):
        wall = sweep_of(standing(1), 0.0, (0.05, 0.02))
        ahead = sweep_of(np.array([[x, 0.0] for x in range(8, 60, 6)], np.float64), 0.0)
        both = [
            np.concatenate(pair)
            for pair in zip(*((s.centers_m, s.extents_m, s.ages_s) for s in (wall, ahead)), strict=True)
        ]
        estimate.measure(Sweep(*both))
        estimate.follow(None, 0.1, 0.0, 0.0, 0.0)
    assert estimate.speed_m_s is None


def test_the_imu_carries_the_speed_on_and_a_mistake_does_not() -> None:
    def ego(t: float) -> EgoMotion:
        return EgoMotion(int(t * 1e9), "vehicle", 0.0, -5.0, 0.0, -5.0 * t)

    estimate, travelled = EgoSpeed(None), 0.0
    for k in range(20):
        t = k / 10
        travelled = 12.0 * t - 2.5 * t * t
        estimate.measure(sweep_of(standing(), travelled if k != 10 else travelled + 4.0))
        estimate.follow(ego(t + 0.1), 0.1, 0.0, ego(t + 0.1).speed_change_m_s, 0.0)
        if k >= 3:
            assert estimate.speed_m_s == pytest.approx(12.0 - 5.0 * (t + 0.1), abs=0.5)


def test_a_speed_that_is_known_is_not_estimated() -> None:
    assert EgoSpeed(7.0).speed_m_s == 7.0
    estimate = EgoSpeed(None)
    estimate.follow(replace(EgoMotion(0, "vehicle", 0.0, 0.0, 0.0, 2.0), speed_m_s=9.0), 0.1, 0.0, 2.0, 0.0)
    assert estimate.speed_m_s == pytest.approx(9.0)


def test_motion_between_samples_follows_their_integrals() -> None:
    history = EgoHistory()
    for k in range(5):
        history.add(EgoMotion(k * 33 * MS, "vehicle", 0.5, -2.0, 0.5 * k * 0.033, -2.0 * k * 0.033))
    assert history.turned_rad(20 * MS, 100 * MS) == pytest.approx(0.04)
    # Beyond the last sample with its rates, and not for ever.
    assert history.turned_rad(132 * MS, 152 * MS) == pytest.approx(0.01)
    assert history.rates(0, 100 * MS, 10.0).lateral_acceleration_m_s2 == pytest.approx(5.0)
    assert history.rates(0, 100 * MS, 10.0).forward_acceleration_m_s2 == pytest.approx(-2.0)
    assert history.latest(333 * MS) is None
    # Time that steps back begins anew.
    history.add(EgoMotion(0, "vehicle", 0.0, 0.0, 9.0, 9.0))
    assert history.turned_rad(-100 * MS, 100 * MS) == 0.0


@pytest.mark.parametrize("deskew", [Deskew.RAW, Deskew.FULL, Deskew.ROTATION])
def test_boxes_count_at_their_own_instant_however_the_sweep_was_deskewed(deskew: Deskew) -> None:
    # Driving 10 m/s towards a standing car whose near end the scanner passes 60 ms before the sweep's stamp.
    stage = started(sensors={"top": TOP}, initial_speed_m_s=10.0)
    for k in range(1, 12):
        stamp = k * 100 * MS
        at_s = (stamp - 60 * MS) / 1e9
        near = 40.0 - 10.0 * at_s - (0.6 if deskew is Deskew.FULL else 0.0)
        found = replace(boxes(stamp, (near + 2.25, 0.0)), time_offset_ns=np.array([-60 * MS], np.int32), deskew=deskew)
        ego = EgoMotion(stamp + 30 * MS, "vehicle", 0.0, 0.0, 0.0, 0.0)
        objects = fuse(stage, stamp + 30 * MS, boxes=found, ego=ego)
    truth = 40.0 - 10.0 * objects.capture_time_ns / 1e9
    assert objects.positions_m[0, 0] - objects.sizes_m[0, 0] / 2 == pytest.approx(truth, abs=0.05)
    assert objects.velocities_m_s[0, 0] == pytest.approx(-10.0, abs=0.1)


def under(stage: Fuse, now_ns: int, lost: tuple[str, ...], **inputs: Any) -> TrackedObjects:
    return weighed(stage, now_ns, {name: Fraction(0) for name in lost}, **inputs)


def weighed(stage: Fuse, now_ns: int, factors: dict[str, Fraction], **inputs: Any) -> TrackedObjects:
    job = JobContext("fuse", 0, now_ns, now_ns, now_ns, now_ns, tuple(factors.items()))
    objects = stage.process(job, inputs)["objects"]
    assert isinstance(objects, TrackedObjects)
    return objects


def test_a_takeover_takes_the_weight_of_a_lost_view_at_once_and_gives_it_back() -> None:
    stage, history = started(), {}
    for k in range(1, 10):
        now_ns = k * CYCLE_NS
        lost = ("tele",) if k in (5, 6) else ()
        views = {f"detections_{one.name}": seen(now_ns - 26 * MS, one, (30.0, 0.0)) for one in (WIDE, TELE)}
        history[k] = under(stage, now_ns, lost, **views)
    shares = {k: weights(one) for k, one in history.items()}
    assert shares[5]["tele"] == shares[6]["tele"] == 0.0
    assert shares[5]["wide"] == 1.0
    assert shares[4] == shares[7] == shares[9]
    stamps = {k: {view.sensor: view.capture_time_ns for view in one.views} for k, one in history.items()}
    # What it sends meanwhile is not fused.
    assert stamps[6]["tele"] == 4 * CYCLE_NS - 26 * MS
    assert stamps[6]["wide"] == 6 * CYCLE_NS - 26 * MS


def tracked(factors: dict[str, Fraction]) -> tuple[float, float, dict[str, float]]:
    """How far left a car is, its variance, and the weights, where wide sees it 45 cm right and tele 45 cm left."""
    stage = started(sensors={"wide": WIDE, "tele": TELE})
    for k in range(1, 13):
        now_ns = k * CYCLE_NS
        views = {}
        for sensor, shift_px in ((WIDE, 6.0), (TELE, -12.0)):
            frame = seen(now_ns - 26 * MS, sensor, (30.0, 0.0))
            aside = frame.boxes_px + np.array([shift_px, 0.0, shift_px, 0.0], np.float32)
            views[f"detections_{sensor.name}"] = replace(frame, boxes_px=aside)
        objects = weighed(stage, now_ns, factors, **views)
    assert objects.covariances is not None
    return float(objects.positions_m[0, 1]), float(objects.covariances[0, 1, 1]), weights(objects)


def test_a_track_lies_nearer_to_where_a_camera_with_more_weight_sees_it() -> None:
    usual, wide, tele = (tracked(one) for one in ({}, {"wide": Fraction(4)}, {"tele": Fraction(4)}))
    assert wide[0] < usual[0] - 0.05 < usual[0] + 0.05 < tele[0]
    assert wide[2]["wide"] > usual[2]["wide"] > tele[2]["wide"]
    # All that see it weighed alike, and more, is as without.
    assert tracked({"wide": Fraction(3), "tele": Fraction(3)})[0] == pytest.approx(usual[0])


def test_less_weight_makes_a_track_less_certain_and_more_never_makes_it_more() -> None:
    _, usual, _ = tracked({})
    _, little, shares = tracked({"wide": Fraction(1, 20), "tele": Fraction(1, 20)})
    assert little > 1.2 * usual
    assert shares["tele"] < 0.05
    assert tracked({"wide": Fraction(9), "tele": Fraction(9)})[1] == pytest.approx(usual)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["wide", "tele", "rear"]), st.fractions(0, 8), max_size=3), st.floats(5, 80))
def test_shares_add_up_to_one_or_to_the_largest_factor(factors: dict[str, Fraction], x_m: float) -> None:
    cameras = {name: CameraGeometry.of(SENSORS[name]) for name in ("wide", "tele")}
    shares = SensorWeights({k: v for k, v in cameras.items() if v is not None}, dict.fromkeys(cameras, 70 * MS))
    shares.update(100 * MS, dict.fromkeys(cameras, 90 * MS), {name: float(one) for name, one in factors.items()})
    left = [name for name in cameras if factors.get(name, 1) > 0]
    total = sum(shares.share(name, x_m, 0.0) for name in left)
    assert total == pytest.approx(min(1.0, max((float(factors.get(name, 1)) for name in left), default=0.0)))


def test_a_lidar_with_less_weight_moves_a_track_less() -> None:
    found = {}
    for factor in (Fraction(1), Fraction(1, 20)):
        stage = started()
        for k in range(1, 9):
            objects = weighed(stage, k * 100 * MS, {"top": factor}, boxes=boxes(k * 100 * MS, (30.0 - k * 0.5, 0.0)))
        assert objects.covariances is not None
        found[factor] = float(objects.covariances[0, 0, 0])
        assert weights(objects)["top"] == float(factor)
    assert found[Fraction(1, 20)] > 3 * found[Fraction(1)]


@settings(deadline=None)  # the first example loads the solver
@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([(), ("tele",), ("wide",)])), min_size=1, max_size=12),
)
def test_no_frame_is_fused_twice(steps: list[tuple[int, tuple[str, ...]]]) -> None:
    """Registers and kept frames bring the same capture again, in any order and under any takeover."""
    stage, fused = started(), []
    whole = stage._frames.fuse
    stage._frames.fuse = lambda objects, frame, *rest, **more: (  # type: ignore[method-assign]
        fused.append((frame.camera, frame.capture_time_ns)),
        whole(objects, frame, *rest, **more),
    )[1]
    for k, (back, lost) in enumerate(steps, 10):
        stamp = (k - back) * CYCLE_NS
        views = {f"detections_{one.name}": seen(stamp, one, (30.0, 0.0)) for one in (WIDE, TELE)}
        under(stage, k * CYCLE_NS, lost, **views)
    assert len(fused) == len(set(fused))
