"""Who serves which end of a channel: locks that the kernel itself takes back when their process dies."""

from __future__ import annotations

import fcntl
import struct

from rt_sched.errors import DeploymentError
from rt_sched.transport.endings import is_ending

_FLOCK = struct.Struct("hhxxxxqqixxxx")


class Claims:
    """The ends that this process has claimed, each a record lock (fcntl(2)) on one byte of the memory.

    Such a lock belongs to the process: children do not inherit it, and no death leaves it behind. It would also end
    with any other descriptor of the same memory that the process closes, so none is closed before the segment.

    A process that dies has its locks until it has given its memory back. What it held is free before that: it runs no
    more code. Then the claim goes without a lock.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._held: set[int] = set()

    def claim(self, lock: int, end: str) -> None:
        """DeploymentError while this or another process has it."""
        if lock in self._held:
            raise DeploymentError(f"this process is {end} already")
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, lock)
        except OSError as error:
            holder = self._holder(lock)
            if not holder or not is_ending(holder):
                raise DeploymentError(
                    f"process {holder} is {end}; it has to end first" if holder else str(error)
                ) from error
        self._held.add(lock)

    def give_back(self, lock: int) -> None:
        self._held.remove(lock)
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, lock)

    def forked(self) -> None:
        """In a child: it has none of its parent's."""
        self._held.clear()

    def _holder(self, lock: int) -> int:
        """The process that has the lock, 0 where none has."""
        asked = _FLOCK.pack(fcntl.F_WRLCK, 0, lock, 1, 0)
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(self._fd, fcntl.F_GETLK, asked))
        return 0 if kind == fcntl.F_UNLCK else process
