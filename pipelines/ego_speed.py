"""How fast the vehicle drives, by what stands around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.tracking import rotation
from rt_sched.messages import EgoMotion

Float = npt.NDArray[np.float64]

#: Speeds that are believed.
_SLOWEST_M_S, _FASTEST_M_S = -8.0, 60.0

#: A box of two sweeps is the same one when it is this near sideways and in its sides.
_ACROSS_M = 0.3
_SIDES_M = 0.4

#: Boxes that may tell the speed, by their longer side on the ground. Smaller ones are single beams on a long wall,
#: which travel with the vehicle, as do the pieces into which such a wall is cut.
_LEAST_SIDE_M, _MOST_SIDE_M = 0.2, 4.0

#: Half the width of the own lane: who drives ahead or behind there has the vehicle's speed.
_LANE_M = 2.0

#: So many boxes must agree on a speed give or take the tolerance, this many times more than on any other.
_LEAST_VOTES = 5
_TOLERANCE_M_S = 1.0
_CLEARLY = 1.4

#: Longest time between two sweeps that are compared.
_MAX_PAUSE_S = 0.5

#: Standard deviations: of one speed measured, of what the IMU's integral loses and of what is missed without one, both
#: over a second, and of a speed that is still published.
_SPEED_SIGMA_M_S = 0.5
_DRIFT_SIGMA_M_S = 0.3
_UNKNOWN_SIGMA_M_S = 1.5
_MAX_SPEED_SIGMA_M_S = 1.0

#: A measurement farther off than so many standard deviations is a mistake, unless it comes so many times in a row.
_OUTLIER_SIGMAS = 4.0
_OUTLIERS_IN_A_ROW = 5


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The boxes of one sweep along the axes of the vehicle at one instant, in an order of their own.

    `centers_m`, `extents_m`: float64[m, 3], extents along the axes. `ages_s`: float64[m], by that instant, since the
    vehicle was where the box is seen from.
    """

    centers_m: Float
    extents_m: Float
    ages_s: Float

    def ends_m(self, face: float) -> Float:
        """float64[m, 2]: the near (-1) or the far end (+1) of every box."""
        return np.stack((self.centers_m[:, 0] + face * self.extents_m[:, 0] / 2.0, self.centers_m[:, 1]), axis=1)


class EgoSpeed:
    """The vehicle's speed over ground: the IMU knows how it changes, standing objects how large it is.

    Most of what stands beside a road moves by the same way from sweep to sweep: the speed on which most pairs of boxes
    agree is measured. A one-dimensional Kalman filter holds the speed at which the IMU's integral began, or without an
    IMU the speed itself. `initial_m_s`: that speed, when it is known; it and what inertial navigation knows are then
    believed until so many sweeps in a row agree on another speed that they are plainly wrong.
    """

    def __init__(self, initial_m_s: float | None) -> None:
        self._given = initial_m_s is not None
        self._navigation_fails = False
        self._start_m_s = initial_m_s
        self._variance = 0.0
        self._change_m_s = 0.0
        self._last: Sweep | None = None
        self._since_last_s = 0.0
        self._turned_rad = 0.0
        self._outliers = 0

    @property
    def speed_m_s(self) -> float | None:
        """The speed now; None while it is not known well."""
        if self._start_m_s is None or self._variance > _MAX_SPEED_SIGMA_M_S**2:
            return None
        return self._start_m_s + self._change_m_s

    def follow(
        self, ego: EgoMotion | None, dt_s: float, turned_rad: float, change_m_s: float, doubt_m_s: float
    ) -> None:
        """Carries the speed on over `dt_s` in which the vehicle turned left by `turned_rad`.

        `change_m_s`: the IMU's change of speed since start; `doubt_m_s`: by how much less certain it has become through
        faulty samples, one standard deviation. What inertial navigation knows is taken over.
        """
        self._since_last_s += dt_s
        self._turned_rad += turned_rad
        self._variance += doubt_m_s**2
        if ego is not None:
            self._change_m_s = change_m_s
        if self._given:
            return
        self._variance += ((_UNKNOWN_SIGMA_M_S if ego is None else _DRIFT_SIGMA_M_S) ** 2) * dt_s
        if ego is not None and ego.speed_m_s is not None and math.isfinite(ego.speed_m_s):
            self._take_over(ego.speed_m_s - change_m_s)

    def measure(self, sweep: Sweep) -> None:
        """One more sweep, along today's axes."""
        last, pause_s, turned_rad = self._last, self._since_last_s, self._turned_rad
        self._last, self._since_last_s, self._turned_rad = sweep, 0.0, 0.0
        if last is None or not 0.0 < pause_s <= _MAX_PAUSE_S:
            return
        voted = _voted_speed(last, sweep, pause_s, turned_rad)
        if voted is not None:
            self._correct(voted - self._change_m_s)

    def _take_over(self, start_m_s: float) -> None:
        """The speed of inertial navigation, unless it has been found wrong and still is."""
        if self._navigation_fails and self._start_m_s is not None:
            limit = _OUTLIER_SIGMAS * (self._variance + _SPEED_SIGMA_M_S**2) ** 0.5
            self._navigation_fails = abs(start_m_s - self._start_m_s) > limit
        if not self._navigation_fails:
            self._start_m_s, self._variance = start_m_s, _DRIFT_SIGMA_M_S**2

    def _correct(self, start_m_s: float) -> None:
        noise = _SPEED_SIGMA_M_S**2
        if self._start_m_s is None or self._outliers >= _OUTLIERS_IN_A_ROW:
            self._navigation_fails = self._start_m_s is not None
            self._given = False
            self._start_m_s, self._variance, self._outliers = start_m_s, 4.0 * noise, 0
            return
        off = start_m_s - self._start_m_s
        if abs(off) > _OUTLIER_SIGMAS * (self._variance + noise) ** 0.5:
            self._outliers += 1
            return
        self._outliers = 0
        if self._given:
            return
        gain = self._variance / (self._variance + noise)
        self._start_m_s += gain * off
        self._variance *= 1.0 - gain


def _voted_speed(last: Sweep, sweep: Sweep, pause_s: float, turned_rad: float) -> float | None:
    """The forward speed on which most boxes agree that are in both sweeps; None when few do, or others as well."""
    before, now = _usable(last), _usable(sweep)
    old = last.centers_m[before, :2] @ rotation(-turned_rad).T
    new = sweep.centers_m[now, :2]
    gone_s = pause_s + last.ages_s[before][:, None] - sweep.ages_s[now][None, :]
    moved = old[:, None] - new[None, :]
    sides = np.abs(last.extents_m[before, None, :2] - sweep.extents_m[None, now, :2]).max(axis=2)
    speeds = np.divide(moved[..., 0], gone_s, out=np.full(gone_s.shape, np.inf), where=gone_s > 1e-3)
    alike = (np.abs(moved[..., 1]) <= _ACROSS_M) & (sides <= _SIDES_M)
    alike &= (speeds >= _SLOWEST_M_S) & (speeds <= _FASTEST_M_S)
    candidates = np.sort(speeds[alike])
    if len(candidates) < _LEAST_VOTES:
        return None
    low = np.searchsorted(candidates, candidates - _TOLERANCE_M_S, side="left")
    votes = np.searchsorted(candidates, candidates + _TOLERANCE_M_S, side="right") - low
    best = int(votes.argmax())
    others = votes[np.abs(candidates - candidates[best]) > 3.0 * _TOLERANCE_M_S]
    if votes[best] < max(_LEAST_VOTES, _CLEARLY * others.max(initial=0)):
        return None
    return float(np.median(candidates[low[best] : low[best] + votes[best]]))


def _usable(sweep: Sweep) -> npt.NDArray[np.int64]:
    side = sweep.extents_m[:, :2].max(axis=1)
    beside = np.abs(sweep.centers_m[:, 1]) > _LANE_M
    return np.flatnonzero((side >= _LEAST_SIDE_M) & (side <= _MOST_SIDE_M) & beside)
