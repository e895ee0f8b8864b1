"""The key of a run: read from the file that the system names, before anything begins, and kept in memory only."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from rt_sched.errors import ConfigError, Problem
from rt_sched.messages.authentication import LEAST_KEY_BYTES, Authenticator
from rt_sched.model import System

_HEX = re.compile(rb"[0-9a-fA-F]*")
#: No key is longer than this, in bytes as written.
_LONGEST_FILE = 4096


def authenticator_of(system: System) -> Authenticator | None:
    """What authenticates the messages of a system; None where it asks for nothing.

    Raises ConfigError, at the line that names the key file, where that cannot be read, could be read by others, or
    holds no key.
    """
    asked = None if system.safety is None else system.safety.authentication
    if asked is None:
        return None
    path = Path(system.base_dir) / asked.key_file
    try:
        return Authenticator(_key(path), frozenset(asked.protects))
    except (OSError, ValueError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        place = "safety.authentication.key_file"
        raise ConfigError([Problem(asked.file, asked.line, asked.column, place, f"{path}: {reason}")]) from None


def _key(path: Path) -> bytes:
    """One line of hexadecimal digits. Raises OSError, and ValueError for a file that is no safe place for a key."""
    # The file that is looked at is the one that is read, whatever lies at the path by then.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        if status.st_uid not in (os.geteuid(), 0):
            raise ValueError(f"it belongs to user {status.st_uid}; it must be yours, or root's")
        if open_to := stat.S_IMODE(status.st_mode) & 0o077:
            raise ValueError(f"others have rights on it ({open_to:03o}); take them away: chmod 600 {path}")
        text = os.read(descriptor, _LONGEST_FILE + 1).strip()
    finally:
        os.close(descriptor)
    if len(text) > _LONGEST_FILE or _HEX.fullmatch(text) is None or len(text) % 2:
        raise ValueError("it holds no key; write one line of hexadecimal digits, such as openssl rand -hex 32 gives")
    key = bytes.fromhex(text.decode("ascii"))
    if len(key) < LEAST_KEY_BYTES:
        raise ValueError(f"its key has {8 * len(key)} bits; it needs {8 * LEAST_KEY_BYTES}: openssl rand -hex 32")
    return key
