"""Whether a process is on its way out: it runs no more code of its own, though it may take long to give its memory
back, and gives its locks back only after that.
"""

from __future__ import annotations

from pathlib import Path

#: PF_EXITING of the kernel (include/linux/sched.h), in the ninth field of /proc/PID/stat.
_EXITING = 0x4
_FLAGS = 6  # counted from the field behind the name, which may hold anything


def is_ending(pid: int) -> bool:
    """Whether every thread of the process has begun to end, or it is gone."""
    try:
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return all(_thread_is_ending(thread) for thread in threads)


def _thread_is_ending(thread: Path) -> bool:
    try:
        fields = (thread / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return bool(int(fields[_FLAGS]) & _EXITING) or fields[0] in ("Z", "X")
