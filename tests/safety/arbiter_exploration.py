"""Every sequence of events that the arbiter can meet, explored state by state against its stated invariants.

Time passes in cycles. In each cycle an event befalls each path, the view that the primary's command carries is fresh or
not, and a release is requested or not. States that differ only in instants of no more consequence are one; the
exploration ends when no new state appears, so that sequences of any length are covered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from itertools import product

from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, SensorView
from rt_sched.messages.e2e import E2EState
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, PathInput, arbitrate
from safety.plausibility import CommandLimits
from safety.transitions import TABLE, Row

CYCLE_NS = 10_000_000


@dataclass(frozen=True)
class Scope:
    """How large the arbiter is that is explored: good commands in a row that make trust; grace and patience in cycles.

    `in_full`: every kind of event on the second path too.
    """

    needed: int = 2
    grace: int = 2
    patience: int = 2
    in_full: bool = False

    @cached_property
    def policy(self) -> ArbiterPolicy:
        return ArbiterPolicy(
            primary_age_limit_ns=CYCLE_NS,
            backup_age_limit_ns=CYCLE_NS,
            view_age_limit_ns={"side": CYCLE_NS},
            startup_grace_ns=self.grace * CYCLE_NS,
            minimal_risk_after_ns=self.patience * CYCLE_NS,
            recovery_commands=self.needed,
            limits=CommandLimits(max_rate_m_s3=1e6),
        )


SMALL = Scope()


class Event(Enum):
    """What befalls a path in one cycle."""

    GOOD = "a new good command"
    NOTHING = "nothing new"
    DAMAGED = "a damaged one"
    OUT_OF_SEQUENCE = "an intact one out of sequence"
    IMPOSSIBLE = "one that no vehicle can follow"
    OLD = "a new one on old data"
    BRAKE = "a new good one that asks for emergency braking"


_NEW_AND_GOOD = frozenset({Event.GOOD, Event.BRAKE})
_USABLE = _NEW_AND_GOOD | {Event.OUT_OF_SEQUENCE}


@dataclass(frozen=True, slots=True)
class Register:
    """What a path has published: how the last command came (NOTHING: none yet), its age in cycles, its view."""

    event: Event = Event.NOTHING
    age: int = 0
    is_seen: bool = True

    def after(self, event: Event, is_seen: bool) -> Register:
        if event is not Event.NOTHING:
            return Register(event, 0, is_seen)
        return Register(self.event, min(self.age + 1, 2), self.is_seen)

    @property
    def is_usable(self) -> bool:
        return self.event in _USABLE and self.age <= 1

    @property
    def key(self) -> Hashable:
        # One that is of no use stays so until the next command, whatever was wrong with it.
        return (self.event, self.age, self.is_seen) if self.is_usable else self.event is Event.NOTHING

    @cache  # noqa: B019  # few registers, and many worlds that share them
    def given(self, event: Event, now_ns: int) -> PathInput:
        if self.event is Event.NOTHING:
            return PathInput(None, E2EState.NO_NEW_DATA)
        capture_ns = now_ns - (self.age + (5 if self.event is Event.OLD else 0)) * CYCLE_NS
        acceleration = {Event.BRAKE: -8.0, Event.IMPOSSIBLE: 99.0}.get(self.event, 1.0)
        view = SensorView("side", capture_ns - (0 if self.is_seen else 5 * CYCLE_NS))
        command = Command(capture_ns, "x", 0, acceleration, self.event is Event.BRAKE, None, True, (view,))
        if self.event is Event.DAMAGED:
            return PathInput(command, E2EState.ERROR)
        if event is Event.NOTHING:
            return PathInput(command, E2EState.NO_NEW_DATA)
        return PathInput(command, E2EState.WRONG_SEQUENCE if event is Event.OUT_OF_SEQUENCE else E2EState.OK)


@dataclass(frozen=True, slots=True)
class World:
    """The arbiter's memory, both registers, and what the invariants count on their own.

    `good`: good commands in a row per path. `dead`: cycles since a path was trusted, or since the start.
    """

    memory: ArbiterMemory = field(default_factory=ArbiterMemory)
    registers: tuple[Register, Register] = (Register(), Register())
    good: tuple[int, int] = (0, 0)
    dead: int = 0
    ever_trusted: bool = False

    @property
    def key(self) -> Hashable:
        memory = self.memory
        return (
            memory.state,
            min(memory.acceleration_m_s2, 0.0),
            memory.emergency,
            *((path.good_in_a_row, path.trusted) for path in (memory.primary, memory.backup)),
            *(register.key for register in self.registers),
            self.good,
            self.dead,
            self.ever_trusted,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One cycle out of a reachable world."""

    world: World
    first: Event
    second: Event
    is_seen: bool
    release: bool

    def complaints(self, table: Sequence[Row] = TABLE, scope: Scope = SMALL) -> list[str]:
        """The invariants that this cycle violates under `table`."""
        _, decision, broken = take(self, table, scope)
        return [f"{rule}: {self} -> {decision.state.value} by {decision.selected}" for rule in broken]


@dataclass(frozen=True, slots=True)
class Exploration:
    """`states`: how many worlds can be reached, by so many `steps`; `depth`: cycles to the last new one.

    `violated`: complaints. `samples`: steps, one of every kind.
    """

    states: int
    steps: int
    depth: int
    violated: list[str]
    samples: list[Step]


def explore(scope: Scope = SMALL) -> Exploration:
    """All worlds that can be reached under the table, and what every step out of each violates.

    They begin at a start, and at a start with the latch closed: that is what a clock that steps back leaves.
    """
    starts = (World(), World(ArbiterMemory(state=ArbiterState.MINIMAL_RISK)))
    seen, todo = {start.key for start in starts}, deque((start, 0) for start in starts)
    violated: list[str] = []
    samples: dict[Hashable, Step] = {}
    steps = depth = 0
    while todo and not violated:
        world, depth = todo.popleft()
        events = product(Event, Event if scope.in_full else _OF_BACKUP, _SIGHT_AND_RELEASE)
        for first, second, (is_seen, release) in events:
            if first is Event.NOTHING and not is_seen:
                continue  # no command that could carry a view
            step = Step(world, first, second, is_seen, release)
            after, _, broken = take(step, TABLE, scope)
            steps += 1
            if broken:
                violated += step.complaints(scope=scope)
            samples.setdefault((world.memory.state, release, _kind(after, scope)), step)
            if after.key not in seen:
                seen.add(after.key)
                todo.append((after, depth + 1))
    return Exploration(len(seen), steps, depth, violated, list(samples.values()))


#: For the second path one kind of bad data stands for the other.
_OF_BACKUP = tuple(event for event in Event if event is not Event.OLD)
_SIGHT_AND_RELEASE = ((True, False), (False, False), (True, True))


def _kind(after: World, scope: Scope) -> Hashable:
    """What tells steps apart for the table and for the choice of a command."""
    registers = tuple((r.is_usable, r.event is Event.BRAKE, r.is_seen) for r in after.registers)
    return (*(count >= scope.needed for count in after.good), after.dead, after.ever_trusted, registers)


def take(step: Step, table: Sequence[Row], scope: Scope = SMALL) -> tuple[World, ArbiterDecision, list[str]]:
    """The world after the step, the decision, and the invariants that it violates."""
    world, first, second = step.world, step.first, step.second
    now_ns = (world.memory.decided_at_ns or 0) + CYCLE_NS
    registers = (world.registers[0].after(first, step.is_seen), world.registers[1].after(second, True))
    inputs = ArbiterInputs(registers[0].given(first, now_ns), registers[1].given(second, now_ns), step.release)
    memory, decision = arbitrate(world.memory, inputs, now_ns, scope.policy, table)
    paths = zip(world.good, registers, (first, second), strict=True)
    good = tuple(_good(before, register, event, scope) for before, register, event in paths)
    is_trusted = max(good) >= scope.needed
    dead = 0 if is_trusted else min(world.dead + 1, scope.grace + scope.patience + 1)
    after = World(memory, registers, good, dead, world.ever_trusted or is_trusted)
    return after, decision, _complaints(world, after, decision, step.release, scope)


def _good(before: int, register: Register, event: Event, scope: Scope) -> int:
    if not register.is_usable or event is Event.OUT_OF_SEQUENCE:
        return 0
    return before if event is Event.NOTHING else min(before + 1, scope.needed)


def _expected(before: ArbiterState, after: World, release: bool, scope: Scope) -> ArbiterState:
    """The state by the words of the concept, from what was sent and never from the arbiter's own memory."""
    primary, backup = (count >= scope.needed for count in after.good)
    if before is ArbiterState.MINIMAL_RISK:
        if not (release and (primary or backup)):
            return before
        return ArbiterState.DEGRADED if primary else ArbiterState.BACKUP
    if primary:
        return ArbiterState.NOMINAL if after.registers[0].is_seen else ArbiterState.DEGRADED
    if backup:
        return ArbiterState.BACKUP
    waited = _waited(after, scope)
    if waited < 0:
        return ArbiterState.STARTING
    return ArbiterState.MINIMAL_RISK if waited >= scope.patience else ArbiterState.DEGRADED


def _waited(after: World, scope: Scope) -> int:
    """For how many cycles no path has been trusted, counted from the end of the grace at first."""
    return after.dead if after.ever_trusted else after.dead - scope.grace - 1


def _complaints(world: World, after: World, decision: ArbiterDecision, release: bool, scope: Scope) -> list[str]:
    """The invariants that this cycle violates."""
    command, state = decision.command, decision.state
    trusted = {"primary": after.good[0] >= scope.needed, "backup": after.good[1] >= scope.needed}
    usable = dict(zip(("primary", "backup"), (register.is_usable for register in after.registers), strict=True))
    braking = any(register.is_usable and register.event is Event.BRAKE for register in after.registers)
    selected = decision.selected
    was_latched, is_latched = (one is ArbiterState.MINIMAL_RISK for one in (world.memory.state, state))
    latched = was_latched and is_latched
    driver = next((name for name in ("primary", "backup") if trusted[name]), None)
    rules = (
        ("a valid command in every cycle", command.valid and -10.0 <= command.acceleration_m_s2 <= 4.0),
        ("the state follows from what was sent", state is _expected(world.memory.state, after, release, scope)),
        ("MINIMAL_RISK is left only by a release", is_latched or release or not was_latched),
        ("both paths dead lead to MINIMAL_RISK in time", is_latched or _waited(after, scope) < scope.patience),
        ("stale, damaged or impossible input is never selected", usable.get(selected, True)),
        ("no path drives before enough good commands", trusted.get(selected, True) or command.emergency),
        ("the first trusted path drives", driver is None or latched or selected == driver or command.emergency),
        ("an acceptable emergency is carried out", not braking or command.acceleration_m_s2 <= -8.0),
        (
            "MINIMAL_RISK brakes by itself",
            state is not ArbiterState.MINIMAL_RISK
            or (command.acceleration_m_s2 <= -4.0 and (selected == "minimal_risk" or command.emergency)),
        ),
        ("its own manoeuvre is MINIMAL_RISK", selected != "minimal_risk" or state is ArbiterState.MINIMAL_RISK),
        ("nothing accelerates without a trusted path", driver is not None or command.acceleration_m_s2 <= 0.0),
    )
    return [rule for rule, holds in rules if not holds]
