"""How much memory there is for channels."""

from __future__ import annotations

from pathlib import Path

from rt_sched.errors import DeploymentError

_MEMINFO = Path("/proc/meminfo")
#: What a cgroup may use at most, and uses; version 2 and version 1. "max", or a number near 2^63, says no limit.
_LIMITS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def check_memory(size: int) -> None:
    """DeploymentError where `size` bytes are not free.

    To be asked first: nobody refuses shared memory that exceeds what is there. The kernel then kills processes to find
    some, others before the one to blame.
    """
    free = available()
    if free is not None and size > free:
        raise DeploymentError(
            f"{size / 1e6:.1f} MB of shared memory for the channels, of which {free / 1e6:.1f} MB are free: shorter "
            "queues, fewer held messages or smaller ones are needed"
        )


def available() -> int | None:
    """Bytes that can be allocated without taking from other processes; None where the machine does not say."""
    found = [int(line.split()[1]) * 1024 for line in _lines(_MEMINFO) if line.startswith("MemAvailable:")]
    for limit, usage in _LIMITS:
        numbers = [text for path in (limit, usage) for text in _lines(path)[:1]]
        if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
            found.append(max(int(numbers[0]) - int(numbers[1]), 0))
    return min(found, default=None)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
