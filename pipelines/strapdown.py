"""Inertial navigation of a road vehicle: attitude, velocity and position from rates and specific forces.

An error-state Kalman filter (Sola, "Quaternion kinematics for the error-state Kalman filter", 2017, with the error in
world axes) of 15 states: attitude, velocity, position, gyroscope bias, accelerometer bias. Nothing but standstills,
gravity's direction and the passing of time is measured, so uncertainty grows while the vehicle moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.rotations import Float, cross, cross_matrix, matrix_of_vector, quaternion_of_matrix
from rt_sched.messages import MotionState

GRAVITY_M_S2 = 9.80665

#: Where the states stand in the filter.
_ATTITUDE, _VELOCITY, _POSITION = slice(0, 3), slice(3, 6), slice(6, 9)
_GYRO_BIAS, _FORCE_BIAS = slice(9, 12), slice(12, 15)

#: One standard deviation before anything is known: tilt of the mounting, speed, biases of an automotive IMU.
_TILT_RAD, _SPEED_M_S, _GYRO_BIAS_RAD_S, _FORCE_BIAS_M_S2 = 0.05, 30.0, 0.01, 0.1
#: Noise densities of an automotive IMU, per square root of a second; the biases' own wandering.
_RATE_NOISE, _FORCE_NOISE, _RATE_WALK, _FORCE_WALK = 0.001, 0.02, 2e-5, 2e-4
#: What a vehicle may do in a second in which nobody looks: turn, pitch, accelerate.
_UNSEEN_TURN_RAD_S, _UNSEEN_TILT_RAD_S, _UNSEEN_M_S2 = 0.5, 0.05, 4.0
#: How well a standstill is one, and how much a vehicle accelerates on the whole while its gravity is looked at.
_REST_M_S, _REST_RAD_S, _REST_M_S2, _DRIVING_M_S2 = 0.01, 0.0005, 0.01, 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one step added, in the vehicle's axes at its start: rotation vector and way of the IMU."""

    turn_rad: Float
    move_m: Float


class Strapdown:
    """The state of one epoch. Vehicle axes: x forward, y left, z up; world: z up, x along the first heading.

    `rotation`: float64[3, 3], vehicle to world; `velocity_m_s`, `position_m` in the world; biases in vehicle axes.
    """

    def __init__(self) -> None:
        self.rotation: Float = np.eye(3)
        self.velocity_m_s: Float = np.zeros(3)
        self.position_m: Float = np.zeros(3)
        self.gyro_bias_rad_s: Float = np.zeros(3)
        self.force_bias_m_s2: Float = np.zeros(3)
        sigmas = [_TILT_RAD, _TILT_RAD, 0.0, *[_SPEED_M_S] * 3, 0.0, 0.0, 0.0]
        sigmas += [*[_GYRO_BIAS_RAD_S] * 3, *[_FORCE_BIAS_M_S2] * 3]
        self._covariance: Float = np.diag(np.square(sigmas))

    @property
    def up(self) -> Float:
        """Unit vector to the sky in vehicle axes."""
        row: Float = self.rotation[2]
        return row

    @property
    def velocity_sigma_m_s(self) -> float:
        """Standard deviation of the least certain component of velocity."""
        return float(np.sqrt(self._covariance.diagonal()[_VELOCITY].max()))

    def state(self) -> MotionState:
        """A copy as a message."""
        sigma = np.sqrt(np.maximum(self._covariance.diagonal(), 0.0))
        return MotionState(
            orientation_wxyz=quaternion_of_matrix(self.rotation),
            velocity_m_s=_triple(self.velocity_m_s),
            position_m=_triple(self.position_m),
            gyro_bias_rad_s=_triple(self.gyro_bias_rad_s),
            accelerometer_bias_m_s2=_triple(self.force_bias_m_s2),
            tilt_sigma_rad=float(sigma[:2].max()),
            heading_sigma_rad=float(sigma[2]),
            velocity_sigma_m_s=float(sigma[_VELOCITY].max()),
            position_sigma_m=float(sigma[_POSITION].max()),
        )

    def advance(self, rate_rad_s: Float, force_m_s2: Float, dt_s: float) -> Step:
        """Integrates one interval with the means of its ends (trapezoidal rule), in vehicle axes."""
        turn = (rate_rad_s - self.gyro_bias_rad_s) * dt_s
        force = force_m_s2 - self.force_bias_m_s2
        start = self.rotation
        middle = start @ matrix_of_vector(0.5 * turn)
        acceleration = middle @ force
        felt = acceleration.copy()
        acceleration[2] -= GRAVITY_M_S2
        way = (self.velocity_m_s + 0.5 * dt_s * acceleration) * dt_s
        self.position_m = self.position_m + way
        self.velocity_m_s = self.velocity_m_s + acceleration * dt_s
        self.rotation = start @ matrix_of_vector(turn)

        change = np.eye(15)
        change[_ATTITUDE, _GYRO_BIAS] = -dt_s * middle
        change[_VELOCITY, _ATTITUDE] = -dt_s * cross_matrix(felt)
        change[_VELOCITY, _FORCE_BIAS] = -dt_s * middle
        change[_POSITION, _VELOCITY] = dt_s * np.eye(3)
        noise = np.zeros(15)
        noise[_ATTITUDE], noise[_VELOCITY] = _RATE_NOISE**2, _FORCE_NOISE**2
        noise[_GYRO_BIAS], noise[_FORCE_BIAS] = _RATE_WALK**2, _FORCE_WALK**2
        self._covariance = change @ self._covariance @ change.T
        self._covariance[np.diag_indices(15)] += noise * dt_s
        return Step(turn, start.T @ way)

    def pass_over(self, dt_s: float) -> None:
        """Time in which nothing was measured: the estimate stays, its uncertainty grows by what a vehicle may do."""
        grown = np.zeros(15)
        grown[_ATTITUDE] = np.square(np.array([_UNSEEN_TILT_RAD_S, _UNSEEN_TILT_RAD_S, _UNSEEN_TURN_RAD_S]) * dt_s)
        grown[_VELOCITY] = (_UNSEEN_M_S2 * dt_s) ** 2
        speed = float(np.linalg.norm(self.velocity_m_s)) + self.velocity_sigma_m_s
        grown[_POSITION] = ((speed + _UNSEEN_M_S2 * dt_s) * dt_s) ** 2
        self._covariance[np.diag_indices(15)] += grown

    def rests(self, mean_rate_rad_s: Float, mean_force_m_s2: Float) -> None:
        """The vehicle stands: it has no speed, the gyroscope shows its bias, the accelerometer gravity and its own."""
        measured = np.zeros((9, 15))
        measured[0:3, _VELOCITY] = np.eye(3)
        measured[3:6, _GYRO_BIAS] = np.eye(3)
        measured[6:9] = self._gravity_rows()
        residual = np.concatenate(
            (-self.velocity_m_s, mean_rate_rad_s - self.gyro_bias_rad_s, mean_force_m_s2 - self._expected_force())
        )
        self._correct(measured, residual, np.repeat([_REST_M_S**2, _REST_RAD_S**2, _REST_M_S2**2], 3))

    def feels_gravity(self, mean_rate_rad_s: Float, mean_force_m_s2: Float, variance_scale: float) -> None:
        """A moving vehicle accelerates little over long times: a weak measurement of tilt.

        `variance_scale`: how many successive measurements are wrong in the same way. Where the speed is known its
        share in a bend is taken off.
        """
        expected = self._expected_force()
        if self.velocity_sigma_m_s < 1.0:
            turning = mean_rate_rad_s - self.gyro_bias_rad_s
            expected = expected + cross(turning, self.rotation.T @ self.velocity_m_s)
        self._correct(
            self._gravity_rows(), mean_force_m_s2 - expected, np.full(3, _DRIVING_M_S2**2 * max(variance_scale, 1.0))
        )

    def _expected_force(self) -> Float:
        return self.up * GRAVITY_M_S2 + self.force_bias_m_s2

    def _gravity_rows(self) -> Float:
        rows = np.zeros((3, 15))
        rows[:, _ATTITUDE] = self.rotation.T @ cross_matrix(np.array([0.0, 0.0, GRAVITY_M_S2]))
        rows[:, _FORCE_BIAS] = np.eye(3)
        return rows

    def _correct(self, measured: Float, residual: Float, variance: npt.NDArray[np.float64]) -> None:
        """Kalman update in Joseph's form."""
        cross = self._covariance @ measured.T
        gain = np.linalg.solve(measured @ cross + np.diag(variance), cross.T).T
        error = gain @ residual
        keep = np.eye(15) - gain @ measured
        covariance = keep @ self._covariance @ keep.T + (gain * variance) @ gain.T
        self._covariance = 0.5 * (covariance + covariance.T)
        self.rotation = matrix_of_vector(error[_ATTITUDE]) @ self.rotation
        self.velocity_m_s = self.velocity_m_s + error[_VELOCITY]
        self.position_m = self.position_m + error[_POSITION]
        self.gyro_bias_rad_s = self.gyro_bias_rad_s + error[_GYRO_BIAS]
        self.force_bias_m_s2 = self.force_bias_m_s2 + error[_FORCE_BIAS]


def _triple(vector: Float) -> tuple[float, float, float]:
    return (float(vector[0]), float(vector[1]), float(vector[2]))
