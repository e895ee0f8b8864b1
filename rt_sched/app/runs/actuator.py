"""What the actuators' side did in a run, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.messages import ArbiterDecision
from rt_sched.model import System
from safety.actuator import ActuatorPolicy
from safety.actuator_record import ActuatorRecord, cycles_over, recorded


def actuator_policy(system: System) -> ActuatorPolicy | None:
    """As the system declares it; None without an arbiter."""
    concept = system.safety
    arbiter = None if concept is None else next((task for task in system.tasks if task.name == concept.arbiter), None)
    return None if concept is None or arbiter is None else ActuatorPolicy.of(concept, arbiter.separation_ns)


def actuator_of_decisions(
    system: System, decisions: Sequence[tuple[int, ArbiterDecision]], end_ns: int
) -> dict[str, Any] | None:
    """Of a run of which all decisions are known, each with the instant at which it is sent; None without an arbiter."""
    policy = actuator_policy(system)
    return (
        None if policy is None else actuator_document(recorded(cycles_over(decisions, policy, end_ns), end_ns), policy)
    )


def actuator_document(record: ActuatorRecord, policy: ActuatorPolicy) -> dict[str, Any]:
    """Keys `actuator` of a summary."""
    return {
        "cycle_ns": policy.cycle_ns,
        "command_age_limit_ns": policy.command_age_limit_ns,
        "bound_ns": policy.bound_ns,
        "cycles": record.cycles,
        "commands": record.commands,
        "refused": record.refused,
        "refusals": record.doubts,
        "longest_gap_ns": record.longest_gap_ns,
        "looks_apart_max_ns": record.looks_apart_ns,
        "oldest_command_ns": record.oldest_ns,
        "state_time_ns": {state.value: time_ns for state, time_ns in record.state_time_ns.items()},
        "minimal_risk": [{"since_ns": one.since_ns, "after_ns": one.after_ns} for one in record.risks],
    }
