"""Drives with known truth, felt by an IMU with biases, noise and the vibration of a car that moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pipelines.imu import GRAVITY_M_S2
from rt_sched.messages import ImuSample

Profile = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Drive:
    """`speed_m_s`, `yaw_rate_rad_s`, `heading_rad`, `place_m` [n, 2]: truth of the vehicle's origin at `time_ns`."""

    time_ns: np.ndarray
    speed_m_s: np.ndarray
    yaw_rate_rad_s: np.ndarray
    heading_rad: np.ndarray
    place_m: np.ndarray
    samples: list[ImuSample]


def drive(
    seconds: float,
    speed_m_s: Profile,
    yaw_rate_rad_s: Profile = np.zeros_like,
    *,
    rate_hz: int = 200,
    slope_rad: float = 0.0,
    place_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gyro_bias: tuple[float, float, float] = (0.004, -0.003, 0.005),
    force_bias: tuple[float, float, float] = (0.03, -0.02, 0.05),
    gyro_noise: float = 0.001,
    force_noise: float = 0.015,
    vibration_m_s2: float = 0.3,
    seed: int = 1,
) -> Drive:
    """`speed_m_s`, `yaw_rate_rad_s`: functions of time in seconds; `slope_rad`: nose up; `place_m`: of the IMU."""
    fine = 20
    t = np.arange(int(seconds * rate_hz * fine) + 1) / (rate_hz * fine)
    v, w = speed_m_s(t), yaw_rate_rad_s(t)
    step = 1.0 / (rate_hz * fine)
    heading = np.concatenate(([0.0], np.cumsum(0.5 * (w[1:] + w[:-1]) * step)))
    level = v * np.cos(slope_rad)
    flow = np.stack([level * np.cos(heading), level * np.sin(heading)], -1)
    place = np.concatenate((np.zeros((1, 2)), np.cumsum(0.5 * (flow[1:] + flow[:-1]) * step, axis=0)))
    thrust, turn = np.gradient(v, step), np.gradient(w, step)

    keep = np.arange(0, len(t), fine)
    up, r = np.array([np.sin(slope_rad), 0.0, np.cos(slope_rad)]), np.array(place_m)
    omega, alpha = up * w[keep, None], up * turn[keep, None]
    ahead = np.array([1.0, 0.0, 0.0])
    force = thrust[keep, None] * ahead + np.cross(omega, v[keep, None] * ahead) + GRAVITY_M_S2 * up
    force = force + np.cross(alpha, r) + np.cross(omega, np.cross(omega, r))
    shake, of_gyro, of_force = np.random.default_rng(seed).standard_normal((len(keep), 3, 3)).transpose(1, 0, 2)
    shake = shake * np.where(v[keep] > 0.05, vibration_m_s2, 1e-9)[:, None]
    rates = omega + gyro_bias + gyro_noise * of_gyro
    forces = force + force_bias + force_noise * of_force + shake
    samples = [
        ImuSample(round(at * 1e9), "imu", rate, felt) for at, rate, felt in zip(t[keep], rates, forces, strict=True)
    ]
    return Drive((t[keep] * 1e9).round().astype(np.int64), v[keep], w[keep], heading[keep], place[keep], samples)


def through(*points: tuple[float, float]) -> Profile:
    """A profile through (seconds, value) with straight lines between."""
    times, values = zip(*points, strict=True)
    return lambda t: np.interp(t, times, values)
