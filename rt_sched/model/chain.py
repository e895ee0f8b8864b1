"""Cause-effect chains."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.task import Communication


@dataclass(frozen=True, slots=True)
class CauseEffectChain:
    """A path through tasks, from a sensor or from a timed task, with limits (None: measured, not limited).

    A timed task at the head samples the outside world itself, whenever one of its jobs reads: implicitly at its first
    dispatch, under LET at its arrival. `max_reaction_ns`: maximum reaction time, from an event in the outside world
    (the wait for the next sample or read included) to the first output that reflects it. `max_latency_ns`: from the
    capture stamp of a sample, or a read, to the first output that uses it or a later one. `max_data_age_ns`: age of the
    data behind an output at the instant of that output.
    `communication`: of those of its tasks that do not say their own.
    """

    name: str
    path: tuple[str, ...]
    max_reaction_ns: int | None = None
    max_latency_ns: int | None = None
    max_data_age_ns: int | None = None
    communication: Communication = Communication.IMPLICIT
