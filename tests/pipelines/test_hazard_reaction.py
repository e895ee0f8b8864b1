"""The primary path on whole recordings: the shipped hazard scene against its truth, and real frames behind cars.

The stages run one after the other, with the delays that the shipped system has in the mean; the schedule itself is the
subject of other tests.
"""

from __future__ import annotations

import bisect
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from pipelines.camera import Preprocess as CameraPreprocess
from pipelines.control import Control
from pipelines.detector import Infer, Postprocess
from pipelines.fusion import Fuse
from pipelines.imu import Integrate
from pipelines.lidar import Cluster
from pipelines.lidar import Preprocess as LidarPreprocess
from pipelines.planning import Plan
from pipelines.understanding import Understand
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.config import load_system
from rt_sched.messages import Command, EncodedImage, MotionPlan, PointCloud, Situation, TrackedObjects, canonical_digest
from rt_sched.ports import JobContext
from sensors.recording import open_recording

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared/data/recordings"
CYCLE_NS = 33_333_333
#: From capture to when fusion can read the result, and from a command to when the brakes have it.
READY_NS = 26_000_000
ACTUATION_S = 0.02
#: Until after the recorded driver has braked: what could be mistaken has been seen by then.
BLANK_NS = 3_100_000_000
FRONT = ("front_wide", "front_standard")
KITTI = (
    ("kitti360_small_50f_zstd.mcap", "kitti_single_orin"),
    ("kitti78_small_f00-39_lz4.bag", "kitti78_single_orin"),
)

#: (capture time, name of the fusion's input, message)
Seen = list[tuple[int, str, Any]]


@dataclass(frozen=True)
class Reaction:
    """What was published cycle by cycle, at `times_ns` since the start."""

    times_ns: list[int]
    objects: list[TrackedObjects]
    situations: list[Situation]
    plans: list[MotionPlan]
    commands: list[Command]

    def first_s(self, found: Callable[[int], bool]) -> float | None:
        return next((self.times_ns[k] / 1e9 for k in range(len(self.times_ns)) if found(k)), None)

    @property
    def emergency_s(self) -> float | None:
        return self.first_s(lambda k: self.commands[k].emergency)


def job(now_ns: int) -> JobContext:
    return JobContext("t", 0, now_ns, now_ns, now_ns, now_ns)


@functools.cache
def system_of(name: str) -> Any:
    return load_system(ROOT / "examples" / f"{name}.yaml", stages=ImportedStages())


def started(stage: Any, system: Any, task: str) -> Any:
    stage.start(stage_context(system, next(t for t in system.tasks if t.name == task), authenticator=None))
    return stage


@functools.cache
def truth() -> list[dict[str, Any]]:
    frames: list[dict[str, Any]] = json.loads((ROOT / "replay_data/hazard_truth.json").read_text())["frames"]
    return frames


def blank_pixels(image: EncodedImage, camera: str, since_ns: int) -> EncodedImage:
    """The frame with the lead vehicle and its surroundings painted grey."""
    pixels = cv2.imdecode(np.frombuffer(image.data, np.uint8), cv2.IMREAD_COLOR)
    box = truth()[round(since_ns / CYCLE_NS)]["boxes"][camera].get("lead")
    if box is not None:
        x_min, y_min, x_max, y_max = (round(edge) for edge in box[:4])
        pixels[max(y_min - 4, 0) : y_max + 5, max(x_min - 4, 0) : x_max + 5] = 110
    height, width = pixels.shape[:2]
    return EncodedImage(image.capture_time_ns, image.frame_id, "bgr8", pixels.tobytes(), height, width, width * 3)


def noisy_pixels(image: EncodedImage, rng: np.random.Generator) -> EncodedImage:
    """The frame with noise of two grey levels, which moves the edges of what the detector finds."""
    raw = np.frombuffer(image.data, np.uint8)
    pixels = cv2.imdecode(raw, cv2.IMREAD_COLOR) if image.encoding == "jpeg" else raw.reshape(image.height, -1, 3)
    noisy = np.clip(pixels + rng.normal(0.0, 2.0, pixels.shape), 0, 255).astype(np.uint8)
    height, width = noisy.shape[:2]
    return EncodedImage(image.capture_time_ns, image.frame_id, "bgr8", noisy.tobytes(), height, width, width * 3)


def blank_points(cloud: PointCloud, since_ns: int) -> PointCloud:
    """The sweep without the points in the lead vehicle's lane between the two vehicles' noses and its far end."""
    frame = truth()[min(round(since_ns / CYCLE_NS), len(truth()) - 1)]
    near = 3.75 + frame["lead"]["gap_m"] - 1.1
    x, y = cloud.xyz_m[:, 0], cloud.xyz_m[:, 1]
    kept = ~((x > near - 1.0) & (x < near + 6.5) & (np.abs(y) < 1.4))
    return replace(
        cloud,
        xyz_m=cloud.xyz_m[kept],
        intensity=cloud.intensity[kept],
        ring=None if cloud.ring is None else cloud.ring[kept],
        time_offset_ns=None if cloud.time_offset_ns is None else cloud.time_offset_ns[kept],
    )


def perceive(
    path: Path, system: Any, sensors: dict[str, str], *, blank: bool = False, noise: int | None = None
) -> Seen:
    """Every result of the perception stages; `sensors`: topic -> sensor, `noise`: seed of noise in the pixels."""
    rng = None if noise is None else np.random.default_rng(noise)
    cameras = [name for name in sensors.values() if name not in ("imu", "lidar_top", "lidar")]
    pre = {name: started(CameraPreprocess(), system, f"pre_{name}") for name in cameras}
    infer = {name: started(Infer(), system, f"infer_{name}") for name in cameras}
    post = {name: started(Postprocess(camera=name), system, f"post_{name}") for name in cameras}
    lidar = next((name for name in sensors.values() if name.startswith("lidar")), None)
    sweep = started(LidarPreprocess(sensor=lidar), system, "pre_lidar"), started(Cluster(), system, "cluster")
    imu = started(Integrate(sensor="imu"), system, "ego_motion") if "imu" in sensors.values() else None
    recording, seen, ego, first_ns = open_recording(path), [], None, None
    for message in recording.messages(list(sensors)):
        sensor, stamp = sensors[message.topic], message.capture_time_ns
        assert stamp is not None
        first_ns = stamp if first_ns is None else first_ns
        since_ns = stamp - first_ns
        if blank and since_ns > BLANK_NS:
            break
        data = replace(recording.decode(message), capture_time_ns=since_ns)
        at = job(since_ns)
        if sensor == "imu":
            assert imu is not None
            ego = imu.process(at, {"imu": data})["ego"]
            seen.append((since_ns, "ego", ego))
        elif sensor == lidar:
            cloud = blank_points(data, since_ns) if blank else data
            result = sweep[0].process(at, sweep[0].preprocess(at, {"points": cloud, "ego": ego}))
            seen.append((since_ns, "boxes", sweep[1].process(at, result)["boxes"]))
        else:
            image = blank_pixels(data, sensor, since_ns) if blank else data
            image = image if rng is None else noisy_pixels(image, rng)
            tensor = pre[sensor].process(at, pre[sensor].preprocess(at, {"image": image}))
            raw = infer[sensor].process(at, tensor)
            found = post[sensor].process(at, raw)["detections"]
            seen.append((since_ns, f"detections_{sensor}", found))
    recording.close()
    return seen


def react(seen: Seen, system: Any, *, without: str = "-", front_m: float = 2.0) -> Reaction:
    """Fusion and decision over what was seen, but for the inputs whose names begin with `without`."""
    names = {sensor.kind.value: sensor.name for sensor in system.sensors if sensor.kind.value in ("lidar", "imu")}
    stage = started(Fuse(**names), system, "fuse")
    decision = [started(Understand(ego_front_m=front_m), system, "understand")]
    decision += [started(Plan(), system, "plan"), started(Control(), system, "control")]
    pending, registers = [row for row in seen if not row[1].startswith(without)], {}
    pending.sort(key=lambda row: row[0])
    result, now_ns = Reaction([], [], [], [], []), READY_NS
    while pending or now_ns < seen[-1][0] + READY_NS:
        while pending and pending[0][0] + (1_000_000 if pending[0][1] == "ego" else READY_NS) <= now_ns:
            _, name, message = pending.pop(0)
            registers[name] = message
        message = dict(stage.process(job(now_ns), dict(registers)))
        result.times_ns.append(now_ns)
        result.objects.append(message["objects"])
        for part, kept in zip(decision, (result.situations, result.plans, result.commands), strict=True):
            message = dict(part.process(job(now_ns), message | {"ego": registers.get("ego")}))
            kept.append(next(iter(message.values())))
        now_ns += CYCLE_NS
    return result


@functools.cache
def hazard(blank: bool) -> Seen:
    sensors = {f"/camera/{name}/compressed": name for name in FRONT}
    sensors |= {"/lidar/top/points": "lidar_top", "/imu/data": "imu"}
    return perceive(ROOT / "replay_data/hazard.mcap", system_of("quad_orin"), sensors, blank=blank)


@functools.cache
def hazard_reaction(without: str = "-", blank: bool = False) -> Reaction:
    return react(hazard(blank), system_of("quad_orin"), without=without, front_m=3.75)


def least_gap_m(reaction: Reaction) -> float:
    """How near a vehicle that obeys the commands comes to the lead, which brakes with 6 m/s^2 from 1.2 s to a stop."""
    step_s, speed, travelled, lead, lead_speed, least = 1e-3, 13.0, 0.0, 22.0, 13.0, np.inf
    for k in range(9000):
        t = k * step_s
        index = bisect.bisect_right(reaction.times_ns, int((t - ACTUATION_S) * 1e9)) - 1
        acceleration = reaction.commands[index].acceleration_m_s2 if index >= 0 else 0.0
        speed = max(speed + acceleration * step_s, 0.0)
        lead_speed = max(lead_speed - (6.0 * step_s if t >= 1.2 else 0.0), 0.0)
        travelled, lead = travelled + speed * step_s, lead + lead_speed * step_s
        least = min(least, lead - travelled)
    assert speed == 0.0
    return float(least)


def test_the_hazard_ends_in_an_emergency_at_a_plausible_time_to_collision_and_the_vehicle_stops() -> None:
    reaction = hazard_reaction()
    at_s = reaction.emergency_s
    assert at_s is not None
    # The truth falls to 2.1 s of time to collision at 2.52 s and to 1.6 s at 2.8 s.
    assert 2.4 <= at_s <= 2.85
    true = truth()[round(at_s * 30)]["lead"]
    first = reaction.commands[reaction.times_ns.index(round(at_s * 1e9))]
    assert first.time_to_collision_ns == pytest.approx(true["ttc_s"] * 1e9, rel=0.15)
    assert least_gap_m(reaction) > 3.0
    # Warned before, and not for nothing: the lead begins to brake at 1.2 s.
    warned_s = reaction.first_s(lambda k: reaction.plans[k].warning)
    assert warned_s is not None
    assert 1.5 < warned_s < at_s


def test_the_lead_is_followed_closely_while_it_brakes() -> None:
    reaction = hazard_reaction()
    gap_errors, closing_errors, leads = [], [], set()
    for now_ns, situation in zip(reaction.times_ns, reaction.situations, strict=True):
        true = truth()[min(round(now_ns / CYCLE_NS), len(truth()) - 1)]["lead"]
        if 0.6e9 < now_ns < 3.9e9:
            assert len(situation.track_ids)
            leads.add(int(situation.track_ids[0]))
            gap_errors.append(situation.gaps_m[0] - true["gap_m"])
            closing_errors.append(situation.closing_m_s[0] - true["closing_speed_m_s"])
    assert len(leads) == 1
    assert float(np.sqrt(np.mean(np.square(gap_errors)))) < 0.25
    assert float(np.sqrt(np.mean(np.square(closing_errors)))) < 0.9
    # Speed over ground, which no sensor tells: by what stands around.
    speeds = [o.ego_speed_m_s for o in reaction.objects[45:80]]
    assert all(speed is not None for speed in speeds)
    assert speeds == pytest.approx([13.0] * len(speeds), abs=1.0)


def test_without_the_lead_vehicles_pixels_and_points_nobody_brakes_hard() -> None:
    reaction = hazard_reaction(blank=True)
    assert reaction.emergency_s is None
    assert min(command.acceleration_m_s2 for command in reaction.commands) > -1.5
    assert {command.valid for command in reaction.commands[5:]} == {True}


def test_the_lidar_alone_brakes_as_early_without_names() -> None:
    both, alone = hazard_reaction(), hazard_reaction("detections")
    assert alone.emergency_s == pytest.approx(both.emergency_s, abs=0.1)
    assert least_gap_m(alone) > 3.0
    assert {label for objects in alone.objects for label in objects.labels} <= {"unknown"}


def test_cameras_alone_brake_later_and_still_stop() -> None:
    both, alone = hazard_reaction(), hazard_reaction("boxes")
    assert both.emergency_s is not None
    assert alone.emergency_s is not None
    assert both.emergency_s < alone.emergency_s < both.emergency_s + 1.0
    assert least_gap_m(alone) > 0.0
    # Less certain, and they say so.
    index = 75
    assert alone.situations[index].closing_sigmas_m_s[0] > both.situations[index].closing_sigmas_m_s[0]


def test_equal_inputs_give_equal_outputs() -> None:
    again = react(hazard(False), system_of("quad_orin"), front_m=3.75)
    for first, second in zip(hazard_reaction().commands, again.commands, strict=True):
        assert canonical_digest(first) == canonical_digest(second)


@functools.cache
def real(name: str, example: str, noise: int | None = None) -> Seen:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    recording = open_recording(path)
    topics = {topic.name: topic.kind.value for topic in recording.topics}
    recording.close()
    sensors = {
        topic: {"camera": "front", "lidar": "lidar"}[kind]
        for topic, kind in topics.items()
        if kind == "camera" or (kind == "lidar" and noise is None)
    }
    return perceive(path, system_of(example), sensors, noise=noise)


@functools.cache
def real_reaction(name: str, example: str, without: str) -> Reaction:
    return react(real(name, example), system_of(example), without=without)


@pytest.mark.parametrize("without", ["-", "boxes", "detections"])
@pytest.mark.parametrize(("name", "example"), KITTI)
def test_real_drives_without_danger_give_no_emergency(name: str, example: str, without: str) -> None:
    reaction = real_reaction(name, example, without)
    assert reaction.emergency_s is None
    # On the one drive no vehicle stands wholly inside the picture and near enough for the camera to place it.
    if without != "boxes" or example == "kitti78_single_orin":
        assert any(len(objects.track_ids) for objects in reaction.objects)


@pytest.mark.parametrize("seed", [16, 17])
def test_a_little_noise_in_the_pixels_begins_no_emergency(seed: int) -> None:
    """Cameras alone: for half a second the boxes are cut as if the car came nearer 3 m/s faster than it does."""
    example = KITTI[1][1]
    reaction = react(real(*KITTI[1], seed), system_of(example))
    assert reaction.emergency_s is None
    assert any(len(objects.track_ids) for objects in reaction.objects)


def test_the_time_to_collision_behind_a_car_in_a_queue_is_smooth_and_plausible() -> None:
    """Every frame has a car ahead, 8 m away at first and 5 m in the end: it closes in slowly."""
    reaction = real_reaction(*KITTI[1], "-")
    rows = [(now_ns, s) for now_ns, s in zip(reaction.times_ns, reaction.situations, strict=True) if len(s.track_ids)]
    assert len(rows) >= 0.9 * len(reaction.times_ns)
    gaps: npt.NDArray[np.float64] = np.array([s.gaps_m[0] for _, s in rows])
    closing: npt.NDArray[np.float64] = np.array([s.closing_m_s[0] for _, s in rows])
    assert 2.5 < gaps.min() < gaps.max() < 7.0
    # The speed belongs to the gap: what closes in over the whole time is what the gap loses.
    seconds = np.diff([now_ns / 1e9 for now_ns, _ in rows])
    assert float((closing[:-1] * seconds).sum()) == pytest.approx(gaps[0] - gaps[-1], abs=1.0)
    # A car changes its speed by a few m/s in a second: no jump from one cycle to the next.
    assert float(np.median(np.abs(np.diff(closing)))) < 0.1
    # The gap itself, as a line over a second, shrinks by 0.6 to 0.9 m/s. What is told keeps to it, so that the time to
    # collision has no dip that the gap has not: 9 s at first, 4 s in the end.
    times = np.array([now_ns / 1e9 for now_ns, _ in rows])
    around = [np.abs(times - time) <= 0.5 for time in times]
    shrinking = np.array([-np.polyfit(times[near], gaps[near], 1)[0] for near in around])
    assert float(np.abs(closing - shrinking).max()) < 0.5
    told = np.array([s.times_to_collision_s[0] for _, s in rows])
    assert float((told / (gaps / shrinking)).min()) > 0.6
    assert told.min() > 2.8
    assert len({int(s.track_ids[0]) for _, s in rows}) <= 2
