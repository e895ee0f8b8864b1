"""LiDAR boxes become measurements of tracked objects."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pipelines.association import assigned_pairs
from pipelines.ego import EgoHistory
from pipelines.ego_speed import Sweep
from pipelines.lidar import VEHICLE_FRAME
from pipelines.objects import ObjectList, near_face
from pipelines.tracking import rotation
from rt_sched.messages import Boxes3D, Deskew
from rt_sched.units import NS_PER_S

Float = npt.NDArray[np.float64]

#: A box that does not belong to a track may lie this far (squared Mahalanobis distance) from it: 99.9 % of all that do
#: belong lie nearer. A track that the LiDAR follows and that jumps more than `_MAX_JUMP_M` is another object.
_GATE = 13.8
_MAX_JUMP_M = 6.0

#: What it costs to leave an object or a box without a partner, in the terms of a pair's cost: more than any within the
#: gate, so that pairs are left only for better ones.
_ALONE = 40.0

#: Outlines jump by as much when parts of an object come into view: what is allowed beside the noise to belong together.
_OUTLINE_SIGMA_M = 0.25


class BoxFusion:
    """Pairs the boxes of each sweep with objects and corrects these.

    `pose`: float64[3, 4] of the LiDAR on the vehicle, None when unknown; `sigma_m`: standard deviation of a box's near
    end; `ground_z_m`: height of the road in the vehicle frame.
    """

    def __init__(self, pose: Float | None, sigma_m: float, ground_z_m: float) -> None:
        self._pose = pose
        self._noise: Float = np.eye(2) * sigma_m**2
        self._outline: Float = np.eye(2) * (sigma_m**2 + _OUTLINE_SIGMA_M**2)
        self._ground_z_m = ground_z_m

    def fuse(
        self,
        objects: ObjectList,
        boxes: Boxes3D,
        lidar: str,
        now_ns: int,
        history: EgoHistory,
        ego_speed_m_s: float | None,
        certainty: float = 1.0,
    ) -> Sweep:
        """All boxes of a sweep of `lidar` into `objects`, which stand at `now_ns`; the sweep along today's axes.

        `certainty`: in (0, 1], by what the inverse variance of a box is multiplied.
        """
        sweep = self._seen_today(boxes, now_ns, history, ego_speed_m_s)
        paired = set()
        for item in objects.items:
            item.misses += 1
        for row, column in assigned_pairs(self._cost(objects, sweep), _ALONE):
            paired.add(column)
            found, size = objects.items[row], sweep.extents_m[column]
            self._correct(objects, row, sweep, column, certainty)
            found.size_m = size
            objects.turn_face(row, near_face(sweep.centers_m[column, 0], size[0] / 2.0) or found.face)
            objects.found_by_lidar(found, lidar, boxes.capture_time_ns)
        for column in range(len(sweep.centers_m)):
            if column not in paired:
                size = sweep.extents_m[column]
                face = near_face(sweep.centers_m[column, 0], size[0] / 2.0) or -1
                end, age_s = sweep.ends_m(face)[column], float(sweep.ages_s[column])
                found = objects.add(end, self._noise / certainty, face, size, boxes.capture_time_ns, age_s)
                objects.found_by_lidar(found, lidar, boxes.capture_time_ns)
        return sweep

    def _correct(self, objects: ObjectList, row: int, sweep: Sweep, column: int, certainty: float) -> None:
        """Corrects an object by the near end of a box.

        Across the way, a box that has become narrower moves the object only as far as both its sides agree on. What
        passes in front hides one side and leaves the other where it was: the middle of what shows wanders, and the
        object need not have moved. The rest moves the reference point on the object. One that has become wider may
        come out of hiding, towards the vehicle's way: its middle counts. Either tells the less, the more has changed.
        """
        found, age_s = objects.items[row], float(sweep.ages_s[column])
        end, noise = sweep.ends_m(found.face)[column], self._noise / certainty
        hidden_m = 0.0
        # The size of one that a camera has placed since is a typical one, no outline.
        if not found.placed_by_camera:
            grown_m = 0.5 * float(sweep.extents_m[column, 1] - found.size_m[1])
            noise = noise + np.diag((0.0, grown_m**2))
            if grown_m < 0.0:
                moved_m = float(end[1] - objects.filter.positions(np.array([age_s]))[row, 0, 1])
                hidden_m = moved_m - _agreed(moved_m - grown_m, moved_m + grown_m)
        objects.filter.update(row, end - np.array([0.0, hidden_m]), noise, age_s)
        objects.filter.mean[row, 1] += hidden_m

    def _cost(self, objects: ObjectList, sweep: Sweep) -> Float:
        """What pairing every object with every box costs, float64[n, m]; infinite where it would jump.

        Twice the negative log-likelihood of the box where the object should be, but for a constant. An object is
        compared with that end of a box which it follows. Where only cameras have placed it, its own uncertainty says
        how far it may lie off.
        """
        faces = objects.faces()
        by_lidar = np.array([item.lidar_seen_ns is not None for item in objects.items], np.bool_)
        noises = np.broadcast_to(self._outline, (len(sweep.ages_s), 2, 2))
        past = objects.filter.positions(sweep.ages_s)
        cost = np.full((len(faces), len(sweep.ages_s)), np.inf)
        for face in (-1.0, 1.0):
            ends = sweep.ends_m(face)
            jump = np.linalg.norm(ends[None] - past, axis=2)
            squared, vague = objects.filter.distances(ends, noises, sweep.ages_s)
            near = (squared <= _GATE) & ((jump <= _MAX_JUMP_M) | ~by_lidar[:, None])
            cost = np.where((faces == face)[:, None] & near, squared + 2.0 * vague, cost)
        return cost

    def _seen_today(self, boxes: Boxes3D, now_ns: int, history: EgoHistory, ego_speed_m_s: float | None) -> Sweep:
        """The boxes carried along with the vehicle's turning. Those with a number that is not finite are left out.

        A sweep takes its time: a box is as old as its own points. Where the vehicle's motion during the sweep was
        undone for what stands still, that motion is put back, for the filter knows it too.
        """
        centers = boxes.centers_m.astype(np.float64)
        yaws = boxes.yaws_rad.astype(np.float64)
        if boxes.frame_id != VEHICLE_FRAME and self._pose is not None:
            centers = centers @ self._pose[:, :3].T + self._pose[:, 3]
            yaws = yaws + math.atan2(self._pose[1, 0], self._pose[0, 0])
        length, width, height = boxes.sizes_m.astype(np.float64).T
        c, s = np.abs(np.cos(yaws)), np.abs(np.sin(yaws))
        # The lowest return lies above the road on which the object stands.
        top = centers[:, 2] + height / 2.0 - self._ground_z_m
        extents = np.stack((c * length + s * width, s * length + c * width, np.maximum(height, top)), axis=1)
        if boxes.bounds_m is not None and (boxes.frame_id == VEHICLE_FRAME or self._pose is None):
            low, high = np.split(boxes.bounds_m.astype(np.float64), 2, axis=1)
            centers[:, :2], extents[:, :2] = (low + high) / 2.0, high - low
        offsets_ns = np.zeros(len(centers), np.int64)
        if boxes.time_offset_ns is not None:
            offsets_ns = boxes.time_offset_ns.astype(np.int64)
        usable = np.isfinite(centers).all(axis=1) & np.isfinite(extents).all(axis=1)
        # The order of the input must not decide ties.
        order = np.lexsort((*extents.T, *centers.T))
        order = order[usable[order]]
        centers, extents, offsets_ns = centers[order], extents[order], offsets_ns[order]

        instants_ns = boxes.capture_time_ns + offsets_ns
        ages_s = (now_ns - instants_ns) / NS_PER_S
        if boxes.deskew is Deskew.FULL and ego_speed_m_s is not None:
            centers[:, 0] -= ego_speed_m_s * offsets_ns / NS_PER_S
        raw = boxes.deskew not in (Deskew.FULL, Deskew.ROTATION)
        for row, instant_ns in enumerate(instants_ns.tolist()):
            turned = history.turned_rad(instant_ns if raw else boxes.capture_time_ns, now_ns)
            centers[row, :2] = rotation(-turned) @ centers[row, :2]
        return Sweep(centers, extents, ages_s)


def _agreed(right_m: float, left_m: float) -> float:
    """How far a thing has moved whose sides have moved so far: as the one that moved less, 0 if they part or meet."""
    if right_m * left_m <= 0.0:
        return 0.0
    return min(right_m, left_m, key=abs)
