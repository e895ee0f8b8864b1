"""What a paced run is asked for: the words of the call, and what a fault script adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from rt_sched.faults.outcomes import Decisions
from rt_sched.ports import Recording, Stage
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.faults.injector import Blow
from rt_sched.runtime.paced.order import PacedOutcome
from rt_sched.runtime.timeline import Timeline
from rt_sched.trace.records import Trace


@dataclass(frozen=True, slots=True)
class PacedRequest:
    """What the user asked for. `tier`: None for the best that this host has. `rate`: run time per host time.

    `faults`: devices to lose, by ending their processes; `stops`: by stopping them, `inside`: in the next job there.
    """

    log: str
    system: str | None = None
    policy: str | None = None
    plan: Path | None = None
    tier: Tier | None = None
    rate: Fraction = Fraction(1)
    duration_ns: int | None = None
    output: Path | None = None
    salvage: bool = False
    command: str = "rt-sched replay"
    faults: tuple[str, ...] = ()
    stops: bool = False
    inside: bool = False


class PacedFaults(Protocol):
    """What a fault script does to a paced run. `timeline`: of the recording with its faults."""

    @property
    def timeline(self) -> Timeline: ...
    @property
    def loses_devices(self) -> bool: ...

    def recording(self, recording: Recording) -> Recording:
        """What the sensors send instead."""

    def stage(self, index: int, stage: Stage, rate: Fraction) -> Stage:
        """What serves in the place of the started stage of a task, by its index, in the worker."""

    def blows(self) -> Sequence[Blow]:
        """What strikes processes while the run goes on."""

    def ended(self, trace: Trace, outcome: PacedOutcome, decisions: Decisions) -> None:
        """What became of it. `decisions`: of the arbiter, with their times."""
