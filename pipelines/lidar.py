"""From a LiDAR sweep to boxes around the obstacles in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_integer, checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, PointCloud
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext

#: Frame of results whose sensor's mounting is known: x forward, y left, z up, origin on the ground.
VEHICLE_FRAME = "vehicle"

#: Sectors of the ground search, and the depth of one ring in metres.
_SECTORS = 120
_RING_M = 1.0

#: Steepest plane that is believed to be the road, as rise over run.
_MAX_ROAD_SLOPE = 0.15

#: Farthest that a LiDAR may sit from the vehicle's origin, per axis.
_MAX_MOUNTING_M = 100.0

#: Directions tried for a box, over a quarter turn.
_HEADINGS = 30


class Preprocess(StageBase):
    """Sweep -> obstacle points: crop, voxel grid, ground removal. Input `points`, output `obstacles`: PointCloud.

    One point per voxel remains, the mean of the voxel's points, ordered by voxel. Where the mounting of the LiDAR is
    known, points are carried into the vehicle frame (`frame_id` "vehicle"); else they stay in the sensor's frame,
    whose z must point up, and the ground's height is found in the sweep itself.

    Parameters:
        sensor: the LiDAR that the points come from; the system's only LiDAR when not given.
        min_range_m, max_range_m: distance from the sensor that is kept.
        voxel_size_m: side of a voxel.
        ground_clearance_m, max_height_m: band above the ground that holds obstacles.
        ground_step_m, ground_slope: how far the ground may rise or fall at once, and per metre of distance.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor or an impossible mounting,
    Rejected for a malformed sweep.
    """

    inputs: ClassVar[Mapping[str, type]] = {"points": PointCloud}
    outputs: ClassVar[Mapping[str, type]] = {"obstacles": PointCloud}

    def __init__(
        self,
        *,
        sensor: str | None = None,
        min_range_m: float = 2.0,
        max_range_m: float = 80.0,
        voxel_size_m: float = 0.15,
        ground_clearance_m: float = 0.25,
        max_height_m: float = 2.6,
        ground_step_m: float = 0.12,
        ground_slope: float = 0.08,
    ) -> None:
        if sensor is not None and (not isinstance(sensor, str) or not sensor):
            raise ValueError(f"sensor: {sensor!r} is not the name of a sensor")
        self._sensor = sensor
        self._max_range_m = checked_number("max_range_m", max_range_m, low=1.0, high=500.0, unit="m")
        self._min_range_m = checked_number("min_range_m", min_range_m, low=0.0, high=self._max_range_m, unit="m")
        self._voxel_m = checked_number("voxel_size_m", voxel_size_m, low=0.02, high=5.0, unit="m")
        self._clearance_m = checked_number("ground_clearance_m", ground_clearance_m, low=0.02, high=2.0, unit="m")
        self._max_height_m = checked_number("max_height_m", max_height_m, low=self._clearance_m, high=50.0, unit="m")
        self._step_m = checked_number("ground_step_m", ground_step_m, low=0.0, high=2.0, unit="m")
        self._slope = checked_number("ground_slope", ground_slope, low=0.0, high=1.0)
        self._transform: npt.NDArray[np.float64] | None = None

    def start(self, context: StageContext) -> None:
        """Looks up the mounting and compiles the kernels. Raises DeploymentError for an unknown sensor."""
        self._transform = _mounting(context, self._sensor)
        points = np.array([[5.0, 0.0, 0.0], [5.0, 0.1, 1.0]], np.float32)
        self._obstacles(PointCloud(0, "", points, np.zeros(2, np.float32)))

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"obstacles": self._obstacles(inputs["points"])}

    def _obstacles(self, cloud: PointCloud) -> PointCloud:
        from pipelines import lidar_kernels as kernels

        xyz_m, intensity = _checked_points(cloud)
        known = self._transform is not None
        transform = self._transform if self._transform is not None else np.eye(3, 4)
        keys, means, mean_intensity = kernels.voxel_means(
            xyz_m, intensity, transform, self._min_range_m, self._max_range_m, self._voxel_m
        )
        order = np.argsort(keys)
        means, mean_intensity = means[order], mean_intensity[order]
        plane = kernels.ground_plane(means, known, 0.0, _MAX_ROAD_SLOPE)
        rings = math.ceil(self._max_range_m / _RING_M) + 1
        keep = kernels.obstacle_mask(
            means, plane, _SECTORS, _RING_M, rings, self._step_m, self._slope, self._clearance_m, self._max_height_m
        )
        return PointCloud(
            capture_time_ns=cloud.capture_time_ns,
            frame_id=VEHICLE_FRAME if known else cloud.frame_id,
            xyz_m=means[keep],
            intensity=mean_intensity[keep],
            dropped_points=cloud.dropped_points,
        )


class Cluster(StageBase):
    """Obstacle points -> boxes. Input `obstacles`: PointCloud; output `boxes`: Boxes3D in the same frame.

    Clusters are Euclidean, seen from above: obstacles stand on the ground, so that gaps between scan lines do not
    part them. A box's length is its longer side and its yaw that side's direction in [-pi/2, pi/2): which end is the
    front, one sweep cannot tell. Boxes enclose what was seen, not the whole object. `num_points` counts the points of
    the input, voxels after `Preprocess`. Boxes are ordered by distance from the frame's origin.

    Parameters:
        tolerance_m: largest gap, seen from above, inside an object.
        min_points, min_height_m: least evidence for an object.
        max_length_m, max_width_m: larger objects are cut into pieces of at most this size.

    Raises ValueError for parameters out of range, Rejected for a malformed sweep.
    """

    inputs: ClassVar[Mapping[str, type]] = {"obstacles": PointCloud}
    outputs: ClassVar[Mapping[str, type]] = {"boxes": Boxes3D}

    def __init__(
        self,
        *,
        tolerance_m: float = 0.6,
        min_points: int = 6,
        min_height_m: float = 0.3,
        max_length_m: float = 10.0,
        max_width_m: float = 4.0,
    ) -> None:
        self._tolerance_m = checked_number("tolerance_m", tolerance_m, low=0.05, high=10.0, unit="m")
        self._min_points = checked_integer("min_points", min_points, low=1, high=100_000)
        self._min_height_m = checked_number("min_height_m", min_height_m, low=0.0, high=50.0, unit="m")
        self._max_length_m = checked_number("max_length_m", max_length_m, low=1.0, high=1000.0, unit="m")
        self._max_width_m = checked_number("max_width_m", max_width_m, low=0.5, high=self._max_length_m, unit="m")

    def start(self, context: StageContext) -> None:
        """Compiles the kernels."""
        points = np.zeros((2, 3), np.float32)
        self._boxes(PointCloud(0, "", points, np.zeros(2, np.float32)))

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"boxes": self._boxes(inputs["obstacles"])}

    def _boxes(self, cloud: PointCloud) -> Boxes3D:
        from pipelines import lidar_kernels as kernels

        xyz_m, _ = _checked_points(cloud)
        labels, clusters = kernels.cluster_labels(xyz_m, self._tolerance_m)
        pieces, count = kernels.cut_oversized(xyz_m, labels, clusters, _HEADINGS, self._max_length_m, self._max_width_m)
        found = kernels.cluster_boxes(xyz_m, pieces, count, _HEADINGS, self._min_points, self._min_height_m)
        distance_m = np.hypot(found[:, 0], found[:, 1])
        found = found[np.lexsort((found[:, 2], found[:, 1], found[:, 0], distance_m))]
        return Boxes3D(
            capture_time_ns=cloud.capture_time_ns,
            frame_id=cloud.frame_id,
            centers_m=found[:, 0:3].astype(np.float32),
            sizes_m=found[:, 3:6].astype(np.float32),
            yaws_rad=found[:, 6].astype(np.float32),
            num_points=found[:, 7].astype(np.int32),
        )


def _checked_points(cloud: PointCloud) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Contiguous float32[n, 3] and float32[n]; raises Rejected when the message's arrays are not of that shape."""
    xyz_m = np.ascontiguousarray(cloud.xyz_m, np.float32)
    intensity = np.ascontiguousarray(cloud.intensity, np.float32)
    if xyz_m.ndim != 2 or xyz_m.shape[1] != 3 or intensity.shape != xyz_m.shape[:1]:
        raise Rejected(
            f"sweep {cloud.frame_id}: coordinates {list(xyz_m.shape)} and intensities {list(intensity.shape)} do not "
            "match; expected [n, 3] and [n]"
        )
    return xyz_m, intensity


def _mounting(context: StageContext, sensor: str | None) -> npt.NDArray[np.float64] | None:
    """float64[3, 4] from the LiDAR's frame to the vehicle's, or None where the system does not say."""
    lidars = sorted(name for name, description in context.sensors.items() if description.kind == "lidar")
    if sensor is None:
        sensor = lidars[0] if len(lidars) == 1 else None
    elif context.sensors and sensor not in lidars:
        raise DeploymentError(f"task {context.task}: sensor {sensor!r} is not a LiDAR; {nearest(sensor, lidars)}")
    description = context.sensors.get(sensor) if sensor is not None else None
    if description is None or description.sensor_to_vehicle is None:
        return None
    matrix = np.array(description.sensor_to_vehicle, np.float64)
    if matrix.shape != (3, 4) or not np.isfinite(matrix).all():
        raise DeploymentError(f"task {context.task}: sensor_to_vehicle of {sensor} is not 3 rows of 4 numbers")
    rotation, translation_m = matrix[:, :3], matrix[:, 3]
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 0.01 or np.abs(translation_m).max() > _MAX_MOUNTING_M:
        raise DeploymentError(
            f"task {context.task}: sensor_to_vehicle of {sensor} is not a rotation with a translation of at most "
            f"{_MAX_MOUNTING_M:g} m per axis"
        )
    return matrix
