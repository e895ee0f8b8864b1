"""The reaction of the actuators' side to a fault, where it comes before any of the arbiter's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rt_sched.faults.outcomes import Outcome, Reaction
from safety.actuator import ActuatorState


def with_actuators(found: Sequence[Outcome], risks_ns: Iterable[int]) -> list[Outcome]:
    """`risks_ns`: when the actuators' side went to MINIMAL_RISK. It counts for the last fault that had begun then."""
    risks = sorted(risks_ns)
    return [_with(outcome, found, risks) for outcome in found]


def _with(outcome: Outcome, found: Sequence[Outcome], risks_ns: Sequence[int]) -> Outcome:
    begin_ns = outcome.strike.begin_ns
    next_ns = min((one.strike.begin_ns for one in found if one.strike.begin_ns > begin_ns), default=None)
    since_ns = next((ns for ns in risks_ns if ns >= begin_ns and (next_ns is None or ns < next_ns)), None)
    if since_ns is None or (outcome.reaction is not None and outcome.reaction.since_ns <= since_ns):
        return outcome
    return replace(outcome, reaction=Reaction(since_ns, ActuatorState.MINIMAL_RISK.value, "actuator", None))
