"""The safety concept: which task commands, what stands behind it, and how losses are noticed and answered."""

from __future__ import annotations

from dataclasses import dataclass

from rt_sched.model.sensor import SensorKind


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Every device sends a sign of life each `period_ns` to the device of the arbiter, and over every link.

    A device, or a link, is taken for lost when no sign has come for `misses` periods and `margin_ns`, by which one may
    be late.
    """

    period_ns: int = 10_000_000
    misses: int = 2
    margin_ns: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Silence:
    """A sensor is taken for lost when it has been silent for `periods` of the largest distances of its messages, and
    `margin_ns`."""

    periods: int = 1
    margin_ns: int = 3_000_000


@dataclass(frozen=True, slots=True)
class Actuator:
    """Every `cycle_ns` the actuators' side looks for a command, and brakes by itself when the last one is too old.

    `command_age_limit_ns`: from the sending of a command on; None: three distances of the arbiter's commands, and at
    least 30 ms.
    """

    cycle_ns: int = 5_000_000
    command_age_limit_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Authentication:
    """Messages of the types `protects` carry a tag, made with the key in `key_file`, which is told from the folder of
    the system file. `file`, `line`, `column`: where that file names it."""

    key_file: str
    protects: tuple[str, ...]
    file: str = ""
    line: int = 0
    column: int = 0


_USUAL = Heartbeat()


@dataclass(frozen=True, slots=True)
class SafetyConcept:
    """`arbiter`: the task that commands the actuators; `primary`, `backup`: those whose commands it chooses from.

    `command_deadline_ns`: from capture stamp to command. `recovery_limit_ns`: within which the loss of a sensor or
    device must be handled. `heartbeat`: of all devices but that of the arbiter. `silence`: by kind of sensor,
    `Silence()` for kinds that are not named. `decision_ns`: from the notice of a loss until the takeover for it is in
    force, the look-up and the switch. `return_after_ns`: for how long what was lost must be back before the nominal
    placement is. `actuator`: what becomes of the arbiter's commands. `authentication`: of messages.
    """

    arbiter: str
    primary: str
    backup: str | None
    command_deadline_ns: int | None = None
    recovery_limit_ns: int | None = None
    heartbeat: Heartbeat = _USUAL
    silence: tuple[tuple[SensorKind, Silence], ...] = ()
    decision_ns: int = 1_000_000
    return_after_ns: int = 500_000_000
    actuator: Actuator = Actuator()
    authentication: Authentication | None = None

    def silence_of(self, kind: SensorKind) -> Silence:
        """When a sensor of this kind is taken for lost."""
        return dict(self.silence).get(kind, Silence())
