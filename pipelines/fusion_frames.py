"""Camera detections name tracked objects, and place those that no LiDAR follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.association import assigned_pairs, intersection_matrix, iou_matrix
from pipelines.ego import EgoHistory
from pipelines.objects import TYPICAL_SIZE_M, ObjectList, TrackedObject
from pipelines.projection import CameraGeometry
from pipelines.tracking import rotation
from pipelines.weights import SensorWeights
from rt_sched.messages import Detections2D
from rt_sched.units import NS_PER_S

Float = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FrameLimits:
    """When detections count; see the parameters of `pipelines.fusion.Fuse`."""

    min_iou: float
    range_m: float
    min_score: float
    lidar_timeout_ns: int
    ground_z_m: float


class FrameFusion:
    """Pairs the detections of each camera frame with the objects that the camera should see."""

    def __init__(self, cameras: Mapping[str, CameraGeometry], weights: SensorWeights, limits: FrameLimits) -> None:
        self._cameras = cameras
        self._weights = weights
        self._limits = limits

    def fuse(
        self, objects: ObjectList, frame: Detections2D, now_ns: int, history: EgoHistory, *, may_start: bool
    ) -> None:
        """All detections of one frame into `objects`, which stand at `now_ns`.

        `may_start`: whether a detection that overlaps no object becomes one.
        """
        geometry = self._cameras.get(frame.camera)
        if geometry is not None:
            view = _View(
                geometry.scaled_to(frame.image_width, frame.image_height),
                frame.camera,
                frame.capture_time_ns,
                (now_ns - frame.capture_time_ns) / NS_PER_S,
                history.turned_rad(frame.capture_time_ns, now_ns),
            )
            self._pair(objects, frame, view, may_start)

    def _pair(self, objects: ObjectList, frame: Detections2D, view: _View, may_start: bool) -> None:
        boxes = frame.boxes_px.astype(np.float64)
        order = np.lexsort((frame.class_ids, frame.scores, *boxes.T))
        usable = np.asarray(np.isfinite(boxes).all(axis=1))
        order = order[usable[order]]
        boxes, scores = boxes[order], frame.scores[order]
        names = [frame.class_names[i] for i in order]

        projected, visible = self._projected(objects, view)
        overlap = np.where(visible[:, None], iou_matrix(projected, boxes), 0.0)
        least = self._limits.min_iou
        pairs = assigned_pairs(np.where(overlap >= least, 1.0 - overlap, np.inf), 1.0)
        for row, column in pairs:
            found = objects.items[row]
            found.vote(names[column], float(scores[column]), self._share(objects, row, view))
            objects.see(found, view.camera, view.capture_ns)
            if self._lidar_follows(found, view.capture_ns):
                continue
            found.size_m = np.array(TYPICAL_SIZE_M.get(found.label, found.size_m), np.float64)
            foot = self._foot(view, boxes[column], found)
            if foot is not None:
                point, covariance = foot
                share = self._share(objects, row, view)
                # A box that begins to take in more or less than the object goes on doing so.
                objects.filter.update(row, point, covariance / share, view.age_s, may_jump=True)
                objects.place(found, view.capture_ns)

        areas = np.maximum((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), 1e-9)
        covered = visible[:, None] & (intersection_matrix(projected, boxes) > least * areas)
        free = ~np.asarray(covered.any(axis=0))
        free[[column for _, column in pairs]] = False
        doubles = self._doubles(objects, overlap, dict(pairs), view)
        if may_start:
            for column in np.flatnonzero(free).tolist():
                self._start(objects, boxes[column], names[column], float(scores[column]), view)
        objects.remove(doubles)

    def _doubles(self, objects: ObjectList, overlap: Float, pairs: Mapping[int, int], view: _View) -> set[int]:
        """Identifiers of objects that only cameras placed and whose detection belongs to one that the LiDAR follows.

        They are that object, at a range that a camera guessed before the LiDAR saw it.
        """
        by_lidar = [self._lidar_follows(item, view.capture_ns) for item in objects.items]
        taken = [column for row, column in sorted(pairs.items()) if by_lidar[row]]
        return {
            item.track_id
            for row, item in enumerate(objects.items)
            if item.lidar_seen_ns is None and row not in pairs and (overlap[row, taken] >= self._limits.min_iou).any()
        }

    def _start(self, objects: ObjectList, box_px: Float, name: str, score: float, view: _View) -> None:
        """A detection that nothing explains becomes an object, if its score and its range allow."""
        size = np.array(TYPICAL_SIZE_M.get(name, TYPICAL_SIZE_M["car"]))
        end_px, foot = self._near_end(view, box_px, size)
        if score < self._limits.min_score or foot is None or float(np.linalg.norm(foot[0])) > self._limits.range_m:
            return
        turn = rotation(-view.turned_rad)
        point, covariance = turn @ foot[0], turn @ foot[1] @ turn.T
        found = objects.add(point, covariance, -1 if point[0] > 0.0 else 1, size, view.capture_ns, view.age_s)
        found.vote(name, score, 1.0)
        found.fill(view.geometry.apparent_height_m(end_px, foot[0]))
        objects.see(found, view.camera, view.capture_ns)
        objects.place(found, view.capture_ns)

    def _share(self, objects: ObjectList, row: int, view: _View) -> float:
        x, y = objects.filter.mean[row, :2].tolist()
        return self._weights.share(view.camera, x, y)

    def _projected(self, objects: ObjectList, view: _View) -> tuple[Float, npt.NDArray[np.bool_]]:
        """Image boxes of all objects where they were, float64[n, 4], and which are visible."""
        sizes = objects.sizes()
        centers = np.zeros((len(sizes), 3))
        past = objects.filter.positions(np.array([view.age_s]))[:, 0]
        centers[:, :2] = past @ rotation(view.turned_rad).T
        centers[:, 0] -= objects.faces() * sizes[:, 0] / 2.0
        centers[:, 2] = self._limits.ground_z_m + sizes[:, 2] / 2.0
        return view.geometry.project_boxes(centers, sizes)

    def _foot(self, view: _View, box_px: Float, found: TrackedObject) -> tuple[Float, Float] | None:
        """Position and covariance, along today's axes, of the foot of an object; None when it does not show.

        The lower edges of all its boxes so far tell how high the object is, the box's own height how far it is now.
        """
        end_px, foot = self._near_end(view, box_px, found.size_m)
        if foot is None:
            return None
        found.fill(view.geometry.apparent_height_m(end_px, foot[0]))
        point, covariance = view.geometry.foot_by_height(end_px, foot[0], found.apparent_height_m, found.size_m[1])
        turn = rotation(-view.turned_rad)
        return turn @ point, turn @ covariance @ turn.T

    def _near_end(self, view: _View, box_px: Float, size_m: Float) -> tuple[Float, tuple[Float, Float] | None]:
        """The part of a detection that shows the near end of its object, and where that stands before any turning."""
        ground_z_m = self._limits.ground_z_m
        foot = view.geometry.foot_of_box(box_px, size_m[2], ground_z_m)
        if foot is None:
            return box_px, None
        distance = float(np.linalg.norm(foot[0] - view.geometry.position_m[:2]))
        end_px = view.geometry.near_end(box_px, distance, size_m[1])
        return end_px, view.geometry.foot_of_box(end_px, size_m[2], ground_z_m)

    def _lidar_follows(self, found: TrackedObject, capture_ns: int) -> bool:
        return found.lidar_seen_ns is not None and capture_ns - found.lidar_seen_ns <= self._limits.lidar_timeout_ns


@dataclass(frozen=True, slots=True)
class _View:
    """One frame's geometry: whose it is, how old, and how far the vehicle has turned left since."""

    geometry: CameraGeometry
    camera: str
    capture_ns: int
    age_s: float
    turned_rad: float
