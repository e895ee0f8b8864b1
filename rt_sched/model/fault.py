"""Faults that a run injects, and the scenarios that a system file declares."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FaultKind(str, Enum):
    """What is lost."""

    CAMERA = "camera"
    LIDAR = "lidar"
    IMU = "imu"
    DEVICE = "device"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Fault:
    """Loss of a sensor, device or link from `time_ns` after the start of the run until `until_ns`; None: for good."""

    kind: FaultKind
    target: str
    time_ns: int
    until_ns: int | None = None

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.target}"


class FaultEffect(str, Enum):
    """What a scenario does to its target: it falls silent, repeats its last message, sends damaged ones, overruns."""

    LOSE = "lose"
    FREEZE = "freeze"
    CORRUPT = "corrupt"
    OVERRUN = "overrun"


@dataclass(frozen=True, slots=True)
class FaultScenario:
    """A single fault that the safety concept must survive.

    `target`: a sensor, device or link to lose, a sensor to freeze or corrupt, a task to overrun. `time_ns`: when, from
    the start of a run (loss, freeze, corruption). `jobs`, `demand_ns`: which jobs of the task overrun, and what they
    need then. Handling time is split: `detection_ns` + `reaction_ns` + `margin_ns`, each None where not declared.
    `mode`: the mode that the system changes to `mode_after_ns` after the fault; None: it stays in its own.
    """

    name: str
    effect: FaultEffect
    target: str
    time_ns: int = 0
    jobs: tuple[int, ...] = ()
    demand_ns: int | None = None
    detection_ns: int | None = None
    reaction_ns: int | None = None
    margin_ns: int | None = None
    mode: str | None = None
    mode_after_ns: int = 0
