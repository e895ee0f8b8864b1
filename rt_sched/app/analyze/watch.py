"""`analyze --watch`: an analysis again with every save of its file, and what that changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rt_sched.errors import AnalysisNotApplicable, ConfigError, DataError, DeploymentError, RtSchedError
from rt_sched.units import format_ns

#: Looks at the file in a second; a save counts once two looks in a row see the same.
LOOKS_PER_S = 4

#: What is told of each part of an analysis document, as far as the document has it.
_TOLD = {
    "modes": ("verdict",),
    "tasks": ("response_bound_ns", "deadline_ns", "verdict", "pe", "method"),
    "chains": (
        *(f"{quantity}_{kind}_ns" for quantity in ("reaction", "latency", "data_age") for kind in ("bound", "limit")),
        "verdict",
    ),
    "disparities": ("disparity_bound_ns", "disparity_limit_ns", "verdict"),
}


@dataclass(frozen=True, slots=True)
class Look:
    """One analysis: its `document`, or the `error` that stood in its way. `changes`: rows since the last document, None
    for the first one and beside an error.
    """

    document: dict[str, Any] | None = None
    error: RtSchedError | None = None
    changes: list[dict[str, Any]] | None = None


class Saves:
    """The saves of one file, from the time of its making on: `next` waits for one that changes the content.

    A file that goes away, or comes back, counts as saved. `wait`: is called with the seconds between two looks.
    """

    def __init__(self, path: Path, wait: Callable[[float], None] = time.sleep) -> None:
        self._path, self._wait = path, wait
        self._seen = self._state()
        self._content = self._digest()

    def __iter__(self) -> Iterator[None]:
        return self

    def __next__(self) -> None:
        while True:
            self._wait(1 / LOOKS_PER_S)
            now = self._state()
            if now == self._seen:
                continue
            while True:
                before, now = now, self._after_a_while()
                if now == before:
                    break
            self._seen = now
            content = self._digest()
            if content != self._content:
                self._content = content
                return

    def _after_a_while(self) -> tuple[int, ...] | None:
        self._wait(1 / LOOKS_PER_S)
        return self._state()

    def _state(self) -> tuple[int, ...] | None:
        """What a save changes, without reading the file; None where there is none."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def _digest(self) -> bytes | None:
        try:
            return hashlib.sha256(self._path.read_bytes()).digest()
        except OSError:
            return None


def looks(analyse: Callable[[], dict[str, Any]], saves: Iterator[None]) -> Iterator[Look]:
    """An analysis at once, and one after each save.

    What a file can mend is told as an error and waited for. What it cannot, or what is a defect, is raised.
    """
    last: dict[str, Any] | None = None
    first = True
    while True:
        try:
            document = analyse()
        except (ConfigError, AnalysisNotApplicable, DataError, DeploymentError) as error:
            if first and not isinstance(error, ConfigError):
                raise
            yield Look(error=error)
        else:
            yield Look(document, changes=None if last is None else changes(last, document))
            last = document
        first = False
        try:
            next(saves)
        except StopIteration:
            return


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What differs between two analysis documents, as rows: part, mode, name, key, before and after.

    What was added or removed differs in the key `present`.
    """
    rows = []
    for part, keys in _TOLD.items():
        old, new = _by_name(before, part), _by_name(after, part)
        for mode, name in dict.fromkeys((*old, *new)):
            one, other = old.get((mode, name)), new.get((mode, name))
            if one is None or other is None:
                rows.append(_row(part, mode, name, "present", one is not None, other is not None))
                continue
            rows += [
                _row(part, mode, name, key, one[key], other[key])
                for key in keys
                if key in one and key in other and one[key] != other[key]
            ]
    return rows


def _row(part: str, mode: str, name: str, key: str, before: Any, after: Any) -> dict[str, Any]:
    return {"part": part, "mode": mode, "name": name, "key": key, "before": before, "after": after}


def _by_name(document: Mapping[str, Any], part: str) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row.get("mode", row["name"]), row["name"]): row for row in document.get(part, ())}


def print_changes(verdict: str, rows: Sequence[Mapping[str, Any]], console: Console) -> None:
    """The verdict and a table of what changed."""
    if not rows:
        console.print(Text(f"{verdict}; no bound, limit or verdict changed"))
        return
    console.print(Text(f"{verdict}; changed:"))
    several = len({row["mode"] for row in rows}) > 1
    table = Table(box=None, pad_edge=False)
    for header in ("", "what", "before", "after"):
        table.add_column(header, justify="right" if header in ("before", "after") else "left", overflow="fold")
    for row in rows:
        who = f"{row['part'].removesuffix('s').replace('disparitie', 'disparity')} {row['name']}"
        if several and row["part"] != "modes":
            who = f"{who} in {row['mode']}"
        key = "" if row["key"] == "present" else row["key"].removesuffix("_ns").replace("_", " ")
        table.add_row(Text(who), Text(key), *(Text(_shown(row["key"], row[side])) for side in ("before", "after")))
    console.print(table)


def _shown(key: str, value: Any) -> str:
    if key == "present":
        return "there" if value else "not there"
    if value is None:
        return "none"
    return format_ns(value) if key.endswith("_ns") else str(value)
