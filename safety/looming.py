"""How fast what stands in the lane grows from one picture to the next: time to contact without knowing its distance.

What is flat and upright grows by one scale in both directions; the road does not, it stretches twice as fast along the
lane as across it. The lane is searched by distances: at each, a box as wide and high as a small vehicle is projected
into the picture, and one scale and shift is looked for that moves what lies in it. A shift is what the camera's own
turning does, so that it does not count. The lowest point that moves along must lie where the box stands on the road.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Distances of the boxes from the bumper: each this factor further than the one before.
BOX_STEP = 1.15

#: Half the width and the height of a box, and how far above the road it begins: a small car's rear.
BOX_HALF_WIDTH_M = 0.9
BOX_LOW_M = 0.0
BOX_HIGH_M = 1.5

#: A point moves along when it is found this near to where scale and shift put it, in pixels.
INLIER_PX = 0.7

#: Fewest points that move along, and their least share of those in the box.
MIN_INLIERS = 8
MIN_SHARE = 0.6

#: Points of one box that are looked at: its first.
MOST_IN_BOX = 64

#: Points of which all pairs are tried, and how far apart a pair must lie, in pixels.
PAIR_POINTS = 24
MIN_PAIR_PX = 8.0

#: Least extent of what moves along, as a share of the box: a line on the road is flat, a pole far away is narrow.
MIN_HEIGHT_SHARE = 0.35
MIN_WIDTH_SHARE = 0.35

#: The road stretches along the lane by this share of its growth more than across, what is upright by none: the limit
#: between them, and the standard errors that the road must be away from it once growth is as many as `CLEAR_ERRORS`.
ROAD_LIMIT = 0.5
CLEAR_ERRORS = 4.0


#: Advances over the road that are tried to explain what grows, and the furthest road that is believed to show points.
ADVANCES_M = np.arange(0.1, 8.0, 0.06)
FURTHEST_ROAD_M = 150.0

#: It counts as road where an advance explains this share as many points as growth does.
ROAD_SHARE = 0.8

#: A point moves as the road does when it is found this near, in pixels per growth, but no less and no more than this.
#: Road and upright things move the more alike the less they grow.
ROAD_PX_PER_GROWTH = 8.0
LEAST_ROAD_PX, MOST_ROAD_PX = 0.3, 0.7


@dataclass(frozen=True, slots=True)
class View:
    """A pinhole camera over a flat road. `matrix`: float64[3, 4], vehicle to pixels; z is 0 on the road.

    `front_m`: bumper ahead of the vehicle's origin; `lens_to_bumper_m`: and ahead of the lens.
    """

    matrix: Float
    front_m: float
    lens_to_bumper_m: float

    def pixel(self, x_m: float, y_m: float, z_m: float) -> tuple[float, float] | None:
        """Where a point of the vehicle's frame is seen, None behind the camera."""
        u, v, depth = self.matrix @ np.array([x_m, y_m, z_m, 1.0])
        return (float(u / depth), float(v / depth)) if depth > 0.1 else None

    def box(self, gap_m: float) -> tuple[float, float, float, float] | None:
        """Left, top, right and bottom of the box `gap_m` ahead of the bumper, in pixels."""
        x_m = self.front_m + gap_m
        corners = [
            self.pixel(x_m, side * BOX_HALF_WIDTH_M, z_m) for side in (-1.0, 1.0) for z_m in (BOX_LOW_M, BOX_HIGH_M)
        ]
        seen = [corner for corner in corners if corner is not None]
        if len(seen) < len(corners):
            return None
        columns, rows = zip(*seen, strict=True)
        return min(columns), min(rows), max(columns), max(rows)

    def road(self, pixels: Float) -> Float:
        """Where the rays through `pixels`, float64[n, 2], meet the road, float64[n, 2]; NaN where they do not."""
        # On the road z is 0: three columns of the matrix are left, and they can be turned round.
        over = np.column_stack([pixels, np.ones(len(pixels))]) @ np.linalg.inv(self.matrix[:, [0, 1, 3]]).T
        with np.errstate(divide="ignore", invalid="ignore"):
            places: Float = over[:, :2] / over[:, 2:]
        ahead = (over[:, 2] > 0.0) & (places[:, 0] > 0.0) & (places[:, 0] < FURTHEST_ROAD_M)
        places[~ahead] = np.nan
        return places

    def pixels_on_road(self, x_m: Float, y_m: Float) -> Float:
        """Where places on the road are seen, in the shape of `x_m` with a last axis of two."""
        seen = np.stack([x_m, y_m, np.ones_like(x_m)], axis=-1) @ self.matrix[:, [0, 1, 3]].T
        pixels: Float = seen[..., :2] / seen[..., 2:]
        return pixels


def view_of(
    intrinsics: tuple[float, float, float, float],
    sensor_to_vehicle: npt.ArrayLike,
    front_m: float,
    zoom: float = 1.0,
) -> View:
    """`intrinsics`: fx, fy, cx, cy of the recorded picture; `zoom`: pixels of the one looked at per recorded pixel."""
    fx, fy, cx, cy = (zoom * value for value in intrinsics)
    pose = np.asarray(sensor_to_vehicle, dtype=np.float64)
    turn, place = pose[:, :3], pose[:, 3]
    to_camera = np.column_stack([turn.T, -turn.T @ place])
    return View(
        np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]) @ to_camera, front_m, front_m - float(place[0])
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """What grows in the lane. `gap_m`: where its lowest point stands if that is on the road.

    `scale`: size now over size before; `error`: its standard error; `points`: how many move along.
    """

    gap_m: float
    scale: float
    error: float
    points: int


def growth_ahead(now: Float, before: Float, view: View, gaps_m: Float) -> Growth | None:
    """The best supported obstacle in the boxes at `gaps_m`.

    `now`, `before`: float64[n, 2], the same points in pixels, the clearest first.
    """
    best: Growth | None = None
    for gap_m in gaps_m.tolist():
        found = _growth_in(now, before, view, gap_m)
        if found is not None and (best is None or found.points > best.points):
            best = found
    return best


def _growth_in(now: Float, before: Float, view: View, gap_m: float) -> Growth | None:
    # Down to half a step nearer: so the place where something stands lies in some box, wherever that is.
    box, lowered = view.box(gap_m), view.box(gap_m / BOX_STEP**0.5)
    if box is None or lowered is None:
        return None
    left, top, right, _ = box
    bottom = lowered[3]
    within = (now[:, 0] >= left) & (now[:, 0] <= right) & (now[:, 1] >= top) & (now[:, 1] <= bottom)
    inside = np.flatnonzero(within)[:MOST_IN_BOX]
    if len(inside) < MIN_INLIERS:
        return None
    all_new, all_old = now[inside], before[inside]
    along = moved_along(all_new, all_old)
    if np.count_nonzero(along) < max(MIN_INLIERS, MIN_SHARE * len(all_new)):
        return None
    new, old = all_new[along], all_old[along]
    width, height = np.ptp(new, axis=0)
    if width < MIN_WIDTH_SHARE * (right - left) or height < MIN_HEIGHT_SHARE * (bottom - top):
        return None
    # The lowest point stands nearer than the middle of this box and the next, and further than of the last and this.
    low = float(new[:, 1].max())
    near, far = view.box(gap_m / BOX_STEP**0.75), view.box(gap_m * BOX_STEP**0.75)
    if near is None or far is None or not far[3] <= low <= near[3]:
        return None
    (across, across_error), (down, down_error) = (_scale(new[:, axis], old[:, axis]) for axis in (0, 1))
    weights = np.array([across_error**-2, down_error**-2])
    scale = float(weights @ [across, down] / weights.sum())
    error = float(weights.sum() ** -0.5)
    if not _upright(scale - 1.0, down - across, float(np.hypot(across_error, down_error))):
        return None
    inliers = len(new)
    if scale - 1.0 > CLEAR_ERRORS * error:
        within_px = min(max(ROAD_PX_PER_GROWTH * (scale - 1.0), LEAST_ROAD_PX), MOST_ROAD_PX)
        if explained_by_road(all_new, all_old, view, within_px) >= ROAD_SHARE * inliers:
            return None
    return Growth(gap_m, scale, error, inliers)


def explained_by_road(new: Float, old: Float, view: View, within_px: float) -> int:
    """How many of the points moved as the road does when the vehicle advances, whatever the camera's own turning."""
    on_road = view.road(new)
    seen = np.isfinite(on_road[:, 0])
    if not seen.any():
        return 0
    on_road, old = on_road[seen], old[seen]
    x_m = on_road[None, :, 0] + ADVANCES_M[:, None]
    off = old - view.pixels_on_road(x_m, np.broadcast_to(on_road[:, 1], x_m.shape))
    off -= np.median(off, axis=1, keepdims=True)
    near = (np.abs(off[..., 0]) <= within_px) & (np.abs(off[..., 1]) <= within_px)
    return int(near.sum(axis=1).max())


def _upright(growth: float, stretch: float, error: float) -> bool:
    """Whether what grows by `growth` and in addition by `stretch` downwards is no piece of road."""
    limit = ROAD_LIMIT * abs(growth)
    if abs(growth) < CLEAR_ERRORS * error:
        return abs(stretch) <= limit + 2.0 * error
    return -limit - error <= stretch <= limit - error


def moved_along(new: Float, old: Float) -> npt.NDArray[np.bool_]:
    """Which points follow the one scale and shift that most of them follow: of all pairs of the first points."""
    few_new, few_old = new[:PAIR_POINTS], old[:PAIR_POINTS]
    first, second = np.triu_indices(len(few_new), 1)
    apart_new, apart_old = few_new[first] - few_new[second], few_old[first] - few_old[second]
    length2 = np.einsum("ij,ij->i", apart_old, apart_old)
    wide = length2 >= MIN_PAIR_PX**2
    if not wide.any():
        return np.zeros(len(new), bool)
    first, apart_new, apart_old, length2 = first[wide], apart_new[wide], apart_old[wide], length2[wide]
    scales = np.einsum("ij,ij->i", apart_new, apart_old) / length2
    shifts = few_new[first] - scales[:, None] * few_old[first]
    near = np.ones((len(scales), len(new)), bool)
    for axis in (0, 1):
        off = np.outer(scales, old[:, axis]) + (shifts[:, axis, None] - new[:, axis])
        near &= np.abs(off) <= INLIER_PX
    best = int(np.argmax(near.sum(axis=1)))
    return np.asarray(near[best])


def _scale(new: Float, old: Float) -> tuple[float, float]:
    """Least-squares slope of `new` over `old` and its standard error, at least that of a tenth of a pixel."""
    centred = old - old.mean()
    spread = max(float(centred @ centred), 1e-9)
    slope = float(centred @ new) / spread
    rest = new - new.mean() - slope * centred
    sigma = max(float(np.sqrt(rest @ rest / max(len(new) - 2, 1))), 0.1)
    return slope, sigma / float(np.sqrt(spread))
