"""The road as seen from above: a grid on flat ground, and where its points lie in a camera's image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.projection import CameraGeometry
from rt_sched.errors import DeploymentError
from rt_sched.ports import StageContext

Float = npt.NDArray[np.float64]

#: Points of the ground nearer to the image plane than this are not seen.
_NEAR_M = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class GroundGrid:
    """Points of flat ground: `stations_m`: float64[n] along x, rising; `across_m`: float64[m] along y, rising."""

    stations_m: Float
    across_m: Float
    ground_z_m: float = 0.0

    @staticmethod
    def of(
        near_m: float, far_m: float, half_width_m: float, step_m: float, step_across_m: float, ground_z_m: float
    ) -> GroundGrid:
        """From `near_m` to `far_m` ahead and `half_width_m` to either side."""
        side = round(half_width_m / step_across_m)
        return GroundGrid(
            near_m + step_m * np.arange(int((far_m - near_m) / step_m + 1e-9) + 1, dtype=np.float64),
            step_across_m * np.arange(-side, side + 1, dtype=np.float64),
            ground_z_m,
        )

    def pixels(self, camera: CameraGeometry) -> tuple[Float, Float, npt.NDArray[np.bool_]]:
        """u and v in pixels of the camera's image, counted from its corner, and which points the image shows.

        Each [n, m]; u and v mean nothing where a point is not shown.
        """
        x, y = np.meshgrid(self.stations_m, self.across_m, indexing="ij")
        points = np.stack((x, y, np.full_like(x, self.ground_z_m)), axis=-1)
        optical = (points - camera.position_m) @ camera.rotation
        depth = np.maximum(optical[..., 2], _NEAR_M)
        u = camera.fx * optical[..., 0] / depth + camera.cx
        v = camera.fy * optical[..., 1] / depth + camera.cy
        inside = (u >= 0.0) & (u < camera.width) & (v >= 0.0) & (v < camera.height)
        return u, v, inside & (optical[..., 2] >= _NEAR_M)


def geometry_of(context: StageContext, camera: str) -> CameraGeometry:
    """The calibrated camera; raises DeploymentError, with what to add, for one without intrinsics or pose."""
    sensor = context.sensors.get(camera)
    geometry = CameraGeometry.of(sensor) if sensor is not None else None
    if geometry is None:
        raise DeploymentError(
            f"task {context.task}: camera {camera!r} has no full calibration, so its pixels cannot be placed on the "
            "ground; add calibration with image_size, intrinsics and sensor_to_vehicle"
        )
    return geometry
