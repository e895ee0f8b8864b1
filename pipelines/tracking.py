"""Kalman filters for many manoeuvring objects at once, in the moving frame of the vehicle.

State of one object: x, y, vx, vy, ax, ay. Position of a reference point on the object, metres; velocity relative to the
ego vehicle, m/s; the object's own acceleration over ground, m/s^2; all along the vehicle's axes. An acceleration is
taken to last for a while and to fade: a driver who brakes goes on braking, but not for ever (R. A. Singer: Estimating
Optimal Tracking Filter Performance for Manned Maneuvering Targets, 1970; Bar-Shalom, Li, Kirubarajan: Estimation with
Applications to Tracking and Navigation, 2001, section 8.2.2). Predicting over a time in one step or in several gives
the same. What the vehicle itself does is not noise: its turning and its acceleration are inputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]

#: Numbers in the state of one object.
STATES = 6

#: Squared Mahalanobis distance that 95 % of all measurements stay below.
_SURPRISE = 6.0

#: And one that less than 1 % exceed: what errs otherwise from now on.
_JUMP = 12.0

#: Acceleration of a new object, one standard deviation: most do not brake in the moment in which they appear.
_NEW_ACCELERATION_M_S2 = 1.5

#: Nodes and weights on [0, 1] that integrate the process noise: its integrand is smooth over a cycle.
_GAUSS = np.polynomial.legendre.leggauss(5)
_NODES: Float = 0.5 * (_GAUSS[0] + 1.0)
_WEIGHTS: Float = 0.5 * _GAUSS[1]


@dataclass(frozen=True, slots=True)
class EgoRates:
    """What the vehicle does over a step: yaw rate in rad/s, acceleration along and across its axis in m/s^2."""

    yaw_rate_rad_s: float = 0.0
    forward_acceleration_m_s2: float = 0.0
    lateral_acceleration_m_s2: float = 0.0


class TrackFilter:
    """The filters' common arrays. `mean`: float64[n, 6]; `covariance`: float64[n, 6, 6]; both at the same instant.

    `manoeuvre_sigma_m_s2`: standard deviation of an object's acceleration along each axis; `manoeuvre_time_s`: time
    after which 1/e of an acceleration is left.
    """

    def __init__(self, manoeuvre_sigma_m_s2: float, manoeuvre_time_s: float) -> None:
        self._sigma = manoeuvre_sigma_m_s2
        self._time_s = manoeuvre_time_s
        self._psd = 2.0 * manoeuvre_sigma_m_s2**2 / manoeuvre_time_s
        self._ego = EgoRates()
        self.mean: Float = np.zeros((0, STATES))
        self.covariance: Float = np.zeros((0, STATES, STATES))

    def __len__(self) -> int:
        return len(self.mean)

    def add(
        self,
        position_m: Float,
        position_covariance: Float,
        velocity_sigma_m_s: tuple[float, float],
        forward_speed_m_s: float = 0.0,
        age_s: float = 0.0,
    ) -> None:
        """One more object, where it was `age_s` ago along today's axes.

        Its velocity is `forward_speed_m_s` along x, give or take `velocity_sigma_m_s` (x, y).
        """
        mean = np.array([position_m[0], position_m[1], forward_speed_m_s, 0.0, 0.0, 0.0])
        covariance = np.zeros((STATES, STATES))
        covariance[:2, :2] = position_covariance
        covariance[2, 2], covariance[3, 3] = velocity_sigma_m_s[0] ** 2, velocity_sigma_m_s[1] ** 2
        covariance[4, 4] = covariance[5, 5] = min(self._sigma, _NEW_ACCELERATION_M_S2) ** 2
        since = _per_axis(self._transition(age_s))
        mean, covariance = since @ mean, since @ covariance @ since.T
        self.mean = np.concatenate((self.mean, mean[None]))
        self.covariance = np.concatenate((self.covariance, covariance[None]))

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Only the objects of `mask`: bool[n]."""
        self.mean, self.covariance = self.mean[mask], self.covariance[mask]

    def predict(self, dt_s: float, ego: EgoRates = EgoRates()) -> None:
        """Carries all objects `dt_s` >= 0 ahead while the vehicle moves as `ego` says."""
        self._ego = ego
        if dt_s <= 0.0 or not len(self):
            return
        transition = _per_axis(self._transition(dt_s))
        noise = _per_axis(self._noise(dt_s))
        turn = np.zeros((STATES, STATES))
        turn[:2, :2] = turn[2:4, 2:4] = turn[4:, 4:] = rotation(-ego.yaw_rate_rad_s * dt_s)
        pushed = np.array([ego.forward_acceleration_m_s2, ego.lateral_acceleration_m_s2])
        push = np.concatenate((-0.5 * dt_s**2 * pushed, -dt_s * pushed, np.zeros(2)))
        self.mean = (self.mean @ transition.T + push) @ turn.T
        self.covariance = turn @ (transition @ self.covariance @ transition.T + noise) @ turn.T

    def positions(self, ages_s: Float) -> Float:
        """Where the reference points were `ages_s`: float64[m] ago, float64[n, m, 2], along today's axes."""
        past: Float = (
            self._past_shares(ages_s) @ self.mean.reshape(len(self), 1, 3, 2) + self._ego_push(ages_s)[:, None]
        )
        return past[:, :, 0]

    def distances(self, measured_m: Float, measured_covariance: Float, ages_s: Float) -> tuple[Float, Float]:
        """How far every object is from every measured position: two float64[n, m].

        The squared Mahalanobis distance, and the logarithm of how many times the area of what is expected exceeds that
        of the measurement's own noise: a vague expectation is near to everything and means little.
        `measured_m`: float64[m, 2], taken `ages_s`: float64[m] ago, along today's axes; `measured_covariance`:
        float64[m, 2, 2].
        """
        shares = self._past_shares(ages_s)[:, 0]
        pairs = (shares[:, :, None] * shares[:, None, :]).reshape(len(ages_s), 9)
        blocks = self.covariance.reshape(len(self), 3, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(len(self), 9, 4)
        expected = (pairs @ blocks).reshape(len(self), len(ages_s), 2, 2)
        spread = expected + measured_covariance + self._drift(ages_s)
        off = measured_m[None, :, :] - self.positions(ages_s)
        a, b, c = spread[..., 0, 0], spread[..., 0, 1], spread[..., 1, 1]
        x, y = off[..., 0], off[..., 1]
        area = a * c - b * b
        squared: Float = (c * x * x - 2.0 * b * x * y + a * y * y) / area
        own = measured_covariance[:, 0, 0] * measured_covariance[:, 1, 1] - measured_covariance[:, 0, 1] ** 2
        return squared, 0.5 * np.log(area / own)

    def update(
        self, index: int, measured_m: Float, measured_covariance: Float, age_s: float, *, may_jump: bool = False
    ) -> None:
        """Corrects one object by a position measured `age_s` >= 0 ago, given along today's axes.

        The old position is a linear function of the present state, so late measurements need no rewinding. One that
        surprises is taken for less certain than it says: outlines jump when a part of an object comes into view.
        With `may_jump` it is instead the old position that is taken for less certain: where a measurement may begin to
        err otherwise from one moment to the next and go on so, the object is put there and keeps its speed.
        """
        ages_s = np.array([age_s])
        observe = _per_axis(np.broadcast_to(self._past_shares(ages_s)[0], (3, 3)))[:2]
        covariance = self.covariance[index]
        noise = measured_covariance + self._drift(ages_s)[0]
        off = measured_m - self._ego_push(ages_s)[0] - observe @ self.mean[index]
        expected = observe @ covariance @ observe.T
        surprise = float(off @ np.linalg.solve(expected + noise, off))
        excess = max(1.0, surprise / _SURPRISE)
        if may_jump and surprise > _JUMP:
            jump = (excess - 1.0) * (expected + noise)
            covariance = covariance.copy()
            covariance[:2, :2] += jump
            expected = expected + jump
        else:
            noise = noise * excess
        gain = covariance @ observe.T @ np.linalg.inv(expected + noise)
        self.mean[index] += gain @ off
        rest = np.eye(STATES) - gain @ observe
        # Joseph's form stays symmetric and positive under rounding.
        self.covariance[index] = rest @ covariance @ rest.T + gain @ noise @ gain.T

    def _past_shares(self, ages_s: Float) -> Float:
        """float64[m, 1, 3]: a past position out of the present position, velocity and acceleration of its axis.

        But for the vehicle's own acceleration.
        """
        shares = -ages_s / self._time_s
        moved = self._time_s**2 * (shares + np.expm1(-shares))
        return np.stack((np.ones_like(ages_s), -ages_s, moved), axis=1)[:, None]

    def _ego_push(self, ages_s: Float) -> Float:
        """float64[m, 2]: what the vehicle's acceleration has changed of relative positions since then."""
        ego = self._ego
        push: Float = -0.5 * ages_s[:, None] ** 2 * [ego.forward_acceleration_m_s2, ego.lateral_acceleration_m_s2]
        return push

    def _drift(self, ages_s: Float) -> Float:
        """float64[m, 2, 2]: where changing accelerations may have moved objects since then."""
        drift: Float = np.eye(2) * (self._psd * ages_s[:, None, None] ** 5 / 20.0)
        return drift

    def _transition(self, dt_s: float) -> Float:
        """float64[3, 3] over position, velocity, acceleration of one axis; `dt_s` may be negative."""
        share = dt_s / self._time_s
        faded = -math.expm1(-share)
        moved = self._time_s**2 * (share - faded)
        return np.array([[1.0, dt_s, moved], [0.0, 1.0, self._time_s * faded], [0.0, 0.0, 1.0 - faded]])

    def _noise(self, dt_s: float) -> Float:
        """float64[3, 3]: what white jerk, whose density keeps the acceleration at its sigma, adds in `dt_s`."""
        shocks: Float = np.array([self._transition(dt_s * node)[:, 2] for node in _NODES.tolist()])
        noise: Float = self._psd * dt_s * (shocks.T * _WEIGHTS) @ shocks
        return noise


def rotation(angle_rad: float) -> Float:
    """float64[2, 2]: turns a vector counter-clockwise."""
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, -s], [s, c]])


def _per_axis(block: Float) -> Float:
    """float64[6, 6]: the same 3 x 3 block for x and for y, in the order of the state."""
    blocks = np.zeros((STATES, STATES))
    blocks[0::2, 0::2] = blocks[1::2, 1::2] = block
    return blocks
