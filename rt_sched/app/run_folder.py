"""A run folder appears whole or not at all.

Files are written into a hidden folder beside the target, which takes the target's name at the end. What a killed run
left behind is removed by the next run that writes to the same place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from rt_sched.errors import DeploymentError

MANIFEST_SCHEMA = "rt-sched/manifest/1"
_PARTIAL = re.compile(r"\.(?P<name>.+)\.partial-(?P<pid>\d+)")


class RunFolder:
    """Context manager: `path` is where to write; leaving it without an exception publishes `target`.

    An existing run folder at `target` is replaced; anything else there is refused. Folders above it are made where
    they are missing, and removed again where no run is published. Raises DeploymentError.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.parent / f".{target.name}.partial-{os.getpid()}"
        self._replaced = target.parent / f".{target.name}.replaced.partial-{os.getpid()}"
        self._missing = [folder for folder in target.parents if not folder.exists()]

    def __enter__(self) -> RunFolder:
        if self.target.exists() and not is_run_folder(self.target):
            raise DeploymentError(f"{self.target}: exists and is not a run folder; choose another place with -o")
        with self._undone_on_failure():
            self.target.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(self.target)
            self.path.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        if kind is not None:
            self._discard()
            return
        with self._undone_on_failure():
            if self.target.exists():
                self.target.rename(self._replaced)
            self.path.rename(self.target)
        shutil.rmtree(self._replaced, ignore_errors=True)

    @contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        """What its block began is undone when it fails, also when it is interrupted."""
        try:
            yield
        except OSError as error:
            self._discard()
            raise DeploymentError(f"{self.target}: cannot be written ({error.strerror})") from error
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        """Leaves everything as it was before; folders that got other content meanwhile stay."""
        if self._replaced.exists() and not self.target.exists():
            self._replaced.rename(self.target)
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in self._missing:
            with suppress(OSError):
                folder.rmdir()


def is_run_folder(path: Path) -> bool:
    """Whether `path` holds a run that this product wrote."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and str(manifest.get("schema", "")).startswith("rt-sched/manifest/")


def next_free(parent: Path, stem: str) -> Path:
    """`parent/stem`, or with the smallest number behind it that is not taken."""
    candidate, number = parent / stem, 1
    while candidate.exists():
        number += 1
        candidate = parent / f"{stem}-{number}"
    return candidate


def _remove_leftovers(target: Path) -> None:
    for entry in target.parent.iterdir():
        match = _PARTIAL.fullmatch(entry.name)
        if match and match["name"] in (target.name, f"{target.name}.replaced") and not _alive(int(match["pid"])):
            shutil.rmtree(entry, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
