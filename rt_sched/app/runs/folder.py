"""A run folder appears whole or not at all.

Files are written into a hidden folder beside the target, which takes the target's name at the end. What a killed run
left behind is removed by the next run that writes to the same place.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from rt_sched.errors import DeploymentError

MANIFEST_SCHEMA = "rt-sched/manifest/1"
#: `partial`: a run that is being written; `earlier`: one that is just being replaced. Equally long, so that a name that
#: is too long for the second is refused with the first, before the run.
_HIDDEN = re.compile(r"\.(?P<name>.+)\.(?P<kind>partial|earlier)-(?P<pid>\d+)")
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}


class RunFolder:
    """Context manager: `path` is where to write; leaving it without an exception publishes `target`.

    An existing run folder at `target` is replaced; anything else there is refused. Where `target` is a link, the link
    stays and the folder that it names is written. Folders above it are made where they are missing, and removed again
    where no run is published. With `numbered` nothing is replaced: the run gets the name of `target`, or that with the
    smallest number behind it that nobody has taken when it is published, and `target` says so from then on.
    Raises DeploymentError, before anything is written for all that can be known by then.
    """

    def __init__(self, target: Path, *, numbered: bool = False) -> None:
        self.target = target
        self._numbered = numbered
        self._place = Path(os.path.realpath(target))
        self.path = self._hidden("partial")
        self._earlier = self._hidden("earlier")
        self._missing = [folder for folder in self._place.parents if not folder.exists()]

    def _hidden(self, kind: str) -> Path:
        return self._place.parent / f".{self._place.name}.{kind}-{os.getpid()}"

    def __enter__(self) -> RunFolder:
        with self._undone_on_failure():
            if not self._numbered:
                self._refuse_what_cannot_be_replaced()
            self._place.parent.mkdir(parents=True, exist_ok=True)
            _clear_up(self._place)
            self.path.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        if kind is not None:
            self._discard()
            return
        with self._undone_on_failure():
            if self._numbered:
                self._publish_numbered()
            else:
                if self._place.exists():
                    self._place.rename(self._earlier)
                self.path.rename(self._place)
        shutil.rmtree(self._earlier, ignore_errors=True)

    def _refuse_what_cannot_be_replaced(self) -> None:
        if self._place.is_symlink():
            raise DeploymentError(f"{self.target}: a link that leads back to itself; choose another place with -o")
        if not self._place.exists():
            return
        if not is_run_folder(self._place):
            raise DeploymentError(f"{self.target}: exists and is not a run folder; choose another place with -o")
        if os.path.ismount(self._place):
            raise DeploymentError(f"{self.target}: is where a file system is mounted; choose a folder in it with -o")
        if _kept_by_others(self._place):
            raise DeploymentError(f"{self.target}: belongs to another user; choose another place with -o")

    def _publish_numbered(self) -> None:
        """A name that is free is found and taken in one step, also where several runs end at once."""
        for number in itertools.count(1):
            ending = "" if number == 1 else f"-{number}"
            place = self._place.with_name(f"{self._place.name}{ending}")
            if os.path.lexists(place):
                continue
            try:
                self.path.rename(place)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            else:
                self.target = self.target.with_name(f"{self.target.name}{ending}")
                return

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
        if os.path.lexists(self._earlier) and not os.path.lexists(self._place):
            self._earlier.rename(self._place)
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


def _kept_by_others(place: Path) -> bool:
    """Whether only its owner may rename it, as in the folder for temporary files that all users share."""
    above, user = place.parent.stat(), os.geteuid()
    return bool(above.st_mode & stat.S_ISVTX) and user not in (0, above.st_uid, place.stat().st_uid)


def _clear_up(place: Path) -> None:
    """Removes what killed runs left beside `place`; an earlier run that one of them had moved aside comes back."""
    for entry in place.parent.iterdir():
        match = _HIDDEN.fullmatch(entry.name)
        if match is None or match["name"] != place.name or _alive(int(match["pid"])):
            continue
        if match["kind"] == "earlier" and not place.exists():
            entry.rename(place)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
