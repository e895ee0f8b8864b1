"""Readers of words, numbers and lists. Each returns the value, or None after adding the reason to `problems`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar

from rt_sched.config.problems import Problems, listed, quoted, unknown
from rt_sched.config.value import Schema, Value, list_of, value
from rt_sched.config.yaml_nodes import Node

#: Numbers are not read from longer texts.
MAX_NUMBER_CHARACTERS = 64

NAME_PATTERN = "^[A-Za-z0-9_-]+$"
_NAME = re.compile(NAME_PATTERN.strip("^$"))

E = TypeVar("E", bound=Enum)


def is_name(text: str) -> bool:
    """Whether `text` can name a device, sensor, task or chain."""
    return _NAME.fullmatch(text) is not None


def elements(node: Node, what: str, problems: Problems) -> tuple[Node, ...] | None:
    """The elements of a list."""
    if node.is_sequence:
        return node.items
    problems.add(node, f"{what} must be a list, found {node.shown}")
    return None


#: Any scalar may stand for a word: what YAML takes for a number or a truth value is read as it was written.
WORD = {"type": ["string", "number", "boolean"]}


@value(WORD)
def text(node: Node, problems: Problems) -> str | None:
    """Any non-empty scalar, as written."""
    if node.is_scalar and not node.is_null and node.text.strip():
        return node.text
    problems.add(node, f"expected a word, found {node.shown}")
    return None


#: A name of the file's own: letters, digits, _ and -.
NAME: Schema = {"anyOf": [{"type": "string", "pattern": NAME_PATTERN}, {"type": "number"}, {"type": "boolean"}]}


@value(NAME)
def name(node: Node, problems: Problems) -> str | None:
    """A name made of letters, digits, _ and -."""
    word = text(node, problems)
    if word is None or is_name(word):
        return word
    problems.add(node, f"the name {quoted(word)} is not valid; use letters, digits, _ and -")
    return None


@value({"anyOf": [WORD, {**list_of(WORD), "uniqueItems": True}]})
def texts(node: Node, problems: Problems) -> tuple[str, ...] | None:
    """One word, or a list of distinct words with at least one element."""
    if not node.is_sequence:
        word = text(node, problems)
        return None if word is None else (word,)
    words = [text(item, problems) for item in node.items]
    if not words:
        problems.add(node, "the list is empty; write at least one word")
        return None
    found: list[str] = []
    for item, word in zip(node.items, words, strict=True):
        if word in found:
            problems.add(item, f"{quoted(str(word))} stands twice in this list")
        elif word is not None:
            found.append(word)
    return tuple(found) or None


@value({"type": "boolean"})
def boolean(node: Node, problems: Problems) -> bool | None:
    """true or false."""
    if node.is_scalar and node.scalar_type == "bool":
        return node.text.casefold() in ("true", "yes", "on", "y")
    problems.add(node, f"expected true or false, found {node.shown}")
    return None


def integer(low: int, high: int) -> Value[int]:
    """A reader of whole numbers from `low` to `high`."""

    @value({"type": "integer", "minimum": low, "maximum": high})
    def read(node: Node, problems: Problems) -> int | None:
        number = plain_number(node)
        if isinstance(number, int) and low <= number <= high:
            return number
        problems.add(node, f"expected a whole number from {low} to {high}, found {node.shown}")
        return None

    return read


@value({"type": "number"})
def number(node: Node, problems: Problems) -> float | None:
    """A finite number."""
    found = plain_number(node)
    if found is None or not math.isfinite(found):
        problems.add(node, f"expected a number, found {node.shown}")
        return None
    return float(found)


def plain_number(node: Node) -> int | float | None:
    """The value of an int or float scalar, None for anything else."""
    if not node.is_scalar or node.scalar_type not in ("int", "float") or len(node.text) > MAX_NUMBER_CHARACTERS:
        return None
    digits = node.text.replace("_", "").casefold()
    try:
        if node.scalar_type == "int":
            base = {"0x": 16, "0o": 8, "0b": 2}.get(digits.lstrip("+-")[:2], 10)
            return int(digits, base)
        return float({".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}.get(digits, digits))
    except (ValueError, OverflowError):
        return None


def choice(kind: type[E], what: str) -> Value[E]:
    """A reader of one of an enumeration's values."""
    by_value = {str(member.value): member for member in kind}

    @value({"enum": list(by_value)})
    def read(node: Node, problems: Problems) -> E | None:
        word = one_of(tuple(by_value), what)(node, problems)
        return None if word is None else by_value[word]

    return read


def one_of(choices: Sequence[str], what: str) -> Value[str]:
    """A reader of one of a few words."""

    @value({"enum": list(choices)})
    def read(node: Node, problems: Problems) -> str | None:
        if not node.is_scalar or node.is_null:
            problems.add(node, f"expected a {what}, found {node.shown}; valid: {listed(choices)}")
        elif node.text not in choices:
            problems.add(node, unknown(what, node.text, choices))
        else:
            return node.text
        return None

    return read


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
        number = plain_number(node)
        if number is None:
            problems.add(node, f"{node.shown} is not a number that can be represented")
        return number
    return node.text
