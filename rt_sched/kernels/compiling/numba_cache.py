"""Where compiled kernels are kept, decided once for every kernel of the installation, before the first one is loaded.

numba keeps them beside the sources or in the user's cache folder, and refuses `cache=True` where it can write to
neither. Importing this module then points numba to a private folder among the temporary files. Where even that fails,
`CACHE` is False and every process compiles its kernels anew.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from rt_sched.kernels.compiling.waiting import tell_once


class _Listener(event.Listener):
    """What numba calls around every compilation."""

    def on_start(self, _compilation: Any) -> None:
        tell_once(kept=CACHE)

    def on_end(self, _compilation: Any) -> None:
        pass


def _find_folder() -> bool:
    if _numba_finds_one():
        return True
    folder = _private_folder()
    if folder is None:
        return False
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]  # numba makes it when it is loaded
    return _numba_finds_one()


def _numba_finds_one() -> bool:
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    """Never compiled: numba looks for its folder as for that of a kernel."""


def _private_folder() -> Path | None:
    """A folder to which nobody else can write, as what numba loads from its cache is code; None where none can be."""
    try:
        folder = Path(tempfile.gettempdir()) / f"rt-sched-kernels-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    others_write = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not others_write else None


#: Whether kernels can be kept: what `cached.dispatcher_of` gives numba as `cache`.
CACHE: bool = _find_folder()
event.register("numba:compile", _Listener())
