"""Fusion: LiDAR boxes and camera detections become tracked objects around the vehicle."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pipelines.ego import EgoHistory
from pipelines.ego_speed import EgoSpeed
from pipelines.fusion_boxes import BoxFusion
from pipelines.fusion_frames import FrameFusion, FrameLimits
from pipelines.lidar import VEHICLE_FRAME
from pipelines.objects import ObjectList
from pipelines.parameters import checked_integer, checked_number, nearest
from pipelines.projection import CameraGeometry
from pipelines.tracking import TrackFilter
from pipelines.weights import SensorWeights
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, Detections2D, EgoMotion, SensorView, TrackedObjects
from rt_sched.ports import JobContext, SensorDescription, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S, format_ns

log = logging.getLogger(__name__)

#: So many periods of a camera its last view counts: one may come late, a second one is missing.
_FRESH_PERIODS = 2


class Fuse(StageBase):
    """Boxes of the LiDAR, detections of any number of cameras, motion of the vehicle -> tracked objects at now.

    Inputs `boxes`: Boxes3D, `detections_*`: Detections2D, `ego`: EgoMotion; each may be missing. Output `objects`:
    TrackedObjects at the job's arrival, with confirmed objects in the order of their identifiers. `positions_m` are
    centres, `sizes_m` extents along the vehicle's axes: position - length / 2 is the near end of an object ahead.
    `scores`: the camera's latest for labelled objects, else 1 - 1 / (1 + times seen). `covariances` belong to the near
    end, which is what the filter follows. `weights`: see `pipelines.weights.SensorWeights`; a LiDAR's is 1 or, once
    no sweep has come for `lidar_timeout_ms`, 0.

    While a takeover gives a sensor no weight, its weight is 0 at once, and nothing new of it is fused until it is
    trusted again: the others have its share of each direction. Other factors count from the next measurement on.

    Time-triggered. A message that is read again adds nothing. One from the future waits until it is not. One that is
    older than its sensor's last, or than the newest of the job's inputs by more than the task's `max_disparity` (or
    `max_coast_ms`, whichever is less), is left out; `weights` counts these per sensor, each once. Measurements are
    compared with where objects were at their own capture times, in axes that have turned with the vehicle since. An
    arrival before the last one starts a new epoch: all is forgotten.

    Objects are projected into each camera and paired with its detections by overlap, which gives them labels. Where
    the LiDAR does not confirm an object for `lidar_timeout_ms`, the lower edge of the camera's box on flat ground moves
    it. Without a LiDAR, or once no sweep has come for that time, detections that overlap no object start one in the
    same way. Their range is the less certain the more it disagrees with the object's typical height. Without the pose
    or the intrinsics of a camera its detections are read, shown as a view and otherwise left alone; the log says so.

    Parameters:
        lidar: sensor that the boxes come from; the run's only LiDAR when not given. imu: same, for the view.
        min_iou: least overlap of an object's and a detection's box.
        confirm_hits, confirm_ms: measured positions, and time between the first and the last of them, after which an
            object is published: before that its speed is a guess.
        max_coast_ms: time after which an object that is not seen is dropped. Before that, one that new sweeps do not
            show is held back unless it has been measured often.
        lidar_timeout_ms: see above.
        lidar_sigma_m: standard deviation of a LiDAR box's near end.
        manoeuvre_sigma_m_s2, manoeuvre_time_s: how hard objects accelerate and for how long; see `TrackFilter`.
        camera_range_m, camera_min_score: limits for detections that start an object.
        ground_z_m: height of the road in the vehicle frame.
        initial_speed_m_s: the vehicle's speed when its IMU began to integrate; estimated from what stands around when
            not given, unless the IMU's own navigation knows it. What stands around overrules either that it plainly
            contradicts for five sweeps in a row.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor.
    """

    inputs: ClassVar[Mapping[str, type]] = {"boxes": Boxes3D, "detections_*": Detections2D, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"boxes", "ego"})
    stateful: ClassVar[bool] = True
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"lidar": ("lidar",), "imu": ("imu",)}

    def __init__(
        self,
        *,
        lidar: str | None = None,
        imu: str | None = None,
        min_iou: float = 0.25,
        confirm_hits: int = 3,
        confirm_ms: float = 150.0,
        max_coast_ms: float = 350.0,
        lidar_timeout_ms: float = 300.0,
        lidar_sigma_m: float = 0.08,
        manoeuvre_sigma_m_s2: float = 5.0,
        manoeuvre_time_s: float = 2.0,
        camera_range_m: float = 60.0,
        camera_min_score: float = 0.5,
        ground_z_m: float = 0.0,
        initial_speed_m_s: float | None = None,
    ) -> None:
        self._wanted = {"lidar": lidar, "imu": imu}
        self._confirm_hits = checked_integer("confirm_hits", confirm_hits, low=1, high=100)
        self._confirm_ns = _ms("confirm_ms", confirm_ms, 0.0)
        self._coast_ns = _ms("max_coast_ms", max_coast_ms, 1.0)
        self._lidar_sigma_m = checked_number("lidar_sigma_m", lidar_sigma_m, low=0.01, high=5.0, unit="m")
        self._motion = (
            checked_number("manoeuvre_sigma_m_s2", manoeuvre_sigma_m_s2, low=0.01, high=50.0, unit="m/s^2"),
            checked_number("manoeuvre_time_s", manoeuvre_time_s, low=0.1, high=100.0, unit="s"),
        )
        self._limits = FrameLimits(
            min_iou=checked_number("min_iou", min_iou, low=0.01, high=1.0),
            range_m=checked_number("camera_range_m", camera_range_m, low=1.0, high=300.0, unit="m"),
            min_score=checked_number("camera_min_score", camera_min_score, low=0.0, high=1.0),
            lidar_timeout_ns=_ms("lidar_timeout_ms", lidar_timeout_ms, 0.0),
            ground_z_m=checked_number("ground_z_m", ground_z_m, low=-10.0, high=10.0, unit="m"),
        )
        self._initial_speed_m_s = initial_speed_m_s
        if initial_speed_m_s is not None:
            checked_number("initial_speed_m_s", initial_speed_m_s, low=-20.0, high=100.0, unit="m/s")
        self._sensors: dict[str, str | None] = {"lidar": lidar, "imu": imu}
        self._disparity_ns = self._coast_ns
        self._connect({}, None)
        self._forget()

    def start(self, context: StageContext) -> None:
        """Looks up the sensors. Raises DeploymentError for an unknown one."""
        import scipy.optimize  # noqa: F401  # so that no job pays for the import

        for kind, wanted in self._wanted.items():
            names = sorted(name for name, sensor in context.sensors.items() if sensor.kind == kind)
            if wanted is not None and context.sensors and wanted not in names:
                raise DeploymentError(
                    f"task {context.task}: {kind} {wanted!r} is no such sensor; {nearest(wanted, names)}"
                )
            self._sensors[kind] = wanted if wanted is not None else (names[0] if len(names) == 1 else None)
        lidar = context.sensors.get(self._sensors["lidar"] or "")
        if lidar is not None and lidar.sensor_to_vehicle is None:
            log.warning("%s: the pose of %s is unknown; its frame is taken for the vehicle's", context.task, lidar.name)
        for name, sensor in sorted(context.sensors.items()):
            if sensor.kind == "camera" and CameraGeometry.of(sensor) is None:
                log.warning("%s: %s is not calibrated; its detections are not paired with objects", context.task, name)
        if context.max_disparity_ns is not None:
            self._disparity_ns = min(context.max_disparity_ns, self._coast_ns)
        self._connect(context.sensors, lidar)
        self._forget()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        now_ns = job.arrival_ns
        if self._now_ns is not None and now_ns < self._now_ns:
            self._forget()
        if self._now_ns is None:
            self._started_ns = now_ns
        self._follow_vehicle(inputs.get("ego"), now_ns)

        factors = {sensor: float(factor) for sensor, factor in job.weights}
        lost = {sensor for sensor, factor in factors.items() if factor <= 0.0}
        lidar = self._sensors["lidar"] or "lidar"
        boxes: Boxes3D | None = None if lidar in lost else inputs.get("boxes")
        frames = [m for name, m in inputs.items() if name.startswith("detections_") and m is not None]
        frames = [frame for frame in frames if frame.camera not in lost]
        stamps = [m.capture_time_ns for m in (boxes, *frames) if m is not None and m.capture_time_ns <= now_ns]
        oldest_ns = max(stamps, default=now_ns) - self._disparity_ns
        oldest_ns = max(oldest_ns, now_ns - self._coast_ns)
        if boxes is not None and self._is_new(lidar, boxes.capture_time_ns, now_ns, oldest_ns):
            certainty = min(1.0, factors.get(lidar, 1.0))
            sweep = self._boxes.fuse(
                self._objects, boxes, lidar, now_ns, self._history, self._speed.speed_m_s, certainty
            )
            self._speed.measure(sweep)
        new = [frame for frame in frames if self._is_new(frame.camera, frame.capture_time_ns, now_ns, oldest_ns)]
        self._weights.update(now_ns, self._used_ns, factors)
        for frame in sorted(new, key=lambda m: (m.capture_time_ns, m.camera)):
            may_start = self._cameras_start_objects(now_ns)
            self._frames.fuse(self._objects, frame, now_ns, self._history, may_start=may_start)

        self._objects.drop_lost(now_ns, self._coast_ns)
        views = tuple(SensorView(name, stamp) for name, stamp in sorted(self._used_ns.items()))
        weights, speed_m_s = self._weights.published(self._left_out), self._speed.speed_m_s
        return {"objects": self._objects.published(now_ns, VEHICLE_FRAME, views, weights, speed_m_s)}

    def _connect(self, sensors: Mapping[str, SensorDescription], lidar: SensorDescription | None) -> None:
        """Builds what depends on the sensors of the run."""
        geometries = {
            name: CameraGeometry.of(sensor) for name, sensor in sorted(sensors.items()) if sensor.kind == "camera"
        }
        cameras = {name: geometry for name, geometry in geometries.items() if geometry is not None}
        fresh_ns = {name: _FRESH_PERIODS * sensors[name].period_ns for name in cameras}
        if lidar is not None:
            fresh_ns[lidar.name] = self._limits.lidar_timeout_ns
        self._weights = SensorWeights(cameras, fresh_ns)
        self._frames = FrameFusion(cameras, self._weights, self._limits)
        pose = None if lidar is None else lidar.sensor_to_vehicle
        pose_matrix = None if pose is None else np.array(pose, np.float64)
        self._boxes = BoxFusion(pose_matrix, self._lidar_sigma_m, self._limits.ground_z_m)

    def _forget(self) -> None:
        self._now_ns: int | None = None
        self._started_ns = 0
        self._objects = ObjectList(TrackFilter(*self._motion), self._confirm_hits, self._confirm_ns)
        self._history = EgoHistory()
        self._speed = EgoSpeed(self._initial_speed_m_s)
        self._used_ns: dict[str, int] = {}
        self._read_ns: dict[str, int] = {}
        self._left_out: dict[str, int] = {}

    def _follow_vehicle(self, ego: EgoMotion | None, now_ns: int) -> None:
        """Predicts every object to `now_ns`."""
        if ego is not None:
            self._history.add(ego)
        latest = self._history.latest(now_ns)
        imu = self._sensors["imu"]
        if latest is not None and imu is not None:
            self._used_ns[imu] = latest.capture_time_ns
        if self._now_ns is not None:
            dt_s = (now_ns - self._now_ns) / NS_PER_S
            speed_m_s = self._speed.speed_m_s
            standing_m_s = None if speed_m_s is None else -speed_m_s
            self._objects.begin_cycle(dt_s, self._history.rates(self._now_ns, now_ns, speed_m_s), standing_m_s)
            self._speed.follow(
                latest,
                dt_s,
                self._history.turned_rad(self._now_ns, now_ns),
                self._history.speed_change_m_s,
                self._history.take_doubt_m_s(),
            )
        self._now_ns = now_ns

    def _is_new(self, sensor: str, capture_ns: int, now_ns: int, oldest_ns: int) -> bool:
        """Whether this capture has not been fused yet and is fit to be; remembers it as fused.

        One from the future is left for the cycle in which it is not.
        """
        if capture_ns > now_ns or capture_ns in (self._read_ns.get(sensor), self._used_ns.get(sensor)):
            return False
        self._read_ns[sensor] = capture_ns
        if capture_ns < oldest_ns or capture_ns < self._used_ns.get(sensor, capture_ns):
            self._left_out[sensor] = self._left_out.get(sensor, 0) + 1
            log.debug("%s: capture %s left out at %s", sensor, format_ns(capture_ns), format_ns(now_ns))
            return False
        self._used_ns[sensor] = capture_ns
        return True

    def _cameras_start_objects(self, now_ns: int) -> bool:
        """Whether the LiDAR, which would have found them, is missing."""
        lidar = self._sensors["lidar"]
        if lidar is None and "lidar" not in self._used_ns:
            return True
        return now_ns - self._used_ns.get(lidar or "lidar", self._started_ns) > self._limits.lidar_timeout_ns


def _ms(name: str, value: float, low: float) -> int:
    """Checked milliseconds as nanoseconds."""
    return math.floor(checked_number(name, value, low=low, high=10_000.0, unit="ms") * NS_PER_MS)
