"""How messages become jobs: single, any, paired, registers, consumed queues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rt_sched.runtime.paced.jobs.inbox import Head, Inbox
from rt_sched.trace.setup import EdgeKind, EdgeRow, Role


@dataclass
class Note:
    head: Head
    released: bool = False

    def value(self) -> Any:
        return self.head

    def release(self) -> None:
        self.released = True


@dataclass
class Tray:
    """An inlet in plain Python."""

    notes: list[Note] = field(default_factory=list)
    last: Note | None = None

    def put(self, number: int, capture_ns: int, published_ns: int) -> Note:
        self.last = Note(Head(number, capture_ns, published_ns))
        self.notes.append(self.last)
        return self.last

    def newest(self) -> Note | None:
        return self.last

    def oldest(self) -> Head | None:
        return self.notes[0].head if self.notes else None

    def take(self) -> Note | None:
        return self.notes.pop(0) if self.notes else None

    def due_ns(self) -> int | None:
        return self.notes[0].head.published_ns if self.notes else None


def _edge(role: Role, kind: EdgeKind = EdgeKind.QUEUE) -> EdgeRow:
    return EdgeRow(target=0, input="x", kind=kind, role=role, task=1)


def test_any_join_takes_what_was_published_first_and_reads_the_rest() -> None:
    left, right = Tray(), Tray()
    inbox = Inbox([_edge(Role.EACH), _edge(Role.EACH)], [left, right], 0)
    right.put(0, 1, 10)
    left.put(0, 2, 20)
    first = inbox.next_arrival()
    assert first is not None and (first.arrival_ns, set(first.bound)) == (10, {1})
    assert set(inbox.registers(first.bound)) == {0}
    second = inbox.next_arrival()
    assert second is not None and (second.arrival_ns, set(second.bound)) == (20, {0})
    assert inbox.next_arrival() is None


def test_a_register_that_activates_is_read_when_the_job_starts() -> None:
    tray = Tray()
    inbox = Inbox([_edge(Role.EACH, EdgeKind.LATEST)], [tray], 0)
    tray.put(0, 1, 10)
    tray.put(1, 2, 20)
    arrival = inbox.next_arrival()
    assert arrival is not None and arrival.arrival_ns == 10
    read = dict(arrival.bound) | inbox.registers(arrival.bound)
    assert read[0].head.number == 1


def test_queues_that_do_not_activate_give_their_oldest_message_once() -> None:
    tray = Tray()
    inbox = Inbox([_edge(Role.READ)], [tray], 0)
    tray.put(0, 1, 10)
    tray.put(1, 2, 20)
    assert [inbox.consumed()[0].head.number for _ in range(2)] == [0, 1]
    assert inbox.consumed() == {}


def test_the_stamp_is_that_of_what_activates_else_the_oldest_read() -> None:
    trays = [Tray(), Tray()]
    inbox = Inbox([_edge(Role.EACH), _edge(Role.READ, EdgeKind.LATEST)], trays, 0)
    trays[1].put(0, 3, 5)
    trays[0].put(0, 7, 9)
    arrival = inbox.next_arrival()
    assert arrival is not None
    read = dict(arrival.bound) | inbox.registers(arrival.bound)
    assert inbox.capture_ns(read, arrival.bound, 9) == 7
    assert inbox.capture_ns(read, {}, 9) == 3
    assert inbox.capture_ns({}, {}, 9) == 9


STAMPS = st.lists(st.integers(0, 30), max_size=8, unique=True).map(sorted)


@given(STAMPS, STAMPS, st.integers(0, 3))
def test_pairs_are_those_of_the_rule(left: list[int], right: list[int], tolerance: int) -> None:
    trays = [Tray(), Tray()]
    inbox = Inbox([_edge(Role.PAIRED), _edge(Role.PAIRED)], trays, tolerance)
    for tray, stamps in zip(trays, (left, right), strict=True):
        for number, stamp in enumerate(stamps):
            tray.put(number, stamp, 100 + stamp)
    found = []
    while (arrival := inbox.next_arrival()) is not None:
        found.append(tuple(arrival.bound[slot].head.capture_ns for slot in (0, 1)))
        assert arrival.arrival_ns == 100 + max(found[-1])
    expected = []
    a, b = list(left), list(right)
    while a and b:
        if abs(a[0] - b[0]) <= tolerance:
            expected.append((a.pop(0), b.pop(0)))
        else:
            (a if a[0] < b[0] else b).pop(0)
    assert found == expected
