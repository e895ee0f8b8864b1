"""All decisions: where each task runs and how urgent it is there, and what changes when something is lost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

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
class Takeover:
    """What changes once the loss of all of `losses` at one time has been noticed; everything else stays as it was.

    `losses`: such as "device:orin-1" or "camera:rear", sorted. `moves`: tasks that go to another processor, with their
    level there, which no task of the nominal placement and none of the same takeover has there. `dropped`: tasks that
    stop. `redone`: moved tasks that process the newest message of each activating input once more, the kept frame.
    `at_once`: timed tasks with the time from the switch to an additional arrival that does not wait for their cycle.
    `variants`: tasks that go on with one of their cheaper variants, by its name. `weights`: by sensor the factor of its
    weight in the fusion; sensors that are not named keep theirs.
    """

    losses: tuple[str, ...]
    moves: tuple[Placement, ...] = ()
    dropped: tuple[str, ...] = ()
    redone: tuple[str, ...] = ()
    at_once: tuple[tuple[str, int], ...] = ()
    variants: tuple[tuple[str, str], ...] = ()
    weights: tuple[tuple[str, Fraction], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Placements in the order of the system's tasks. `policy`: rms, dm, opa or edf, as asked for.

    `takeovers`: the answer to every loss that was planned for, one for each set of losses. `offsets`: of periodic
    tasks, in ns, in place of those of the system file. `merged`: groups of tasks of the file that run as one job each,
    in their order; the plan is for the system in which they are one task.
    """

    system: str
    policy: str
    processors: tuple[Processor, ...]
    placements: tuple[Placement, ...]
    takeovers: tuple[Takeover, ...] = ()
    offsets: tuple[tuple[str, int], ...] = ()
    merged: tuple[tuple[str, ...], ...] = ()
