"""A link as it is modelled, its losses, and who notices them, without a process."""

from __future__ import annotations

import pytest

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.links.server import LinkServer, Outages, Transfer
from rt_sched.runtime.paced.links.signs import Beats, LinkNotice, LinkWatch, Signs


class _Clock(PacedClock):
    """Shows what it is told to; its host's clock shows the same."""

    time_ns = 0
    begun = True  # type: ignore[assignment]

    def now_ns(self) -> int:
        return self.time_ns


def test_messages_wait_for_those_before_them() -> None:
    server = LinkServer(5, Outages())
    assert server.send(10, 20) == Transfer(10, 30, 35)
    assert server.send(12, 4) == Transfer(30, 34, 39)
    assert server.send(50, 4) == Transfer(50, 54, 59)


def test_a_lost_link_takes_nothing_and_delivers_nothing() -> None:
    outages = Outages()
    server = LinkServer(5, outages)
    first = server.send(10, 20)
    assert server.arrives(10, first.due_ns)
    outages.cut(35, 60)
    assert not server.arrives(10, first.due_ns), "what would arrive at the loss itself does not"
    assert server.send(35, 1) == server.send(59, 1) == Transfer(-1, -1, -1)
    back = server.send(60, 1)
    assert back == Transfer(60, 61, 66) and server.arrives(60, back.due_ns)


def test_a_link_that_was_lost_is_free() -> None:
    outages = Outages()
    server = LinkServer(0, outages)
    server.send(0, 100)
    outages.cut(10, 20)
    assert server.send(20, 5) == Transfer(20, 25, 25)
    outages.cut(40, None)
    assert server.send(10**15, 5).start_ns == -1


def test_what_came_before_a_loss_waits_in_its_turn_though_the_loss_is_known() -> None:
    outages = Outages()
    server = LinkServer(0, outages)
    server.send(0, 100)
    outages.cut(50, 60)
    assert server.send(40, 5) == Transfer(100, 105, 105) and not server.arrives(40, 105)
    assert server.send(60, 5) == Transfer(60, 65, 65)


def test_signs_stay_away_while_the_link_is_lost() -> None:
    signs, outages = Signs(1), Outages()
    beats = Beats(signs, 0, 10, 3, outages)
    assert beats.go_on(0) == 3
    assert beats.go_on(3) == 10 and signs.last_ns[0] == 3
    outages.cut(11, 40)
    beats.go_on(10)
    beats.go_on(39)
    assert signs.last_ns[0] == 3, "one was on its way, and none was sent"
    beats.go_on(43)
    assert signs.last_ns[0] == 43


@pytest.mark.parametrize("returns", [False, True])
def test_the_watch_notices_silence_once_each_time(returns: bool) -> None:
    clock, signs = _Clock(), Signs(2)
    watch = LinkWatch(signs, clock, 10, 25)
    for time_ns in range(0, 200, 5):
        clock.time_ns = time_ns
        signs.last_ns[0] = time_ns
        if time_ns <= 50 or (returns and 100 <= time_ns <= 120):
            signs.last_ns[1] = time_ns
        watch.do(time_ns)
    expected = [LinkNotice(1, 80, 50)] + ([LinkNotice(1, 150, 120)] if returns else [])
    assert list(watch.notices()) == expected


@pytest.mark.parametrize("last_ns", range(40, 60, 3))
def test_a_link_is_lost_when_its_time_is_over_and_not_a_look_later(last_ns: int) -> None:
    clock, signs = _Clock(), Signs(2)
    signs.last_ns[1] = last_ns
    watch, looks = LinkWatch(signs, clock, 100, 253), 0
    while clock.time_ns < 400:
        signs.last_ns[0] = clock.time_ns
        watch.do(clock.time_ns)
        assert watch.next_ns > clock.time_ns
        clock.time_ns, looks = watch.next_ns, looks + 1
    assert list(watch.notices()) == [LinkNotice(1, last_ns + 253 + 1, last_ns)]
    assert looks < 12


def test_a_watch_that_came_late_gives_more_time() -> None:
    clock, signs = _Clock(), Signs(1)
    watch = LinkWatch(signs, clock, 10, 25)
    for time_ns in (0, 5, 10, 60, 65, 70, 75, 80, 85):
        clock.time_ns = time_ns
        watch.do(time_ns)
    assert watch.notices() == ()
    clock.time_ns = 90
    watch.do(90)
    assert watch.notices() == (LinkNotice(0, 90, 0),)
