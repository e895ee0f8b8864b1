"""Fusion: LiDAR boxes and camera detections become tracked objects around the vehicle."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.association import greedy_pairs, intersection_matrix, iou_matrix
from pipelines.lidar import VEHICLE_FRAME
from pipelines.objects import TYPICAL_SIZE_M, ObjectList, TrackedObject, near_face
from pipelines.parameters import checked_integer, checked_number, nearest
from pipelines.projection import CameraGeometry
from pipelines.tracking import rotation
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, Detections2D, EgoMotion, SensorView, TrackedObjects
from rt_sched.ports import JobContext, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S, format_ns

Float = npt.NDArray[np.float64]

log = logging.getLogger(__name__)

#: A LiDAR box that does not belong to a track may lie this far (squared Mahalanobis distance) from it: 99.9 % of all
#: that do belong lie nearer. A track that jumps more than `_MAX_JUMP_M` is another object.
_GATE = 13.8
_MAX_JUMP_M = 6.0

#: Motion of the vehicle older than this says nothing about now.
_MAX_EGO_AGE_NS = 200 * NS_PER_MS


class Fuse(StageBase):
    """Boxes of the LiDAR, detections of any number of cameras, motion of the vehicle -> tracked objects at now.

    Inputs `boxes`: Boxes3D, `detections_*`: Detections2D, `ego`: EgoMotion; each may be missing. Output `objects`:
    TrackedObjects at the job's arrival, with confirmed objects in the order of their identifiers. `positions_m` are
    centres, `sizes_m` extents along the vehicle's axes: position - length / 2 is the near end of an object ahead.
    `scores`: the camera's latest for labelled objects, else 1 - 1 / (1 + times seen).

    Time-triggered. A message that is read again adds nothing, nor does one that is older than its sensor's last or
    than `max_coast_ms`: `ignored` counts those. One from the future waits until it is not. Measurements are compared
    with where objects were at their own capture times. An arrival before the last one starts a new epoch: all is
    forgotten.

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
        lidar_sigma_m: standard deviation of a LiDAR box's near end. acceleration_psd_m2_s3: how freely objects move.
        camera_range_m, camera_min_score: limits for detections that start an object.
        ground_z_m: height of the road in the vehicle frame.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor.
    """

    inputs: ClassVar[Mapping[str, type]] = {"boxes": Boxes3D, "detections_*": Detections2D, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"objects": TrackedObjects}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"boxes", "ego"})
    stateful: ClassVar[bool] = True

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
        lidar_sigma_m: float = 0.15,
        acceleration_psd_m2_s3: float = 30.0,
        camera_range_m: float = 60.0,
        camera_min_score: float = 0.5,
        ground_z_m: float = 0.0,
    ) -> None:
        self._wanted = {"lidar": lidar, "imu": imu}
        self._min_iou = checked_number("min_iou", min_iou, low=0.01, high=1.0)
        self._confirm_hits = checked_integer("confirm_hits", confirm_hits, low=1, high=100)
        confirm = checked_number("confirm_ms", confirm_ms, low=0.0, high=10_000.0, unit="ms")
        self._confirm_ns = math.floor(confirm * NS_PER_MS)
        coast = checked_number("max_coast_ms", max_coast_ms, low=1.0, high=10_000.0, unit="ms")
        self._coast_ns = math.floor(coast * NS_PER_MS)
        timeout = checked_number("lidar_timeout_ms", lidar_timeout_ms, low=0.0, high=10_000.0, unit="ms")
        self._lidar_timeout_ns = math.floor(timeout * NS_PER_MS)
        self._lidar_sigma_m = checked_number("lidar_sigma_m", lidar_sigma_m, low=0.01, high=5.0, unit="m")
        self._psd = checked_number("acceleration_psd_m2_s3", acceleration_psd_m2_s3, low=0.01, high=1000.0)
        self._camera_range_m = checked_number("camera_range_m", camera_range_m, low=1.0, high=300.0, unit="m")
        self._camera_min_score = checked_number("camera_min_score", camera_min_score, low=0.0, high=1.0)
        self._ground_z_m = checked_number("ground_z_m", ground_z_m, low=-10.0, high=10.0, unit="m")
        self._sensors: dict[str, str | None] = {"lidar": lidar, "imu": imu}
        self._lidar_pose: Float | None = None
        self._cameras: dict[str, CameraGeometry] = {}
        self._forget()

    def start(self, context: StageContext) -> None:
        for kind, wanted in self._wanted.items():
            names = sorted(name for name, sensor in context.sensors.items() if sensor.kind == kind)
            if wanted is not None and context.sensors and wanted not in names:
                raise DeploymentError(
                    f"task {context.task}: {kind} {wanted!r} is no such sensor; {nearest(wanted, names)}"
                )
            self._sensors[kind] = wanted if wanted is not None else (names[0] if len(names) == 1 else None)
        lidar = context.sensors.get(self._sensors["lidar"] or "")
        pose = None if lidar is None else lidar.sensor_to_vehicle
        self._lidar_pose = None if pose is None else np.array(pose, np.float64)
        if lidar is not None and pose is None:
            log.warning("%s: the pose of %s is unknown; its frame is taken for the vehicle's", context.task, lidar.name)
        self._cameras = {}
        for name, sensor in sorted(context.sensors.items()):
            if sensor.kind != "camera":
                continue
            geometry = CameraGeometry.of(sensor)
            if geometry is None:
                log.warning("%s: %s is not calibrated; its detections are not paired with objects", context.task, name)
            else:
                self._cameras[name] = geometry
        self._forget()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        now_ns = job.arrival_ns
        if self._now_ns is not None and now_ns < self._now_ns:
            self._forget()
        if self._now_ns is None:
            self._started_ns = now_ns
        yaw_rate = self._follow_vehicle(inputs.get("ego"), now_ns)

        boxes: Boxes3D | None = inputs.get("boxes")
        lidar = self._sensors["lidar"] or "lidar"
        if boxes is not None and self._is_new(lidar, boxes.capture_time_ns, now_ns):
            self._fuse_boxes(boxes, lidar, now_ns, yaw_rate)
        frames = [m for name, m in inputs.items() if name.startswith("detections_") and m is not None]
        for frame in sorted(frames, key=lambda m: (m.capture_time_ns, m.camera)):
            if self._is_new(frame.camera, frame.capture_time_ns, now_ns):
                self._fuse_frame(frame, now_ns, yaw_rate)

        self._objects.drop_lost(now_ns, self._coast_ns)
        views = tuple(SensorView(name, stamp) for name, stamp in sorted(self._used_ns.items()))
        return {"objects": self._objects.published(now_ns, VEHICLE_FRAME, views)}

    def _forget(self) -> None:
        self._now_ns: int | None = None
        self._started_ns = 0
        self._objects = ObjectList(self._psd, self._confirm_hits, self._confirm_ns)
        self._used_ns: dict[str, int] = {}
        self._read_ns: dict[str, int] = {}
        self.ignored = 0

    def _follow_vehicle(self, ego: EgoMotion | None, now_ns: int) -> float:
        """Predicts every object to `now_ns`; returns the yaw rate that was used."""
        yaw_rate = acceleration = 0.0
        if ego is not None and abs(now_ns - ego.capture_time_ns) <= _MAX_EGO_AGE_NS:
            yaw_rate, acceleration = ego.yaw_rate_rad_s, ego.forward_acceleration_m_s2
            imu = self._sensors["imu"]
            if imu is not None:
                self._used_ns[imu] = ego.capture_time_ns
        if self._now_ns is not None:
            self._objects.begin_cycle((now_ns - self._now_ns) / NS_PER_S, yaw_rate, acceleration)
        self._now_ns = now_ns
        return yaw_rate

    def _is_new(self, sensor: str, capture_ns: int, now_ns: int) -> bool:
        """Whether this capture has not been fused yet and is fit to be; remembers it as fused.

        One from the future is left for the cycle in which it is not.
        """
        if capture_ns > now_ns or capture_ns == self._read_ns.get(sensor):
            return False
        self._read_ns[sensor] = capture_ns
        if now_ns - capture_ns > self._coast_ns or capture_ns < self._used_ns.get(sensor, capture_ns):
            self.ignored += 1
            log.debug("%s: capture %s ignored at %s", sensor, format_ns(capture_ns), format_ns(now_ns))
            return False
        self._used_ns[sensor] = capture_ns
        return True

    def _fuse_boxes(self, boxes: Boxes3D, lidar: str, now_ns: int, yaw_rate: float) -> None:
        centers, sizes = self._in_vehicle_frame(boxes)
        age_s = (now_ns - boxes.capture_time_ns) / NS_PER_S
        turn = rotation(-yaw_rate * age_s)
        centers[:, :2] = centers[:, :2] @ turn.T

        half = sizes[:, 0] / 2.0
        noise = np.eye(2) * self._lidar_sigma_m**2
        cost = self._box_cost(centers, half, noise, age_s)
        paired = set()
        for item in self._objects.items:
            item.misses += 1
        for row, column in greedy_pairs(cost, _GATE):
            paired.add(column)
            found = self._objects.items[row]
            end = np.array([centers[column, 0] + found.face * half[column], centers[column, 1]])
            self._objects.filter.update(row, end, noise, age_s)
            found.size_m = sizes[column]
            self._objects.turn_face(row, near_face(centers[column, 0], half[column]) or found.face)
            self._found_by_lidar(found, lidar, boxes.capture_time_ns)
        for column in range(len(centers)):
            if column not in paired:
                face = near_face(centers[column, 0], half[column]) or -1
                end = np.array([centers[column, 0] + face * half[column], centers[column, 1]])
                found = self._objects.add(end, noise, face, sizes[column], boxes.capture_time_ns)
                self._found_by_lidar(found, lidar, boxes.capture_time_ns)

    def _found_by_lidar(self, found: TrackedObject, lidar: str, capture_ns: int) -> None:
        found.lidar_seen_ns = capture_ns
        found.misses = 0
        self._objects.see(found, lidar, capture_ns)
        self._objects.place(found, capture_ns)

    def _box_cost(self, centers: Float, half: Float, noise: Float, age_s: float) -> Float:
        """Squared Mahalanobis distance of every object to every box, float64[n, m]; infinite where it would jump.

        An object is compared with that end of a box which it follows.
        """
        objects = self._objects
        cost = np.full((len(objects.items), len(centers)), np.inf)
        faces = objects.faces()
        noises = np.broadcast_to(noise, (len(centers), 2, 2))
        for face in (-1, 1):
            rows = faces == face
            ends = np.stack((centers[:, 0] + face * half, centers[:, 1]), axis=1)
            jump = np.linalg.norm(ends[None] - objects.filter.positions(age_s)[:, None], axis=2)
            squared = np.where(jump <= _MAX_JUMP_M, objects.filter.distances(ends, noises, age_s), np.inf)
            cost[rows] = squared[rows]
        return cost

    def _in_vehicle_frame(self, boxes: Boxes3D) -> tuple[Float, Float]:
        """Centres float64[n, 3] and extents along the vehicle's axes float64[n, 3], in an order of their own.

        Boxes with a number that is not finite are left out.
        """
        centers = boxes.centers_m.astype(np.float64)
        yaws = boxes.yaws_rad.astype(np.float64)
        if boxes.frame_id != VEHICLE_FRAME and self._lidar_pose is not None:
            centers = centers @ self._lidar_pose[:, :3].T + self._lidar_pose[:, 3]
            yaws = yaws + math.atan2(self._lidar_pose[1, 0], self._lidar_pose[0, 0])
        length, width, height = boxes.sizes_m.astype(np.float64).T
        c, s = np.abs(np.cos(yaws)), np.abs(np.sin(yaws))
        # The lowest return lies above the road on which the object stands.
        top = centers[:, 2] + height / 2.0 - self._ground_z_m
        extents = np.stack((c * length + s * width, s * length + c * width, np.maximum(height, top)), axis=1)
        usable = np.isfinite(centers).all(axis=1) & np.isfinite(extents).all(axis=1)
        # The order of the input must not decide ties.
        order = np.lexsort((*extents.T, *centers.T))
        order = order[usable[order]]
        return centers[order], extents[order]

    def _fuse_frame(self, frame: Detections2D, now_ns: int, yaw_rate: float) -> None:
        geometry = self._cameras.get(frame.camera)
        if geometry is None:
            return
        geometry = geometry.scaled_to(frame.image_width, frame.image_height)
        age_s = (now_ns - frame.capture_time_ns) / NS_PER_S
        boxes = frame.boxes_px.astype(np.float64)
        order = np.lexsort((frame.class_ids, frame.scores, *boxes.T))
        usable = np.asarray(np.isfinite(boxes).all(axis=1))
        order = order[usable[order]]
        boxes, scores = boxes[order], frame.scores[order]
        names = [frame.class_names[i] for i in order]

        projected, visible = self._projected(geometry, age_s, yaw_rate)
        cost = np.where(visible[:, None], 1.0 - iou_matrix(projected, boxes), np.inf)
        pairs = greedy_pairs(cost, 1.0 - self._min_iou)
        for row, column in pairs:
            found = self._objects.items[row]
            found.vote(names[column], float(scores[column]))
            self._objects.see(found, frame.camera, frame.capture_time_ns)
            if self._lidar_follows(found, frame.capture_time_ns):
                continue
            found.size_m = np.array(TYPICAL_SIZE_M.get(found.label, found.size_m), np.float64)
            ground = self._on_ground(geometry, boxes[column], found.size_m[2], age_s, yaw_rate)
            if ground is not None:
                self._objects.filter.update(row, *ground, age_s)
                self._objects.place(found, frame.capture_time_ns)

        if not self._cameras_start_objects(now_ns):
            return
        areas = np.maximum((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), 1e-9)
        covered = visible[:, None] & (intersection_matrix(projected, boxes) > self._min_iou * areas)
        overlapped = np.asarray(covered.any(axis=0))
        explained = {column for _, column in pairs}
        for column in range(len(boxes)):
            if column in explained or overlapped[column] or scores[column] < self._camera_min_score:
                continue
            size = np.array(TYPICAL_SIZE_M.get(names[column], TYPICAL_SIZE_M["car"]))
            ground = self._on_ground(geometry, boxes[column], size[2], age_s, yaw_rate)
            if ground is None or float(np.linalg.norm(ground[0])) > self._camera_range_m:
                continue
            found = self._objects.add(*ground, -1 if ground[0][0] > 0.0 else 1, size, frame.capture_time_ns)
            found.vote(names[column], float(scores[column]))
            self._objects.see(found, frame.camera, frame.capture_time_ns)
            self._objects.place(found, frame.capture_time_ns)

    def _projected(
        self, geometry: CameraGeometry, age_s: float, yaw_rate: float
    ) -> tuple[Float, npt.NDArray[np.bool_]]:
        """Image boxes of all objects where they were `age_s` ago, float64[n, 4], and which are visible."""
        sizes = self._objects.sizes()
        centers = np.zeros((len(sizes), 3))
        centers[:, :2] = self._objects.filter.positions(age_s) @ rotation(yaw_rate * age_s).T
        centers[:, 0] -= self._objects.faces() * sizes[:, 0] / 2.0
        centers[:, 2] = self._ground_z_m + sizes[:, 2] / 2.0
        return geometry.project_boxes(centers, sizes)

    def _on_ground(
        self, geometry: CameraGeometry, box_px: Float, height_m: float, age_s: float, yaw_rate: float
    ) -> tuple[Float, Float] | None:
        """Position and covariance, along today's axes, of the foot of a detection; None when it does not show."""
        foot = geometry.foot_of_box(box_px, height_m, self._ground_z_m)
        if foot is None:
            return None
        turn = rotation(-yaw_rate * age_s)
        return turn @ foot[0], turn @ foot[1] @ turn.T

    def _cameras_start_objects(self, now_ns: int) -> bool:
        """Whether the LiDAR, which would have found them, is missing."""
        lidar = self._sensors["lidar"]
        if lidar is None and "lidar" not in self._used_ns:
            return True
        return now_ns - self._used_ns.get(lidar or "lidar", self._started_ns) > self._lidar_timeout_ns

    def _lidar_follows(self, found: TrackedObject, capture_ns: int) -> bool:
        return found.lidar_seen_ns is not None and capture_ns - found.lidar_seen_ns <= self._lidar_timeout_ns
