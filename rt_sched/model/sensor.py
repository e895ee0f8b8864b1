"""Sensors: what they deliver, how often, where they are attached and mounted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class SensorKind(str, Enum):
    """What a sensor delivers."""

    CAMERA = "camera"
    LIDAR = "lidar"
    IMU = "imu"


class ArrivalClock(str, Enum):
    """Which recorded time says when a message reached its device.

    `log` is right for recordings made on the vehicle; `capture` (plus the declared latency) for recordings whose
    log times were written later.
    """

    LOG = "log"
    CAPTURE = "capture"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Pinhole intrinsics in pixels of the recorded image and the pose: vehicle point = R * sensor point + t (metres).

    `sensor_to_vehicle`: 3 rows of 4. Each part is None when unknown.
    """

    image_width: int | None = None
    image_height: int | None = None
    intrinsics: tuple[float, float, float, float] | None = None
    sensor_to_vehicle: tuple[tuple[float, float, float, float], ...] | None = None


@dataclass(frozen=True, slots=True)
class Trigger:
    """A hardware signal that makes all its sensors sample at the same instants.

    Signal k comes at offset + floor(k / rate), stretched by the drift of the oscillator behind it.
    """

    name: str
    rate_hz: Fraction
    offset_ns: int = 0
    drift_ppm: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Sensor:
    """A source of messages.

    `rate_hz`: nominal, exact. `offset_ns`: capture instant of sample 0 when no recording drives it.
    `capture_jitter_ns`: largest deviation of a capture from its nominal instant. `latency_ns`: nominal
    capture-to-arrival; `jitter_ns`: largest deviation from that.
    `attached_to`: devices that receive its raw data, first one first; lost when all of them are.
    `topics`: glob patterns, most specific first, that find it in a recording.
    `trigger`: its rate, offset and drift are those of this trigger; None: it runs freely, fast by `drift_ppm`.
    `frame_bytes`: size of one raw message, for links.
    """

    name: str
    kind: SensorKind
    rate_hz: Fraction
    attached_to: tuple[str, ...]
    topics: tuple[str, ...]
    offset_ns: int = 0
    latency_ns: int = 0
    jitter_ns: int = 0
    arrival_clock: ArrivalClock = ArrivalClock.LOG
    calibration: Calibration = Calibration()
    trigger: str | None = None
    drift_ppm: Fraction = Fraction(0)
    frame_bytes: int | None = None
    capture_jitter_ns: int = 0
