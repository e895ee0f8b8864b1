"""A fault script as data: faults by name, each with its kind, its target, and what sets it off."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from rt_sched.errors import Problem
from rt_sched.faults.kinds import BY_NAME, Kind


class Event(str, Enum):
    """What may set a fault off, besides a time."""

    SAMPLE = "sample"
    JOB = "job"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Trigger:
    """The instant `time_ns` of the run or, with an `event`, so long after it.

    SAMPLE: the arrival of message `number` of sensor `of`; JOB: the arrival of job `number` of task `of`, both counted
    from 0; FAULT: when the fault `of` begins.
    """

    time_ns: int = 0
    event: Event | None = None
    of: str = ""
    number: int = 0


class Damage(str, Enum):
    """What becomes of the bytes of a message."""

    CUT = "cut"
    FLIP = "flip"


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault of a script; what does not belong to its kind keeps its default.

    `lasts_ns`: from its begin on; None: to the end of the run. `share`: of the messages meanwhile, drawn for each.
    `by_ns`: length of a delay, or by how much stamps step. `from_deg`, `to_deg`: directions, to the left of ahead,
    between which counter-clockwise nothing is seen. `radius_px`: of the blur. `restart_ns`: until the process is there
    again; None: never. `stall_ns`, `jobs`, `demand_ns`: of the schedule. `place`: line and column of its name in the
    script, 0 where it stands in none.
    """

    name: str
    kind_name: str
    target: str
    trigger: Trigger
    lasts_ns: int | None = None
    share: Fraction = Fraction(1)
    by_ns: int = 0
    from_deg: Fraction = Fraction(0)
    to_deg: Fraction = Fraction(0)
    radius_px: int = 8
    how: Damage = Damage.CUT
    restart_ns: int | None = None
    stall_ns: int = 0
    jobs: tuple[int, ...] = (0,)
    demand_ns: int = 0
    place: tuple[int, int] = field(default=(0, 0), compare=False)

    @property
    def kind(self) -> Kind:
        """What is known of its kind."""
        return BY_NAME[self.kind_name]

    def problem(self, file: str, reason: str) -> Problem:
        """What is wrong with it in a run, told where the script `file` names it."""
        return Problem(file, *self.place, f"faults.{self.name}", reason)

    @property
    def strikes_all(self) -> bool:
        """Whether every message meanwhile is struck in full, so that what monitors promise can be asked of them.

        Flipped bits may leave anything of a message, even all that matters.
        """
        flips = self.kind_name == "payload.corrupt" and self.how is Damage.FLIP
        return self.share == 1 and not flips


@dataclass(frozen=True, slots=True)
class FaultScript:
    """Faults in the order of the file. `seed`: of what is drawn message by message."""

    faults: tuple[Injection, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault with its instants on the run's time line: [begin, end), None for the end of the run.

    `jobs`: of an overrun, the number of every job that it strikes, and from when on it does.
    """

    fault: Injection
    begin_ns: int
    end_ns: int | None
    jobs: tuple[tuple[int, int], ...] = ()

    def holds(self, time_ns: int) -> bool:
        """Whether it strikes what happens at `time_ns`."""
        return self.begin_ns <= time_ns and (self.end_ns is None or time_ns < self.end_ns)

    def since_ns(self, time_ns: int, job: int | None) -> int:
        """From when on the time counts until something shows at `time_ns`, in this job where one is known.

        That is the begin or, of jobs that overrun, when the last of them was struck that can show then.
        """
        begun = (at_ns for number, at_ns in self.jobs if (at_ns <= time_ns if job is None else number <= job))
        return max(begun, default=self.begin_ns)
