"""How much each sensor counts: cameras share the directions that they see, and take over from one that is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from pipelines.projection import CameraGeometry
from rt_sched.messages import SensorWeight

#: Directions around the vehicle, and the place in each that a camera must show to cover it.
_DIRECTIONS = 180
_DISTANCE_M = 30.0
_HEIGHT_M = 1.0

#: How far off the height of a detector's box is, one standard deviation: this share of an object that is large in the
#: picture, and this part of the picture's width, which all detectors scale to the same few pixels. On the shipped scene
#: it is 3 % for boxes that take a sixth of the picture's height and 7 to 10 % for a twelfth, in any camera.
_LARGE_ERROR = 0.03
_EDGE_ERROR_WIDTHS = 0.004

#: Without a takeover.
_USUAL: Mapping[str, float] = MappingProxyType({})

#: Height of what is ranged.
_OBJECT_HEIGHT_M = 1.5


class SensorWeights:
    """Weights of the sensors of one run, by what of them is fresh.

    Cameras that see one object err alike, for they share the flat ground, the pitch of the body and the detector: two
    of them do not make one twice as certain. Each counts by its share, and the shares of all fresh cameras in one
    direction add up to 1, which keeps the fused covariance honest whatever their errors have in common (covariance
    intersection: Julier, Uhlmann: A Non-divergent Estimation Algorithm in the Presence of Unknown Correlations, 1997).
    A camera's share follows the inverse variance of the box that an object makes in it: far away the square of its
    resolution, near by, where the object is large in all, the same for all. When a view is lost, its weight is 0 and
    the others in its directions get what it had.

    A takeover may give a sensor a factor. Cameras share their directions in proportion to strength times factor; their
    shares add up to 1, or to the largest factor where that is less: a weight makes nothing more certain than it is.

    `fresh_ns`: sensor -> age up to which its data is fresh; names the sensors that have a weight.
    """

    def __init__(self, cameras: Mapping[str, CameraGeometry], fresh_ns: Mapping[str, int]) -> None:
        self._fresh_ns = dict(sorted(fresh_ns.items()))
        known = [name for name in self._fresh_ns if name in cameras]
        self._covered = {name: _covered(cameras[name]) for name in known}
        self._resolutions = {name: _resolution(cameras[name]) for name in known}
        self._factors: dict[str, float] = {}
        self._lost: set[str] = set(self._fresh_ns)

    def update(self, now_ns: int, captured_ns: Mapping[str, int], factors: Mapping[str, float] = _USUAL) -> None:
        """Weights for one instant; `captured_ns`: sensor -> capture of the freshest data that is used; `factors`: of
        sensors to which a takeover gives another weight, 0 for none."""
        self._factors = dict(factors)
        self._lost = {
            name
            for name, limit_ns in self._fresh_ns.items()
            if self._factor(name) <= 0.0 or name not in captured_ns or now_ns - captured_ns[name] > limit_ns
        }

    def certainty(self, sensor: str) -> float:
        """By what the inverse variance of a sensor that shares no directions is multiplied, at most 1."""
        return min(1.0, self._factor(sensor))

    def share(self, camera: str, x_m: float, y_m: float) -> float:
        """The share of a camera that sees an object at this place; all of it outside of what it is known to cover."""
        direction = round(math.atan2(y_m, x_m) / math.tau * _DIRECTIONS) % _DIRECTIONS
        if camera in self._lost or camera not in self._covered or not self._covered[camera][direction]:
            return self.certainty(camera)
        distance_m = math.hypot(x_m, y_m)
        there = [name for name, covered in self._covered.items() if name not in self._lost and covered[direction]]
        strengths = {name: self._factor(name) * _strength(self._resolutions[name], distance_m) for name in there}
        most = min(1.0, max(map(self._factor, there)))
        return most * strengths[camera] / sum(strengths.values())

    def published(self, left_out: Mapping[str, int]) -> tuple[SensorWeight, ...]:
        """One entry per sensor, by name. A camera's weight is its mean share where it covers anything at all."""
        return tuple(SensorWeight(name, self._weight(name), left_out.get(name, 0)) for name in self._fresh_ns)

    def _factor(self, name: str) -> float:
        return self._factors.get(name, 1.0)

    def _weight(self, name: str) -> float:
        if name in self._lost:
            return 0.0
        covered = self._covered.get(name)
        if covered is None or not covered.any():
            return self.certainty(name)
        angles = np.flatnonzero(covered) * (math.tau / _DIRECTIONS)
        places = (_DISTANCE_M * np.stack((np.cos(angles), np.sin(angles)), axis=1)).tolist()
        return sum(self.share(name, x, y) for x, y in places) / len(places)


def _strength(resolution: float, distance_m: float) -> float:
    """Inverse variance of the height of a box, relative to it."""
    height_widths = resolution * _OBJECT_HEIGHT_M / max(distance_m, 1e-6)
    return 1.0 / (_LARGE_ERROR**2 + (_EDGE_ERROR_WIDTHS / height_widths) ** 2)


def _covered(camera: CameraGeometry) -> npt.NDArray[np.bool_]:
    """bool[directions]: whether the camera shows a place in that direction."""
    angles = np.arange(_DIRECTIONS) * (math.tau / _DIRECTIONS)
    places = np.stack(
        (_DISTANCE_M * np.cos(angles), _DISTANCE_M * np.sin(angles), np.full(_DIRECTIONS, _HEIGHT_M)), axis=1
    )
    return camera.shows(places)


def _resolution(camera: CameraGeometry) -> float:
    """Focal length in image widths: detectors scale every image to the same number of pixels."""
    return camera.fx / camera.width
