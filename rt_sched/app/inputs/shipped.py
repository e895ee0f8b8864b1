"""Finds the examples and logs that come with the product, in a checkout and in an installed wheel alike."""

from __future__ import annotations

from pathlib import Path

from rt_sched.errors import ConfigError, Problem

_CHECKOUT = Path(__file__).resolve().parents[3]
_INSTALLED = Path(__file__).resolve().parents[2] / "shipped"


def shipped_folder(name: str) -> Path | None:
    """`name` is "examples" or "replay_data"; None when this installation has none."""
    for root in (_INSTALLED, _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    return None


def shipped_files() -> dict[str, Path]:
    """Short name -> file, for every example system and log that ships."""
    found: dict[str, Path] = {}
    for folder_name, pattern in (("examples", "*.yaml"), ("replay_data", "*.mcap")):
        folder = shipped_folder(folder_name)
        if folder is not None:
            found.update({path.stem: path for path in sorted(folder.glob(pattern))})
    return found


def resolve(argument: str) -> Path:
    """The file that a user means: an existing path, else a shipped file's short name, else the path as given.

    Raises ConfigError, with the short names, for a bare name that is neither.
    """
    path = Path(argument)
    if path.exists() or len(path.parts) != 1:
        return path
    shipped = shipped_files()
    if argument not in shipped:
        from rt_sched.config.problems import unknown

        raise ConfigError([Problem(argument, 0, 0, "", f"there is no such file; {unknown('name', argument, shipped)}")])
    return shipped[argument]
