"""The arbiter as a stage: keeps the memory, builds the policy from parameters and the sensors of the run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rt_sched.errors import DeploymentError
from rt_sched.messages.authentication import Authenticator
from rt_sched.messages.control import ArbiterDecision, Command, ReleaseRequest
from rt_sched.messages.e2e import COUNTER_MODULUS, MAX_COUNTER_STEP, E2EMemory, E2EState, check, without_header
from rt_sched.messages.health import SensorHealth
from rt_sched.ports.stage import JobContext, SensorDescription, StageBase, StageContext, Watch
from rt_sched.units import NS_PER_MS
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, PathInput, arbitrate
from safety.parameters import checked, checked_ms, checked_names, checked_times, checked_whole, unknown_name
from safety.plausibility import CommandLimits
from safety.release import ANY_STEP_AHEAD, RELEASE_AGE_LIMIT_NS, refused_release
from safety.vouching import GOOD_SAMPLES, HEALTH_INPUT, MOST_GOOD_SAMPLES, Vouching

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

    Time-triggered; "now" is the job's arrival. Any input may be None, for one job or for a whole run. Commands without
    an intact E2E header from the task that the input is connected to count as damaged.
    `release`: a person's request to leave MINIMAL_RISK; each is good once, for `release_age_limit_ms`.
    `command_age_limit_ms`: for the primary path; None takes two periods of the fastest forward sensor plus 100 ms.
    `backup_age_limit_ms`: None takes the same of the slowest LiDAR. Neither is then below 200 ms.
    `view_age_limit_ms`: sensor -> limit; None monitors every camera and LiDAR of the run with three of its periods
    plus 100 ms. `forward_sensors`: None takes the LiDARs and the cameras that look ahead (or whose pose is unknown).
    `max_counter_step`: by how much a path's counter may grow from one command read to the next.
    `health_age_limit_ms`: how old the last report of the sensors' monitors may be; None: it is not fed by them.
    `recovery_samples`: so many good ones in a row give the trust in a sensor back. Both count where reports come in.
    Other parameters as in `ArbiterPolicy` and `CommandLimits`. Raises ValueError for a parameter out of range,
    DeploymentError at start for a sensor that the run does not have.
    """

    inputs: ClassVar[Mapping[str, type]] = {
        "primary": Command,
        "backup": Command,
        "release": ReleaseRequest,
        HEALTH_INPUT: SensorHealth,
    }
    outputs: ClassVar[Mapping[str, type]] = {"decision": ArbiterDecision}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"primary", "backup", "release", HEALTH_INPUT})
    stateful: ClassVar[bool] = True
    checks_e2e: ClassVar[bool] = True
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "view_age_limit_ms": ("camera", "lidar", "imu"),
        "forward_sensors": ("camera", "lidar"),
    }

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
        release_age_limit_ms: float = RELEASE_AGE_LIMIT_NS / NS_PER_MS,
        recovery_commands: int = 3,
        health_age_limit_ms: float | None = None,
        recovery_samples: int = GOOD_SAMPLES,
        max_counter_step: int = MAX_COUNTER_STEP,
        max_acceleration_m_s2: float = 4.0,
        max_deceleration_m_s2: float = 10.0,
        max_rate_m_s3: float = 200.0,
        minimal_risk_deceleration_m_s2: float = 4.0,
    ) -> None:
        self._max_step = checked_whole("max_counter_step", max_counter_step, 1, COUNTER_MODULUS // 2 - 1)
        self._release_age_ns = checked_ms("release_age_limit_ms", release_age_limit_ms, 1.0, 60_000.0)
        self._primary_ns = _optional_ms("command_age_limit_ms", command_age_limit_ms)
        self._backup_ns = _optional_ms("backup_age_limit_ms", backup_age_limit_ms)
        self._health_ns = _optional_ms("health_age_limit_ms", health_age_limit_ms)
        checked_whole("recovery_samples", recovery_samples, 1, MOST_GOOD_SAMPLES)
        self._limits_ns = (
            None if view_age_limit_ms is None else checked_times("view_age_limit_ms", view_age_limit_ms, 1.0, 60_000.0)
        )
        self._forward = None if forward_sensors is None else checked_names("forward_sensors", forward_sensors)
        deceleration = checked("max_deceleration_m_s2", max_deceleration_m_s2, 0.1, 15.0)
        self._policy = ArbiterPolicy(
            startup_grace_ns=checked_ms("startup_grace_ms", startup_grace_ms, 0.0, 60_000.0),
            minimal_risk_after_ns=checked_ms("minimal_risk_after_ms", minimal_risk_after_ms, 0.0, 10_000.0),
            recovery_commands=checked_whole("recovery_commands", recovery_commands, 1, 1000),
            limits=CommandLimits(
                max_acceleration_m_s2=checked("max_acceleration_m_s2", max_acceleration_m_s2, 0.0, 10.0),
                max_deceleration_m_s2=deceleration,
                max_rate_m_s3=checked("max_rate_m_s3", max_rate_m_s3, 1.0, 100_000.0),
                future_tolerance_ns=checked_ms("future_tolerance_ms", future_tolerance_ms, 0.0, 1_000.0),
            ),
            minimal_risk_deceleration_m_s2=checked(
                "minimal_risk_deceleration_m_s2", minimal_risk_deceleration_m_s2, 0.1, deceleration
            ),
        )
        self._memory = ArbiterMemory()
        self._received: dict[str, E2EMemory] = {}
        self._sources: Mapping[str, str] = {}
        self._authenticator: Authenticator | None = None
        self._vouching: Vouching | None = None

    @property
    def policy(self) -> ArbiterPolicy:
        """The limits in force; complete after `start`."""
        return self._policy

    def start(self, context: StageContext) -> None:
        self._policy = self._complete(context)
        self._memory = ArbiterMemory()
        self._received = dict.fromkeys(self.inputs, E2EMemory())
        self._sources = context.sources
        self._authenticator = context.authenticator
        self._vouching = None
        if self._health_ns is not None and HEALTH_INPUT in context.sources:
            grace_ns, future_ns = self._policy.startup_grace_ns, self._policy.limits.future_tolerance_ns
            self._vouching = Vouching(
                context.sources[HEALTH_INPUT],
                self._health_ns,
                grace_ns,
                future_ns,
                tuple(self._policy.view_age_limit_ns),
            )

    def watches(self, context: StageContext) -> tuple[Watch, ...]:
        """Views and commands of the primary path: the state is another one when they are too old."""
        policy = self._complete(context)
        views = (Watch("primary", name, limit_ns) for name, limit_ns in policy.view_age_limit_ns.items())
        return Watch("primary", None, policy.primary_age_limit_ns), *views

    def _complete(self, context: StageContext) -> ArbiterPolicy:
        """The policy with the limits that follow from the sensors of the run."""
        watched = [sensor for _, sensor in sorted(context.sensors.items()) if sensor.kind in ("camera", "lidar")]
        _check_names(context, "view_age_limit_ms", self._limits_ns or (), sorted(context.sensors))
        _check_names(context, "forward_sensors", self._forward or (), [sensor.name for sensor in watched])
        limits_ns = self._limits_ns
        if limits_ns is None:
            limits_ns = {sensor.name: VIEW_PERIODS * sensor.period_ns + CHAIN_BUDGET_NS for sensor in watched}
        forward = self._forward
        if forward is None:
            forward = tuple(sensor.name for sensor in watched if _looks_ahead(sensor))
        ahead = [sensor.period_ns for sensor in watched if sensor.name in forward]
        lidars = [sensor.period_ns for sensor in watched if sensor.kind == "lidar"]
        return replace(
            self._policy,
            primary_age_limit_ns=self._primary_ns or _command_limit_ns(min(ahead, default=0)),
            backup_age_limit_ns=self._backup_ns or _command_limit_ns(max(lidars, default=0)),
            view_age_limit_ns=limits_ns,
            forward_sensors=forward,
            backup_sensors=context.rests_on.get("backup", ()),
        )

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        given = ArbiterInputs(
            primary=self._path("primary", inputs),
            backup=self._path("backup", inputs),
            release=self._is_released(inputs, job.arrival_ns),
        )
        if self._vouching is not None:
            distrusted, unvouched = self._vouching.look(inputs.get(HEALTH_INPUT), job.arrival_ns)
            given = replace(given, distrusted=distrusted, unvouched=unvouched)
        self._memory, decision = arbitrate(self._memory, given, job.arrival_ns, self._policy)
        connected = tuple(found for found in decision.checks if found.input in self._sources)
        return {"decision": replace(decision, checks=connected)}

    def _path(self, name: str, inputs: Mapping[str, Any]) -> PathInput:
        state = self._check(name, inputs)
        return PathInput(without_header(inputs.get(name)), state)

    def _is_released(self, inputs: Mapping[str, Any], now_ns: int) -> bool:
        state = self._check("release", inputs, ANY_STEP_AHEAD)
        return refused_release(inputs.get("release"), state, now_ns, self._release_age_ns) is None

    def _check(self, name: str, inputs: Mapping[str, Any], max_step: int | None = None) -> E2EState:
        state, self._received[name] = check(
            inputs.get(name),
            self._sources.get(name, ""),
            self._received[name],
            is_register=True,
            max_step=self._max_step if max_step is None else max_step,
            authenticator=self._authenticator,
        )
        return state


def _check_names(context: StageContext, parameter: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raises DeploymentError for a name that no sensor of the run has; without any sensors nothing is known."""
    for name in names:
        if context.sensors and name not in valid:
            raise DeploymentError(
                f"task {context.task}: {parameter}: {name!r} is no such sensor; {unknown_name(name, valid)}"
            )


def _optional_ms(name: str, value: float | None) -> int | None:
    return None if value is None else checked_ms(name, value, 1.0, 10_000.0)


def _command_limit_ns(period_ns: int) -> int:
    return max(COMMAND_PERIODS * period_ns + CHAIN_BUDGET_NS, LEAST_COMMAND_LIMIT_NS)


def _looks_ahead(sensor: SensorDescription) -> bool:
    # The optical axis is the camera's z axis, so its forward part stands in row 0, column 2 of the pose.
    if sensor.kind == "lidar" or sensor.sensor_to_vehicle is None:
        return True
    return sensor.sensor_to_vehicle[0][2] >= FORWARD_COSINE
