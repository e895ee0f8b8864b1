"""Modes: which tasks exist and how fast the processing elements run."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.plan import Takeover


@dataclass(frozen=True, slots=True)
class Frequency:
    """The frequency of one processing element of a device."""

    device: str
    pe: str
    frequency_hz: int


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to operate: the tasks that exist in it, and the frequencies that differ from those at the start."""

    name: str
    tasks: tuple[str, ...]
    frequencies: tuple[Frequency, ...] = ()


@dataclass(frozen=True, slots=True)
class ModeChange:
    """At `time_ns` after the start of a run the system begins to operate in `mode`."""

    time_ns: int
    mode: str


@dataclass(frozen=True, slots=True)
class FrequencyChange:
    """At `time_ns` after the start of a run a processing element gets another frequency."""

    time_ns: int
    frequency: Frequency


@dataclass(frozen=True, slots=True)
class PlanChange:
    """At `time_ns` after the start of a run `takeover` comes into force; None: the nominal placement does again."""

    time_ns: int
    takeover: Takeover | None
