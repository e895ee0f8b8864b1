"""Checks for the parameters of the safety path, kept here so that this folder can be reviewed on its own."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
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


def checked_names(name: str, value: Any) -> tuple[str, ...]:
    """`value` as a tuple of names; raises ValueError for what is no list of texts."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{name}: {value!r} is not a list of names, such as [front]")
    return tuple(value)


def checked_times(name: str, value: Any, low: float, high: float) -> dict[str, int]:
    """A mapping from names to milliseconds inside [low, high], as nanoseconds; raises ValueError."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name}: {value!r} is not a mapping from names to milliseconds, such as {{front: 200}}")
    return {key: checked_ms(f"{name}: {key}", time_ms, low, high) for key, time_ms in value.items()}


def unknown_name(name: str, choices: Collection[str]) -> str:
    """The end of a message about a name that is none of `choices`."""
    close = difflib.get_close_matches(name, choices, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}valid: {', '.join(choices) if choices else 'none'}"
