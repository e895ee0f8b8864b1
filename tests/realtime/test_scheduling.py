"""Scheduling classes: set, read back from the kernel, restored, refused with the reason."""

from __future__ import annotations

import os
import resource

import pytest
from host_children import running, spin_for_ever, without_privileges
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.runtime.host.child import in_child
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.privileges import capabilities
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, SchedulingClass, scheduled, scheduling_of, set_scheduling
from rt_sched.units import NS_PER_MS


def test_a_process_is_told_its_class_as_the_standard_library_tells_it():
    found = scheduling_of()
    assert found.scheduling_class == os.sched_getscheduler(0)
    assert found.nice == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("priority", [1, 50, 99])
def test_fifo_is_what_the_kernel_then_runs(priority):
    def work():
        set_scheduling(Scheduling.fifo(priority))
        return scheduling_of(), os.sched_getscheduler(0), os.sched_getparam(0).sched_priority

    found, policy, level = in_child(work)
    assert found == Scheduling.fifo(priority)
    assert (policy, level) == (os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, priority)


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("reset", [True, False])
def test_children_inherit_a_class_unless_it_is_reset(reset):
    def work():
        set_scheduling(Scheduling.fifo(7, reset_on_fork=reset))
        return in_child(scheduling_of)

    expected = Scheduling.other() if reset else Scheduling.fifo(7, reset_on_fork=False)
    assert in_child(work) == expected


@pytest.mark.usefixtures("fifo")
def test_a_class_of_another_process_is_set_and_read():
    with running(spin_for_ever) as pid:
        set_scheduling(Scheduling.fifo(3), pid)
        assert scheduling_of(pid) == Scheduling.fifo(3)
        set_scheduling(Scheduling.other(), pid)
        assert scheduling_of(pid) == Scheduling.other()


@pytest.mark.usefixtures("fifo")
def test_a_class_ends_with_its_block_also_when_that_raises():
    def work():
        seen = []
        try:
            with scheduled(Scheduling.fifo(20)):
                seen.append(scheduling_of())
                with scheduled(Scheduling.fifo(40)):
                    seen.append(scheduling_of())
                seen.append(scheduling_of())
                raise KeyError
        except KeyError:
            seen.append(scheduling_of())
        return seen

    before = scheduling_of()
    assert in_child(work) == [Scheduling.fifo(20), Scheduling.fifo(40), Scheduling.fifo(20), before]


@pytest.mark.usefixtures("fifo")
def test_a_user_with_the_limit_may_take_priorities_up_to_it_and_give_them_back():
    def work():
        with scheduled(Scheduling.fifo(30)):
            inside = scheduling_of()
        after = scheduling_of()
        try:
            set_scheduling(Scheduling.fifo(31))
        except Refused as refusal:
            return inside, after, refusal
        return inside, after, None

    if "CAP_SYS_RESOURCE" not in capabilities() and resource.getrlimit(resource.RLIMIT_RTPRIO)[1] < 30:
        pytest.skip("no CAP_SYS_RESOURCE, so no limit can be raised")

    def limited():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (30, 30))
        return without_privileges(work)

    inside, after, refusal = in_child(limited)
    assert inside == Scheduling.fifo(30)
    # The flag stays: giving it back takes a privilege.
    assert (after.scheduling_class, after.reset_on_fork) == (SchedulingClass.OTHER, True)
    assert "RLIMIT_RTPRIO is 30" in str(refusal)
    assert "CAP_SYS_NICE" in refusal.lacking
    assert "limits.d" in refusal.mend


@pytest.mark.parametrize("wanted", [Scheduling.fifo(1), Scheduling.deadline(10**6, 10**7, 10**7)])
def test_without_privileges_the_refusal_names_the_capability(wanted):
    def limited():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        return without_privileges(lambda: set_scheduling(wanted))

    with pytest.raises(Refused, match="no CAP_SYS_NICE") as caught:
        in_child(limited)
    assert str(wanted) in str(caught.value)
    assert caught.value.mend


@pytest.mark.usefixtures("deadline")
def test_deadline_on_its_own_core_with_its_parameters():
    wanted = Scheduling.deadline(NS_PER_MS, 5 * NS_PER_MS, 10 * NS_PER_MS, overrun_signal=True)

    def work():
        with ExclusiveCpuset({max(os.sched_getaffinity(0))}, patience_ns=5 * 10**9) as cpuset:
            cpuset.admit(os.getpid())
            with scheduled(wanted):
                found = scheduling_of()
            return found, scheduling_of()

    found, after = in_child(work)
    assert found == wanted
    assert after.scheduling_class is SchedulingClass.OTHER


@pytest.mark.usefixtures("deadline")
def test_deadline_outside_of_a_cpuset_of_its_own_is_refused_with_the_way_out():
    def work():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        set_scheduling(Scheduling.deadline(NS_PER_MS, 10 * NS_PER_MS, 10 * NS_PER_MS))

    with pytest.raises(Refused, match=r"balances together.*exclusive cpuset"):
        in_child(work)


@pytest.mark.usefixtures("deadline")
def test_reservations_beyond_what_is_left_are_refused():
    """95 of 100 on every core is what the kernel gives away, and the first child alone asks for more than half."""

    def work(depth):
        set_scheduling(Scheduling.deadline(60 * NS_PER_MS, 100 * NS_PER_MS, 100 * NS_PER_MS))
        if depth:
            in_child(lambda: work(depth - 1))

    with pytest.raises(Refused, match="already admitted"):
        in_child(lambda: work(2 * os.cpu_count()))


@pytest.mark.usefixtures("deadline")
def test_periods_that_the_kernel_does_not_take_are_refused_with_its_limits():
    with pytest.raises(Refused, match="sched_deadline_period_min_us"):
        in_child(lambda: set_scheduling(Scheduling.deadline(2000, 2000, 2000)))


def test_a_thread_that_is_gone_is_no_refusal():
    with running(lambda: None) as pid:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        gone = pid
    with pytest.raises(ProcessLookupError):
        set_scheduling(Scheduling.other(), gone)
    with pytest.raises(ProcessLookupError):
        scheduling_of(gone)


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
def test_only_reservations_in_order_can_be_written_down(runtime, due, period):
    if 1024 <= runtime <= due <= period < 2**63:
        assert Scheduling.deadline(runtime, due, period).period_ns == period
    else:
        with pytest.raises(ValueError, match="runtime <= deadline <= period"):
            Scheduling.deadline(runtime, due, period)


@pytest.mark.parametrize("priority", [0, 100, -1])
def test_only_priorities_of_the_kernel_can_be_written_down(priority):
    with pytest.raises(ValueError, match="from 1 to 99"):
        Scheduling.fifo(priority)


@pytest.mark.parametrize("nice", [-21, 20])
def test_only_nice_values_of_the_kernel_can_be_written_down(nice):
    with pytest.raises(ValueError, match="from -20 to 19"):
        Scheduling.other(nice)


@pytest.mark.parametrize(
    ("scheduling", "told"),
    [
        (Scheduling.other(), "SCHED_OTHER"),
        (Scheduling.other(5), "SCHED_OTHER nice 5"),
        (Scheduling.fifo(40), "SCHED_FIFO priority 40"),
        (Scheduling.deadline(1_500_000, 5_000_000, 10_000_000), "SCHED_DEADLINE 1.5ms / 5ms / 10ms"),
    ],
)
def test_a_class_is_told_in_words(scheduling, told):
    assert str(scheduling) == told
