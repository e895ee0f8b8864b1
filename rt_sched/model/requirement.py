"""Requirements: why a limit of the system is what it is, and who asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class LimitName:
    """A limit of the system. `section`: chains, tasks, faults or safety; `owner`: a name in it, "" for safety."""

    section: str
    owner: str
    key: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.section, self.owner, self.key) if part)


@dataclass(frozen=True, slots=True)
class BrakingCase:
    """The situation from which the limit of a braking chain follows; all exact and more than zero.

    `closing_speed_m_s`: towards an obstacle first seen at `range_m`; it falls by `deceleration_m_s2` once the brakes
    act. `actuation_ns`: from the command to the deceleration.
    """

    closing_speed_m_s: Fraction
    range_m: Fraction
    deceleration_m_s2: Fraction
    actuation_ns: int = 0


@dataclass(frozen=True, slots=True)
class Requirement:
    """`limits`: what of the system it sets. `asil`: such as D or B(D). `source`, `rationale`: in words."""

    name: str
    limits: tuple[LimitName, ...]
    asil: str | None = None
    source: str | None = None
    rationale: str | None = None
    braking: BrakingCase | None = None
