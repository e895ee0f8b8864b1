"""Files beside the system file: opened and parsed, or the reason why that cannot be."""

from __future__ import annotations

from pathlib import Path

from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES, Node, parse


def file_bytes(path: Path) -> bytes:
    """A file's bytes, at most one more than may be parsed. Raises OSError or ValueError."""
    with path.open("rb") as stream:
        return stream.read(MAX_FILE_BYTES + 1)


def why_unreadable(error: OSError | ValueError) -> str:
    """In the words of the system, without the path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def root_of_file(path: Path, what: str, problems: Problems) -> Node:
    """The root of the YAML file at `path`, `what` it is in words, such as "plan file". Raises ConfigError."""
    try:
        data = file_bytes(path)
    except (OSError, ValueError) as error:
        problems.add_at(0, 0, "", f"the {what} cannot be read: {why_unreadable(error)}")
        raise problems.error() from error
    root = parse(data, problems, what)
    if root is None:
        raise problems.error()
    return root
