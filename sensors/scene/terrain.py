"""The height of the ground along the road: level, or straight pieces that rise and fall.

Everything of a scene is described on level ground and then lifted by the height under it: what stands upright stays
upright. The lift is linear on every piece, so a ray that is straight in the world is straight on level ground too,
piece by piece, and one set of shapes serves every terrain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Terrain:
    """Ground height over x through the `knots` (x, z) in ascending x, level before the first and after the last.

    Without knots the ground is level at z = 0.
    """

    knots: tuple[tuple[float, float], ...] = ()

    @property
    def level(self) -> bool:
        """Whether there is no rise anywhere."""
        return not self.knots

    def height_m(self, x_m: float) -> float:
        """Height of the ground at `x_m`."""
        piece = self._piece(x_m)
        return piece[2] + piece[3] * x_m

    def rise(self, x_m: float) -> float:
        """Slope of the ground at `x_m`: metres up per metre forward."""
        return self._piece(x_m)[3]

    def heights_m(self, x_m: Array) -> Array:
        """Heights at float64[n] places."""
        if self.level:
            return np.zeros_like(x_m)
        rows = self.pieces()
        row = rows[np.searchsorted(rows[1:, 0], x_m, side="right")]
        return np.asarray(row[:, 2] + row[:, 3] * x_m, dtype=np.float64)

    def pieces(self) -> Array:
        """float64[n, 4], one row per straight piece in ascending x: from x, to x, height = a + b * x."""
        return np.array(_rows(self.knots), dtype=np.float64)

    def _piece(self, x_m: float) -> tuple[float, float, float, float]:
        return next(row for row in _rows(self.knots) if x_m < row[1])


@cache
def _rows(knots: tuple[tuple[float, float], ...]) -> list[tuple[float, float, float, float]]:
    if not knots:
        return [(-math.inf, math.inf, 0.0, 0.0)]
    first, last = knots[0], knots[-1]
    rows = [(-math.inf, first[0], first[1], 0.0)]
    for (x0, z0), (x1, z1) in pairwise(knots):
        rise = (z1 - z0) / (x1 - x0)
        rows.append((x0, x1, z0 - rise * x0, rise))
    return [*rows, (last[0], math.inf, last[1], 0.0)]


def ramp(start_m: float, rise: float, length_m: float, rounding_m: float = 16.0) -> Terrain:
    """Level ground, then `length_m` that climb with `rise`, then level ground; both bends rounded over `rounding_m`.

    The roundings lie outside the even climb; each is a parabola in pieces of 2 m.
    """
    steps = max(1, round(rounding_m / 2.0))
    width = rounding_m / steps
    knots = [(start_m, 0.0)]
    slopes = [rise * (k + 0.5) / steps for k in range(steps)]
    for piece_m, slope in [
        *((width, slope) for slope in slopes),
        (length_m, rise),
        *((width, slope) for slope in reversed(slopes)),
    ]:
        x, z = knots[-1]
        knots.append((x + piece_m, z + slope * piece_m))
    return Terrain(tuple(knots))
