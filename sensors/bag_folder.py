"""Which files of a folder are one recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rt_sched.errors import DataError

SUFFIXES = (".mcap", ".db3", ".bag")
#: Recorders that split number their files from 0 on; what stands before may hold the time at which each began.
_NUMBERED = re.compile(r"(.*)_(\d+)")
_DIGITS = re.compile(r"\d+")


def recording_files(folder: Path) -> tuple[Sequence[Path], Sequence[str]]:
    """The files in their order, and the names of those that belong to them and are not there.

    They are what the folder's metadata.yaml lists (ROS 2), else the only file, else files that are numbered from 0 on.
    Raises DataError where they are none of that, OSError where the folder cannot be read.
    """
    there = sorted(entry for entry in folder.iterdir() if entry.suffix in SUFFIXES and entry.is_file())
    listed = _listed(folder / "metadata.yaml")
    if {*listed} & {file.name for file in there}:
        return _sorted_out(folder, listed)
    if len(there) == 1:
        return there, ()
    if not there:
        raise DataError(f"{folder}: a folder without a recording; read are {', '.join(SUFFIXES)}")
    if numbered := _numbered(there):
        return _sorted_out(folder, numbered)
    raise DataError(f"{folder}: a folder with {len(there)} recordings; name one: {', '.join(f.name for f in there)}")


def _sorted_out(folder: Path, names: Sequence[str]) -> tuple[Sequence[Path], Sequence[str]]:
    there = [folder / name for name in names if (folder / name).is_file()]
    return there, [name for name in names if not (folder / name).is_file()]


def _listed(metadata: Path) -> Sequence[str]:
    """The names in a ROS 2 bag's metadata; older ones have the folder before them. None where it cannot be read."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document: Any = YAML(typ="safe").load(metadata.read_text(encoding="utf-8"))
        paths = document["rosbag2_bagfile_information"]["relative_file_paths"]
        return [Path(path).name for path in paths]
    except (OSError, UnicodeDecodeError, YAMLError, KeyError, TypeError):
        return []


def _numbered(files: Sequence[Path]) -> Sequence[str]:
    """Names from 0 on, also of numbers that no file has; none where the files are not numbered parts of one."""
    names: dict[int, str] = {}
    like = set()
    for file in files:
        found = _NUMBERED.fullmatch(file.stem)
        if found is None:
            return []
        names[int(found[2])] = file.name
        like.add((_DIGITS.sub("#", found[1]), file.suffix))
    if len(like) != 1 or len(names) != len(files) or 0 not in names:
        return []
    return [names.get(number, f"number {number}") for number in range(max(names) + 1)]
