"""Checks for stage parameters. Each raises ValueError with the parameter's name, its value and the valid range."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from typing import Any


def checked_number(name: str, value: Any, *, low: float, high: float, unit: str = "") -> float:
    """`value` as a float inside [low, high]."""
    valid = f"from {low:g} to {high:g}{' ' + unit if unit else ''}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: {value!r} is not a number; valid: {valid}")
    if not math.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{name}: {value!r} is out of range; valid: {valid}")
    return float(value)


def checked_integer(name: str, value: Any, *, low: int, high: int, unit: str = "") -> int:
    """`value` as an int inside [low, high]."""
    valid = f"a whole number from {low} to {high}{' ' + unit if unit else ''}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}: {value!r} is not a whole number; valid: {valid}")
    if not low <= value <= high:
        raise ValueError(f"{name}: {value!r} is out of range; valid: {valid}")
    return value


def checked_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """`value` when it is one of `choices`; the message suggests the nearest one."""
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(f"{name}: {value!r} is not known; {nearest(value, choices)}")


def checked_path(name: str, value: Any) -> str | None:
    """`value` when it is a text that may be the path of a file, or None."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise ValueError(f"{name}: {value!r} is not the path of a file")


def checked_names(name: str, value: Any) -> tuple[str, ...] | None:
    """`value` as a tuple of names, or None; an empty list is refused."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(f"{name}: {value!r} is not a list of names")
    for item in value:
        if not isinstance(item, str):
            raise ValueError(f"{name}: {item!r} is not a name")
    return tuple(value)


def nearest(value: Any, choices: Collection[str]) -> str:
    """The end of an error message: the closest choice, if any is close, and all of them."""
    close = difflib.get_close_matches(value, list(choices), n=1) if isinstance(value, str) else []
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}valid: {', '.join(choices) if choices else 'none'}"
