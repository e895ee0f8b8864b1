"""What this process may do: capabilities, limits, confinement."""

from __future__ import annotations

import os
import resource

from rt_sched.app.doctor.finding import Finding, Severity
from rt_sched.runtime.host.memory import MEND_MEMLOCK
from rt_sched.runtime.host.privileges import (
    capabilities,
    in_first_user_namespace,
    is_filtered,
    rtprio_limit,
    soft_limit,
)
from rt_sched.runtime.host.scheduling_refusal import MEND_ROOT, MEND_RTPRIO
from rt_sched.runtime.host.tiers import HIGHEST_PRIORITY

_AREA = "rights"
#: A worker with its stage, a model and its rings takes about this much.
_MEMORY_OF_A_WORKER = 512 << 20
#: Descriptors of a run: several for every worker and every edge.
_ENOUGH_FILES = 1024


def right_findings() -> list[Finding]:
    """Of this process as it runs: user, capabilities, priorities, memory, files, confinement."""
    held = capabilities()
    return [
        Finding(
            _AREA, "user", Severity.OK, f"{'root' if os.geteuid() == 0 else f'user {os.geteuid()}'}: {_told(held)}"
        ),
        _priorities(held),
        _reservations(held),
        _memory(held),
        _files(),
        *_confinement(),
    ]


def _told(held: frozenset[str]) -> str:
    return ", ".join(sorted(held)) or "none of the capabilities that matter here"


def _priorities(held: frozenset[str]) -> Finding:
    limit = rtprio_limit()
    if "CAP_SYS_NICE" in held:
        return Finding(_AREA, "real-time priorities", Severity.OK, "all, by CAP_SYS_NICE")
    if limit >= HIGHEST_PRIORITY:
        return Finding(_AREA, "real-time priorities", Severity.OK, f"up to {limit}, by RLIMIT_RTPRIO")
    costs = f"no tier fifo, which takes priorities up to {HIGHEST_PRIORITY}"
    return Finding(_AREA, "real-time priorities", Severity.PROBLEM, f"up to {limit}", costs, MEND_RTPRIO)


def _reservations(held: frozenset[str]) -> Finding:
    missing = sorted({"CAP_SYS_NICE"} - held)
    if not missing:
        return Finding(_AREA, "reservations", Severity.OK, "SCHED_DEADLINE, by CAP_SYS_NICE")
    return Finding(_AREA, "reservations", Severity.NOTE, "none: no CAP_SYS_NICE", "no tier deadline", MEND_ROOT)


def _memory(held: frozenset[str]) -> Finding:
    limit = soft_limit(resource.RLIMIT_MEMLOCK)
    if "CAP_IPC_LOCK" in held or limit is None:
        return Finding(_AREA, "locked memory", Severity.OK, "any amount")
    found = f"up to {limit >> 10} KiB a process"
    if limit >= _MEMORY_OF_A_WORKER:
        return Finding(_AREA, "locked memory", Severity.OK, found)
    costs = "jobs may wait for pages of memory"
    return Finding(_AREA, "locked memory", Severity.WARNING, found, costs, MEND_MEMLOCK)


def _files() -> Finding:
    limit = soft_limit(resource.RLIMIT_NOFILE)
    found = "any number" if limit is None else str(limit)
    if limit is None or limit >= _ENOUGH_FILES:
        return Finding(_AREA, "open files", Severity.OK, found)
    costs = "a system of many tasks and edges does not start"
    return Finding(_AREA, "open files", Severity.WARNING, found, costs, f"ulimit -n {_ENOUGH_FILES}")


def _confinement() -> list[Finding]:
    found = []
    if not in_first_user_namespace():
        costs = "capabilities inside it count for no scheduling class"
        found.append(
            Finding(_AREA, "user namespace", Severity.WARNING, "not the machine's first", costs, "run outside of it")
        )
    if is_filtered():
        costs = "system calls for scheduling classes may be refused"
        mend = "docker run --cap-add SYS_NICE --cap-add IPC_LOCK --ulimit rtprio=99 ..."
        found.append(Finding(_AREA, "seccomp filter", Severity.NOTE, "active", costs, mend))
    return found
