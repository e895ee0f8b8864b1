"""A file that is written in parts beside its place, and appears there only when its block has ended well."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from rt_sched.errors import DeploymentError


class PartFile:
    """A binary file at `path`; an old one stays until the new one is complete.

    `stream` takes what is written, inside `told`. Raises DeploymentError when it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(path.name + ".part")

    def __enter__(self) -> Self:
        with self.told():
            self.stream = self._part.open("wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self.told():
                self.stream.close()
                if kind is None:
                    self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)

    @contextmanager
    def told(self) -> Iterator[None]:
        """In its block an error of the system is told as one of this file."""
        try:
            yield
        except OSError as error:
            raise DeploymentError(f"cannot write {self._path}: {error.strerror}") from error
