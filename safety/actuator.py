"""What the actuators' side applies in each of its cycles: the arbiter's last command, or a minimal risk manoeuvre.

It is the last link, small and apart from all others: it knows nothing of paths, sensors or trust. The rules:

1. A command is *acceptable* when it is new, intact and in sequence (E2E), well formed, possible for the vehicle, and
   was sent no later than now. The last acceptable one is applied until it is older than `command_age_limit_ns`, counted
   from the instant at which it was sent.
2. When it is older, the arbiter is taken for lost: MINIMAL_RISK, a constant deceleration. It is latched; only a request
   for a release that is good (new, intact and in sequence, with its tag where a key is declared, and not too old) and
   comes while a command is young enough ends it. A command that brakes harder is carried out meanwhile.
3. Before the first acceptable command the brake is held (WAITING): nothing has been asked for. That is not latched.

Every instant is integer nanoseconds on one time line. Nothing here raises for any value of its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from rt_sched.messages.control import Command, ReleaseRequest
from rt_sched.messages.e2e import E2EState
from rt_sched.model import SafetyConcept
from rt_sched.units import NS_PER_MS
from safety.plausibility import CommandLimits, impossible, in_plain_numbers, malformed
from safety.release import RELEASE_AGE_LIMIT_NS, refused_release

#: Unless a system says otherwise a command may be as old as so many distances of commands are long, and this at least.
COMMANDS_MISSED = 3
LEAST_AGE_LIMIT_NS = 30 * NS_PER_MS


class ActuatorState(str, Enum):
    """What the actuators' side does. MINIMAL_RISK is latched."""

    WAITING = "WAITING"
    FOLLOWING = "FOLLOWING"
    MINIMAL_RISK = "MINIMAL_RISK"


@dataclass(frozen=True, slots=True)
class ActuatorPolicy:
    """`cycle_ns`: from one look at the channels to the next. The limits are those of the vehicle.

    `release_age_limit_ns`: from the instant at which a person gave it.
    """

    cycle_ns: int = 5 * NS_PER_MS
    command_age_limit_ns: int = LEAST_AGE_LIMIT_NS
    minimal_risk_deceleration_m_s2: float = 4.0
    limits: CommandLimits = field(default_factory=CommandLimits)
    release_age_limit_ns: int = RELEASE_AGE_LIMIT_NS

    @classmethod
    def of(
        cls, concept: SafetyConcept, apart_ns: int, release_age_limit_ns: int = RELEASE_AGE_LIMIT_NS
    ) -> ActuatorPolicy:
        """As declared; `apart_ns`: the nominal distance of the arbiter's commands."""
        limit_ns = concept.actuator.command_age_limit_ns
        if limit_ns is None:
            limit_ns = max(LEAST_AGE_LIMIT_NS, COMMANDS_MISSED * apart_ns)
        return cls(concept.actuator.cycle_ns, limit_ns, release_age_limit_ns=release_age_limit_ns)

    @property
    def bound_ns(self) -> int:
        """From the instant at which the last command was sent to MINIMAL_RISK, at most."""
        return self.command_age_limit_ns + self.cycle_ns


@dataclass(frozen=True, slots=True)
class ActuatorInput:
    """What one cycle looks at: what lies in the channel, what the E2E check said of it just now, and when it was sent.

    `release`: a person's request to leave MINIMAL_RISK, and `release_e2e`, what the check said of that.
    """

    command: Command | None
    e2e: E2EState
    sent_ns: int = 0
    release: ReleaseRequest | None = None
    release_e2e: E2EState = E2EState.NO_NEW_DATA


@dataclass(frozen=True, slots=True)
class ActuatorMemory:
    """What one cycle leaves for the next. `acceleration_m_s2`, `sent_ns`: of the last acceptable command."""

    state: ActuatorState = ActuatorState.WAITING
    acceleration_m_s2: float = 0.0
    sent_ns: int | None = None
    applied_at_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What goes to the actuators in one cycle. `age_ns`: of the last acceptable command, None where there is none.

    `accepted`: that command came just now. `doubt`: what is wrong with a new one that is not acceptable. `refused`: why
    a request that came just now, in MINIMAL_RISK, released nothing.
    """

    time_ns: int
    state: ActuatorState
    acceleration_m_s2: float
    age_ns: int | None
    accepted: bool = False
    doubt: str | None = None
    refused: str | None = None


def actuate(
    memory: ActuatorMemory, given: ActuatorInput, now_ns: int, policy: ActuatorPolicy
) -> tuple[ActuatorMemory, Applied]:
    """The next memory and what is applied at `now_ns`: always a finite acceleration that the vehicle can follow.

    A `now_ns` before the previous one starts a new epoch: all memory but a latched MINIMAL_RISK is forgotten.
    """
    memory = _enter(memory, now_ns)
    doubt = _doubt(given, now_ns, policy)
    accepted = doubt is None and given.e2e is not E2EState.NO_NEW_DATA and given.command is not None
    if accepted and given.command is not None:
        command = in_plain_numbers(given.command)
        memory = replace(memory, acceleration_m_s2=command.acceleration_m_s2, sent_ns=given.sent_ns)
    age_ns = None if memory.sent_ns is None else now_ns - memory.sent_ns
    is_young = age_ns is not None and age_ns <= policy.command_age_limit_ns
    refused = _refused(memory.state, given, now_ns, is_young, policy)
    release = given.release_e2e is not E2EState.NO_NEW_DATA and refused is None
    state = _next(memory.state, age_ns is not None, is_young, release)
    acceleration = _applied_m_s2(state, memory.acceleration_m_s2 if is_young else None, policy)
    after = replace(memory, state=state, applied_at_ns=now_ns)
    return after, Applied(now_ns, state, acceleration, age_ns, accepted, doubt, refused)


def _enter(memory: ActuatorMemory, now_ns: int) -> ActuatorMemory:
    if memory.applied_at_ns is None or now_ns >= memory.applied_at_ns:
        return memory
    latched = memory.state is ActuatorState.MINIMAL_RISK
    return ActuatorMemory(state=ActuatorState.MINIMAL_RISK if latched else ActuatorState.WAITING)


def _doubt(given: ActuatorInput, now_ns: int, policy: ActuatorPolicy) -> str | None:
    """Why what is new in the channel is not acceptable; None where it is, or where nothing is new."""
    if given.e2e is E2EState.NO_NEW_DATA:
        return None
    if given.e2e is not E2EState.OK:
        return f"E2E: {given.e2e.value}"
    command: Any = given.command
    fault = malformed(command) or impossible(in_plain_numbers(command), now_ns, policy.limits)
    if fault is not None:
        return fault
    return "it was sent later than now" if given.sent_ns > now_ns else None


def _refused(
    state: ActuatorState, given: ActuatorInput, now_ns: int, is_young: bool, policy: ActuatorPolicy
) -> str | None:
    """Why a new request does not end MINIMAL_RISK; None where it does, where none is new, and in any other state."""
    if state is not ActuatorState.MINIMAL_RISK or given.release_e2e is E2EState.NO_NEW_DATA:
        return None  # nothing to refuse
    refused = refused_release(given.release, given.release_e2e, now_ns, policy.release_age_limit_ns)
    return refused or (None if is_young else "no command is young enough")


def _next(before: ActuatorState, has_command: bool, is_young: bool, release: bool) -> ActuatorState:
    """`release`: a good request came, while a command is young enough."""
    if before is ActuatorState.MINIMAL_RISK and not release:
        return before
    if is_young:
        return ActuatorState.FOLLOWING
    return ActuatorState.MINIMAL_RISK if has_command else ActuatorState.WAITING


def _applied_m_s2(state: ActuatorState, commanded_m_s2: float | None, policy: ActuatorPolicy) -> float:
    """`commanded_m_s2`: of the last acceptable command while it is young enough, else None."""
    braking = -policy.minimal_risk_deceleration_m_s2
    if commanded_m_s2 is None:
        return braking
    return commanded_m_s2 if state is ActuatorState.FOLLOWING else min(commanded_m_s2, braking)
