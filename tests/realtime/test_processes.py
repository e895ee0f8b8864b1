"""Processes by descriptor, what the kernel tells of them, and signals as data."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import signal
import threading
import time
from pathlib import Path

import pytest
from host_children import running, spin_for_ever, without_privileges

from rt_sched.runtime.host.child import ChildFailed, fork, in_child
from rt_sched.runtime.host.observed import observe, start_ticks
from rt_sched.runtime.host.privileges import capabilities
from rt_sched.runtime.host.processes import ProcessHandle, demote, threads_of
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, scheduling_of, set_scheduling
from rt_sched.runtime.host.signals import SignalDescriptor


def test_the_end_of_a_process_is_seen_at_its_descriptor():
    with running(signal.pause) as pid, ProcessHandle(pid) as process:
        assert not process.wait_end(0)
        process.send(signal.SIGKILL)
        assert select.select([process], [], [], 10)[0]
        assert process.wait_end(None)
        assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status == signal.SIGKILL


@pytest.mark.parametrize(
    ("work", "code"), [(lambda: None, 0), (lambda: os._exit(7), 7), (lambda: os.kill(os.getpid(), 9), -9)]
)
def test_an_ended_child_is_reaped_with_its_code(work, code):
    process = ProcessHandle(fork(work))
    assert process.wait_end(10 * 10**9)
    assert process.reap() == code
    with pytest.raises(ProcessLookupError):
        process.send(signal.SIGTERM)
    process.close()
    process.close()


def test_a_running_child_is_not_reaped():
    with running(signal.pause) as pid, ProcessHandle(pid) as process:
        assert process.reap() is None


def test_a_process_that_is_gone_has_no_descriptor():
    pid = fork(lambda: None)
    os.waitpid(pid, 0)
    for look in (ProcessHandle, threads_of, observe, start_ticks, demote):
        with pytest.raises(ProcessLookupError):
            look(pid)


@pytest.mark.usefixtures("fifo")
def test_every_thread_is_taken_off_its_class_while_it_computes():
    def work():
        threading.Thread(target=lambda: ctypes.CDLL(None).pause()).start()
        for tid in threads_of(os.getpid()):
            set_scheduling(Scheduling.fifo(5), tid)
        os.write(writer, b"!")
        spin_for_ever()

    reader, writer = os.pipe()
    with running(work) as pid:
        assert os.read(reader, 1) == b"!"
        assert [scheduling_of(tid) for tid in threads_of(pid)] == [Scheduling.fifo(5)] * 2
        assert demote(pid) == 2
        assert [scheduling_of(tid) for tid in threads_of(pid)] == [Scheduling.other()] * 2
        assert demote(pid) == 0
    os.close(reader)
    os.close(writer)


def test_what_the_kernel_tells_of_a_process():
    with running(spin_for_ever) as pid:
        os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})
        found = observe(pid)
        assert found.start_ticks == start_ticks(pid)
        (thread,) = found.threads
        assert (thread.tid, thread.state, thread.cores) == (pid, "R", {min(os.sched_getaffinity(0))})
        assert thread.scheduling == scheduling_of(pid)
        assert not thread.inherits
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        assert observe(pid).threads[0].state == "T"


def test_a_name_with_blanks_and_parentheses_is_read():
    def work():
        ctypes.CDLL(None).prctl(15, b"a) R 1 (b", 0, 0, 0)  # PR_SET_NAME
        os.write(writer, b"!")
        signal.pause()

    reader, writer = os.pipe()
    with running(work) as pid:
        assert os.read(reader, 1) == b"!"
        (thread,) = observe(pid).threads
        assert thread.name == "a) R 1 (b"
        assert thread.tid == pid
    os.close(reader)
    os.close(writer)


def test_signals_come_as_data_with_their_sender():
    def work():
        with SignalDescriptor([signal.SIGUSR1, signal.SIGUSR2]) as signals:
            assert signals.read() == []
            os.kill(os.getpid(), signal.SIGUSR1)
            pid = fork(lambda: os.kill(os.getppid(), signal.SIGUSR2))
            os.waitpid(pid, 0)
            assert select.select([signals], [], [], 10)[0]
            return pid, os.getpid(), sorted((came.number, came.sender) for came in signals.read())

    child, own, came = in_child(work)
    assert came == [(signal.SIGUSR1, own), (signal.SIGUSR2, child)]


def test_closing_does_not_let_a_pending_signal_kill():
    def work():
        with SignalDescriptor([signal.SIGUSR1]):
            os.kill(os.getpid(), signal.SIGUSR1)
        return "alive"

    assert in_child(work) == "alive"


def test_a_child_returns_results_and_exceptions():
    assert in_child(lambda: ["x" * 10**6, 1]) == ["x" * 10**6, 1]
    with pytest.raises(Refused, match="a: b; to mend it: c"):
        in_child(lambda: (_ for _ in ()).throw(Refused("a", "b", "c")))
    with pytest.raises(OSError, match="No such") as caught:
        in_child(lambda: Path("/nothing/here").stat())
    assert caught.value.errno == errno.ENOENT


def test_a_child_answers_where_a_thousand_descriptors_are_open():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f"no more than {hard} descriptors can be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    held = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while held[-1] < 1030:
            held.append(os.dup(held[0]))
        assert in_child(lambda: 7) == 7
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_child_that_dies_or_hangs_is_told_of():
    with pytest.raises(ChildFailed, match="SIGKILL"):
        in_child(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(ChildFailed, match="exit code 3"):
        in_child(lambda: os._exit(3))
    with pytest.raises(ChildFailed, match=r"within 0\.2 s"):
        in_child(spin_for_ever, limit_s=0.2)


def test_children_die_with_who_made_them():
    def parent():
        os.write(writer, f"{fork(signal.pause)}\n".encode())
        signal.pause()

    reader, writer = os.pipe()
    with running(parent):
        grandchild = int(os.read(reader, 32))
        handle = ProcessHandle(grandchild)
    assert handle.wait_end(10 * 10**9)
    handle.close()
    os.close(reader)
    os.close(writer)


def test_processes_of_others_cannot_be_signalled():
    if not capabilities():
        pytest.skip("no capabilities, so there is no other user to become")

    def work():
        with ProcessHandle(os.getppid()) as process:
            process.send(0)

    with pytest.raises(PermissionError):
        without_privileges(work)


def test_the_end_is_seen_soon():
    """In a descriptor that is polled; the median, for single wake-ups on a busy machine may take long."""
    took = []
    for _ in range(9):
        with running(signal.pause) as pid, ProcessHandle(pid) as process:
            before = time.monotonic_ns()
            process.send(signal.SIGKILL)
            assert process.wait_end(10 * 10**9)
            took.append(time.monotonic_ns() - before)
    assert sorted(took)[4] < 500_000_000
