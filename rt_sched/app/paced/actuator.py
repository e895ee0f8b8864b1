"""The actuators' side of a paced run: what it is told, and what it did."""

from __future__ import annotations

from typing import Any

from rt_sched.app.runs.actuator import actuator_document, actuator_policy, release_input
from rt_sched.messages import ArbiterDecision
from rt_sched.model import System
from rt_sched.ports import StageCatalogue, StageDescription
from rt_sched.runtime.paced.actuator import ActuatorOrder, ActuatorSide


def actuator_order(system: System, catalogue: StageCatalogue) -> ActuatorOrder | None:
    """Whose commands it applies, and how; None without an arbiter."""
    policy = actuator_policy(system)
    if policy is None or system.safety is None:
        return None
    arbiter = next(task for task in system.tasks if task.name == system.safety.arbiter)
    described = catalogue.describe(arbiter.stage)
    if not isinstance(described, StageDescription):
        return None
    port = next(name for name, kind in described.outputs.items() if issubclass(kind, ArbiterDecision))
    release = release_input(system)
    origin = None if release is None or release.port is None else (release.source, release.port)
    return ActuatorOrder(arbiter.name, port, policy, origin)


def actuator_of_run(side: ActuatorSide | None) -> dict[str, Any] | None:
    """The key `actuator` of the summary; `cpu_ns`: what its cycles took."""
    if side is None:
        return None
    return {**actuator_document(side.record(), side.policy), "cpu_ns": side.cpu_ns}
