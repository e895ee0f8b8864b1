"""Tiers, cores, memory, sleeping and what is measured of the machine."""

from __future__ import annotations

import os
import resource
import signal
import struct
import threading

import pytest
from host_children import running, spin_for_ever, without_privileges
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host import measure, memory, sleeping
from rt_sched.runtime.host.affinity import allowed_cores, pin, pinned
from rt_sched.runtime.host.child import in_child, on_cores
from rt_sched.runtime.host.privileges import capabilities, in_first_user_namespace
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import scheduling_of
from rt_sched.runtime.host.tiers import Tier, available_tiers
from rt_sched.units import NS_PER_MS, NS_PER_S


def test_every_tier_is_told_of_and_what_is_missing_has_a_reason(tiers):
    assert list(tiers) == [Tier.DEADLINE, Tier.FIFO, Tier.USER]
    assert tiers[Tier.USER].available
    for report in tiers.values():
        assert report.available or report.reasons


def test_trying_the_tiers_changes_nothing_here():
    before = scheduling_of(), allowed_cores(), memory.locked_bytes()
    in_child(available_tiers)
    assert (scheduling_of(), allowed_cores(), memory.locked_bytes()) == before


def test_root_on_its_own_machine_has_priorities(tiers):
    """Where the privilege is there, a missing tier would be a defect, or is explained by a control group."""
    if "CAP_SYS_NICE" in capabilities() and in_first_user_namespace():
        assert tiers[Tier.FIFO].available or "control group" in tiers[Tier.FIFO].reasons[0]


def test_without_privileges_the_user_tier_is_left_and_reasons_name_what_to_mend():
    found = {report.tier: report for report in without_privileges(available_tiers)}
    assert found[Tier.USER].available
    assert not found[Tier.DEADLINE].available
    if not found[Tier.FIFO].available:
        assert "RLIMIT_RTPRIO" in found[Tier.FIFO].reasons[0]
        assert "limits.d" in found[Tier.FIFO].reasons[0]


def test_a_thread_is_pinned_and_let_go():
    before = allowed_cores()
    with pinned({max(before)}):
        assert allowed_cores() == {max(before)}
    assert allowed_cores() == before


@pytest.mark.parametrize("extra", [set(), {100_000}])
def test_cores_that_are_not_there_are_refused_and_change_nothing(extra):
    before = allowed_cores()
    with pytest.raises(Refused, match="cores"):
        pin(extra)
    if extra:
        with pytest.raises(Refused, match="100000"):
            pin(before | extra)
    assert allowed_cores() == before


def test_memory_is_locked_and_let_go():
    def work():
        memory.lock_memory()
        locked = memory.locked_bytes()
        memory.unlock_memory()
        return locked, memory.locked_bytes()

    if "CAP_IPC_LOCK" not in capabilities():
        pytest.skip("no CAP_IPC_LOCK")
    locked, after = in_child(work)
    assert locked > 10**6
    assert after == 0


def test_without_privileges_memory_may_be_refused_with_the_limit():
    def work():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))
        memory.lock_memory()

    with pytest.raises(Refused, match="RLIMIT_MEMLOCK is 4 KiB"):
        without_privileges(work)


@pytest.mark.parametrize("ahead_ns", [-(10**9), 0, 1, 5 * NS_PER_MS])
def test_one_never_wakes_before_the_instant(ahead_ns):
    instant = sleeping.now_ns() + ahead_ns
    sleeping.sleep_until_ns(instant)
    assert sleeping.now_ns() >= instant


def test_an_instant_before_the_clock_began_has_passed():
    begun = sleeping.now_ns()
    sleeping.sleep_until_ns(-1)
    assert sleeping.now_ns() - begun < 10 * NS_PER_S


def test_a_signal_is_handled_and_the_sleep_goes_on():
    def work():
        came = []
        signal.signal(signal.SIGALRM, lambda *_: came.append(sleeping.now_ns()))
        instant = sleeping.now_ns() + 100 * NS_PER_MS
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        sleeping.sleep_until_ns(instant)
        return len(came), sleeping.now_ns() - instant

    came, after_ns = in_child(work)
    assert came == 1
    assert after_ns >= 0


def test_a_handler_that_raises_ends_the_sleep():
    def work():
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            sleeping.sleep_until_ns(sleeping.now_ns() + 60 * 10**9)
        except KeyboardInterrupt:
            return True

    assert in_child(work)


def test_other_threads_run_during_a_sleep():
    ran = []
    thread = threading.Timer(0.005, lambda: ran.append(1))
    thread.start()
    sleeping.sleep_until_ns(sleeping.now_ns() + 500 * NS_PER_MS)
    assert ran
    thread.join()


def test_the_slack_of_timers_is_set_and_told():
    def work():
        sleeping.set_timer_slack_ns(123)
        return sleeping.timer_slack_ns(), sleeping.timer_slack_ns(os.getpid())

    assert in_child(work) == (123, 123)
    with pytest.raises(ValueError, match="at least 1 ns"):
        sleeping.set_timer_slack_ns(0)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40), st.integers(1, 1000))
def test_quantiles_are_the_smallest_values_that_the_share_does_not_exceed(values, thousandths):
    found = measure.quantile(values, thousandths / 1000)
    assert found in values
    assert sum(value <= found for value in values) * 1000 >= thousandths * len(values)
    assert sum(value < found for value in values) * 1000 < thousandths * len(values)


def test_wake_ups_are_never_early_and_as_many_as_asked():
    lateness = measure.wake_up_lateness_ns(NS_PER_MS, 20)
    assert len(lateness) == 20
    assert min(lateness) >= 0


def test_gaps_of_the_clock_are_found_in_bursts_and_rests_do_not_count(monkeypatch):
    """A clock that moves on by 10 at every look, once by 500 within a burst, and by 1000 in every rest."""
    looks = [0]
    jumps = {25: 500}

    def now():
        looks[0] += 1
        now.time += jumps.get(looks[0], 10)
        return now.time

    def rest(until):
        now.time = until + 1000

    now.time = 0
    monkeypatch.setattr(measure, "now_ns", now)
    monkeypatch.setattr(measure, "sleep_until_ns", rest)
    watched, gaps = measure.clock_gaps_ns(2000, 100, 200, 50)
    assert gaps == [500]
    assert 2000 <= watched < 2000 + 500


def test_ticks_are_seen_as_the_kernel_counts_them():
    steps = measure.coarse_steps_ns(10, 10 * 10**9)
    # A busy machine lengthens distances, so that ticks go by unseen; there are no more steps than ticks.
    assert len(steps) == 10
    assert sum(steps) > 8 * measure.tick_ns()


def test_a_timer_on_another_process_is_late_by_a_tick_at_most_in_its_own_time():
    with running(spin_for_ever) as pid:
        lateness = measure.cpu_timer_lateness_ns(pid, 5 * NS_PER_MS, 8, signal.SIGRTMIN + 4, 30 * 10**9)
    assert len(lateness) == 8
    assert min(lateness) >= 0


def test_a_timer_on_a_process_that_sleeps_gives_up():
    with running(signal.pause) as pid:
        assert measure.cpu_timer_lateness_ns(pid, 5 * NS_PER_MS, 8, signal.SIGRTMIN + 4, 10 * NS_PER_MS) == []


def test_refusals_are_errors_of_deployment_that_travel_between_processes():
    refusal = Refused("what", "lacking", "mend")
    assert isinstance(refusal, DeploymentError)
    travelled = in_child(lambda: refusal)
    assert (travelled.what, travelled.lacking, travelled.mend) == ("what", "lacking", "mend")
    assert str(Refused("what", "lacking")) == "what: lacking"


def test_children_stay_on_their_cores_and_end_with_the_block():
    reader, writer = os.pipe()

    def work():
        (core,) = os.sched_getaffinity(0)
        os.write(writer, struct.pack("ii", os.getpid(), core))
        signal.pause()

    cores = sorted(allowed_cores())
    with on_cores(cores, work):
        told = dict(struct.unpack("ii", os.read(reader, 8)) for _ in cores)
        assert sorted(told.values()) == cores
        assert all(os.getpgid(pid) for pid in told)
    os.close(reader)
    os.close(writer)
    for pid in told:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
