"""Devices and their processing elements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PEKind(str, Enum):
    """What a processing element is. GPU and DLA are non-preemptive at job granularity."""

    CPU = "cpu"
    GPU = "gpu"
    DLA = "dla"
    MCU = "mcu"


class Policy(str, Enum):
    """How a processing element orders its ready jobs."""

    FIXED_PRIORITY = "fixed_priority"
    EDF = "edf"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True)
class ProcessingElement:
    """A CPU cluster, GPU or DLA of a device; `cores` equal cores, one ready queue per core (partitioned)."""

    name: str
    kind: PEKind
    cores: int
    policy: Policy
    preemptive: bool


@dataclass(frozen=True, slots=True)
class Device:
    """A computer of the rig. `soc` names the catalogue entry and `power_mode` its mode, or both are None."""

    name: str
    processing_elements: tuple[ProcessingElement, ...]
    soc: str | None = None
    power_mode: str | None = None
