"""What a killed run of a transport with named memory has left, and nothing else.

Channels of `rt_sched.transport.Segment` leave nothing. iceoryx2 has memory with names, and files; the names of a run
begin with its owner's process number and the time at which that process was started, which together do not come again
before the machine is started anew.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108  # where shm_open(3) has its names
_NAME = re.compile(r"rt_sched_(\d+)_(\d+)_")
_runs = itertools.count()


def run_name() -> str:
    """What the names of a run begin with, another one at every call."""
    return f"rt_sched_{os.getpid()}_{_started(os.getpid())}_{next(_runs)}_"


def run_folder(run: str) -> Path:
    """Where a run has its files."""
    return Path(tempfile.gettempdir()) / run


def remove(run: str) -> None:
    """Removes everything of one run."""
    for path in _MEMORY.glob(f"{run}*"):
        path.unlink(missing_ok=True)
    shutil.rmtree(run_folder(run), ignore_errors=True)


def clean_leftovers(folders: Sequence[Path] | None = None) -> tuple[Path, ...]:
    """Removes files and folders of runs whose owner is dead. Returns them.

    Looked for in `folders`, by default where runs have them. Only what this user owns is touched.
    """
    removed = []
    for folder in folders if folders is not None else (_MEMORY, Path(tempfile.gettempdir())):
        for path in sorted(folder.glob("rt_sched_*")):
            named = _NAME.match(path.name)
            if named and path.lstat().st_uid == os.geteuid() and _started(int(named[1])) != int(named[2]):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
                removed.append(path)
    return tuple(removed)


def _started(process: int) -> int:
    """When the process was started, in clock ticks since the machine was; -1 where it is dead."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return -1
    state, *fields = stat.rpartition(")")[2].split()
    return -1 if state in "ZX" else int(fields[18])
