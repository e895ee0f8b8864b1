"""CPU clocks, and timers on them that act inside compiled code."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
import time

import pytest
from host_children import burn, running, spin_for_ever

from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.cpu_time import CpuTimer, cpu_time_ns, process_clock, thread_clock
from rt_sched.runtime.host.measure import tick_ns
from rt_sched.runtime.host.observed import observe
from rt_sched.runtime.host.processes import ProcessHandle
from rt_sched.runtime.host.signals import SignalDescriptor
from rt_sched.units import NS_PER_MS

SIGNAL = signal.SIGRTMIN + 5


def test_the_clock_of_a_thread_counts_that_thread_alone():
    done = threading.Event()
    ready = threading.Event()
    found = {}

    def work():
        found["tid"] = threading.get_native_id()
        burn(30 * NS_PER_MS)
        found["own"] = time.thread_time_ns()
        ready.set()
        done.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    assert 30 * NS_PER_MS <= found["own"] <= cpu_time_ns(thread_clock(found["tid"])) < found["own"] + 10 * NS_PER_MS
    done.set()
    thread.join()


def test_the_clock_of_another_process_counts_all_it_computes():
    with running(lambda: (burn(40 * NS_PER_MS), signal.pause())) as pid:
        end = time.monotonic() + 60
        while cpu_time_ns(process_clock(pid)) < 40 * NS_PER_MS:
            assert time.monotonic() < end
            time.sleep(0.005)


def test_clocks_of_what_is_gone():
    with running(lambda: None) as pid:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    for clock in (process_clock(pid), thread_clock(pid)):
        with pytest.raises(ProcessLookupError):
            cpu_time_ns(clock)
        with pytest.raises(ProcessLookupError):
            CpuTimer(clock, SIGNAL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGXCPU])
def test_a_budget_ends_a_process_inside_compiled_code(number):
    def work():
        with CpuTimer(thread_clock(os.getpid()), number) as timer:
            timer.arm(10 * NS_PER_MS)
            spin_for_ever()

    with running(work) as pid, ProcessHandle(pid) as process:
        assert process.wait_end(60 * 10**9)
        # Its clocks go with it; the zombie is left for the fixture to reap.
        assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status == number


def test_a_budget_stops_a_process_which_then_goes_on():
    def work():
        with CpuTimer(thread_clock(os.getpid()), signal.SIGSTOP) as timer:
            timer.arm(10 * NS_PER_MS)
            spin_for_ever()

    with running(work) as pid, ProcessHandle(pid) as process:
        assert os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT).si_status == signal.SIGSTOP
        assert process.is_stopped()
        assert not process.is_stopped()
        used = cpu_time_ns(process_clock(pid))
        assert used >= 10 * NS_PER_MS
        time.sleep(0.02)
        assert cpu_time_ns(process_clock(pid)) == used
        process.send(signal.SIGCONT)
        end = time.monotonic() + 60
        while cpu_time_ns(process_clock(pid)) == used:
            assert time.monotonic() < end


def test_a_budget_of_another_process_is_told_with_its_value():
    with SignalDescriptor([SIGNAL]) as signals, running(spin_for_ever) as pid:
        timer = CpuTimer(process_clock(pid), SIGNAL, value=-7)
        timer.arm(5 * NS_PER_MS)
        (came,) = wait_for(signals)
        assert (came.number, came.sender, came.value) == (SIGNAL, 0, -7)
        used = cpu_time_ns(process_clock(pid))
        assert timer.remaining_ns == 0
        timer.arm_at(used + 20 * NS_PER_MS)
        assert 0 < timer.remaining_ns <= 20 * NS_PER_MS
        wait_for(signals)
        assert cpu_time_ns(process_clock(pid)) >= used + 20 * NS_PER_MS
        timer.close()


def test_a_timer_that_is_disarmed_or_closed_says_nothing():
    with SignalDescriptor([SIGNAL]) as signals, running(spin_for_ever) as pid:
        timer, other = (CpuTimer(process_clock(pid), SIGNAL) for _ in range(2))
        timer.arm(30 * NS_PER_MS)
        other.arm(30 * NS_PER_MS)
        timer.disarm()
        other.close()
        other.close()
        used = cpu_time_ns(process_clock(pid))
        end = time.monotonic() + 60
        while cpu_time_ns(process_clock(pid)) < used + 50 * NS_PER_MS:
            assert time.monotonic() < end
            time.sleep(0.005)
        assert signals.read() == []
        with pytest.raises(ValueError, match="closed"):
            other.arm(1)
        timer.close()


def test_a_thread_that_sleeps_uses_no_budget():
    with SignalDescriptor([SIGNAL]) as signals, running(signal.pause) as pid:
        end = time.monotonic() + 60
        while observe(pid).threads[0].state != "S":
            assert time.monotonic() < end
        timer = CpuTimer(process_clock(pid), SIGNAL)
        timer.arm(NS_PER_MS)
        time.sleep(0.05)
        assert signals.read() == []
        assert 0 < timer.remaining_ns <= NS_PER_MS
        timer.close()


def test_children_have_no_timers_of_their_parent():
    with CpuTimer(thread_clock(threading.get_native_id()), signal.SIGKILL) as timer:
        timer.arm(40 * NS_PER_MS)
        child = fork(lambda: burn(60 * NS_PER_MS))
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("wrong", [0, -1])
def test_budgets_are_times(wrong):
    with CpuTimer(process_clock(os.getpid()), SIGNAL) as timer:
        with pytest.raises(ValueError, match="at least 1 ns"):
            timer.arm(wrong)
        with pytest.raises(ValueError, match="at least 1 ns"):
            timer.arm_at(wrong)


def test_a_signal_that_does_not_exist():
    with pytest.raises(ProcessLookupError, match="no such signal"):
        CpuTimer(process_clock(os.getpid()), 200)


def test_the_layouts_are_those_of_the_kernel():
    from rt_sched.runtime.host import cpu_time

    assert ctypes.sizeof(cpu_time._SigEvent) == 64
    assert ctypes.sizeof(cpu_time._Setting) == 32


def test_a_tick_is_a_whole_rate_of_the_kernel():
    assert 100 <= round(10**9 / tick_ns()) <= 1000


def wait_for(signals, limit_s=60.0):
    """The signals that have come, at least one."""
    assert select.select([signals], [], [], limit_s)[0]
    return signals.read()
