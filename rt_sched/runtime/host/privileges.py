"""Capabilities, limits and confinement of this process."""

from __future__ import annotations

import resource
from pathlib import Path

#: Numbers of the capabilities that matter here (linux/capability.h).
CAPABILITIES = {
    "CAP_KILL": 5,
    "CAP_IPC_LOCK": 14,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_SYS_NICE": 23,
    "CAP_SYS_RESOURCE": 24,
}

#: The line that /proc/self/uid_map has outside all user namespaces but the first.
_ALL_USERS = ("0", "0", "4294967295")


def status_fields(pid: int | None = None, tid: int | None = None) -> dict[str, str]:
    """The lines of /proc/PID/status (or of one thread), by name. Raises OSError when the process is gone."""
    place = Path("/proc") / ("self" if pid is None else str(pid))
    if tid is not None:
        place = place / "task" / str(tid)
    lines = (
        line.partition(":") for line in (place / "status").read_text(encoding="utf-8", errors="replace").split("\n")
    )
    return {name: value.strip() for name, separator, value in lines if separator}


def capabilities() -> frozenset[str]:
    """Those of `CAPABILITIES` that are in effect for this process."""
    effective = int(status_fields()["CapEff"], 16)
    return frozenset(name for name, number in CAPABILITIES.items() if effective >> number & 1)


def in_first_user_namespace() -> bool:
    """Whether capabilities are those of the machine, and not only of a container without privileges."""
    try:
        return tuple(Path("/proc/self/uid_map").read_text(encoding="utf-8").split()) == _ALL_USERS
    except FileNotFoundError:  # a kernel without user namespaces has only the first
        return True


def is_filtered() -> bool:
    """Whether a seccomp filter, as containers have one, may refuse system calls."""
    return status_fields().get("Seccomp", "0") != "0"


def soft_limit(kind: int) -> int | None:
    """A limit of `resource`; None for unlimited."""
    soft = resource.getrlimit(kind)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def rtprio_limit() -> int:
    """The highest real-time priority that a process without CAP_SYS_NICE may take; 0 for none."""
    limit = soft_limit(resource.RLIMIT_RTPRIO)
    return 99 if limit is None else limit
