"""Memory that no job waits for: pages that stay, and no garbage collection."""

from __future__ import annotations

import errno
import gc
import resource

from rt_sched.runtime.host import libc
from rt_sched.runtime.host.privileges import capabilities, soft_limit, status_fields
from rt_sched.runtime.host.refusal import Refused

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
#: Parameters of mallopt(3), and more than any process has.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_NEVER = 2**31 - 1
_MORE_AT_ONCE = 8 << 20


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


def keep_freed_memory() -> None:
    """What this process frees stays with it, so that what is needed again and again is new to it only once.

    Else the allocator gives large pieces back to the kernel, and each page that comes again costs a fault: 150 of them
    for a picture of 600 kB. Of glibc only (mallopt(3)); other C libraries are left as they are.
    """
    mallopt = getattr(libc.LIBC, "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_M_TRIM_THRESHOLD, _NEVER), (_M_MMAP_MAX, 0), (_M_TOP_PAD, _MORE_AT_ONCE)):
            mallopt(parameter, value)


def stop_collecting() -> None:
    """Python's garbage collector runs once more and then no more: a full collection takes up to a tenth of a second,
    in whatever job it falls."""
    gc.collect()
    gc.freeze()
    gc.disable()


def unlock_memory() -> None:
    """Lets pages go again."""
    libc.call("munlockall")


def locked_bytes(pid: int | None = None) -> int:
    """Memory of a process that stays in place."""
    return int(status_fields(pid).get("VmLck", "0 kB").split()[0]) << 10


#: How a user gets the right to lock memory, after a new login.
MEND_MEMLOCK = 'echo "$USER - memlock unlimited" | sudo tee /etc/security/limits.d/rt-sched-memlock.conf; log in again'
