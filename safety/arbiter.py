"""Which command goes to the actuators: a pure function of its memory, its inputs, the time and the policy.

The rules, in the order in which they are applied:

1. A command is *acceptable* when it is there, intact (E2E), well formed, possible for the vehicle, young enough and,
   for the primary path, when a sensor that looks ahead is fresh in it. One that is read again is judged again.
2. A path is *trusted* after `recovery_commands` new acceptable commands in a row, each in sequence (E2E) and each one
   that can follow the one before it, and until the first command, or the first age, that breaks this.
3. The state and whose command is used follow from the table in `safety.transitions`. Where it says hold: brake as hard
   as an acceptable command asks; with none, as last commanded.
4. `minimal_risk_after_ns` without a trusted path (counted from the end of the grace at first) gives MINIMAL_RISK, a
   constant deceleration. It is latched: only a release requested while a path is trusted ends it.
5. Emergency braking outranks everything: an acceptable command of either path that asks for it is carried out in every
   state, trusted or not, in sequence or not. Trust guards normal driving; waiting for it would only delay the brake.

Every instant is integer nanoseconds on one time line. Nothing here raises for any value of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, InputCheck, SensorView
from rt_sched.messages.e2e import E2EState
from rt_sched.units import NS_PER_MS, format_ns
from safety.plausibility import CommandLimits, does_not_follow, impossible, in_plain_numbers, malformed
from safety.transitions import TABLE, Choice, Fact, Row, row_for


@dataclass(frozen=True, slots=True)
class ArbiterPolicy:
    """The limits. `view_age_limit_ns`: monitored sensor -> largest age of its view in a primary command.

    `forward_sensors`: the primary path is blind when none of these is fresh; empty: not checked. `backup_sensors`: what
    the backup path rests on; empty: not checked.
    """

    primary_age_limit_ns: int = 200 * NS_PER_MS
    backup_age_limit_ns: int = 300 * NS_PER_MS
    view_age_limit_ns: Mapping[str, int] = field(default_factory=dict)
    forward_sensors: tuple[str, ...] = ()
    backup_sensors: tuple[str, ...] = ()
    startup_grace_ns: int = 1000 * NS_PER_MS
    minimal_risk_after_ns: int = 300 * NS_PER_MS
    recovery_commands: int = 3
    minimal_risk_deceleration_m_s2: float = 4.0
    limits: CommandLimits = field(default_factory=CommandLimits)


@dataclass(frozen=True, slots=True)
class PathMemory:
    """What is remembered of one path: its last acceptable command, when that came, and the good ones in a row."""

    capture_time_ns: int | None = None
    acceleration_m_s2: float = 0.0
    came_at_ns: int = 0
    good_in_a_row: int = 0
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class ArbiterMemory:
    """What one decision leaves for the next. `trusted_at_ns`: last instant at which a trusted path commanded."""

    state: ArbiterState = ArbiterState.STARTING
    started_ns: int | None = None
    decided_at_ns: int | None = None
    trusted_at_ns: int | None = None
    primary: PathMemory = PathMemory()
    backup: PathMemory = PathMemory()
    acceleration_m_s2: float = 0.0
    emergency: bool = False
    decisions: int = 0


@dataclass(frozen=True, slots=True)
class PathInput:
    """The latest command of a path, None when it has published none, and what the E2E check said of it just now."""

    command: Command | None
    e2e: E2EState


@dataclass(frozen=True, slots=True)
class ArbiterInputs:
    """What one cycle looks at. `release`: a person has just asked to leave MINIMAL_RISK.

    `distrusted`: sensors of which a monitor has found something. `unvouched`: those for which nobody answers now.
    """

    primary: PathInput
    backup: PathInput
    release: bool = False
    distrusted: frozenset[str] = frozenset()
    unvouched: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A path in this cycle: its next memory, its command where that is acceptable, and what is wrong with it."""

    memory: PathMemory
    acceptable: Command | None
    doubt: str


def arbitrate(
    memory: ArbiterMemory,
    inputs: ArbiterInputs,
    now_ns: int,
    policy: ArbiterPolicy,
    table: Sequence[Row] = TABLE,
) -> tuple[ArbiterMemory, ArbiterDecision]:
    """The next memory and the decision at `now_ns`. The decision always carries a valid, finite, bounded command.

    A `now_ns` before the previous one starts a new epoch: all memory but a latched MINIMAL_RISK is forgotten.
    """
    inputs = replace(inputs, primary=_plain(inputs.primary), backup=_plain(inputs.backup))
    memory = _enter(memory, now_ns)
    started_ns = memory.started_ns if memory.started_ns is not None else now_ns
    fault = _fault(inputs.primary, now_ns, policy.primary_age_limit_ns, policy)
    stale = stale_sensors(_readable(inputs.primary), now_ns, started_ns, policy)
    stale = _with_doubted(stale, inputs, policy)
    if fault is None and _is_blind(inputs.primary.command, now_ns, policy, inputs.distrusted):
        fault = "no sensor that looks ahead is fresh and trusted"
    primary = _judge(memory.primary, inputs.primary, fault, now_ns, policy)
    fault = _fault(inputs.backup, now_ns, policy.backup_age_limit_ns, policy)
    if fault is None and policy.backup_sensors and inputs.distrusted.issuperset(policy.backup_sensors):
        fault = f"it rests on {', '.join(policy.backup_sensors)}, which monitors distrust"
    backup = _judge(memory.backup, inputs.backup, fault, now_ns, policy)

    trusted_at_ns = now_ns if primary.memory.trusted or backup.memory.trusted else memory.trusted_at_ns
    facts = _facts(primary, backup, bool(stale), inputs.release, trusted_at_ns, started_ns, now_ns, policy)
    row = row_for(memory.state, facts, table)
    reason = _reason(row, primary, backup, stale)
    selected, command = _selected(row.choice, memory, primary.acceptable, backup.acceptable, now_ns, policy)
    for name, candidate in (("primary", primary.acceptable), ("backup", backup.acceptable)):
        if candidate is not None and candidate.emergency and not _at_least_as_firm(command, candidate):
            selected, command = name, candidate
            reason = f"the {name} path asks for emergency braking; {reason}"

    decision = ArbiterDecision(
        capture_time_ns=command.capture_time_ns,
        decided_at_ns=now_ns,
        state=row.to,
        selected=selected,
        command=command,
        reason=reason,
        stale_sensors=stale,
        checks=(InputCheck("primary", inputs.primary.e2e), InputCheck("backup", inputs.backup.e2e)),
    )
    after = ArbiterMemory(
        state=row.to,
        started_ns=started_ns,
        decided_at_ns=now_ns,
        trusted_at_ns=trusted_at_ns,
        primary=primary.memory,
        backup=backup.memory,
        acceleration_m_s2=command.acceleration_m_s2,
        emergency=command.emergency,
        decisions=memory.decisions + 1,
    )
    return after, decision


def _plain(given: PathInput) -> PathInput:
    """The same input, with plain numbers where the command is well formed."""
    if given.command is None or malformed(given.command):
        return given
    return PathInput(in_plain_numbers(given.command), given.e2e)


def stale_sensors(command: Command | None, now_ns: int, started_ns: int, policy: ArbiterPolicy) -> tuple[str, ...]:
    """Monitored sensors whose view in `command` is older than its limit, sorted by name.

    A sensor without any view is stale once its limit has passed since the start: silence is a fault.
    """
    captures = _freshest(command.views if command is not None else ())
    return tuple(
        name
        for name, limit_ns in sorted(policy.view_age_limit_ns.items())
        if _is_stale(captures.get(name, started_ns), limit_ns, now_ns, policy)
    )


def _with_doubted(stale: tuple[str, ...], inputs: ArbiterInputs, policy: ArbiterPolicy) -> tuple[str, ...]:
    """The same, and every monitored sensor that monitors distrust or nobody vouches for."""
    doubted = (inputs.distrusted | inputs.unvouched) & {*policy.view_age_limit_ns, *policy.forward_sensors}
    return tuple(sorted({*stale, *doubted})) if doubted else stale


def _is_stale(capture_time_ns: int, limit_ns: int, now_ns: int, policy: ArbiterPolicy) -> bool:
    # A stamp from the future would look fresh for as long as it lies ahead.
    return not -policy.limits.future_tolerance_ns <= now_ns - capture_time_ns <= limit_ns


def _freshest(views: tuple[SensorView, ...]) -> dict[str, int]:
    captures: dict[str, int] = {}
    for view in views:
        captures[view.sensor] = max(view.capture_time_ns, captures.get(view.sensor, view.capture_time_ns))
    return captures


def _is_blind(command: Command | None, now_ns: int, policy: ArbiterPolicy, distrusted: frozenset[str]) -> bool:
    """Whether each forward sensor has no view in the command, or one older than its limit, or is distrusted."""
    captures = _freshest(command.views if command is not None else ())
    return bool(policy.forward_sensors) and all(
        name in distrusted
        or name not in captures
        or _is_stale(captures[name], policy.view_age_limit_ns.get(name, policy.primary_age_limit_ns), now_ns, policy)
        for name in policy.forward_sensors
    )


def _enter(memory: ArbiterMemory, now_ns: int) -> ArbiterMemory:
    if memory.started_ns is None:
        return replace(memory, started_ns=now_ns)
    if memory.decided_at_ns is not None and now_ns < memory.decided_at_ns:
        latched = memory.state is ArbiterState.MINIMAL_RISK
        state = ArbiterState.MINIMAL_RISK if latched else ArbiterState.STARTING
        return ArbiterMemory(state=state, started_ns=now_ns, decisions=memory.decisions)
    return memory


def _readable(given: PathInput) -> Command | None:
    """The command if its content can be believed to be what was sent, whatever its age."""
    return None if given.e2e is E2EState.ERROR or malformed(given.command) else given.command


def _fault(given: PathInput, now_ns: int, age_limit_ns: int, policy: ArbiterPolicy) -> str | None:
    """Why the command is not acceptable, or None."""
    if given.command is None:
        return "no command yet"
    if given.e2e is E2EState.ERROR:
        return "the command is damaged or not from this path (E2E)"
    fault = malformed(given.command) or impossible(given.command, now_ns, policy.limits)
    if fault is not None:
        return fault
    age_ns = now_ns - given.command.capture_time_ns
    if age_ns > age_limit_ns:
        return f"the command is {format_ns(age_ns)} old, limit {format_ns(age_limit_ns)}"
    return None


def _judge(path: PathMemory, given: PathInput, fault: str | None, now_ns: int, policy: ArbiterPolicy) -> _Verdict:
    """The path after this cycle: a command read again adds nothing, a doubtful one takes all trust away."""
    command = given.command
    if fault is not None or command is None:
        return _Verdict(replace(path, good_in_a_row=0, trusted=False), None, fault or "no command yet")
    if given.e2e is E2EState.NO_NEW_DATA:
        return _Verdict(path, command, _recovering(path, policy))
    doubt = None if given.e2e is E2EState.OK else f"the counter of the command: {given.e2e.value} (E2E)"
    if doubt is None and path.capture_time_ns is not None:
        since_ns = now_ns - path.came_at_ns
        doubt = does_not_follow(command, path.capture_time_ns, path.acceleration_m_s2, since_ns, policy.limits)
    good = 0 if doubt is not None else min(path.good_in_a_row + 1, policy.recovery_commands)
    memory = PathMemory(
        capture_time_ns=command.capture_time_ns,
        acceleration_m_s2=command.acceleration_m_s2,
        came_at_ns=now_ns,
        good_in_a_row=good,
        trusted=good >= policy.recovery_commands,
    )
    return _Verdict(memory, command, doubt or _recovering(memory, policy))


def _facts(
    primary: _Verdict,
    backup: _Verdict,
    is_stale: bool,
    released: bool,
    trusted_at_ns: int | None,
    started_ns: int,
    now_ns: int,
    policy: ArbiterPolicy,
) -> dict[Fact, bool]:
    grace_end_ns = started_ns + policy.startup_grace_ns
    since_ns = grace_end_ns if trusted_at_ns is None else trusted_at_ns
    return {
        Fact.PRIMARY: primary.memory.trusted,
        Fact.BACKUP: backup.memory.trusted,
        Fact.STALE: is_stale,
        Fact.STARTUP: trusted_at_ns is None and now_ns < grace_end_ns,
        Fact.OVERDUE: now_ns - since_ns >= policy.minimal_risk_after_ns,
        Fact.RELEASED: released,
    }


def _recovering(path: PathMemory, policy: ArbiterPolicy) -> str:
    return f"{path.good_in_a_row} of {policy.recovery_commands} good commands in a row"


def _reason(row: Row, primary: _Verdict, backup: _Verdict, stale: tuple[str, ...]) -> str:
    """Why the row applies, for people."""
    parts = [row.why] if row.why else []
    if row.choice is Choice.BACKUP or row.choice is Choice.HOLD:
        parts.append(f"primary: {primary.doubt}")
    if row.choice is Choice.HOLD or (row.choice is Choice.MINIMAL_RISK and row.why != "latched"):
        parts.append(f"backup: {backup.doubt}")
    if row.why == "stale":
        return f"stale: {', '.join(stale)}"
    return "; ".join(parts)


def _selected(
    choice: Choice,
    memory: ArbiterMemory,
    primary: Command | None,
    backup: Command | None,
    now_ns: int,
    policy: ArbiterPolicy,
) -> tuple[str, Command]:
    """The command of the choice, before emergency braking is looked at."""
    if choice is Choice.PRIMARY and primary is not None:
        return choice.value, primary
    if choice is Choice.BACKUP and backup is not None:
        return choice.value, backup
    if choice is Choice.MINIMAL_RISK:
        return choice.value, _own(memory, -policy.minimal_risk_deceleration_m_s2, False, now_ns)
    asked = [command.acceleration_m_s2 for command in (primary, backup) if command is not None]
    if asked:
        return Choice.HOLD.value, _own(memory, min(*asked, 0.0), False, now_ns)
    return Choice.HOLD.value, _own(memory, min(memory.acceleration_m_s2, 0.0), memory.emergency, now_ns)


def _own(memory: ArbiterMemory, acceleration_m_s2: float, emergency: bool, now_ns: int) -> Command:
    return Command(
        capture_time_ns=now_ns,
        source="arbiter",
        counter=memory.decisions,
        acceleration_m_s2=acceleration_m_s2,
        emergency=emergency,
        time_to_collision_ns=None,
        valid=True,
    )


def _at_least_as_firm(command: Command, candidate: Command) -> bool:
    if command.acceleration_m_s2 == candidate.acceleration_m_s2:
        return command.emergency
    return command.acceleration_m_s2 < candidate.acceleration_m_s2
