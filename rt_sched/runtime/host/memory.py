"""Pages that stay in memory, so that no job waits for one."""

from __future__ import annotations

import errno
import resource

from rt_sched.runtime.host import libc
from rt_sched.runtime.host.privileges import capabilities, soft_limit, status_fields
from rt_sched.runtime.host.refusal import Refused

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4


def lock_memory(*, as_used: bool = False) -> None:
    """Keeps all pages of this process, and those it will get, in memory. A child does not inherit this.

    `as_used`: each page once it has been used. A process that was forked then goes on sharing with its maker what
    neither writes; otherwise it gets a copy of everything that it might write.

    Raises Refused where neither CAP_IPC_LOCK nor RLIMIT_MEMLOCK allow it.
    """
    try:
        libc.call("mlockall", _MCL_CURRENT | _MCL_FUTURE | (_MCL_ONFAULT if as_used else 0))
    except OSError as error:
        if error.errno not in (errno.ENOMEM, errno.EPERM):
            raise
        limit = soft_limit(resource.RLIMIT_MEMLOCK)
        told = "unlimited" if limit is None else f"{limit >> 10} KiB"
        lacking = (
            "memory ran out" if "CAP_IPC_LOCK" in capabilities() else f"no CAP_IPC_LOCK, and RLIMIT_MEMLOCK is {told}"
        )
        raise Refused("memory that stays in place (mlockall)", lacking, MEND_MEMLOCK) from error


def unlock_memory() -> None:
    """Lets pages go again."""
    libc.call("munlockall")


def locked_bytes(pid: int | None = None) -> int:
    """Memory of a process that stays in place."""
    return int(status_fields(pid).get("VmLck", "0 kB").split()[0]) << 10


#: How a user gets the right to lock memory, after a new login.
MEND_MEMLOCK = 'echo "$USER - memlock unlimited" | sudo tee /etc/security/limits.d/rt-sched-memlock.conf; log in again'
