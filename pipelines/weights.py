"""How much each sensor counts: cameras share the directions that they see, and take over from one that is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pipelines.projection import CameraGeometry
from rt_sched.messages import SensorWeight

Float = npt.NDArray[np.float64]

#: Directions around the vehicle, and the place in each that a camera must show to cover it.
_DIRECTIONS = 180
_DISTANCE_M = 30.0
_HEIGHT_M = 1.0


class SensorWeights:
    """Weights of the sensors of one run, by what of them is fresh.

    Cameras that see one object err alike, for they share the flat ground, the pitch of the body and the detector: two
    of them do not make one twice as certain. Each counts by its share, and the shares of all fresh cameras in one
    direction add up to 1, which keeps the fused covariance honest whatever their errors have in common (covariance
    intersection: Julier, Uhlmann: A Non-divergent Estimation Algorithm in the Presence of Unknown Correlations, 1997).
    A camera's share follows the square of its resolution. When a view is lost, its weight is 0 and the others in its
    directions get what it had.

    `fresh_ns`: sensor -> age up to which its data is fresh; names the sensors that have a weight.
    """

    def __init__(self, cameras: Mapping[str, CameraGeometry], fresh_ns: Mapping[str, int]) -> None:
        self._fresh_ns = dict(sorted(fresh_ns.items()))
        known = [name for name in self._fresh_ns if name in cameras]
        self._strengths = {name: _covered(cameras[name]) * _resolution(cameras[name]) ** 2 for name in known}
        self._shares: dict[str, Float] = {}
        self._lost: set[str] = set(self._fresh_ns)

    def update(self, now_ns: int, captured_ns: Mapping[str, int]) -> None:
        """Weights for one instant; `captured_ns`: sensor -> capture of the freshest data that is used."""
        self._lost = {
            name
            for name, limit_ns in self._fresh_ns.items()
            if name not in captured_ns or now_ns - captured_ns[name] > limit_ns
        }
        fresh = [name for name in self._strengths if name not in self._lost]
        total = sum((self._strengths[name] for name in fresh), np.zeros(_DIRECTIONS))
        self._shares = {
            name: np.divide(self._strengths[name], total, out=np.zeros(_DIRECTIONS), where=total > 0.0)
            for name in fresh
        }

    def share(self, camera: str, x_m: float, y_m: float) -> float:
        """The share of a camera that sees an object at this place; 1 for one outside of what it is known to cover."""
        shares = self._shares.get(camera)
        if shares is None:
            return 1.0
        found = float(shares[round(math.atan2(y_m, x_m) / math.tau * _DIRECTIONS) % _DIRECTIONS])
        return found if found > 0.0 else 1.0

    def published(self, left_out: Mapping[str, int]) -> tuple[SensorWeight, ...]:
        """One entry per sensor, by name. A camera's weight is its mean share where it covers anything at all."""
        return tuple(SensorWeight(name, self._weight(name), left_out.get(name, 0)) for name in self._fresh_ns)

    def _weight(self, name: str) -> float:
        if name in self._lost:
            return 0.0
        covered = self._strengths.get(name)
        if covered is None or not covered.any():
            return 1.0
        return float(self._shares[name][covered > 0.0].mean())


def _covered(camera: CameraGeometry) -> Float:
    """float64[directions], 1 where the camera shows a place in that direction."""
    angles = np.arange(_DIRECTIONS) * (math.tau / _DIRECTIONS)
    places = np.stack(
        (_DISTANCE_M * np.cos(angles), _DISTANCE_M * np.sin(angles), np.full(_DIRECTIONS, _HEIGHT_M)), axis=1
    )
    return camera.shows(places).astype(np.float64)


def _resolution(camera: CameraGeometry) -> float:
    """Focal length in image widths: detectors scale every image to the same number of pixels."""
    return camera.fx / camera.width
