"""`analyze --watch`: an analysis again with every save of its file, and what that changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.app.analyze.changes import changes
from rt_sched.errors import AnalysisNotApplicable, ConfigError, DataError, DeploymentError, Problem, RtSchedError

#: Looks at the file in a second; a save counts once two looks in a row see the same.
LOOKS_PER_S = 4


@dataclass(frozen=True, slots=True)
class Look:
    """One analysis: its `document`, or the `error` that stood in its way. `changes`: rows since the last document, None
    for the first one and beside an error.
    """

    document: dict[str, Any] | None = None
    error: RtSchedError | None = None
    changes: list[dict[str, Any]] | None = None


class Saves:
    """The saves of some files, from the time of its making on: `next` waits for one that changes the content.

    A file that goes away, or comes back, counts as saved. `wait`: is called with the seconds between two looks.
    """

    def __init__(self, *paths: Path, wait: Callable[[float], None] = time.sleep) -> None:
        self._paths, self._wait = paths, wait
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

    def _after_a_while(self) -> list[tuple[int, ...] | None]:
        self._wait(1 / LOOKS_PER_S)
        return self._state()

    def _state(self) -> list[tuple[int, ...] | None]:
        return [_stat(path) for path in self._paths]

    def _digest(self) -> list[bytes | None]:
        return [_content(path) for path in self._paths]


def _stat(path: Path) -> tuple[int, ...] | None:
    """What a save changes, without reading the file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _content(path: Path) -> bytes | None:
    """A digest; None for what is no file that can be read, such as a folder or a pipe."""
    try:
        return hashlib.sha256(path.read_bytes()).digest() if path.is_file() else None
    except OSError:
        return None


def check_watchable(*paths: Path) -> None:
    """Raises ConfigError where one of `paths` is no regular file: a pipe would be waited for, and read only once."""
    wrong = [path for path in paths if path.exists() and not path.is_file()]
    if wrong:
        raise ConfigError(
            [Problem(str(path), 0, 0, "", "is no regular file, so it cannot be watched") for path in wrong]
        )


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
