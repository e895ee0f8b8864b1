"""Messages that count later than they lie there, and reads that see only what counted at an instant."""

from __future__ import annotations

import pytest

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.dated import DatedInlet, Sight
from rt_sched.runtime.paced.jobs.inbox import Inbox
from rt_sched.trace.setup import EdgeKind, EdgeRow, Role

from .test_inbox import Tray


class _Clock(PacedClock):
    """Shows what it is told to."""

    time_ns = 0

    def now_ns(self) -> int:
        return self.time_ns


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def test_a_register_shows_the_newest_message_that_counts(clock: _Clock) -> None:
    tray = Tray()
    inlet = DatedInlet(None, tray, Sight(clock))
    first, second = tray.put(0, 0, 10), tray.put(1, 0, 20)
    assert inlet.newest() is None
    for time_ns, number in ((10, 0), (19, 0), (20, 1), (90, 1)):
        clock.time_ns = time_ns
        for _ in range(2):
            letter = inlet.newest()
            assert letter is not None and letter.head.number == number
            letter.release()
    assert first.released and not second.released, "a letter stays in hand as long as it is the newest"


def test_a_late_job_reads_what_counted_at_its_arrival(clock: _Clock) -> None:
    tray, sight = Tray(), Sight(clock)
    inlet = DatedInlet(None, tray, sight)
    for number, published_ns in enumerate((10, 20, 30)):
        tray.put(number, 0, published_ns)
    clock.time_ns = 40
    with sight.held_at(20):
        letter = inlet.newest()
        assert letter is not None and letter.head.number == 1
    letter = inlet.newest()
    assert letter is not None and letter.head.number == 2


def test_a_message_makes_a_job_when_it_counts(clock: _Clock) -> None:
    tray = Tray()
    edge = EdgeRow(target=0, input="x", kind=EdgeKind.QUEUE, role=Role.EACH, task=1)
    inbox = Inbox([edge], [DatedInlet(tray, None, Sight(clock))], 0)
    assert inbox.due_ns() is None
    tray.put(0, 3, 10)
    assert inbox.next_arrival() is None and inbox.due_ns() == 10
    clock.time_ns = 10
    arrival = inbox.next_arrival()
    assert arrival is not None and arrival.arrival_ns == 10
    assert inbox.next_arrival() is None and inbox.due_ns() is None
