"""What the stages are measured on: sweeps of the shipped scene, frames, traffic on a grid, and a drive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines import camera, control, detector, fusion, imu, lidar, planning, understanding
from rt_sched.messages import Boxes3D, Detections2D, EgoMotion, EncodedImage, ImuSample, MotionHistory, PointCloud
from rt_sched.ports import JobContext, SensorDescription, Stage, StageContext
from rt_sched.units import NS_PER_MS
from sensors.scene.catalogue import build_world, find_scene
from sensors.scene.lidar import LidarRenderer
from sensors.scene.rig import quad_orin_rig

CYCLE_NS = 100 * NS_PER_MS
_LEVEL = ((1.0, 0.0, 0.0, 1.1), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.9))
_FORWARD = ((0.0, 0.0, 1.0, 1.0), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))
_CAMERA = SensorDescription("front", "camera", CYCLE_NS, 1920, 1080, (1400.0, 1400.0, 960.0, 540.0), _FORWARD)
_SENSORS = {
    "top": SensorDescription("top", "lidar", CYCLE_NS, sensor_to_vehicle=_LEVEL),
    "front": _CAMERA,
    "imu": SensorDescription("imu", "imu", 5 * NS_PER_MS, sensor_to_vehicle=_LEVEL),
}


def started(stage: Stage) -> Stage:
    """The stage after its start."""
    stage.start(StageContext("benchmark", Path(), _SENSORS))
    return stage


def job(number: int, period_ns: int = CYCLE_NS) -> JobContext:
    """Job `number` of a periodic task that takes no time."""
    at = number * period_ns
    return JobContext("benchmark", number, at, at, at, at + period_ns)


def same(given: Mapping[str, Any], repeat: int) -> Iterable[tuple[JobContext, Mapping[str, Any]]]:
    """The same inputs for every job, as suits a stage without state; one job more than is counted."""
    return ((job(k), given) for k in range(repeat + 1))


@cache
def _full_sweep() -> tuple[PointCloud, npt.NDArray[np.int32]]:
    rig, scene = quad_orin_rig(), find_scene("hazard")
    world = build_world(scene, duration_s=4.0)
    seen = LidarRenderer(world, replace(rig.lidar, columns=1024), 1).sweep(500 * NS_PER_MS, 5)
    cloud = PointCloud(500 * NS_PER_MS, "top", seen.xyz_m, seen.intensity.astype(np.float32))
    return cloud, seen.time_offset_ns


def sweep(share: float) -> tuple[PointCloud, EgoMotion]:
    """A sweep with `share` of its columns, and motion of the vehicle over it at 13 m/s in a bend."""
    full, times_ns = _full_sweep()
    column = np.unique(times_ns, return_inverse=True)[1]
    keep = np.floor(column * share) != np.floor((column - 1) * share)
    cloud = PointCloud(full.capture_time_ns, "top", full.xyz_m[keep], full.intensity[keep], None, times_ns[keep])
    bounds = full.capture_time_ns + np.arange(-300, 1, 5, dtype=np.int64) * NS_PER_MS
    intervals = len(bounds) - 1
    history = MotionHistory(
        bounds, np.tile([0.0, 0.0, 0.001], (intervals, 1)), np.tile([0.065, 0.0, 0.0], (intervals, 1))
    )
    return cloud, EgoMotion(full.capture_time_ns, "vehicle", 0.2, 0.0, 0.0, 0.0, 13.0, history=history)


def lidar_stages() -> tuple[Stage, Stage]:
    """Preprocessing and clustering."""
    return started(lidar.Preprocess(sensor="top")), started(lidar.Cluster())


def frame(height: int, width: int) -> EncodedImage:
    """A JPEG of smooth colours and some grain, which compresses about as well as a street."""
    import cv2

    rng = np.random.default_rng(4)
    coarse = rng.integers(0, 255, (height // 20, width // 20, 3), np.uint8)
    grain = rng.integers(0, 24, (height, width, 3), np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    _, data = cv2.imencode(".jpg", cv2.add(smooth, grain), [cv2.IMWRITE_JPEG_QUALITY, 80])
    return EncodedImage(0, "front", "jpeg", data.tobytes())


def camera_stages() -> tuple[Stage, Stage, Stage]:
    """Preprocessing, the shipped network and its postprocessing."""
    return started(camera.Preprocess()), started(detector.Infer()), started(detector.Postprocess(camera="front"))


def fusion_stage() -> Stage:
    """Fusion of one LiDAR and one camera."""
    return started(fusion.Fuse(lidar="top", imu="imu"))


def traffic(count: int, repeat: int) -> Iterable[tuple[JobContext, Mapping[str, Any]]]:
    """`count` cars on a grid ahead, slowly approaching, each in the sweep and each in the frame; ten warm-up jobs."""
    index = np.arange(count)
    x, y = 10.0 + 8.0 * (index // 5), 5.0 * (index % 5) - 10.0
    for k in range(repeat + 10):
        at = job(k)
        centers = np.stack([x - 0.05 * k, y, np.full(count, 0.75)], -1).astype(np.float32)
        boxes = Boxes3D(
            at.arrival_ns,
            "vehicle",
            centers,
            np.tile(np.array([4.4, 1.8, 1.5], np.float32), (count, 1)),
            np.zeros(count, np.float32),
            np.full(count, 80, np.int32),
            ("car",) * count,
            np.zeros(count, np.float32),
        )
        u, v, size = 960 - 1400 * y / (x - 1), 540 + 1400 * 0.75 / (x - 1), 1400 * 0.9 / (x - 1)
        corners = np.stack([u - size, v - size, u + size, v + size], -1).astype(np.float32)
        frame_of = Detections2D(
            at.arrival_ns,
            "front",
            "front",
            1080,
            1920,
            corners,
            np.full(count, 0.8, np.float32),
            np.full(count, 3, np.int32),
            ("car",) * count,
        )
        yield at, {"boxes": boxes, "detections_front": frame_of, "ego": _cruise(at.arrival_ns)}


def _cruise(now_ns: int) -> EgoMotion:
    return EgoMotion(now_ns, "vehicle", 0.01, 0.1, 0.0, 0.0, 13.0)


def deciding_stages() -> tuple[tuple[str, Stage], ...]:
    """What turns tracked objects into a command, by name."""
    return (("understand, plan, control", started(_Chain())),)


def deciding_jobs(fused: Mapping[str, Any], repeat: int) -> Iterable[tuple[JobContext, Mapping[str, Any]]]:
    """The same objects again and again, at instants of their own."""
    objects = fused["objects"]
    for k in range(repeat + 1):
        at = job(k)
        yield at, {"objects": replace(objects, capture_time_ns=at.arrival_ns), "ego": _cruise(at.arrival_ns)}


class _Chain:
    """Three stages as one."""

    inputs = understanding.Understand.inputs
    outputs = control.Control.outputs
    stateful = True

    def __init__(self) -> None:
        self._understand, self._plan, self._control = understanding.Understand(), planning.Plan(), control.Control()

    def start(self, context: StageContext) -> None:
        for stage in (self._understand, self._plan, self._control):
            stage.start(context)

    def preprocess(self, at: JobContext, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return given

    def process(self, at: JobContext, given: Mapping[str, Any]) -> Mapping[str, Any]:
        planned = self._plan.process(at, self._understand.process(at, given))
        return self._control.process(at, {**planned, "ego": given["ego"]})

    def postprocess(self, at: JobContext, outputs: Mapping[str, Any]) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        """Nothing to release."""


def imu_stage(history_ms: float) -> Stage:
    """Inertial navigation of a 200 Hz sensor."""
    return started(imu.Integrate(sensor="imu", history_ms=history_ms))


def drive(samples: int) -> Iterable[tuple[JobContext, Mapping[str, Any]]]:
    """`samples` of a bend, with vibration, and one that is not counted."""
    rng = np.random.default_rng(2)
    for k in range(samples + 1):
        at = job(k, 5 * NS_PER_MS)
        rate = np.array([0.0, 0.0, 0.03]) + rng.normal(0.0, 0.002, 3)
        force = np.array([0.1, 0.3, imu.GRAVITY_M_S2]) + rng.normal(0.0, 0.3, 3)
        yield at, {"imu": ImuSample(at.arrival_ns, "imu", rate, force)}
