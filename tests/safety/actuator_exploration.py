"""Every sequence of events that the actuators' side can meet, explored state by state against its stated invariants.

Time passes in cycles. In each cycle an event befalls the channel of commands, another that of requests for a release,
and the clock may step back. States that differ only in instants of no more consequence are one; it ends when no new
state appears, so that sequences of any length are covered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum
from itertools import product

from rt_sched.messages.control import Command, ReleaseRequest
from rt_sched.messages.e2e import E2EState
from safety.actuator import ActuatorInput, ActuatorMemory, ActuatorPolicy, ActuatorState, Applied, actuate

CYCLE_NS = 5_000_000
LIMIT = 2
REQUEST_LIMIT = 3
POLICY = ActuatorPolicy(CYCLE_NS, LIMIT * CYCLE_NS, release_age_limit_ns=REQUEST_LIMIT * CYCLE_NS)
Actuate = Callable[[ActuatorMemory, ActuatorInput, int, ActuatorPolicy], tuple[ActuatorMemory, Applied]]


class Event(Enum):
    """What befalls the channel in one cycle; `LATE`: sent a cycle ago, `STALE`: sent before the limit."""

    GOOD = "a new good command"
    BRAKE = "a new good one that brakes hard"
    LATE = "a new good one that was a cycle on its way"
    STALE = "a new one that is too old already"
    NOTHING = "nothing new"
    DAMAGED = "a damaged one"
    REPEATED = "one that came before"
    OUT_OF_SEQUENCE = "an intact one out of sequence"
    IMPOSSIBLE = "one that no vehicle can follow"
    MALFORMED = "something that is no command"
    EARLY = "one from the future"


class Request(Enum):
    """What befalls the channel of requests in one cycle."""

    NONE = "nothing new"
    GOOD = "a new good request"
    OLDEST = "a new good one, as old as it may be"
    STALE = "a new one that is too old"
    EARLY = "one from the future"
    DAMAGED = "a damaged one, or one without the key"
    REPEATED = "one that came before"
    OUT_OF_SEQUENCE = "an intact one out of sequence"
    MALFORMED = "something that is no request"


_ASKED_AGO = {Request.OLDEST: REQUEST_LIMIT, Request.STALE: REQUEST_LIMIT + 1, Request.EARLY: -1}
_REQUEST_STATES = {
    Request.NONE: E2EState.NO_NEW_DATA,
    Request.DAMAGED: E2EState.ERROR,
    Request.REPEATED: E2EState.REPEATED,
    Request.OUT_OF_SEQUENCE: E2EState.WRONG_SEQUENCE,
}
_GOOD_REQUESTS = frozenset({Request.GOOD, Request.OLDEST})
_SENT_AGO = {Event.LATE: 1, Event.STALE: LIMIT + 1, Event.EARLY: -1}
_STATES = {
    Event.DAMAGED: E2EState.ERROR,
    Event.REPEATED: E2EState.REPEATED,
    Event.OUT_OF_SEQUENCE: E2EState.WRONG_SEQUENCE,
    Event.NOTHING: E2EState.NO_NEW_DATA,
}
_ACCEPTABLE = frozenset({Event.GOOD, Event.BRAKE, Event.LATE, Event.STALE})
_ACCELERATIONS = {Event.BRAKE: -8.0, Event.IMPOSSIBLE: 99.0}


@dataclass(frozen=True, slots=True)
class World:
    """The memory, and what the invariants know on their own.

    `age`: cycles since the last acceptable command was sent, one more than the limit for all that are larger, None
    without any. `asked`: its acceleration. `latched`: whether MINIMAL_RISK must hold.
    """

    memory: ActuatorMemory = field(default_factory=ActuatorMemory)
    age: int | None = None
    asked: float = 0.0
    latched: bool = False

    @property
    def key(self) -> Hashable:
        return self.memory.state, self.memory.acceleration_m_s2, self.age, self.asked, self.latched


@dataclass(frozen=True, slots=True)
class Exploration:
    """`states`: how many worlds can be reached. `steps`: out of them. `violated`: in words."""

    states: int
    steps: int
    violated: list[str]


def explore(function: Actuate = actuate) -> Exploration:
    """All worlds that can be reached, and what every step out of each violates."""
    seen, todo = {World().key}, deque([World()])
    violated: list[str] = []
    steps = 0
    while todo:
        world = todo.popleft()
        for event, release, back in product(Event, Request, (False, True)):
            after, broken = _take(world, event, release, back, function)
            steps += 1
            violated += [f"{rule}: {world} by {event.value}, {release.value}" for rule in broken]
            if after.key not in seen:
                seen.add(after.key)
                todo.append(after)
    return Exploration(len(seen), steps, violated)


def _given(event: Event, release: Request, now_ns: int) -> ActuatorInput:
    command: object = Command(now_ns, "x", 0, _ACCELERATIONS.get(event, 1.0), event is Event.BRAKE, None, True)
    if event in (Event.NOTHING, Event.MALFORMED):
        command = None if event is Event.NOTHING else "brake"
    state = _STATES.get(event, E2EState.OK)
    request: object = ReleaseRequest(now_ns - _ASKED_AGO.get(release, 0) * CYCLE_NS, "panel")
    if release in (Request.NONE, Request.MALFORMED):
        request = None if release is Request.NONE else "release"
    sent_ns = now_ns - _SENT_AGO.get(event, 0) * CYCLE_NS
    return ActuatorInput(command, state, sent_ns, request, _REQUEST_STATES.get(release, E2EState.OK))  # type: ignore[arg-type]


def _take(world: World, event: Event, release: Request, back: bool, function: Actuate) -> tuple[World, list[str]]:
    last_ns = world.memory.applied_at_ns or 0
    now_ns = last_ns - 3 * CYCLE_NS if back else last_ns + CYCLE_NS
    memory, applied = function(world.memory, _given(event, release, now_ns), now_ns, POLICY)
    age = None if back or world.age is None else min(world.age + 1, LIMIT + 1)
    asked = 0.0 if back else world.asked
    if event in _ACCEPTABLE:
        age, asked = _SENT_AGO.get(event, 0), _ACCELERATIONS.get(event, 1.0)
    is_young = age is not None and age <= LIMIT
    lost = age is not None and not is_young
    released = is_young and release in _GOOD_REQUESTS
    latched = lost or (world.latched and not released)
    broken = _complaints(applied, age, asked, is_young, latched)
    if (applied.refused is not None) != (world.latched and release is not Request.NONE and not released):
        broken.append("a request that releases nothing is told")
    return World(memory, age, asked, latched), broken


def _complaints(applied: Applied, age: int | None, asked: float, is_young: bool, latched: bool) -> list[str]:
    """The invariants that this cycle violates, by what was sent and never by the memory."""
    state, braking = applied.state, -POLICY.minimal_risk_deceleration_m_s2
    rules = (
        ("something finite and possible in every cycle", -10.0 <= applied.acceleration_m_s2 <= 4.0),
        ("too old a command is MINIMAL_RISK, until a release", (state is ActuatorState.MINIMAL_RISK) == latched),
        ("without any command it waits", (state is ActuatorState.WAITING) == (age is None and not latched)),
        (
            "it brakes by itself unless it follows",
            state is ActuatorState.FOLLOWING or applied.acceleration_m_s2 <= braking,
        ),
        ("it applies what was asked for", state is not ActuatorState.FOLLOWING or applied.acceleration_m_s2 == asked),
        (
            "a harder brake outranks the latch",
            not (latched and is_young) or applied.acceleration_m_s2 == min(asked, braking),
        ),
        ("what is not acceptable is never applied", is_young or applied.acceleration_m_s2 == braking),
    )
    return [rule for rule, holds in rules if not holds]
