"""The vehicle's way ahead and what it takes not to hit what is in it: plain functions over arrays."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Way left for braking is taken to be at least this: creeping up to a stopped car is no emergency.
LEAST_WAY_M = 0.5

#: Straighter than this the path is a line.
_STRAIGHT_PER_M = 1e-6


def along_path(x_m: Float, y_m: Float, curvature_per_m: float) -> tuple[Float, Float]:
    """Way along the path to the place nearest to each point, and how far left of the path the point lies.

    The path is an arc that leaves the origin along x and bends left where `curvature_per_m` > 0.
    """
    if abs(curvature_per_m) < _STRAIGHT_PER_M:
        return x_m, y_m
    radius = 1.0 / curvature_per_m
    # Seen from the centre of the arc, where the vehicle turns by an angle of the sign of the curvature.
    side = math.copysign(1.0, curvature_per_m)
    angle = np.arctan2(side * x_m, side * (radius - y_m))
    return angle * radius, radius - side * np.hypot(x_m, radius - y_m)


def normal_probability(deviations: Float) -> Float:
    """Probability that a standard normal number is at most `deviations`: float64 of the same shape."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in deviations.tolist()], np.float64)


def time_to_collision(
    gaps_m: Float, gap_sigmas_m: Float, closing_m_s: Float, closing_sigmas_m_s: Float, least_closing_m_s: float
) -> tuple[Float, Float]:
    """Gap over closing speed in seconds and its standard deviation (first order); infinite for slower approaches."""
    closes = closing_m_s >= least_closing_m_s
    speed = np.where(closes, closing_m_s, 1.0)
    ttc = np.where(closes, gaps_m / speed, np.inf)
    sigma = np.where(closes, np.hypot(gap_sigmas_m, gaps_m / speed * closing_sigmas_m_s) / speed, np.inf)
    return ttc, sigma


def needed_deceleration(
    gaps_m: Float, closing_m_s: Float, braking_m_s2: Float, speed_m_s: float | None, min_gap_m: float
) -> Float:
    """Constant deceleration, m/s^2, float64[n], that keeps `min_gap_m` to objects that go on braking as they do.

    Where the vehicle's speed is known, an object brakes until it stands; the vehicle then either stops behind it or
    has its speed while both still move. Without it the object's braking is left out, for nobody knows when it ends.
    At least `LEAST_WAY_M` counts as way left.
    """
    way = np.maximum(gaps_m - min_gap_m, LEAST_WAY_M)
    closing = np.maximum(closing_m_s, 0.0)
    steady: Float = closing**2 / (2.0 * way)
    if speed_m_s is None or speed_m_s <= 0.0:
        return steady
    ahead_m_s = np.maximum(speed_m_s - closing_m_s, 0.0)
    brakes = (braking_m_s2 > 1e-6) & (ahead_m_s > 0.0)
    deceleration = np.where(brakes, braking_m_s2, 1.0)
    stopping = speed_m_s**2 / (2.0 * (way + ahead_m_s**2 / (2.0 * deceleration)))
    moving = deceleration + steady
    # Braking at `moving`, the vehicle is as slow as the object after this time; if that still moves then, it decides.
    meets_s = np.divide(2.0 * way, closing, out=np.full_like(way, np.inf), where=closing > 1e-6)
    still_moves = brakes & (meets_s <= ahead_m_s / deceleration)
    return np.where(brakes, np.where(still_moves, moving, stopping), steady)
