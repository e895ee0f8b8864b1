"""All decisions of one mode: where each task runs and how urgent it is there."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.platform import Policy


@dataclass(frozen=True, slots=True)
class Processor:
    """One ready queue of a processing element, with the policy that orders it.

    It is served by `cores` cores from number `core` on: one when partitioned, several when global or clustered.
    """

    device: str
    pe: str
    core: int
    policy: Policy
    preemptive: bool
    cores: int = 1

    @property
    def name(self) -> str:
        """Such as orin-1.cpu.3, or orin-1.cpu[0-3] for several cores."""
        if self.cores == 1:
            return f"{self.device}.{self.pe}.{self.core}"
        return f"{self.device}.{self.pe}[{self.core}-{self.core + self.cores - 1}]"


@dataclass(frozen=True, slots=True)
class Placement:
    """`processor`: index into `Plan.processors`. `level`: 0 is the most urgent on that processor; unique there."""

    task: str
    processor: int
    level: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Placements in the order of the system's tasks. `policy`: rms, dm, opa or edf, as asked for."""

    system: str
    policy: str
    processors: tuple[Processor, ...]
    placements: tuple[Placement, ...]
