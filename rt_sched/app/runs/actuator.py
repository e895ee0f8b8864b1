"""What the actuators' side did in a run, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.messages import ArbiterDecision, ReleaseRequest
from rt_sched.model import Input, System, Task
from rt_sched.units import NS_PER_MS
from safety.actuator import ActuatorPolicy
from safety.actuator_record import ActuatorRecord, cycles_over, recorded
from safety.release import RELEASE_AGE_LIMIT_NS


def actuator_policy(system: System) -> ActuatorPolicy | None:
    """As the system declares it; None without an arbiter."""
    arbiter = _arbiter(system)
    if system.safety is None or arbiter is None:
        return None
    age_limit_ms = dict(arbiter.parameters).get("release_age_limit_ms", RELEASE_AGE_LIMIT_NS / NS_PER_MS)
    return ActuatorPolicy.of(system.safety, arbiter.separation_ns, int(age_limit_ms * NS_PER_MS))


def release_input(system: System) -> Input | None:
    """The arbiter's input of requests to leave MINIMAL_RISK, which the actuators' side reads, too; None without one."""
    arbiter = _arbiter(system)
    inputs = () if arbiter is None else arbiter.inputs
    return next((given for given in inputs if given.name == "release" and given.port is not None), None)


def _arbiter(system: System) -> Task | None:
    name = None if system.safety is None else system.safety.arbiter
    return next((task for task in system.tasks if task.name == name), None)


def actuator_of_decisions(
    system: System,
    decisions: Sequence[tuple[int, ArbiterDecision]],
    releases: Sequence[tuple[int, ReleaseRequest]],
    end_ns: int,
) -> dict[str, Any] | None:
    """Of a run of which all decisions and requests for a release are known, each with the instant at which it is sent.

    None without an arbiter.
    """
    policy = actuator_policy(system)
    if policy is None:
        return None
    return actuator_document(recorded(cycles_over(decisions, policy, end_ns, releases), end_ns), policy)


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
        "minimal_risk": [
            {"since_ns": one.since_ns, "after_ns": one.after_ns, "released_ns": one.released_ns} for one in record.risks
        ],
        "releases_refused": record.releases_refused,
        "release_refusals": record.release_doubts,
    }
