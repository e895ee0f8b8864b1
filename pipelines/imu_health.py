"""Whether IMU samples can be believed, and whether the vehicle stands."""

from __future__ import annotations

from collections import deque

import numpy as np

from pipelines.rotations import Float
from pipelines.strapdown import GRAVITY_M_S2
from rt_sched.units import NS_PER_MS

#: Flags of `EgoMotion`.
GAP = "gap: samples are missing, nothing was integrated over them"
GYRO_SATURATED = "gyroscope at the end of its range"
FORCE_SATURATED = "accelerometer at the end of its range"
AT_END_FOR_LONG = "a sensor stays at the end of its range, nothing was integrated"
STUCK = "values repeat exactly: the sensor is stuck, nothing was integrated"
SAMPLES_LOST = "samples before this one were rejected"
GRAVITY_OFF = "gravity at standstill is not 9.8 m/s^2: check the accelerometer's calibration"
NOT_AT_REST = "samples are as quiet as at standstill, but the speed says otherwise"

AT_END = frozenset({GYRO_SATURATED, FORCE_SATURATED})

#: For so long the last good values stand for those of a sensor at its end, and flags of that and of a gap stay.
_HELD_NS = 100 * NS_PER_MS

#: A sensor at its end reads this share of its range or more.
_END = 0.995

#: Mean specific force of a vehicle on its wheels. Below the first figure gravity was taken out, around one the unit
#: is g; no drive averages to either over a window. Where g is stated and the unit is m/s^2, the mean is that of both.
_NO_GRAVITY_M_S2 = 0.5
_G_UNIT = (0.85, 1.15)
_G_TWICE_M_S2 = (0.85 * GRAVITY_M_S2**2, 1.15 * GRAVITY_M_S2**2)
#: At standstill only gravity is felt; a calibrated accelerometer is this exact.
_GRAVITY_TOLERANCE_M_S2 = 0.5
#: No gyroscope's bias is larger.
_MAX_GYRO_BIAS_RAD_S = 0.1


class SampleChecks:
    """Ranges and stuck values. `stuck_ns`: for how long values may repeat exactly."""

    def __init__(self, gyro_range_rad_s: float, force_range_m_s2: float, stuck_ns: int) -> None:
        self._ranges = (gyro_range_rad_s, force_range_m_s2)
        self._stuck_ns = stuck_ns
        self._last: tuple[bytes, bytes] = (b"", b"")
        self._since_ns = [0, 0]
        self._repeats = [0, 0]

    def flags(self, stamp_ns: int, rate_rad_s: Float, force_m_s2: Float) -> tuple[str, ...]:
        """What is wrong with this sample, in the sensor's axes."""
        found = []
        values = (rate_rad_s, force_m_s2)
        for vector, limit, flag in zip(values, self._ranges, (GYRO_SATURATED, FORCE_SATURATED), strict=True):
            if float(np.abs(vector).max()) >= _END * limit:
                found.append(flag)
        now = (rate_rad_s.tobytes(), force_m_s2.tobytes())
        for k in range(2):
            if now[k] == self._last[k]:
                self._repeats[k] += 1
            else:
                self._since_ns[k], self._repeats[k] = stamp_ns, 0
        self._last = now
        # Two repeats of a slow sensor are no proof, however long they took.
        if any(
            n >= 5 and stamp_ns - since >= self._stuck_ns
            for n, since in zip(self._repeats, self._since_ns, strict=True)
        ):
            found.append(STUCK)
        return tuple(found)


class EndsOfRange:
    """What stands for the values of a sensor at the end of its range, and what was flagged a moment ago."""

    def __init__(self) -> None:
        self._good: dict[str, tuple[int, Float]] = {}
        self._flagged_ns: dict[str, int] = {}

    def stand_ins(self, now_ns: int, flags: list[str], rate: Float, force: Float, level: Float) -> tuple[Float, Float]:
        """Rate and force: its last good ones for a sensor that `flags` says is at its end, flagged when that lasts.

        `level`: the force felt where nothing is known.
        """
        found = []
        for flag, measured, unknown in ((GYRO_SATURATED, rate, np.zeros(3)), (FORCE_SATURATED, force, level)):
            if flag not in flags:
                self._good[flag] = (now_ns, measured)
            good_ns, good = self._good.get(flag, (now_ns - _HELD_NS - 1, unknown))
            if now_ns - good_ns > _HELD_NS and AT_END_FOR_LONG not in flags:
                flags.append(AT_END_FOR_LONG)
            found.append(good)
        return found[0], found[1]

    def lately(self, now_ns: int, flags: list[str]) -> list[str]:
        """Gaps and ends of a range within the last 100 ms that are not in `flags`, which are those of now."""
        for flag in flags:
            if flag in AT_END or flag == GAP:
                self._flagged_ns[flag] = now_ns
        self._flagged_ns = {flag: at_ns for flag, at_ns in self._flagged_ns.items() if now_ns - at_ns < _HELD_NS}
        return [flag for flag in self._flagged_ns if flag not in flags]


class RestDetector:
    """Standstill from the variance of a window of samples, in vehicle axes.

    Quiet means: no axis of the gyroscope or the accelerometer deviates more than its limit (one standard deviation)
    within the window, the mean rate could be a bias, and the mean force could be gravity.
    """

    def __init__(self, window_ns: int, gyro_limit_rad_s: float, force_limit_m_s2: float) -> None:
        self._window_ns = window_ns
        self._limits = np.repeat([gyro_limit_rad_s, force_limit_m_s2], 3)
        self._check_ns = max(window_ns // 20, 1)
        self.forget()

    def forget(self) -> None:
        """Begins a new window."""
        self._samples: deque[tuple[int, Float]] = deque()
        self._checked_ns: int | None = None
        self._mean: Float = np.zeros(6)
        self.quiet = False
        self.gravity_off = False

    @property
    def mean_rate_rad_s(self) -> Float:
        """Of the last window that was checked."""
        return self._mean[:3]

    @property
    def mean_force_m_s2(self) -> Float:
        """Of the last window that was checked."""
        return self._mean[3:]

    def add(self, stamp_ns: int, rate_rad_s: Float, force_m_s2: Float) -> bool:
        """Takes a sample; True when a full window was looked at anew, which happens 20 times per window."""
        sample = np.concatenate((rate_rad_s, force_m_s2))
        self._samples.append((stamp_ns, sample))
        while stamp_ns - self._samples[0][0] > self._window_ns:
            self._samples.popleft()
        if self.quiet and bool((np.abs(sample - self._mean) > 8.0 * self._limits).any()):
            self.quiet = False
        due = self._checked_ns is None or stamp_ns - self._checked_ns >= self._check_ns
        if not due or len(self._samples) < 8 or stamp_ns - self._samples[0][0] < 0.9 * self._window_ns:
            return False
        self._checked_ns = stamp_ns
        values = np.array([value for _, value in self._samples])
        self._mean = values.mean(axis=0)
        still = bool((values.std(axis=0) <= self._limits).all()) and bool(
            np.abs(self._mean[:3]).max() <= _MAX_GYRO_BIAS_RAD_S
        )
        off = abs(float(np.linalg.norm(self._mean[3:])) - GRAVITY_M_S2) > _GRAVITY_TOLERANCE_M_S2
        self.quiet, self.gravity_off = still and not off, still and off
        return True


class UnitCheck:
    """Tells an accelerometer whose unit is not the stated one (`is_g`), or whose gravity was taken out.

    By the running mean of what it measures.
    """

    def __init__(self, window_ns: int, *, is_g: bool = False) -> None:
        self._window_ns = window_ns
        self._is_g = is_g
        self._mean_m_s2: float | None = None
        self._last_ns = 0

    def complaint(self, stamp_ns: int, force_m_s2: Float) -> str | None:
        """What is wrong with the unit, as the middle of a sentence; None when gravity is there."""
        size = float(np.linalg.norm(force_m_s2))
        if self._mean_m_s2 is None:
            self._mean_m_s2 = size
        else:
            share = min(max((stamp_ns - self._last_ns) / self._window_ns, 0.0), 1.0)
            self._mean_m_s2 += share * (size - self._mean_m_s2)
        self._last_ns = stamp_ns
        mean = self._mean_m_s2
        if self._is_g and _G_TWICE_M_S2[0] <= mean <= _G_TWICE_M_S2[1]:
            return (
                f"its mean is {mean / GRAVITY_M_S2:.2f} as recorded, so its unit is m/s^2 and not g; drop "
                "acceleration_unit: g for this task (parameters)"
            )
        if _G_UNIT[0] <= mean <= _G_UNIT[1]:
            return (
                f"its mean is {mean:.2f}, so its unit is g and not m/s^2; set acceleration_unit: g for this task "
                "(parameters)"
            )
        if mean < _NO_GRAVITY_M_S2:
            return f"its mean is {mean:.2f} m/s^2, so gravity was taken out of it; record the specific force instead"
        return None
