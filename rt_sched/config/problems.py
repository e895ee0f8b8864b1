"""Collecting mistakes, and the wording that they share: what is valid, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol

from rt_sched.errors import ConfigError, Problem

#: A list of choices in a message ends here; the rest is counted.
MAX_CHOICES_SHOWN = 24
#: Values from the file are quoted up to this length.
MAX_VALUE_SHOWN = 60


class Place(Protocol):
    """Where a problem stands: line and column from 1, and the path of keys."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def path(self) -> str: ...


class Problems:
    """The mistakes found so far in one file. The same mistake behind several aliases of one anchor is kept once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: dict[tuple[int, int, str], Problem] = {}

    @property
    def file(self) -> str:
        """As messages name it."""
        return self._file

    def add(self, place: Place, message: str) -> None:
        """Record `message` for `place`."""
        self.add_at(place.line, place.column, place.path, message)

    def add_at(self, line: int, column: int, path: str, message: str) -> None:
        """Record `message`; line 0 means the file as a whole."""
        self._found.setdefault((line, column, message), Problem(self._file, line, column, path, message))

    def error(self) -> ConfigError:
        """The exception with everything recorded."""
        return ConfigError(tuple(self._found.values()))

    def raise_if_any(self) -> None:
        """Raise `error` unless nothing was recorded."""
        if self._found:
            raise self.error()


def quoted(text: str) -> str:
    """`text` in quotes, on one line, shortened when long."""
    return repr(text if len(text) <= MAX_VALUE_SHOWN else text[: MAX_VALUE_SHOWN - 3] + "...")


def listed(choices: Iterable[str]) -> str:
    """`choices` separated by commas; "none" when there are none."""
    names = list(choices)
    if not names:
        return "none"
    shown = ", ".join(names[:MAX_CHOICES_SHOWN])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > MAX_CHOICES_SHOWN else shown


def closest(text: str, choices: Iterable[str]) -> str | None:
    """The choice that `text` most resembles, upper and lower case taken as equal, or None."""
    by_folded: dict[str, str] = {}
    for choice in choices:
        by_folded.setdefault(choice.casefold(), choice)
    close = difflib.get_close_matches(text.casefold()[:MAX_VALUE_SHOWN], by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


def unknown(what: str, text: str, choices: Iterable[str]) -> str:
    """The message for a word that is none of `choices`, as in: unknown device 'x'; ..."""
    return f"unknown {what} {quoted(text)}; {_hint(text, choices)}"


def lacking(owner: str, what: str, text: str, choices: Iterable[str]) -> str:
    """The message for a word that is none of an owner's `choices`, as in: cluster has no output 'x'; ..."""
    return f"{owner} has no {what} {quoted(text)}; {_hint(text, choices)}"


def _hint(text: str, choices: Iterable[str]) -> str:
    names = list(choices)
    meant = closest(text, names)
    suggestion = f"did you mean {meant!r}? " if meant is not None else ""
    return f"{suggestion}valid: {listed(names)}"
