"""Cause-effect chains."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.task import Communication


@dataclass(frozen=True, slots=True)
class CauseEffectChain:
    """A path from a sensor through tasks, with limits (None: measured, not limited).

    `max_reaction_ns`: maximum reaction time, from an event at the sensor (the wait for the next sample included) to the
    first output that reflects it. `max_latency_ns`: from the capture stamp of a sample to the first output that uses it
    or a later one. `max_data_age_ns`: age of the data behind an output at the instant of that output.
    `communication`: of those of its tasks that do not say their own.
    """

    name: str
    path: tuple[str, ...]
    max_reaction_ns: int | None = None
    max_latency_ns: int | None = None
    max_data_age_ns: int | None = None
    communication: Communication = Communication.IMPLICIT
