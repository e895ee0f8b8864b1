"""Constant-velocity Kalman filters for many objects at once, in the moving frame of the vehicle.

State of one object: x, y, vx, vy. Position of a reference point on the object, metres; velocity relative to the ego
vehicle, m/s, along the vehicle's axes. The motion model is white acceleration of a given spectral density (Bar-Shalom,
Li, Kirubarajan: Estimation with Applications to Tracking and Navigation, 2001, section 6.2.2), so that predicting over
a time in one step or in several gives the same.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]


class TrackFilter:
    """The filters' common arrays. `mean`: float64[n, 4]; `covariance`: float64[n, 4, 4]; both at the same instant.

    `acceleration_psd`: spectral density of the objects' acceleration, m^2/s^3.
    """

    def __init__(self, acceleration_psd: float) -> None:
        self._psd = acceleration_psd
        self.mean: Float = np.zeros((0, 4))
        self.covariance: Float = np.zeros((0, 4, 4))

    def __len__(self) -> int:
        return len(self.mean)

    def add(
        self,
        position_m: Float,
        position_covariance: Float,
        velocity_sigma_m_s: tuple[float, float],
        forward_speed_m_s: float = 0.0,
    ) -> None:
        """One more object, its velocity `forward_speed_m_s` along x, give or take `velocity_sigma_m_s` (x, y)."""
        mean = np.array([[position_m[0], position_m[1], forward_speed_m_s, 0.0]])
        covariance = np.zeros((1, 4, 4))
        covariance[0, :2, :2] = position_covariance
        covariance[0, 2, 2], covariance[0, 3, 3] = velocity_sigma_m_s[0] ** 2, velocity_sigma_m_s[1] ** 2
        self.mean = np.concatenate((self.mean, mean))
        self.covariance = np.concatenate((self.covariance, covariance))

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Only the objects of `mask`: bool[n]."""
        self.mean, self.covariance = self.mean[mask], self.covariance[mask]

    def predict(self, dt_s: float, yaw_rate_rad_s: float = 0.0, ego_acceleration_m_s2: float = 0.0) -> None:
        """Carries all objects `dt_s` >= 0 ahead while the vehicle turns and accelerates at these rates."""
        if dt_s <= 0.0 or not len(self):
            return
        transition = np.eye(4)
        transition[0, 2] = transition[1, 3] = dt_s
        noise = np.zeros((4, 4))
        for axis in (0, 1):
            noise[axis, axis] = self._psd * dt_s**3 / 3.0
            noise[axis, axis + 2] = noise[axis + 2, axis] = self._psd * dt_s**2 / 2.0
            noise[axis + 2, axis + 2] = self._psd * dt_s
        turn = np.zeros((4, 4))
        turn[:2, :2] = turn[2:, 2:] = rotation(-yaw_rate_rad_s * dt_s)
        push = np.array([-0.5 * ego_acceleration_m_s2 * dt_s**2, 0.0, -ego_acceleration_m_s2 * dt_s, 0.0])
        self.mean = (self.mean @ transition.T + push) @ turn.T
        self.covariance = turn @ (transition @ self.covariance @ transition.T + noise) @ turn.T

    def positions(self, age_s: float) -> Float:
        """Where the reference points were `age_s` ago, float64[n, 2], along today's axes."""
        past: Float = self.mean[:, :2] - age_s * self.mean[:, 2:]
        return past

    def distances(self, measured_m: Float, measured_covariance: Float, age_s: float) -> Float:
        """Squared Mahalanobis distance of every object to every measured position, float64[n, m].

        `measured_m`: float64[m, 2], taken `age_s` ago, along today's axes; `measured_covariance`: float64[m, 2, 2].
        """
        observe = _observation(age_s)
        expected = observe @ self.covariance @ observe.T
        spread = expected[:, None] + measured_covariance[None, :] + self._drift(age_s)
        off = measured_m[None, :, :] - self.positions(age_s)[:, None, :]
        a, b, c = spread[..., 0, 0], spread[..., 0, 1], spread[..., 1, 1]
        x, y = off[..., 0], off[..., 1]
        squared: Float = (c * x * x - 2.0 * b * x * y + a * y * y) / (a * c - b * b)
        return squared

    def update(self, index: int, measured_m: Float, measured_covariance: Float, age_s: float) -> None:
        """Corrects one object by a position measured `age_s` >= 0 ago, given along today's axes.

        The old position is position - age * velocity of the present state, so late measurements need no rewinding.
        """
        observe = _observation(age_s)
        covariance = self.covariance[index]
        noise = measured_covariance + self._drift(age_s)
        gain = covariance @ observe.T @ np.linalg.inv(observe @ covariance @ observe.T + noise)
        self.mean[index] += gain @ (measured_m - observe @ self.mean[index])
        rest = np.eye(4) - gain @ observe
        # Joseph's form stays symmetric and positive under rounding.
        self.covariance[index] = rest @ covariance @ rest.T + gain @ noise @ gain.T

    def _drift(self, age_s: float) -> Float:
        """What an object's own acceleration may have moved it in the time that the measurement is old."""
        drift: Float = np.eye(2) * (self._psd * age_s**3 / 3.0)
        return drift


def rotation(angle_rad: float) -> Float:
    """float64[2, 2]: turns a vector counter-clockwise."""
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    return np.array([[c, -s], [s, c]])


def _observation(age_s: float) -> Float:
    return np.array([[1.0, 0.0, -age_s, 0.0], [0.0, 1.0, 0.0, -age_s]])
