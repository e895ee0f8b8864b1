"""Faults that a run injects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FaultKind(str, Enum):
    """What is lost."""

    CAMERA = "camera"
    LIDAR = "lidar"
    IMU = "imu"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Fault:
    """Loss of a sensor or device at `time_ns` after the start of the run, for good."""

    kind: FaultKind
    target: str
    time_ns: int

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.target}"
