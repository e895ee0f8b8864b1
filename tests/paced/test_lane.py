"""One at a time, the most urgent next, whoever dies."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from rt_sched.runtime.host.child import fork
from rt_sched.runtime.paced.seats.lane import Lane
from rt_sched.runtime.paced.shared import shared_array


def _waits(pids: list[int]) -> None:
    for pid in pids:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_those_who_wait_go_in_the_order_of_their_keys() -> None:
    keys = [41, 7, 93, 12, 66, 30]
    lane, order, served = Lane(7), shared_array(np.int64, 7), shared_array(np.int64, 1)
    lane.enter(6, 0, 0)

    def member(place: int) -> None:
        lane.enter(place, keys[place], 0)
        order[int(served[0])] = place
        served[0] += 1
        lane.leave(place)

    pids = [fork(lambda place=place: member(place)) for place in range(6)]  # type: ignore[misc]
    _until(lambda: lane.waiting == 6)
    assert served[0] == 0
    lane.leave(6)
    _waits(pids)
    assert order[:6].tolist() == sorted(range(6), key=keys.__getitem__)
    assert lane.owner is None


def test_never_two_at_once() -> None:
    lane, inside, most = Lane(4), shared_array(np.int64, 4), shared_array(np.int64, 4)

    def member(place: int) -> None:
        for turn in range(200):
            lane.enter(place, turn % 3, turn)
            inside[place] = 1
            most[place] = max(int(most[place]), int(inside.sum()))
            inside[place] = 0
            lane.leave(place)

    _waits([fork(lambda place=place: member(place)) for place in range(4)])  # type: ignore[misc]
    assert most.tolist() == [1, 1, 1, 1]


def test_a_dead_owner_does_not_keep_the_lane() -> None:
    lane = Lane(2)

    def takes_and_stays() -> None:
        lane.enter(0, 0, 0)
        time.sleep(60)

    pid = fork(takes_and_stays)
    _until(lambda: lane.owner == 0)
    follower = fork(lambda: lane.enter(1, 0, 0))
    _until(lambda: lane.waiting == 1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    lane.leave(0)
    _waits([follower])
    assert lane.owner == 1


def _until(there) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end
        time.sleep(0.002)
