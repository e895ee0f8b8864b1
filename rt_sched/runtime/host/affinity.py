"""The cores that a thread may run on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rt_sched.runtime.host.refusal import Refused


def allowed_cores(tid: int = 0) -> frozenset[int]:
    """Cores of a thread, by its own mask and its cpuset; 0 stands for the calling thread."""
    return frozenset(os.sched_getaffinity(tid))


def pin(cores: Iterable[int], tid: int = 0) -> None:
    """Keeps a thread on `cores`. Raises Refused for cores that do not exist, are off or lie outside its cpuset."""
    wanted = frozenset(cores)
    named = ", ".join(str(core) for core in sorted(wanted)) or "none"
    before = allowed_cores(tid)
    try:
        os.sched_setaffinity(tid, wanted)
    except PermissionError as error:
        raise Refused(
            f"cores {named} for thread {tid}", "it belongs to another user (CAP_SYS_NICE is missing)"
        ) from error
    except (OSError, ValueError) as error:
        raise Refused(f"cores {named}", f"none of them is among those of this process ({_list(before)})") from error
    left_out = wanted - allowed_cores(tid)
    if left_out:
        os.sched_setaffinity(tid, before)
        raise Refused(f"cores {named}", f"{_list(left_out)} may not be used by this process ({_list(before)} may)")


@contextmanager
def pinned(cores: Iterable[int]) -> Iterator[None]:
    """The calling thread stays on `cores` meanwhile."""
    before = allowed_cores()
    pin(cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _list(cores: Iterable[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))
