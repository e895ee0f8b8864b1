"""Cores for SCHED_DEADLINE alone: an exclusive cpuset, in control groups of version 1 or 2.

The kernel admits a SCHED_DEADLINE thread only on all cores that are balanced together. A cpuset that owns some cores
exclusively makes these a domain of their own (Linux, Documentation/scheduler/sched-deadline.rst, section 5).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from rt_sched.runtime.host import cpuset_groups
from rt_sched.runtime.host.cgroups import Hierarchy, group_of
from rt_sched.runtime.host.refusal import Refused

_RETRY_S = 0.01


class ExclusiveCpuset:
    """`cores` for the processes that are let in; a context manager that gives everything back.

    Raises Refused where control groups of cpusets are missing, read-only or seen from a container only, where the cores
    are not all there, or where another group has some of them (for one of ours it waits up to `patience_ns` first).
    What owners that were killed left behind is removed on the way.
    """

    def __init__(self, cores: Iterable[int], *, tree: Hierarchy | None = None, patience_ns: int = 0) -> None:
        self.cores = frozenset(cores)
        self.tree = cpuset_groups.cpuset_tree() if tree is None else tree
        self.path = self._made(time.monotonic_ns() + patience_ns)
        self._origins: dict[int, Path] = {}

    def __enter__(self) -> ExclusiveCpuset:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def admit(self, pid: int) -> None:
        """Moves a process with all its threads onto the cores. Its children begin there as well."""
        origin = group_of(self.tree, "cpuset", pid)
        cpuset_groups.move(pid, self.path)
        if origin is not None and origin != self.path:
            self._origins[pid] = origin

    def close(self) -> None:
        """Moves all processes back to where they came from, and removes the group. Once more does nothing more."""
        with cpuset_groups.locked(self.tree):
            if self.path.exists():
                for pid in cpuset_groups.processes(self.path):
                    cpuset_groups.move(pid, self._origins.get(pid, self.tree.mount))
                cpuset_groups.remove(self.tree, self.path)

    def _made(self, until_ns: int) -> Path:
        while True:
            with cpuset_groups.locked(self.tree):
                cpuset_groups.remove_dead(self.tree)
                rivals = [group for group in cpuset_groups.owned_groups(self.tree) if group.cores & self.cores]
                if not rivals:
                    return cpuset_groups.make(self.tree, self.cores)
            if time.monotonic_ns() >= until_ns:
                owners = ", ".join(str(group.owner) for group in rivals)
                raise Refused(cpuset_groups.WHAT, f"process {owners} has some of the cores", "wait for it, or end it")
            time.sleep(_RETRY_S)


def remove_leftovers() -> tuple[Path, ...]:
    """Removes what killed owners left behind, and says which groups. Raises Refused where they cannot be changed."""
    tree = cpuset_groups.cpuset_tree()
    with cpuset_groups.locked(tree):
        return cpuset_groups.remove_dead(tree)
