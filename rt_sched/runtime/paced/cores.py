"""The cores of this host that a paced run is on, and how processes get there."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager

from rt_sched.model import Plan, System
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.cpuset_groups import processes
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.deployment import free_core, host_cores

#: How long a cpuset is tried to be had.
_PATIENCE_NS = 200_000_000
#: How long those who have been killed may take to leave it.
_LEAVING_S = 5.0


class RunCores:
    """`of_processors`: by processor of the plan. Raises DeploymentError where one has no core of this host."""

    def __init__(self, system: System, plan: Plan, tier: Tier) -> None:
        self.of_processors = host_cores(system, plan)
        self._exclusive = tier is Tier.DEADLINE
        self._cpusets: dict[int, ExclusiveCpuset] = {}  # one for each core: SCHED_DEADLINE has no pinning inside

    @property
    def free(self) -> int | None:
        """One that no task runs on, None where there is none."""
        return free_core(self.of_processors)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """In the tier `deadline` every core is an exclusive cpuset meanwhile, from before the first fork on."""
        with ExitStack() as stack:
            if self._exclusive:
                for core in sorted(set(self.of_processors)):
                    self._cpusets[core] = stack.enter_context(ExclusiveCpuset({core}, patience_ns=_PATIENCE_NS))
            try:
                yield
            finally:
                self._wait_until_empty()

    def go_to(self, core: int) -> None:
        """In the process that asks: it runs on this core alone from now on."""
        if core in self._cpusets:
            self._cpusets[core].admit(os.getpid())
        pin([core])

    def beside_reservations(self, cores: Collection[int]) -> list[int]:
        """Those of `cores` without a cpuset; all of them where this process may use no other core."""
        if allowed_cores() - self._cpusets.keys():
            return sorted(set(cores) - self._cpusets.keys())
        return sorted(set(cores))

    def _wait_until_empty(self) -> None:
        """Workers die with their supervisors, but not at once."""
        until = time.monotonic() + _LEAVING_S
        while any(processes(one.path) for one in self._cpusets.values()) and time.monotonic() < until:
            time.sleep(0.01)
