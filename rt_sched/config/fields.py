"""Readers of single values. Each returns the value, or None after adding the reason to `problems`.

Rounding is named by direction: `time_up_or_zero` for jitters and latencies, `time_down` for deadlines and budgets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from rt_sched import units
from rt_sched.config.problems import Problems, closest, lacking, listed, quoted, unknown
from rt_sched.config.yaml_nodes import Entry, Node

#: No time in a system file is longer: sums over every task of a large system stay far inside int64 nanoseconds.
MAX_TIME_NS = 3600 * units.NS_PER_S
MIN_RATE_HZ = Fraction(1, 1000)
MAX_RATE_HZ = Fraction(10**6)
MAX_QUANTITY_CHARACTERS = 64

_NAME = re.compile(r"[A-Za-z0-9_-]+")

#: Files repeat their quantities: a rate or a time limit stands at many tasks.
_parse_time = lru_cache(maxsize=4096)(units.parse_time)
_parse_rate_hz = lru_cache(maxsize=4096)(units.parse_rate_hz)

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
Reader = Callable[[Node, Problems], T | None]


class Table:
    """A mapping with a fixed set of keys. Keys outside the set are reported when it is made.

    `node` may be of any kind: where it is no mapping, that is reported and the table is empty.
    """

    def __init__(self, node: Node, what: str, keys: Sequence[str], problems: Problems) -> None:
        self.node = node
        self.what = what
        self.problems = problems
        self._entries = mapping_entries(node, what, problems)
        self.is_mapping = node.is_mapping
        self._meant: set[str | None] = set()
        for key, entry in self._entries.items():
            if key not in keys:
                problems.add(entry.key, lacking(what, "key", key, keys))
                self._meant.add(closest(key, keys))

    def get(self, key: str) -> Node | None:
        """The value of `key`, or None where the file has no such key."""
        entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def need(self, key: str, example: str) -> Node | None:
        """The value of `key`; its absence is reported with an example, unless a misspelt key was reported already."""
        value = self.get(key)
        if value is None and self.is_mapping and key not in self._meant:
            self.problems.add(self.node, f"{self.what} needs the key {key!r}, such as {example}")
        return value

    def key(self, key: str) -> Node:
        """The key itself, for messages about its presence. It must be there."""
        return self._entries[key].key

    def read(self, key: str, reader: Reader[T], default: T) -> T:
        """The value of an optional key; `default` where it is absent or wrong (then also reported)."""
        node = self.get(key)
        if node is None:
            return default
        value = reader(node, self.problems)
        return default if value is None else value

    def exclusive(self, keys: Sequence[str]) -> list[str]:
        """Those of `keys` that are present; more than one is reported at the second."""
        present = [key for key in self._entries if key in keys]
        if len(present) > 1:
            message = f"{present[0]!r} and {present[1]!r} exclude each other; keep one of {listed(keys)}"
            self.problems.add(self.key(present[1]), message)
        return present


def mapping_entries(node: Node, what: str, problems: Problems) -> Mapping[str, Entry]:
    """The entries of `node`, or none after reporting that it is no mapping."""
    if node.is_mapping:
        return node.entries
    problems.add(node, f"{what} is a mapping of keys to values, not {node.shown}")
    return {}


def named_entries(node: Node, what: str, problems: Problems) -> list[tuple[str, Entry]]:
    """The entries of a mapping whose keys are names; wrong names are reported and left out."""
    found = []
    for key, entry in mapping_entries(node, what, problems).items():
        if is_name(key):
            found.append((key, entry))
        else:
            problems.add(entry.key, f"the name {quoted(key)} is not valid; use letters, digits, _ and -")
    return found


def is_name(text: str) -> bool:
    """Whether `text` can name a device, sensor, task or chain."""
    return _NAME.fullmatch(text) is not None


def elements(node: Node, what: str, problems: Problems) -> tuple[Node, ...] | None:
    """The elements of a list."""
    if node.is_sequence:
        return node.items
    problems.add(node, f"{what} is a list, not {node.shown}")
    return None


def text(node: Node, problems: Problems) -> str | None:
    """Any non-empty scalar, as written."""
    if node.is_scalar and not node.is_null and node.text.strip():
        return node.text
    problems.add(node, f"expected a word, found {node.shown}")
    return None


def name(node: Node, problems: Problems) -> str | None:
    """A name made of letters, digits, _ and -."""
    value = text(node, problems)
    if value is None or is_name(value):
        return value
    problems.add(node, f"the name {quoted(value)} is not valid; use letters, digits, _ and -")
    return None


def texts(node: Node, problems: Problems) -> tuple[str, ...] | None:
    """One word, or a list of distinct words with at least one element."""
    if not node.is_sequence:
        value = text(node, problems)
        return None if value is None else (value,)
    values = [text(item, problems) for item in node.items]
    if not values:
        problems.add(node, "the list is empty; write at least one word")
        return None
    found: list[str] = []
    for item, value in zip(node.items, values, strict=True):
        if value in found:
            problems.add(item, f"{quoted(str(value))} stands twice in this list")
        elif value is not None:
            found.append(value)
    return tuple(found) or None


def boolean(node: Node, problems: Problems) -> bool | None:
    """true or false."""
    if node.is_scalar and node.scalar_type == "bool":
        return node.text.casefold() in ("true", "yes", "on", "y")
    problems.add(node, f"expected true or false, found {node.shown}")
    return None


def integer(low: int, high: int) -> Reader[int]:
    """A reader of whole numbers from `low` to `high`."""

    def read(node: Node, problems: Problems) -> int | None:
        value = plain_number(node)
        if isinstance(value, int) and low <= value <= high:
            return value
        problems.add(node, f"expected a whole number from {low} to {high}, found {node.shown}")
        return None

    return read


def number(node: Node, problems: Problems) -> float | None:
    """A finite number."""
    value = plain_number(node)
    if value is None or not math.isfinite(value):
        problems.add(node, f"expected a number, found {node.shown}")
        return None
    return float(value)


def plain_number(node: Node) -> int | float | None:
    """The value of an int or float scalar, None for anything else."""
    if not node.is_scalar or node.scalar_type not in ("int", "float") or len(node.text) > MAX_QUANTITY_CHARACTERS:
        return None
    digits = node.text.replace("_", "").casefold()
    try:
        if node.scalar_type == "int":
            base = {"0x": 16, "0o": 8, "0b": 2}.get(digits.lstrip("+-")[:2], 10)
            return int(digits, base)
        return float({".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}.get(digits, digits))
    except (ValueError, OverflowError):
        return None


def choice(kind: type[E], what: str) -> Reader[E]:
    """A reader of one of an enumeration's values."""
    by_value = {str(member.value): member for member in kind}

    def read(node: Node, problems: Problems) -> E | None:
        word = one_of(tuple(by_value), what)(node, problems)
        return None if word is None else by_value[word]

    return read


def one_of(choices: Sequence[str], what: str) -> Reader[str]:
    """A reader of one of a few words."""

    def read(node: Node, problems: Problems) -> str | None:
        if not node.is_scalar or node.is_null:
            problems.add(node, f"expected a {what}, found {node.shown}; valid: {listed(choices)}")
        elif node.text not in choices:
            problems.add(node, unknown(what, node.text, choices))
        else:
            return node.text
        return None

    return read


def exact_time(node: Node, problems: Problems) -> Fraction | None:
    """An exact time in nanoseconds, not above the limit; it may be zero or negative."""
    value = _quantity(node, "time", "33ms", _parse_time, problems)
    if value is not None and abs(value) > MAX_TIME_NS:
        problems.add(node, f"{node.shown} is longer than the limit of 60min")
        return None
    return value


def positive_time(node: Node, problems: Problems) -> Fraction | None:
    """An exact time of at least 1 ns."""
    value = exact_time(node, problems)
    if value is None or value >= 1:
        return value
    problems.add(node, f"{node.shown} must be at least 1ns")
    return None


def time_down(node: Node, problems: Problems) -> int | None:
    """A positive time in whole nanoseconds, rounded down: for deadlines, budgets and limits."""
    value = positive_time(node, problems)
    return None if value is None else units.floor_int(value)


def time_up_or_zero(node: Node, problems: Problems) -> int | None:
    """A time of zero or more in whole nanoseconds, rounded up: for jitters, latencies and offsets."""
    value = exact_time(node, problems)
    if value is None or value >= 0:
        return None if value is None else units.ceil_int(value)
    problems.add(node, f"{node.shown} must not be negative")
    return None


def rate(node: Node, problems: Problems) -> Fraction | None:
    """An exact rate in hertz, from 1 mHz to 1 MHz."""
    value = _quantity(node, "rate", "30Hz", _parse_rate_hz, problems)
    if value is None or MIN_RATE_HZ <= value <= MAX_RATE_HZ:
        return value
    if value <= 0:
        problems.add(node, f"{node.shown} must be more than zero")
    else:
        problems.add(node, f"{node.shown} is outside the valid rates, 1mHz to 1MHz")
    return None


def period_as_rate(node: Node, problems: Problems) -> Fraction | None:
    """The exact rate in hertz of a period such as 33ms."""
    value = positive_time(node, problems)
    if value is None or MIN_RATE_HZ <= units.NS_PER_S / value <= MAX_RATE_HZ:
        return None if value is None else units.NS_PER_S / value
    problems.add(node, f"{node.shown} is outside the valid periods, 1us to 1000s")
    return None


def plain_value(node: Node, problems: Problems) -> Any:
    """A stage parameter: str, int, float, bool, None, a tuple of such or a dictionary with text keys."""
    if node.is_mapping:
        return {key: plain_value(entry.value, problems) for key, entry in node.entries.items()}
    if node.is_sequence:
        return tuple(plain_value(item, problems) for item in node.items)
    if node.is_null:
        return None
    if node.scalar_type == "bool":
        return boolean(node, problems)
    if node.scalar_type in ("int", "float"):
        value = plain_number(node)
        if value is None:
            problems.add(node, f"{node.shown} is not a number that can be represented")
        return value
    return node.text


def _quantity(
    node: Node, kind: str, example: str, parser: Callable[[str], Fraction], problems: Problems
) -> Fraction | None:
    if not node.is_scalar or node.is_null or not node.text.strip():
        problems.add(node, f"expected a {kind} such as {example}, found {node.shown}")
        return None
    if len(node.text) > MAX_QUANTITY_CHARACTERS:
        problems.add(node, f"{node.shown} is too long for a {kind}; write one such as {example}")
        return None
    try:
        return parser(node.text)
    except ValueError as error:
        problems.add(node, f"{error}; for example {_likely_meant(node, example)}")
        return None


def _likely_meant(node: Node, example: str) -> str:
    """The number as written with the example's unit where only the unit is at fault, else the example."""
    written = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", node.text.strip())
    if written is None:
        return example
    number, unit = written.groups()
    example_unit = example.lstrip("0123456789")
    return number + example_unit if not unit or closest(unit, [example_unit]) else example
