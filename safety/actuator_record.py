"""What the actuators' side did over a run, from what it applied in each cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from rt_sched.messages.control import ArbiterDecision, ReleaseRequest
from rt_sched.messages.e2e import E2EState
from safety.actuator import ActuatorInput, ActuatorMemory, ActuatorPolicy, ActuatorState, Applied, actuate

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class Risk:
    """MINIMAL_RISK from `since_ns` on, `after_ns` after the last acceptable command was sent.

    `released_ns`: when a request ended it; None: it lasted to the end of the run.
    """

    since_ns: int
    after_ns: int
    released_ns: int | None = None


@dataclass(slots=True)
class ActuatorRecord:
    """Counts over all cycles. `commands`: accepted. `longest_gap_ns`: between the sending of two that were.

    `looks_apart_ns`: the longest time between two cycles. `oldest_ns`: the largest age of a command that was applied.
    `state_time_ns`: from each cycle to the next. `doubts`: why others were not accepted, each reason once.
    `releases_refused`: requests in MINIMAL_RISK that released nothing, `release_doubts` why, each reason once.
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
    releases_refused: int = 0
    release_doubts: list[str] = field(default_factory=list)


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
        if one.refused is not None:
            record.releases_refused += 1
            if one.refused not in record.release_doubts:
                record.release_doubts.append(one.refused)
        was_at_risk = before is not None and before.state is ActuatorState.MINIMAL_RISK
        if one.state is ActuatorState.MINIMAL_RISK and not was_at_risk:
            record.risks.append(Risk(one.time_ns, one.age_ns or 0))
        elif was_at_risk and one.state is not ActuatorState.MINIMAL_RISK:
            record.risks[-1] = replace(record.risks[-1], released_ns=one.time_ns)
        before = one
    if before is not None:
        record.state_time_ns[before.state] += max(end_ns - before.time_ns, 0)
    return record


def cycles_over(
    decisions: Sequence[tuple[int, ArbiterDecision]],
    policy: ActuatorPolicy,
    end_ns: int,
    releases: Sequence[tuple[int, ReleaseRequest]] = (),
) -> Iterator[Applied]:
    """What would be applied in every cycle from 0 until `end_ns`.

    `decisions`: of the arbiter, `releases`: of a person, each with the instant at which it is sent and there, in order;
    all of them intact.
    """
    memory, decided, released = ActuatorMemory(), _Latest(decisions), _Latest(releases)
    for now_ns in range(0, end_ns, policy.cycle_ns):
        decision, request = decided.new(now_ns), released.new(now_ns)
        given = ActuatorInput(None, E2EState.NO_NEW_DATA)
        if decision is not None:
            given = ActuatorInput(decision[1].command, E2EState.OK, decision[0])
        if request is not None:
            given = replace(given, release=request[1], release_e2e=E2EState.OK)
        memory, applied = actuate(memory, given, now_ns, policy)
        yield applied


class _Latest(Generic[Message]):
    """A register over messages that are sent at known instants, in order."""

    def __init__(self, sent: Sequence[tuple[int, Message]]) -> None:
        self._sent, self._following = sent, 0

    def new(self, now_ns: int) -> tuple[int, Message] | None:
        """The last one that is there, where it came since the look before."""
        seen = self._following
        while self._following < len(self._sent) and self._sent[self._following][0] <= now_ns:
            self._following += 1
        return self._sent[self._following - 1] if self._following > seen else None
