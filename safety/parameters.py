"""Checks for the parameters of the safety path, kept here so that this folder can be reviewed on its own."""

from __future__ import annotations

import math
from typing import Any

from rt_sched.units import NS_PER_MS


def checked(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float inside [low, high]; raises ValueError that names the parameter, its value and the range."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r} is not a number; valid: from {low:g} to {high:g}")
    if not low <= value <= high:
        raise ValueError(f"{name}: {value!r} is out of range; valid: from {low:g} to {high:g}")
    return float(value)


def checked_ms(name: str, value: Any, low: float, high: float) -> int:
    """Milliseconds inside [low, high] as whole nanoseconds, rounded down: a time limit never grows."""
    return math.floor(checked(name, value, low, high) * NS_PER_MS)


def checked_whole(name: str, value: Any, low: int, high: int) -> int:
    """`value` as an int inside [low, high]; raises ValueError that names the parameter, its value and the range."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}: {value!r} is not a whole number; valid: from {low} to {high}")
    return int(checked(name, value, low, high))
