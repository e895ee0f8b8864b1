"""Mutexes in shared memory: exclusion between processes, owners that die, protocols, wrong use."""

from __future__ import annotations

import os
import select
import signal
import struct
import threading
import time

import pytest
from host_children import running, without_privileges

from rt_sched.runtime.host.child import fork, in_child
from rt_sched.runtime.host.mutex import MUTEX_BYTES, Acquired, Protocol, SharedMutex
from rt_sched.runtime.host.observed import observe
from rt_sched.runtime.host.processes import demote
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.units import NS_PER_MS

PROTOCOLS = [Protocol.NONE, Protocol.INHERIT]
_COUNTER = 2048


@pytest.fixture(params=PROTOCOLS)
def mutex(request, page):
    made = SharedMutex.create(page, protocol=request.param)
    yield made
    made.detach()


def add(page, mutex, times):
    for _ in range(times):
        with mutex.held():
            (count,) = struct.unpack_from("q", page, _COUNTER)
            if count % 64 == 0:
                os.sched_yield()  # where another process would come between
            struct.pack_into("q", page, _COUNTER, count + 1)


def test_no_step_of_two_processes_is_lost(page, mutex):
    pids = [fork(lambda: add(page, mutex, 2000)) for _ in range(3)]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert struct.unpack_from("q", page, _COUNTER) == (6000,)


def test_a_process_that_opens_the_place_anew_has_the_same_mutex(page):
    made = SharedMutex.create(page, 64)
    other = SharedMutex(page, 64)
    with made.held():
        assert in_child(other.try_acquire) is None
    assert in_child(other.try_acquire) is Acquired.CLEAN
    made.detach()
    other.detach()


def holder(mutex, told):
    """Acquires the mutex, says so, and holds it until it is killed."""
    mutex.acquire()
    os.write(told, b"!")
    signal.pause()


def test_the_next_one_is_told_that_the_owner_was_killed(mutex):
    reader, writer = os.pipe()
    with running(lambda: holder(mutex, writer)):
        assert os.read(reader, 1) == b"!"
        assert mutex.try_acquire() is None
    assert mutex.acquire(10**9) is Acquired.OWNER_DIED
    mutex.release()
    assert mutex.acquire() is Acquired.CLEAN  # in order again
    mutex.release()
    os.close(reader)
    os.close(writer)


def test_one_that_waits_already_is_woken_by_the_death_of_the_owner(mutex):
    reader, writer = os.pipe()
    found = []
    with running(lambda: holder(mutex, writer)):
        assert os.read(reader, 1) == b"!"
        waiter = threading.Thread(target=lambda: found.append((mutex.acquire(), mutex.release())))
        waiter.start()
        time.sleep(0.02)
        assert not found
    waiter.join(10)
    assert found == [(Acquired.OWNER_DIED, None)]
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("timeout_ns", [0, 20 * NS_PER_MS])
def test_a_mutex_that_does_not_come_in_time_is_given_up(mutex, timeout_ns):
    def asked():
        before = time.monotonic_ns()
        return mutex.acquire(timeout_ns), time.monotonic_ns() - before

    with mutex.held():
        found, waited_ns = in_child(asked)
    assert found is None
    assert timeout_ns <= waited_ns < timeout_ns + 10**9


def test_other_threads_run_while_one_waits(mutex):
    """Waiting gives the interpreter back."""
    released = threading.Event()

    def hold():
        with mutex.held():
            holding.set()
            released.wait(10)

    holding = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    assert holding.wait(10)
    threading.Timer(0.02, released.set).start()
    with mutex.held():
        assert released.is_set()
    thread.join()


@pytest.mark.parametrize("timeout_ns", [None, 10**9])
def test_a_thread_that_holds_it_is_not_left_to_wait_for_itself(mutex, timeout_ns):
    with mutex.held(), pytest.raises(RuntimeError, match="already"):
        mutex.acquire(timeout_ns)


def test_only_its_holder_releases_it(mutex):
    with pytest.raises(RuntimeError, match="acquired it"):
        mutex.release()


def test_the_buffer_may_be_closed_once_nobody_uses_it(page):
    mutex = SharedMutex.create(page)
    with pytest.raises(BufferError):
        page.close()
    mutex.destroy()
    with pytest.raises(ValueError, match="detached"):
        mutex.acquire()
    page.close()


def test_a_held_mutex_is_not_destroyed(page):
    mutex = SharedMutex.create(page)
    with mutex.held(), pytest.raises(RuntimeError, match=r"held|holds"):
        mutex.destroy()
    with mutex.held(), pytest.raises(RuntimeError, match="held"):
        in_child(mutex.destroy)
    mutex.destroy()


@pytest.mark.parametrize(
    ("offset", "wrong"), [(4, "aligned"), (4096 - MUTEX_BYTES + 8, "too small"), (-8, "negative"), (8192, "smaller")]
)
def test_places_where_no_mutex_fits(page, offset, wrong):
    with pytest.raises(ValueError, match=rf"(?i){wrong}|Buffer size"):
        SharedMutex.create(page, offset)


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": Protocol.CEILING},
        {"protocol": Protocol.INHERIT, "ceiling": 3},
        {"protocol": Protocol.CEILING, "ceiling": 3, "robust": True},
    ],
)
def test_a_ceiling_belongs_to_its_protocol(page, wrong):
    with pytest.raises(ValueError, match="ceiling"):
        SharedMutex.create(page, **wrong)


@pytest.mark.usefixtures("fifo")
def test_a_holder_runs_at_the_ceiling(page):
    mutex = SharedMutex.create(page, protocol=Protocol.CEILING, ceiling=60)

    def work():
        set_scheduling(Scheduling.fifo(20))
        levels = []
        with mutex.held():
            levels.append(os.sched_getparam(0).sched_priority)
        levels.append(os.sched_getparam(0).sched_priority)
        return levels

    assert in_child(work) == [60, 20]
    mutex.detach()


@pytest.mark.usefixtures("fifo")
def test_a_mutex_with_a_ceiling_is_destroyed_by_anybody_while_nobody_holds_it(page):
    mutex = SharedMutex.create(page, protocol=Protocol.CEILING, ceiling=60)

    def work():
        set_scheduling(Scheduling.fifo(20))
        with mutex.held(), pytest.raises(RuntimeError, match="held"):
            mutex.destroy()

    in_child(work)
    mutex.destroy()


@pytest.mark.usefixtures("fifo")
def test_a_caller_above_the_ceiling_is_refused(page):
    mutex = SharedMutex.create(page, protocol=Protocol.CEILING, ceiling=60)

    def work():
        set_scheduling(Scheduling.fifo(61))
        mutex.acquire()

    with pytest.raises(Refused, match="SCHED_FIFO priority 61, is above it"):
        in_child(work)
    mutex.detach()


def test_a_ceiling_is_for_threads_with_a_priority(page):
    mutex = SharedMutex.create(page, protocol=Protocol.CEILING, ceiling=60)
    with pytest.raises(Refused, match="not under SCHED_FIFO"):
        mutex.acquire()
    mutex.detach()


@pytest.mark.usefixtures("fifo")
def test_a_ceiling_takes_the_privilege_to_run_at_it(page):
    mutex = SharedMutex.create(page, protocol=Protocol.CEILING, ceiling=60)

    set_to_inherit = Scheduling.fifo(20, reset_on_fork=False)
    with pytest.raises(PermissionError):
        in_child(lambda: (set_scheduling(set_to_inherit), without_privileges(mutex.acquire)))
    mutex.detach()


def test_plain_mutexes_need_no_privilege(mutex):
    assert without_privileges(mutex.try_acquire) is Acquired.CLEAN
    assert mutex.acquire() is Acquired.OWNER_DIED  # the child ended with it
    mutex.release()


def test_one_that_shall_not_be_robust_stays_with_the_dead(page):
    mutex = SharedMutex.create(page, protocol=Protocol.NONE, robust=False)
    assert in_child(mutex.try_acquire) is Acquired.CLEAN
    assert mutex.try_acquire() is None
    mutex.detach()


@pytest.mark.usefixtures("fifo")
def test_a_holder_inherits_and_is_seen_to(page):
    """The kernel tells of a boosted thread; its own class stays what it was."""
    mutex = SharedMutex.create(page)
    reader, writer = os.pipe()

    def urgent():
        set_scheduling(Scheduling.fifo(30))
        mutex.acquire()

    with running(lambda: holder(mutex, writer)) as low:
        assert select.select([reader], [], [], 10)[0]
        assert not observe(low).threads[0].inherits
        with running(urgent):
            end = time.monotonic() + 10
            while not (seen := observe(low).threads[0]).inherits:
                assert time.monotonic() < end
            assert seen.scheduling == Scheduling.other()
    os.close(reader)
    os.close(writer)
    mutex.detach()


@pytest.mark.usefixtures("fifo")
def test_a_holder_that_is_demoted_keeps_what_it_inherits_until_it_releases(page):
    """Or taking a runaway off its class would leave who waits for it behind everything else."""

    def low():
        set_scheduling(Scheduling.fifo(10))
        with mutex.held():
            os.write(writer, b"!")
            os.read(go, 1)
        os.write(writer, b"?")
        signal.pause()

    def urgent():
        set_scheduling(Scheduling.fifo(30))
        mutex.acquire()

    mutex = SharedMutex.create(page)
    reader, writer = os.pipe()
    go, let_go = os.pipe()
    with running(low) as pid:
        assert os.read(reader, 1) == b"!"
        with running(urgent):
            end = time.monotonic() + 10
            while not observe(pid).threads[0].inherits:
                assert time.monotonic() < end
            assert demote(pid) == 1
            seen = observe(pid).threads[0]
            assert (seen.scheduling, seen.inherits) == (Scheduling.other(), True)
            os.write(let_go, b"!")
            assert os.read(reader, 1) == b"?"
            assert not observe(pid).threads[0].inherits
    for descriptor in (reader, writer, go, let_go):
        os.close(descriptor)
    mutex.detach()
