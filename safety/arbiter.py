"""Which command goes to the actuators: a pure function of its memory, its inputs, the time and the policy.

The rules, in the order in which they are applied:

1. A command is *acceptable* when it is there, says it is valid, is plausible, is young enough and, for the primary
   path, when at least one sensor that looks ahead is fresh in it. A command that is read again is judged again by age.
2. A path is *trusted* after `recovery_commands` acceptable commands in a row whose counter and capture stamp advance,
   and until the first that breaks this.
3. A trusted primary path commands: NOMINAL, or DEGRADED while a monitored sensor's view in it is stale.
   Else a trusted backup path commands: BACKUP. Else, during the start-up grace, nothing is asked for: STARTING.
   Else DEGRADED without a trusted path: brake as hard as an acceptable command asks; with none, as last commanded.
4. `minimal_risk_after_ns` without a trusted path (counted from the end of the grace at first) gives MINIMAL_RISK, a
   constant deceleration. It is latched: no input ends it.
5. Emergency braking outranks everything: an acceptable command of either path that asks for it is carried out in every
   state, trusted or not, in sequence or not. Trust guards normal driving; waiting for it would only delay the brake.

Every instant is integer nanoseconds on one time line. Nothing here raises for any value of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, SensorView
from rt_sched.units import NS_PER_MS, format_ns


@dataclass(frozen=True, slots=True)
class ArbiterPolicy:
    """The limits. `view_age_limit_ns`: monitored sensor -> largest age of its view in a primary command.

    `forward_sensors`: the primary path is blind when none of these is fresh; empty: not checked.
    `future_tolerance_ns`: how far a capture stamp may lie ahead of now.
    """

    primary_age_limit_ns: int = 200 * NS_PER_MS
    backup_age_limit_ns: int = 300 * NS_PER_MS
    view_age_limit_ns: Mapping[str, int] = field(default_factory=dict)
    forward_sensors: tuple[str, ...] = ()
    startup_grace_ns: int = 1000 * NS_PER_MS
    minimal_risk_after_ns: int = 300 * NS_PER_MS
    future_tolerance_ns: int = 20 * NS_PER_MS
    recovery_commands: int = 3
    max_acceleration_m_s2: float = 4.0
    max_deceleration_m_s2: float = 10.0
    minimal_risk_deceleration_m_s2: float = 4.0


@dataclass(frozen=True, slots=True)
class PathMemory:
    """What is remembered of one path: its last command's identity and the acceptable commands in a row."""

    counter: int | None = None
    capture_time_ns: int | None = None
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
class ArbiterInputs:
    """The latest command of each path; None when it has published none."""

    primary: Command | None
    backup: Command | None


def arbitrate(
    memory: ArbiterMemory, inputs: ArbiterInputs, now_ns: int, policy: ArbiterPolicy
) -> tuple[ArbiterMemory, ArbiterDecision]:
    """The next memory and the decision at `now_ns`. The decision always carries a valid, finite, bounded command.

    A `now_ns` before the previous one starts a new epoch: all memory but a latched MINIMAL_RISK is forgotten.
    """
    memory = _enter(memory, now_ns)
    started_ns = memory.started_ns if memory.started_ns is not None else now_ns
    stale = stale_sensors(inputs.primary, now_ns, started_ns, policy)

    primary_fault = _fault(inputs.primary, now_ns, policy.primary_age_limit_ns, policy)
    if (
        primary_fault is None
        and policy.forward_sensors
        and set(policy.forward_sensors) <= _unseen(inputs, now_ns, policy)
    ):
        primary_fault = "no sensor that looks ahead is fresh"
    backup_fault = _fault(inputs.backup, now_ns, policy.backup_age_limit_ns, policy)
    acceptable: list[tuple[str, Command]] = []
    if inputs.primary is not None and primary_fault is None:
        acceptable.append(("primary", inputs.primary))
    if inputs.backup is not None and backup_fault is None:
        acceptable.append(("backup", inputs.backup))

    primary_doubt = primary_fault or _out_of_sequence(inputs.primary, memory.primary)
    backup_doubt = backup_fault or _out_of_sequence(inputs.backup, memory.backup)
    primary = _judge(memory.primary, inputs.primary, primary_doubt, policy)
    backup = _judge(memory.backup, inputs.backup, backup_doubt, policy)
    doubts = (
        f"primary: {primary_doubt or _recovering(primary, policy)}",
        f"backup: {backup_doubt or _recovering(backup, policy)}",
    )
    state, reason = _state(memory, primary, backup, doubts, stale, now_ns, started_ns, policy)
    selected, command = _select(state, memory, primary, backup, acceptable, now_ns, policy)
    for name, candidate in acceptable:
        if candidate.emergency and not _at_least_as_firm(command, candidate):
            selected, command = name, candidate
            reason = f"the {name} path asks for emergency braking; {reason}"

    decision = ArbiterDecision(
        capture_time_ns=command.capture_time_ns,
        decided_at_ns=now_ns,
        state=state,
        selected=selected,
        command=command,
        reason=reason,
        stale_sensors=stale,
    )
    after = ArbiterMemory(
        state=state,
        started_ns=started_ns,
        decided_at_ns=now_ns,
        trusted_at_ns=now_ns if primary.trusted or backup.trusted else memory.trusted_at_ns,
        primary=primary,
        backup=backup,
        acceleration_m_s2=command.acceleration_m_s2,
        emergency=command.emergency,
        decisions=memory.decisions + 1,
    )
    return after, decision


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


def _is_stale(capture_time_ns: int, limit_ns: int, now_ns: int, policy: ArbiterPolicy) -> bool:
    # A stamp from the future would look fresh for as long as it lies ahead.
    return not -policy.future_tolerance_ns <= now_ns - capture_time_ns <= limit_ns


def _freshest(views: tuple[SensorView, ...]) -> dict[str, int]:
    captures: dict[str, int] = {}
    for view in views:
        captures[view.sensor] = max(view.capture_time_ns, captures.get(view.sensor, view.capture_time_ns))
    return captures


def _unseen(inputs: ArbiterInputs, now_ns: int, policy: ArbiterPolicy) -> set[str]:
    """Forward sensors with no view in the primary command, or one older than its limit."""
    captures = _freshest(inputs.primary.views) if inputs.primary is not None else {}
    return {
        name
        for name in policy.forward_sensors
        if name not in captures
        or _is_stale(captures[name], policy.view_age_limit_ns.get(name, policy.primary_age_limit_ns), now_ns, policy)
    }


def _enter(memory: ArbiterMemory, now_ns: int) -> ArbiterMemory:
    if memory.started_ns is None:
        return replace(memory, started_ns=now_ns)
    if memory.decided_at_ns is not None and now_ns < memory.decided_at_ns:
        latched = memory.state is ArbiterState.MINIMAL_RISK
        state = ArbiterState.MINIMAL_RISK if latched else ArbiterState.STARTING
        return ArbiterMemory(state=state, started_ns=now_ns, decisions=memory.decisions)
    return memory


def _fault(command: Command | None, now_ns: int, age_limit_ns: int, policy: ArbiterPolicy) -> str | None:
    """Why `command` is not acceptable, or None."""
    if command is None:
        return "no command yet"
    if not command.valid:
        return "the command says it is not valid"
    acceleration = command.acceleration_m_s2
    if not math.isfinite(acceleration):
        return "the acceleration is not a finite number"
    if not -policy.max_deceleration_m_s2 <= acceleration <= policy.max_acceleration_m_s2:
        return f"the acceleration {acceleration:.1f} m/s^2 is out of bounds"
    if command.emergency and acceleration >= 0.0:
        return "emergency without braking"
    if command.time_to_collision_ns is not None and command.time_to_collision_ns < 0:
        return "the time to collision is negative"
    age_ns = now_ns - command.capture_time_ns
    if age_ns < -policy.future_tolerance_ns:
        return f"the capture stamp lies {format_ns(-age_ns)} in the future"
    if age_ns > age_limit_ns:
        return f"the command is {format_ns(age_ns)} old, limit {format_ns(age_limit_ns)}"
    return None


def _out_of_sequence(command: Command | None, path: PathMemory) -> str | None:
    """Why `command` cannot follow the path's last one, or None."""
    if command is None or path.counter is None or path.capture_time_ns is None:
        return None
    repeated = command.counter == path.counter
    if command.counter < path.counter or (repeated and command.capture_time_ns != path.capture_time_ns):
        return f"the counter went from {path.counter} to {command.counter}"
    if command.capture_time_ns < path.capture_time_ns:
        return "the capture stamp stepped back"
    return None


def _judge(path: PathMemory, command: Command | None, doubt: str | None, policy: ArbiterPolicy) -> PathMemory:
    """Trust after `command`: a command read again adds nothing, a doubtful one takes all of it away."""
    if command is None:
        return PathMemory(path.counter, path.capture_time_ns)
    if doubt is not None:
        return PathMemory(command.counter, command.capture_time_ns)
    good = path.good_in_a_row
    # Right after a fault the same command must not count as the first good one: nothing new has arrived.
    if command.counter != path.counter:
        good = min(good + 1, policy.recovery_commands)
    trusted = path.trusted or good >= policy.recovery_commands
    return PathMemory(command.counter, command.capture_time_ns, good, trusted)


def _state(
    memory: ArbiterMemory,
    primary: PathMemory,
    backup: PathMemory,
    doubts: tuple[str, str],
    stale: tuple[str, ...],
    now_ns: int,
    started_ns: int,
    policy: ArbiterPolicy,
) -> tuple[ArbiterState, str]:
    if memory.state is ArbiterState.MINIMAL_RISK:
        return ArbiterState.MINIMAL_RISK, "latched"
    if primary.trusted:
        if stale:
            return ArbiterState.DEGRADED, f"stale: {', '.join(stale)}"
        return ArbiterState.NOMINAL, "primary path trusted"
    if backup.trusted:
        return ArbiterState.BACKUP, doubts[0]
    doubt = "; ".join(doubts)
    grace_end_ns = started_ns + policy.startup_grace_ns
    if memory.trusted_at_ns is None and now_ns < grace_end_ns:
        return ArbiterState.STARTING, doubt
    since_ns = grace_end_ns if memory.trusted_at_ns is None else memory.trusted_at_ns
    if now_ns - since_ns >= policy.minimal_risk_after_ns:
        return ArbiterState.MINIMAL_RISK, f"no trusted path for {format_ns(now_ns - since_ns)}; {doubt}"
    return ArbiterState.DEGRADED, f"no trusted path; {doubt}"


def _recovering(path: PathMemory, policy: ArbiterPolicy) -> str:
    return f"{path.good_in_a_row} of {policy.recovery_commands} good commands in a row"


def _select(
    state: ArbiterState,
    memory: ArbiterMemory,
    primary: PathMemory,
    backup: PathMemory,
    acceptable: list[tuple[str, Command]],
    now_ns: int,
    policy: ArbiterPolicy,
) -> tuple[str, Command]:
    """The command of the state, before emergency braking is looked at."""
    if state is ArbiterState.MINIMAL_RISK:
        return "minimal_risk", _own(memory, -policy.minimal_risk_deceleration_m_s2, False, now_ns)
    trusted = {"primary": primary.trusted, "backup": backup.trusted}
    for name, command in acceptable:
        if trusted[name]:
            return name, command
    if acceptable:
        asked = min(command.acceleration_m_s2 for _, command in acceptable)
        return "hold", _own(memory, min(asked, 0.0), False, now_ns)
    return "hold", _own(memory, min(memory.acceleration_m_s2, 0.0), memory.emergency, now_ns)


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
