"""What the actuators' side did over a run, from what it applied in each cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rt_sched.messages.control import ArbiterDecision
from rt_sched.messages.e2e import E2EState
from safety.actuator import ActuatorInput, ActuatorMemory, ActuatorPolicy, ActuatorState, Applied, actuate


@dataclass(frozen=True, slots=True)
class Risk:
    """MINIMAL_RISK from `since_ns` on, `after_ns` after the last acceptable command was sent."""

    since_ns: int
    after_ns: int


@dataclass(slots=True)
class ActuatorRecord:
    """Counts over all cycles. `commands`: accepted. `longest_gap_ns`: between the sending of two that were.

    `looks_apart_ns`: the longest time between two cycles. `oldest_ns`: the largest age of a command that was applied.
    `state_time_ns`: from each cycle to the next. `doubts`: why others were not accepted, each reason once.
    """

    cycles: int = 0
    commands: int = 0
    refused: int = 0
    longest_gap_ns: int | None = None
    looks_apart_ns: int | None = None
    oldest_ns: int | None = None
    state_time_ns: dict[ActuatorState, int] = field(default_factory=lambda: dict.fromkeys(ActuatorState, 0))
    risks: list[Risk] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


def recorded(applied: Iterable[Applied], end_ns: int) -> ActuatorRecord:
    """The record of all cycles, in their order, of a run that ends at `end_ns`."""
    record, before = ActuatorRecord(), None
    sent_ns: int | None = None
    for one in applied:
        record.cycles += 1
        if before is not None:
            record.state_time_ns[before.state] += one.time_ns - before.time_ns
            record.looks_apart_ns = max(record.looks_apart_ns or 0, one.time_ns - before.time_ns)
        if one.accepted and one.age_ns is not None:
            record.commands += 1
            if sent_ns is not None:
                record.longest_gap_ns = max(record.longest_gap_ns or 0, one.time_ns - one.age_ns - sent_ns)
            sent_ns = one.time_ns - one.age_ns
        if one.doubt is not None:
            record.refused += 1
            if one.doubt not in record.doubts:
                record.doubts.append(one.doubt)
        if one.state is ActuatorState.FOLLOWING and one.age_ns is not None:
            record.oldest_ns = max(record.oldest_ns or 0, one.age_ns)
        if one.state is ActuatorState.MINIMAL_RISK and (before is None or before.state is not one.state):
            record.risks.append(Risk(one.time_ns, one.age_ns or 0))
        before = one
    if before is not None:
        record.state_time_ns[before.state] += max(end_ns - before.time_ns, 0)
    return record


def cycles_over(
    decisions: Sequence[tuple[int, ArbiterDecision]], policy: ActuatorPolicy, end_ns: int
) -> Iterator[Applied]:
    """What would be applied in every cycle from 0 until `end_ns`.

    `decisions`: of the arbiter, each with the instant at which it is sent and there, in order; all of them intact.
    """
    memory, following = ActuatorMemory(), 0
    for now_ns in range(0, end_ns, policy.cycle_ns):
        seen = following
        while following < len(decisions) and decisions[following][0] <= now_ns:
            following += 1
        given = ActuatorInput(None, E2EState.NO_NEW_DATA)
        if following > seen:
            sent_ns, decision = decisions[following - 1]
            given = ActuatorInput(decision.command, E2EState.OK, sent_ns)
        memory, applied = actuate(memory, given, now_ns, policy)
        yield applied
