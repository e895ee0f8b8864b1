"""From a LiDAR sweep to boxes around the obstacles in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.lidar_deskew import sweep_transforms
from pipelines.parameters import checked_integer, checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import Boxes3D, EgoMotion, PointCloud
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS

#: Frame of results whose sensor's mounting is known: x forward, y left, z up, origin on the ground.
VEHICLE_FRAME = "vehicle"

#: Side of a cell of the ground's shape.
_GROUND_CELL_M = 1.0

#: Steepest plane that is believed to be the road, as rise over run.
_MAX_ROAD_SLOPE = 0.2

#: Distance from the vehicle within which drops of rain and snow are seen, and the radius in which what stands there has
#: points beside each other: in metres, in voxels, and per metre of distance (3.4 degrees).
_DROPS_WITHIN_M = 15.0
_COMPANY_M, _COMPANY_VOXELS, _COMPANY_PER_M = 0.35, 2.5, 0.06

#: Farthest that a LiDAR may sit from the vehicle's origin, per axis.
_MAX_MOUNTING_M = 100.0


class Preprocess(StageBase):
    """Sweep -> obstacle points: deskew, crop, voxel grid, ground removal, removal of drops.

    Inputs `points`: PointCloud and, optionally, `ego`: EgoMotion; output `obstacles`: PointCloud. One point per voxel
    remains, the mean of the voxel's points, ordered by voxel, with the height of the ground below it and, where the
    sweep has times, its mean instant. Where the mounting of the LiDAR is known, points are carried into the vehicle
    frame (`frame_id` "vehicle"); else they stay in the sensor's frame, whose z must point up, and the ground's height
    is found in the sweep itself.

    Deskew: with per-point times and ego motion over the whole sweep, points are carried to the capture time as if they
    stood still: by turning and way where the vehicle's speed and the mounting are known, else by turning alone (about
    the sensor's z where the mounting is not known). `deskew` of the output says what was done, or what was missing.

    Ground may slope, begin to rise or fall ahead, and have kerbs; what hangs over it is an obstacle up to
    `max_height_m`.

    Drops of rain, snow and spray near the vehicle go: points that have too few others beside them.

    Parameters:
        sensor: the LiDAR that the points come from; the system's only LiDAR when not given.
        min_range_m, max_range_m: distance from the sensor that is kept.
        voxel_size_m: side of a voxel. degraded_voxel_size_m: that of a job after one that used up its budget, where
            `on_overrun` is `degrade`; larger ones leave fewer points to all that follows. The same when not given.
        ground_clearance_m, max_height_m: band above the ground that holds obstacles.
        ground_slope: steepest rise or fall of the ground, per metre, against the plane in which the vehicle stands.
        max_extrapolation_ms: how far beyond its last sample ego motion is continued.
        least_company: other points that one within 15 m has beside it, within 0.35 m or 3.4 degrees; 0 keeps all.

    Raises ValueError for parameters out of range, DeploymentError for an unknown sensor or an impossible mounting,
    Rejected for a malformed sweep.
    """

    inputs: ClassVar[Mapping[str, type]] = {"points": PointCloud, "ego": EgoMotion}
    outputs: ClassVar[Mapping[str, type]] = {"obstacles": PointCloud}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"ego"})
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"sensor": ("lidar",)}

    def __init__(
        self,
        *,
        sensor: str | None = None,
        min_range_m: float = 2.0,
        max_range_m: float = 80.0,
        voxel_size_m: float = 0.15,
        degraded_voxel_size_m: float | None = None,
        ground_clearance_m: float = 0.25,
        max_height_m: float = 2.6,
        ground_slope: float = 0.2,
        max_extrapolation_ms: float = 20.0,
        least_company: int = 3,
    ) -> None:
        if sensor is not None and (not isinstance(sensor, str) or not sensor):
            raise ValueError(f"sensor: {sensor!r} is not the name of a sensor")
        self._sensor = sensor
        self._max_range_m = checked_number("max_range_m", max_range_m, low=1.0, high=500.0, unit="m")
        self._min_range_m = checked_number("min_range_m", min_range_m, low=0.0, high=self._max_range_m, unit="m")
        self._voxel_m = checked_number("voxel_size_m", voxel_size_m, low=0.02, high=5.0, unit="m")
        coarse_m = self._voxel_m if degraded_voxel_size_m is None else degraded_voxel_size_m
        self._coarse_m = checked_number("degraded_voxel_size_m", coarse_m, low=self._voxel_m, high=5.0, unit="m")
        self._clearance_m = checked_number("ground_clearance_m", ground_clearance_m, low=0.02, high=2.0, unit="m")
        self._max_height_m = checked_number("max_height_m", max_height_m, low=self._clearance_m, high=50.0, unit="m")
        self._slope = checked_number("ground_slope", ground_slope, low=0.01, high=1.0)
        extrapolation = checked_number("max_extrapolation_ms", max_extrapolation_ms, low=0.0, high=200.0, unit="ms")
        self._extrapolation_ns = math.floor(extrapolation * NS_PER_MS)
        self._company = checked_integer("least_company", least_company, low=0, high=100)
        self._mounting: npt.NDArray[np.float64] | None = None

    def start(self, context: StageContext) -> None:
        """Looks up the mounting and compiles the kernels. Raises DeploymentError for an unknown sensor."""
        self._mounting = _mounting(context, self._sensor)
        points = np.array([[5.0, 0.0, 0.0], [5.0, 0.1, 1.0]], np.float32)
        self._obstacles(PointCloud(0, "", points, np.zeros(2, np.float32)), None, self._voxel_m)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        voxel_m = self._coarse_m if job.degraded else self._voxel_m
        return {"obstacles": self._obstacles(inputs["points"], inputs.get("ego"), voxel_m)}

    def _obstacles(self, cloud: PointCloud, ego: EgoMotion | None, voxel_m: float) -> PointCloud:
        from pipelines import lidar_drops, lidar_ground, lidar_kernels

        xyz_m, intensity, time_ns = _checked_points(cloud)
        known = self._mounting is not None
        carried = sweep_transforms(cloud.capture_time_ns, time_ns, self._mounting, ego, self._extrapolation_ns)
        keys, means, mean_intensity, mean_time_ns = lidar_kernels.voxel_means(
            xyz_m,
            intensity,
            np.zeros(0, np.int32) if time_ns is None else time_ns,
            carried.matrices,
            carried.first_ns,
            carried.span_ns,
            self._min_range_m,
            self._max_range_m,
            voxel_m,
        )
        order = np.argsort(keys)
        means = means[order]
        plane = lidar_ground.ground_plane(means, known, 0.0, _MAX_ROAD_SLOPE)
        ground_z_m = lidar_ground.ground_heights(
            means, plane, self._max_range_m, _GROUND_CELL_M, self._slope, self._max_height_m
        )
        above_m = means[:, 2] - ground_z_m
        keep = (above_m >= self._clearance_m) & (above_m <= self._max_height_m)
        if self._company:
            radius_m = max(_COMPANY_M, _COMPANY_VOXELS * voxel_m)
            keep[keep] = lidar_drops.with_company(means[keep], radius_m, _COMPANY_PER_M, self._company, _DROPS_WITHIN_M)
        kept = order[keep]
        return PointCloud(
            capture_time_ns=cloud.capture_time_ns,
            frame_id=VEHICLE_FRAME if known else cloud.frame_id,
            xyz_m=means[keep],
            intensity=mean_intensity[kept],
            time_offset_ns=None if time_ns is None else mean_time_ns[kept],
            dropped_points=cloud.dropped_points,
            ground_z_m=ground_z_m[keep].astype(np.float32),
            deskew=carried.deskew,
        )


class Cluster(StageBase):
    """Obstacle points -> boxes. Input `obstacles`: PointCloud; output `boxes`: Boxes3D in the same frame.

    Clusters are Euclidean, seen from above: obstacles stand on the ground, so that gaps between scan lines do not
    part them. A box's length is its longer side and its yaw that side's direction in [-pi/2, pi/2): which end is the
    front, one sweep cannot tell. Boxes enclose what was seen, not the whole object; `bounds_m` are closer where a box's
    yaw is wrong or a single point lies ahead. `num_points` counts the points of the input, voxels after `Preprocess`.
    Boxes are ordered by distance from the frame's origin.

    `labels`: car, truck (buses too), person, bicycle, pole, other; "implausible" for what hangs in the air or returns
    far fewer points than a surface of its size would. They come from size and shape alone.

    Parameters:
        tolerance_m: largest gap, seen from above, inside an object near the vehicle.
        tolerance_per_m: the same per metre of distance, where that is more.
        min_points, min_height_m: least evidence for an object.
        max_length_m, max_width_m: what is larger is no vehicle; it is cut into pieces of at most `piece_m` x
            `max_width_m`.

    Raises ValueError for parameters out of range, Rejected for a malformed sweep.
    """

    inputs: ClassVar[Mapping[str, type]] = {"obstacles": PointCloud}
    outputs: ClassVar[Mapping[str, type]] = {"boxes": Boxes3D}

    def __init__(
        self,
        *,
        tolerance_m: float = 0.6,
        tolerance_per_m: float = 0.015,
        min_points: int = 6,
        min_height_m: float = 0.3,
        max_length_m: float = 19.0,
        max_width_m: float = 4.0,
        piece_m: float = 10.0,
    ) -> None:
        self._tolerance_m = checked_number("tolerance_m", tolerance_m, low=0.05, high=10.0, unit="m")
        self._per_m = checked_number("tolerance_per_m", tolerance_per_m, low=0.0, high=0.1)
        self._min_points = checked_integer("min_points", min_points, low=1, high=100_000)
        self._min_height_m = checked_number("min_height_m", min_height_m, low=0.0, high=50.0, unit="m")
        self._max_length_m = checked_number("max_length_m", max_length_m, low=1.0, high=1000.0, unit="m")
        self._max_width_m = checked_number("max_width_m", max_width_m, low=0.5, high=self._max_length_m, unit="m")
        self._piece_m = checked_number("piece_m", piece_m, low=1.0, high=1000.0, unit="m")

    def start(self, context: StageContext) -> None:
        """Compiles the kernels."""
        points = np.zeros((2, 3), np.float32)
        self._boxes(PointCloud(0, "", points, np.zeros(2, np.float32)))

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"boxes": self._boxes(inputs["obstacles"])}

    def _boxes(self, cloud: PointCloud) -> Boxes3D:
        from pipelines import lidar_boxes, lidar_clusters
        from pipelines.lidar_classes import classify

        xyz_m, _, time_ns = _checked_points(cloud)
        ground_z_m = cloud.ground_z_m
        if ground_z_m is not None and ground_z_m.shape != xyz_m.shape[:1]:
            raise Rejected(f"sweep {cloud.frame_id}: {len(xyz_m)} points and {list(ground_z_m.shape)} ground heights")
        labels, clusters = lidar_clusters.cluster_labels(xyz_m, self._tolerance_m, self._per_m)
        pieces, count, is_piece = lidar_boxes.cut_oversized(
            xyz_m, labels, clusters, self._max_length_m, self._max_width_m, self._piece_m
        )
        found = lidar_boxes.cluster_boxes(
            xyz_m,
            np.zeros(0, np.float32) if ground_z_m is None else np.ascontiguousarray(ground_z_m, np.float32),
            np.zeros(0, np.int32) if time_ns is None else time_ns,
            pieces,
            count,
            is_piece,
            self._min_points,
            self._min_height_m,
        )
        distance_m = np.hypot(found[:, lidar_boxes.X], found[:, lidar_boxes.Y])
        found = found[np.lexsort((*found.T[::-1], distance_m))]
        return Boxes3D(
            capture_time_ns=cloud.capture_time_ns,
            frame_id=cloud.frame_id,
            centers_m=found[:, lidar_boxes.X : lidar_boxes.Z + 1].astype(np.float32),
            sizes_m=found[:, lidar_boxes.LENGTH : lidar_boxes.HEIGHT + 1].astype(np.float32),
            yaws_rad=found[:, lidar_boxes.YAW].astype(np.float32),
            num_points=found[:, lidar_boxes.POINTS].astype(np.int32),
            labels=classify(found),
            ground_z_m=None if ground_z_m is None else found[:, lidar_boxes.GROUND].astype(np.float32),
            time_offset_ns=None if time_ns is None else found[:, lidar_boxes.TIME].astype(np.int32),
            deskew=cloud.deskew,
            bounds_m=found[:, lidar_boxes.X_LOW : lidar_boxes.Y_HIGH + 1].astype(np.float32),
        )


def _checked_points(
    cloud: PointCloud,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int32] | None]:
    """Contiguous float32[n, 3], float32[n] and times; raises Rejected when the arrays are not of these shapes."""
    xyz_m = np.ascontiguousarray(cloud.xyz_m, np.float32)
    intensity = np.ascontiguousarray(cloud.intensity, np.float32)
    if xyz_m.ndim != 2 or xyz_m.shape[1] != 3 or intensity.shape != xyz_m.shape[:1]:
        raise Rejected(
            f"sweep {cloud.frame_id}: coordinates {list(xyz_m.shape)} and intensities {list(intensity.shape)} do not "
            "match; expected [n, 3] and [n]"
        )
    time_ns = None if cloud.time_offset_ns is None else np.ascontiguousarray(cloud.time_offset_ns, np.int32)
    if time_ns is not None and time_ns.shape != xyz_m.shape[:1]:
        raise Rejected(f"sweep {cloud.frame_id}: {len(xyz_m)} points and {list(time_ns.shape)} times; expected [n]")
    return xyz_m, intensity, time_ns


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
