"""What belongs to a run that was started in a session of its own, and what it leaves behind."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

#: In /proc/PID/stat behind the name: the scheduling class, and those of SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
_POLICY, _REAL_TIME = 38, frozenset({"1", "2", "6"})
_LEFT_S = 5.0


@dataclass(frozen=True)
class Member:
    """A process that has not ended.

    `runs`: it has a core, or waits for nothing but one. `is_urgent`: in a real-time class, as workers are that serve.
    """

    name: str
    parent: int
    session: int
    runs: bool
    is_urgent: bool


def member(pid: int) -> Member | None:
    """The process of this number; None where there is none, or none any more."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    if fields[0] in "ZX":
        return None
    return Member(name, int(fields[1]), int(fields[3]), fields[0] == "R", fields[_POLICY] in _REAL_TIME)


def family(session: int) -> dict[int, Member]:
    """The processes of a session that have not ended, by number."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    found = {number: member(number) for number in numbers}
    return {number: one for number, one in found.items() if one is not None and one.session == session}


def shared_memory() -> set[str]:
    """Names that runs have in /dev/shm."""
    return {entry.name for entry in Path("/dev/shm").iterdir() if entry.name.startswith("rt-sched")}  # noqa: S108


def left_behind(session: int, shared_before: set[str]) -> list[str]:
    """In words, what a run that has ended has left once everything had time to end."""
    until = time.monotonic() + _LEFT_S
    while family(session) and time.monotonic() < until:
        time.sleep(0.05)
    processes = [f"process {pid} ({one.name}) is left" for pid, one in family(session).items()]
    return processes + [f"{name} is left in /dev/shm" for name in sorted(shared_memory() - shared_before)]
