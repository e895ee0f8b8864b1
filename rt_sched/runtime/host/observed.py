"""What the kernel says of a process, whatever was asked of it: for records of a run, and to check a deployment."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from rt_sched.runtime.host.affinity import allowed_cores
from rt_sched.runtime.host.memory import locked_bytes
from rt_sched.runtime.host.privileges import status_fields
from rt_sched.runtime.host.processes import threads_of
from rt_sched.runtime.host.scheduling import Scheduling, scheduling_of


@dataclass(frozen=True, slots=True)
class ObservedThread:
    """One thread. `state`: the kernel's letter (R runs or is ready, S and D sleep, T stopped, Z ended).

    `inherits`: it runs at the priority of somebody who waits for a mutex of its. `core`: where it ran last.
    """

    tid: int
    name: str
    state: str
    scheduling: Scheduling
    inherits: bool
    cores: frozenset[int]
    core: int
    voluntary_switches: int
    involuntary_switches: int
    major_faults: int


@dataclass(frozen=True, slots=True)
class ObservedProcess:
    """A process with its threads, the first one first. `start_ticks`: when it started, in units of 10 ms."""

    pid: int
    start_ticks: int
    locked_bytes: int
    threads: tuple[ObservedThread, ...]


def observe(pid: int) -> ObservedProcess:
    """Reads everything about a process. Raises ProcessLookupError when it is gone."""
    try:
        threads = [found for tid in threads_of(pid) if (found := _thread(pid, tid)) is not None]
        return ObservedProcess(pid, start_ticks(pid), locked_bytes(pid), tuple(threads))
    except FileNotFoundError as error:
        raise ProcessLookupError(errno.ESRCH, f"process {pid} is gone") from error


def start_ticks(pid: int) -> int:
    """When a process started: with its number this names it for good. Raises ProcessLookupError when it is gone."""
    return int(_stat_fields(Path(f"/proc/{pid}/stat"))[19])


def _thread(pid: int, tid: int) -> ObservedThread | None:
    """None for a thread that has ended meanwhile."""
    try:
        stat = _stat_fields(Path(f"/proc/{pid}/task/{tid}/stat"))
        status = status_fields(pid, tid)
        scheduling, cores = scheduling_of(tid), allowed_cores(tid)
    except (ProcessLookupError, FileNotFoundError):
        return None
    return ObservedThread(
        tid=tid,
        name=status["Name"],
        state=stat[0],
        scheduling=scheduling,
        inherits=_is_boosted(int(stat[15]), scheduling),
        cores=cores,
        core=int(stat[36]),
        voluntary_switches=int(status["voluntary_ctxt_switches"]),
        involuntary_switches=int(status["nonvoluntary_ctxt_switches"]),
        major_faults=int(stat[9]),
    )


def _stat_fields(path: Path) -> list[str]:
    """The fields of a stat file after the name, which may hold blanks and parentheses itself: state is number 0."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise ProcessLookupError(errno.ESRCH, f"{path.parent} is gone") from error


def _is_boosted(kernel_priority: int, scheduling: Scheduling) -> bool:
    """`kernel_priority` is -1 - priority for FIFO and RR, -101 for DEADLINE, and 20 + nice for the others."""
    if scheduling.scheduling_class.is_real_time:
        own = -101 if not scheduling.priority else -1 - scheduling.priority
        return kernel_priority < own
    return kernel_priority < 0
