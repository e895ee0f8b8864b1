"""The arbiter as a stage: keeps the memory, builds the policy from parameters and the sensors of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rt_sched.messages.control import ArbiterDecision, Command
from rt_sched.ports.stage import JobContext, SensorDescription, StageBase, StageContext
from rt_sched.units import NS_PER_MS
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, arbitrate
from safety.parameters import checked, checked_ms

#: Default age limit of a view: so many periods of its sensor, plus the time that the chain to the command may take.
VIEW_PERIODS = 3
CHAIN_BUDGET_NS = 100 * NS_PER_MS

#: Default age limit of a command: so many periods of the sensor it rests on plus the chain's budget, at least this.
COMMAND_PERIODS = 2
LEAST_COMMAND_LIMIT_NS = 200 * NS_PER_MS

#: Cosine of the largest angle between a camera's optical axis and straight ahead at which it counts as looking ahead.
FORWARD_COSINE = 0.7


class Arbiter(StageBase):
    """Commands of the primary and backup path -> the decision for the actuators; see `safety.arbiter` for the rules.

    Time-triggered; "now" is the job's arrival. Either input may be None, for one job or for a whole run.
    `command_age_limit_ms`: for the primary path; None takes two periods of the fastest forward sensor plus 100 ms.
    `backup_age_limit_ms`: None takes the same of the slowest LiDAR. Neither is then below 200 ms.
    `view_age_limit_ms`: sensor -> limit; None monitors every camera and LiDAR of the run with three of its periods
    plus 100 ms. `forward_sensors`: None takes the LiDARs and the cameras that look ahead (or whose pose is unknown).
    Other parameters as in `ArbiterPolicy`. Raises ValueError for a parameter out of range.
    """

    inputs: ClassVar[Mapping[str, type]] = {"primary": Command, "backup": Command}
    outputs: ClassVar[Mapping[str, type]] = {"decision": ArbiterDecision}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"primary", "backup"})
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        command_age_limit_ms: float | None = None,
        backup_age_limit_ms: float | None = None,
        view_age_limit_ms: Mapping[str, float] | None = None,
        forward_sensors: Sequence[str] | None = None,
        startup_grace_ms: float = 1000.0,
        minimal_risk_after_ms: float = 300.0,
        future_tolerance_ms: float = 20.0,
        recovery_commands: int = 3,
        max_acceleration_m_s2: float = 4.0,
        max_deceleration_m_s2: float = 10.0,
        minimal_risk_deceleration_m_s2: float = 4.0,
    ) -> None:
        if isinstance(recovery_commands, bool) or not isinstance(recovery_commands, int):
            raise ValueError(f"recovery_commands: {recovery_commands!r} is not a whole number; valid: from 1 to 1000")
        self._primary_ns = _optional_ms("command_age_limit_ms", command_age_limit_ms)
        self._backup_ns = _optional_ms("backup_age_limit_ms", backup_age_limit_ms)
        limits = None if view_age_limit_ms is None else dict(view_age_limit_ms)
        self._limits_ns = (
            None
            if limits is None
            else {name: checked_ms(f"view_age_limit_ms.{name}", value, 1.0, 60_000.0) for name, value in limits.items()}
        )
        self._forward = None if forward_sensors is None else tuple(forward_sensors)
        deceleration = checked("max_deceleration_m_s2", max_deceleration_m_s2, 0.1, 15.0)
        self._policy = ArbiterPolicy(
            startup_grace_ns=checked_ms("startup_grace_ms", startup_grace_ms, 0.0, 60_000.0),
            minimal_risk_after_ns=checked_ms("minimal_risk_after_ms", minimal_risk_after_ms, 0.0, 10_000.0),
            future_tolerance_ns=checked_ms("future_tolerance_ms", future_tolerance_ms, 0.0, 1_000.0),
            recovery_commands=int(checked("recovery_commands", recovery_commands, 1, 1000)),
            max_acceleration_m_s2=checked("max_acceleration_m_s2", max_acceleration_m_s2, 0.0, 10.0),
            max_deceleration_m_s2=deceleration,
            minimal_risk_deceleration_m_s2=checked(
                "minimal_risk_deceleration_m_s2", minimal_risk_deceleration_m_s2, 0.1, deceleration
            ),
        )
        self._memory = ArbiterMemory()

    @property
    def policy(self) -> ArbiterPolicy:
        """The limits in force; complete after `start`."""
        return self._policy

    def start(self, context: StageContext) -> None:
        watched = [sensor for _, sensor in sorted(context.sensors.items()) if sensor.kind in ("camera", "lidar")]
        limits_ns = self._limits_ns
        if limits_ns is None:
            limits_ns = {sensor.name: VIEW_PERIODS * sensor.period_ns + CHAIN_BUDGET_NS for sensor in watched}
        forward = self._forward
        if forward is None:
            forward = tuple(sensor.name for sensor in watched if _looks_ahead(sensor))
        ahead = [sensor.period_ns for sensor in watched if sensor.name in forward]
        lidars = [sensor.period_ns for sensor in watched if sensor.kind == "lidar"]
        self._policy = replace(
            self._policy,
            primary_age_limit_ns=self._primary_ns or _command_limit_ns(min(ahead, default=0)),
            backup_age_limit_ns=self._backup_ns or _command_limit_ns(max(lidars, default=0)),
            view_age_limit_ns=limits_ns,
            forward_sensors=forward,
        )
        self._memory = ArbiterMemory()

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        commands = ArbiterInputs(primary=inputs.get("primary"), backup=inputs.get("backup"))
        self._memory, decision = arbitrate(self._memory, commands, job.arrival_ns, self._policy)
        return {"decision": decision}


def _optional_ms(name: str, value: float | None) -> int | None:
    return None if value is None else checked_ms(name, value, 1.0, 10_000.0)


def _command_limit_ns(period_ns: int) -> int:
    return max(COMMAND_PERIODS * period_ns + CHAIN_BUDGET_NS, LEAST_COMMAND_LIMIT_NS)


def _looks_ahead(sensor: SensorDescription) -> bool:
    # The optical axis is the camera's z axis, so its forward part stands in row 0, column 2 of the pose.
    if sensor.kind == "lidar" or sensor.sensor_to_vehicle is None:
        return True
    return sensor.sensor_to_vehicle[0][2] >= FORWARD_COSINE
