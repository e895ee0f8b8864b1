"""A device of a paced run comes back: how long it has to beat, and when its tasks go back."""

from __future__ import annotations

import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.runtime.host.child import fork
from rt_sched.runtime.host.processes import children_of, is_stopped
from rt_sched.runtime.paced.devices.answers import NOBODY, NOMINAL
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats
from rt_sched.runtime.paced.devices.ownership import Tenure
from rt_sched.runtime.paced.devices.restart import Restarts
from rt_sched.runtime.paced.devices.watch import Probation, Sign
from rt_sched.runtime.paced.faults.strike import strike
from rt_sched.runtime.paced.roster import State
from rt_sched.trace.records import JobStatus

from .test_failover_parts import _answer, _failover, _Rig, _supervisors, _watch

BOTH = _answer({"a"}, {0: 0, 1: 1})


def _stand_ready(rig: _Rig) -> None:
    rig.roster.returning["state"][:] = State.SEATED


def _asked_until_back(rig: _Rig, since_ns: int) -> None:
    until = time.monotonic() + 10
    while not rig.failover.take_back("a", since_ns):
        assert time.monotonic() < until
        time.sleep(0.001)


def test_tasks_go_back_when_a_process_stands_ready_for_each_and_the_decision_is_made() -> None:
    rig = _failover(BOTH)
    rig.failover.lose("a", Sign.HEARTBEAT)
    nominal, standby = Tenure(rig.ownership, 0, NOMINAL), Tenure(rig.ownership, 0, 0)
    since_ns = time.monotonic_ns()
    rig.roster.returning["state"][0] = State.SEATED
    for _ in range(20):
        time.sleep(0.001)
        assert not rig.failover.take_back("a", since_ns), "nobody is there for task 1"
    assert nominal.switch is None and standby.holds
    _stand_ready(rig)
    assert not rig.failover.take_back("a", since_ns), "the decision takes its time"
    _asked_until_back(rig, since_ns)
    assert [rig.ownership.owner(task) for task in range(3)] == [NOMINAL] * 3
    _, back = rig.ownership.epochs()
    assert back.switch_ns >= back.noticed_ns + 3_000_000
    assert nominal.switch == back and not standby.holds
    assert rig.ownership.in_force(back.switch_ns).takeover.losses == ()  # type: ignore[union-attr]
    loss, returned = rig.failover.notices()
    assert (loss.is_back, returned.is_back, returned.device) == (False, True, "a")
    assert returned.last_sign_ns == rig.clock.run_ns(since_ns)


def test_a_return_waits_for_jobs_at_work_but_not_beyond_their_deadlines() -> None:
    rig = _failover(BOTH)
    rig.failover.lose("a", Sign.HEARTBEAT)
    _stand_ready(rig)
    row = rig.journals[1].rows[rig.journals[1].begin(0, 0, 1, 1)]
    row["start_ns"] = 0
    begun_ns = time.monotonic_ns()
    _asked_until_back(rig, begun_ns)
    assert time.monotonic_ns() - begun_ns >= 13_000_000
    again = _failover(BOTH)
    again.failover.lose("a", Sign.HEARTBEAT)
    _stand_ready(again)
    job = again.journals[1].rows[again.journals[1].begin(0, 0, 1, 1)]
    job["start_ns"], job["finish_ns"], job["status"] = 0, 1, JobStatus.COMPLETED
    begun_ns = time.monotonic_ns()
    _asked_until_back(again, begun_ns)
    (_, epoch) = again.ownership.epochs()
    assert epoch.switch_ns - epoch.noticed_ns < 13_000_000


def test_a_device_is_lost_and_comes_back_as_often_as_it_likes() -> None:
    rig = _failover(BOTH)
    for round_number in range(3):
        rig.failover.lose("a", Sign.HEARTBEAT)
        assert [rig.ownership.owner(task) for task in range(3)] == [0, 1, NOMINAL]
        assert (rig.roster.returning["state"][:2] == State.EMPTY).all(), "what stood ready was of an earlier life"
        _stand_ready(rig)
        _asked_until_back(rig, time.monotonic_ns())
        assert len(rig.ownership.epochs()) == len(rig.failover.notices()) == 2 * (round_number + 1)
        tenure = Tenure(rig.ownership, 2, NOMINAL, readers=(0,))
        assert tenure.new_readers(rig.clock.now_ns()) == 2 * (round_number + 1)


def test_what_stays_lost_must_have_an_answer_of_its_own() -> None:
    rig = _failover(BOTH)
    rig.failover.lose("c", Sign.HEARTBEAT)
    rig.failover.lose("a", Sign.HEARTBEAT)
    assert rig.ownership.owner(0) == NOBODY
    _stand_ready(rig)
    rig.roster.standbys["state"][:] = State.SEATED
    for _ in range(20):
        time.sleep(0.001)
        assert not rig.failover.take_back("a", 1), "nothing answers the loss of c"
    until = time.monotonic() + 10
    while not rig.failover.take_back("c", 1):
        assert time.monotonic() < until
        time.sleep(0.001)
    assert [rig.ownership.owner(task) for task in range(3)] == [0, 1, NOMINAL]


def test_of_a_stopped_device_all_but_the_supervisor_ends_and_of_one_that_is_late_everything() -> None:
    def supervisor(rig: _Rig) -> None:
        rig.failover._heartbeats.join("a")
        fork(lambda: time.sleep(60))
        fork(lambda: time.sleep(60))
        rig.failover._heartbeats.beat("a")
        time.sleep(60)

    for is_stopped_before in (True, False):
        rig = _failover(BOTH)
        beats = rig.failover._heartbeats
        pid = fork(lambda rig=rig: supervisor(rig))  # type: ignore[misc]
        while not beats.beats("a"):
            time.sleep(0.001)
        workers = children_of(pid) or ()
        if is_stopped_before:
            strike(beats.group("a"), signal.SIGSTOP)
            while not all(is_stopped(one) for one in (pid, *workers)):
                time.sleep(0.001)
        rig.failover.lose("a", Sign.HEARTBEAT)
        if is_stopped_before:
            assert is_stopped(pid) and len(workers) == 2
            os.kill(pid, signal.SIGCONT)
            assert not any(is_stopped(one) for one in workers)
            os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_device_that_flaps_is_not_trusted_and_one_that_beats_for_long_enough_is() -> None:
    beats = Heartbeats(["a"])
    with _supervisors(beats, "a"):
        watch, found = _watch(beats, ["a"], 10**12)
        place = beats._places[0]
        place["stamp_ns"] = 100
        watch.do(110)
        watch.do(1110)
        assert found == [("a", Sign.HEARTBEAT)]
        now_ns = 2000
        for _ in range(10):  # eight good beats, then a silence, again and again
            for _ in range(8):
                place["stamp_ns"] = now_ns
                watch.do(now_ns + 10)
                now_ns += 500
            now_ns += 1000
            watch.do(now_ns)
        assert found[1:] == []
        begun_ns = now_ns
        while len(found) == 1 and now_ns < begun_ns + 10_000:
            place["stamp_ns"] = now_ns
            watch.do(now_ns + 10)
            now_ns += 500
        assert found[1:] == [("a", begun_ns)] and now_ns - begun_ns == 5500
        watch.do(now_ns + 600)
        assert found[2:] == [("a", Sign.HEARTBEAT)], "it is watched again"


@given(st.lists(st.tuples(st.integers(1, 1500), st.booleans()), max_size=40))
def test_trust_begins_with_the_first_sign_after_the_last_that_was_late(steps: list[tuple[int, bool]]) -> None:
    """The watch looks in every 10 ns; each step is the distance of a sign from the one before, and whether it died."""
    probation, sign_ns, now_ns = Probation(100, 1000), 100, 1100
    expected: int | None = None
    probation.good_since_ns(sign_ns, now_ns, is_dead=True)
    for apart_ns, is_dead in steps:
        next_ns = max(now_ns, sign_ns + apart_ns)
        late = next_ns - sign_ns > 1000
        for at_ns in (now_ns, *range(now_ns + 10, next_ns, 10)):
            probation.good_since_ns(sign_ns, at_ns, is_dead=is_dead)
        expected = next_ns if late or is_dead or expected is None else expected
        sign_ns, now_ns = next_ns, next_ns
        assert probation.good_since_ns(sign_ns, now_ns, is_dead=False) == expected


def test_a_restart_is_carried_out_once_and_not_before_its_time() -> None:
    restarts = Restarts(["a", "c"], 3)
    restarts.order("a", 100)
    restarts.order("a", 300)
    assert not restarts.take("a", 99) and not restarts.take("c", 1000)
    assert restarts.take("a", 150) and not restarts.take("a", 299) and restarts.take("a", 300)


@pytest.mark.parametrize("alive", [True, False])
def test_children_that_stand_still_are_told_from_others(alive: bool) -> None:
    pid = fork(lambda: time.sleep(60))
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    assert is_stopped(pid)
    os.kill(pid, signal.SIGCONT if alive else signal.SIGKILL)
    os.waitpid(pid, os.WCONTINUED if alive else 0)
    assert not is_stopped(pid)
    if alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
