"""Pinhole geometry between the vehicle frame and a camera's image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.ports import SensorDescription

Float = npt.NDArray[np.float64]

#: Points nearer to the image plane than this are moved onto it, so that a box that reaches behind the camera still
#: covers the side of the image on which it leaves.
_NEAR_M = 0.3

#: Cosine of the largest angle between a camera's axis and the vehicle's at which it sees the ends of what is parallel.
_ALONG_THE_AXIS = 0.8

#: Detectors do not reach the border of the image exactly: a box this near to it, relative to its size, is cut off.
_BORDER = 0.03

#: Uncertainty of a detection's foot: of the box's edges relative to its size, and of the camera's pitch.
_EDGE_SIGMA = 0.05
_PITCH_SIGMA_RAD = 0.01

#: Uncertainty of a box's height from frame to frame, relative to it.
_HEIGHT_SIGMA = 0.04

#: This share of the difference between the two ranges of a box counts as standard deviation.
_DISAGREEMENT_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class CameraGeometry:
    """A calibrated camera: intrinsics in pixels of an image `width` x `height`, and its pose on the vehicle.

    `rotation`: float64[3, 3], `position_m`: float64[3]: vehicle point = rotation * optical point + position.
    """

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int
    rotation: Float
    position_m: Float

    @staticmethod
    def of(sensor: SensorDescription) -> CameraGeometry | None:
        """The geometry that `sensor` declares, or None when a part of it is unknown."""
        if sensor.intrinsics is None or sensor.sensor_to_vehicle is None:
            return None
        if not sensor.image_width or not sensor.image_height:
            return None
        pose = np.array(sensor.sensor_to_vehicle, np.float64)
        fx, fy, cx, cy = sensor.intrinsics
        return CameraGeometry(fx, fy, cx, cy, sensor.image_width, sensor.image_height, pose[:, :3], pose[:, 3])

    def scaled_to(self, width: int, height: int) -> CameraGeometry:
        """The same camera for an image of another size, coordinates counted from the image's corner."""
        if (width, height) == (self.width, self.height) or width <= 0 or height <= 0:
            return self
        sx, sy = width / self.width, height / self.height
        fx, fy, cx, cy = self.fx * sx, self.fy * sy, self.cx * sx, self.cy * sy
        return CameraGeometry(fx, fy, cx, cy, width, height, self.rotation, self.position_m)

    def project_boxes(self, centers_m: Float, sizes_m: Float) -> tuple[Float, npt.NDArray[np.bool_]]:
        """Image boxes float64[n, 4] (clipped to the image) of axis-parallel vehicle-frame boxes, and which are visible.

        `centers_m`, `sizes_m`: float64[n, 3]. A box is visible when it lies, at least in part, in front of the camera
        and inside the image.
        """
        signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        corners = centers_m[:, None, :] + signs[None, :, :] * sizes_m[:, None, :]
        optical = (corners - self.position_m) @ self.rotation
        in_front = (optical[..., 2] > _NEAR_M).any(axis=1)
        depth = np.maximum(optical[..., 2], _NEAR_M)
        u = self.fx * optical[..., 0] / depth + self.cx
        v = self.fy * optical[..., 1] / depth + self.cy
        boxes = np.stack(
            (
                np.clip(u.min(axis=1), 0.0, self.width),
                np.clip(v.min(axis=1), 0.0, self.height),
                np.clip(u.max(axis=1), 0.0, self.width),
                np.clip(v.max(axis=1), 0.0, self.height),
            ),
            axis=1,
        )
        visible = in_front & (boxes[:, 2] - boxes[:, 0] > 1.0) & (boxes[:, 3] - boxes[:, 1] > 1.0)
        return boxes, visible

    def shows(self, points_m: Float) -> npt.NDArray[np.bool_]:
        """Which vehicle-frame points float64[n, 3] lie inside the image: bool[n]."""
        optical = (points_m - self.position_m) @ self.rotation
        ahead = optical[:, 2] > _NEAR_M
        depth = np.where(ahead, optical[:, 2], 1.0)
        u = self.fx * optical[:, 0] / depth + self.cx
        v = self.fy * optical[:, 1] / depth + self.cy
        inside: npt.NDArray[np.bool_] = (u >= 0.0) & (u <= self.width) & (v >= 0.0) & (v <= self.height)
        return ahead & inside

    def ground_point(self, u_px: float, v_px: float, ground_z_m: float) -> Float | None:
        """Where the ray through a pixel meets flat ground, as x, y in the vehicle frame; None above the horizon."""
        ray = self.rotation @ np.array([(u_px - self.cx) / self.fx, (v_px - self.cy) / self.fy, 1.0])
        if ray[2] >= -1e-9:
            return None
        distance = (ground_z_m - self.position_m[2]) / ray[2]
        if distance <= 0.0:
            return None
        point: Float = (self.position_m + distance * ray)[:2]
        return point

    def foot_of_box(self, box_px: Float, height_m: float, ground_z_m: float) -> tuple[Float, Float] | None:
        """Where the object in an image box stands on flat ground: position float64[2], covariance float64[2, 2].

        The box's lower edge gives the range. Its height, compared with the object's `height_m`, gives a second one:
        the more the two disagree, the less certain is the first. None above the horizon, and for a box that reaches
        the lower edge of the image or one of its sides: it is cut off and does not show the middle of the foot.
        """
        left, top, right, bottom = (float(edge) for edge in box_px)
        margin_x, margin_y = _BORDER * self.width, _BORDER * self.height
        if bottom >= self.height - margin_y or left <= margin_x or right >= self.width - margin_x:
            return None
        middle = (left + right) / 2.0
        sigma_px = math.hypot(_EDGE_SIGMA * (bottom - top), _PITCH_SIGMA_RAD * self.fy, 1.0)
        point = self.ground_point(middle, bottom, ground_z_m)
        nearer = self.ground_point(middle, bottom + sigma_px, ground_z_m)
        if point is None or nearer is None:
            return None
        line = point - self.position_m[:2]
        distance = max(float(np.linalg.norm(line)), 1e-6)
        by_height = self.fy * height_m / max(bottom - top, 1.0)
        along = math.hypot(float(np.linalg.norm(point - nearer)), _DISAGREEMENT_SHARE * (distance - by_height))
        across = distance * (1.0 + _EDGE_SIGMA * (right - left)) / self.fx
        direction = line / distance
        covariance = np.outer(direction, direction) * (along**2 - across**2) + np.eye(2) * across**2
        return point, covariance

    def near_end(self, box_px: Float, distance_m: float, width_m: float) -> Float:
        """The part of an image box that shows the near end of an object `width_m` wide, parallel to the vehicle.

        Ahead and behind, an object off the vehicle's axis shows a side too, towards where parallel lines meet in the
        image; its near end is the outer part. A camera that looks sideways gives the box as it is.
        """
        forward = self.rotation.T @ np.array([math.copysign(1.0, self.rotation[0, 2]), 0.0, 0.0])
        if forward[2] < _ALONG_THE_AXIS:
            return box_px
        meeting = self.cx + self.fx * forward[0] / forward[2]
        left, top, right, bottom = (float(edge) for edge in box_px)
        width = min(width_m * self.fx / max(distance_m, 1e-6), right - left)
        if left + right > 2.0 * meeting:
            return np.array([right - width, top, right, bottom])
        return np.array([left, top, left + width, bottom])

    def apparent_height_m(self, box_px: Float, foot_m: Float) -> float:
        """Height of what fills an image box while it stands at `foot_m`: float64[2] on the ground."""
        distance = float(np.linalg.norm(foot_m - self.position_m[:2]))
        return distance * float(box_px[3] - box_px[1]) / self.fy

    def foot_by_height(self, box_px: Float, foot_m: Float, height_m: float, width_m: float) -> tuple[Float, Float]:
        """The same foot, moved along its ray to where an object of `height_m` fills the box: position, covariance.

        Says how the distance changes better than the lower edge does, and how far it is no better than `height_m`. In a
        box wider than `width_m` it is less certain where across the object stands.
        """
        line = foot_m - self.position_m[:2]
        direction = line / max(float(np.linalg.norm(line)), 1e-6)
        distance = self.fy * height_m / max(float(box_px[3] - box_px[1]), 1.0)
        along = _HEIGHT_SIGMA * distance
        width_px = float(box_px[2] - box_px[0])
        aslant = max(distance * width_px / self.fx - width_m, 0.0) / 2.0
        across = math.hypot(distance * (1.0 + _EDGE_SIGMA * width_px) / self.fx, aslant)
        covariance = np.outer(direction, direction) * (along**2 - across**2) + np.eye(2) * across**2
        return self.position_m[:2] + distance * direction, covariance
