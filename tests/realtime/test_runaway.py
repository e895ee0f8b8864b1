"""Stages that ignore everything lose their class soon after their budget, and reservations hold without anybody's help.

The kernel looks at CPU timers once a tick. Times are CPU times of the stage itself, which other load does not lengthen.
"""

from __future__ import annotations

import os
import time

import pytest
from host_children import running, spin_for_ever
from runaway import by_own_timer_ns, by_supervisor_ns

from rt_sched.runtime.host.cpu_time import cpu_time_ns, process_clock
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.measure import tick_ns
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.units import NS_PER_MS


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("beyond", [by_supervisor_ns, by_own_timer_ns])
def test_a_runaway_loses_its_class_within_its_budget_and_a_tick(beyond):
    found = sorted(beyond(10 * NS_PER_MS, 15))
    assert len(found) == 15
    assert found[0] >= 0
    assert found[len(found) // 2] <= tick_ns() + NS_PER_MS
    assert found[-1] <= 5 * tick_ns()  # one that a hypervisor or an interrupt held up


@pytest.mark.usefixtures("deadline")
def test_a_runaway_under_deadline_gets_what_is_reserved_and_no_more():
    reserved = Scheduling.deadline(2 * NS_PER_MS, 10 * NS_PER_MS, 10 * NS_PER_MS)

    with running(spin_for_ever) as pid, ExclusiveCpuset({max(os.sched_getaffinity(0))}) as cpuset:
        cpuset.admit(pid)
        set_scheduling(reserved, pid)
        began, used = time.monotonic_ns(), cpu_time_ns(process_clock(pid))
        time.sleep(0.3)
        used = cpu_time_ns(process_clock(pid)) - used
        periods = -(-(time.monotonic_ns() - began) // reserved.period_ns) + 1
        set_scheduling(Scheduling.other(), pid)
    # Each period may be overdrawn by a tick before the kernel notices; what is overdrawn is taken off the next one.
    assert used <= periods * reserved.runtime_ns + tick_ns()
