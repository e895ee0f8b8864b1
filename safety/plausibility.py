"""Whether a command can be meant: well formed, possible for this vehicle, possible after the one before it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rt_sched.messages.control import Command, ReleaseRequest, SensorView
from rt_sched.units import NS_PER_MS, NS_PER_S, format_ns

_INT64 = 1 << 63

# Stages compute with numpy, whose scalars count as numbers too.
_FLAG = (bool, np.bool_)
_REAL = (float, np.floating)
_WHOLE = (int, np.integer)
_PLAIN = (int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """What the vehicle can do. `max_rate_m_s3`: largest change of a command, emergency braking apart.

    `future_tolerance_ns`: how far a capture stamp may lie ahead of now.
    """

    max_acceleration_m_s2: float = 4.0
    max_deceleration_m_s2: float = 10.0
    max_rate_m_s3: float = 200.0
    future_tolerance_ns: int = 20 * NS_PER_MS


def malformed(command: Any) -> str | None:
    """Why `command` is no command at all, or None. Holds for any object."""
    if type(command) is not Command:
        return "it is no command"
    collision_ns = command.time_to_collision_ns
    numbers = (command.capture_time_ns, command.counter, 0 if collision_ns is None else collision_ns)
    if not all(_is_int64(number) for number in numbers):
        return "a stamp or counter is no 64-bit integer"
    if not isinstance(command.valid, _FLAG) or not isinstance(command.emergency, _FLAG):
        return "a flag is neither true nor false"
    if not isinstance(command.acceleration_m_s2, _REAL) and not _is_int64(command.acceleration_m_s2):
        return "the acceleration is not a number"
    if type(command.views) is not tuple or not all(_is_view(view) for view in command.views):
        return "a view is malformed"
    return None


def in_plain_numbers(command: Command) -> Command:
    """A well-formed command with Python's own numbers, whose arithmetic knows no widths and no signs.

    The command itself where it has them already.
    """
    collision_ns = command.time_to_collision_ns
    numbers = (command.capture_time_ns, command.counter, command.acceleration_m_s2, collision_ns)
    values = (*numbers, command.emergency, command.valid, *(view.capture_time_ns for view in command.views))
    if all(type(value) in _PLAIN for value in values):
        return command
    return replace(
        command,
        capture_time_ns=int(command.capture_time_ns),
        counter=int(command.counter),
        acceleration_m_s2=float(command.acceleration_m_s2),
        emergency=bool(command.emergency),
        time_to_collision_ns=None if collision_ns is None else int(collision_ns),
        valid=bool(command.valid),
        views=tuple(SensorView(view.sensor, int(view.capture_time_ns)) for view in command.views),
    )


def malformed_release(request: Any) -> bool:
    """Whether `request` is no request for a release. Holds for any object."""
    return type(request) is not ReleaseRequest or not _is_int64(request.capture_time_ns)


def impossible(command: Command, now_ns: int, limits: CommandLimits) -> str | None:
    """Why no vehicle with a working path can have been told this, or None. `command` is well formed."""
    if not command.valid:
        return "the command says it is not valid"
    acceleration = command.acceleration_m_s2
    if not math.isfinite(acceleration):
        return "the acceleration is not a finite number"
    if not -limits.max_deceleration_m_s2 <= acceleration <= limits.max_acceleration_m_s2:
        return f"the acceleration {acceleration:.1f} m/s^2 is out of bounds"
    if command.emergency and acceleration >= 0.0:
        return "emergency without braking"
    if command.time_to_collision_ns is not None and command.time_to_collision_ns < 0:
        return "the time to collision is negative"
    ahead_ns = command.capture_time_ns - now_ns
    if ahead_ns > limits.future_tolerance_ns:
        return f"the capture stamp lies {format_ns(ahead_ns)} in the future"
    return None


def does_not_follow(
    command: Command, last_capture_ns: int, last_m_s2: float, since_ns: int, limits: CommandLimits
) -> str | None:
    """Why `command` cannot follow the path's last good one, which came `since_ns` before it, or None."""
    if command.capture_time_ns < last_capture_ns:
        return "the capture stamp stepped back"
    change_m_s2 = command.acceleration_m_s2 - last_m_s2
    if command.emergency and change_m_s2 < 0.0:
        return None
    if abs(change_m_s2) > limits.max_rate_m_s3 * since_ns / NS_PER_S:
        return f"the acceleration changed by {change_m_s2:.1f} m/s^2 within {format_ns(since_ns)}"
    return None


def _is_int64(number: Any) -> bool:
    return isinstance(number, _WHOLE) and not isinstance(number, bool) and -_INT64 <= int(number) < _INT64


def _is_view(view: Any) -> bool:
    return type(view) is SensorView and type(view.sensor) is str and _is_int64(view.capture_time_ns)
