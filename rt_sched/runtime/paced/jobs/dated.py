"""Logical execution time: messages that count from an instant on which may come after they lie there.

A task with LET hands its output on when it is made, dated: it counts as published at the absolute deadline of its job.
Whoever reads it looks only at what counts already, so nobody has to be awake at that instant, and nothing is late that
was there in time. What a job with LET reads counts at its arrival, however late it is dispatched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.jobs.inbox import Head, Inlet, Letter


class Sight:
    """The instant up to which the reads of one process see messages: now, unless it is held at another one."""

    def __init__(self, clock: PacedClock) -> None:
        self._clock = clock
        self._held_ns: int | None = None

    @property
    def until_ns(self) -> int:
        """Run time; what was published then is seen, too."""
        return self._clock.now_ns() if self._held_ns is None else self._held_ns

    @contextmanager
    def held_at(self, instant_ns: int | None) -> Iterator[None]:
        """Reads meanwhile see what they would have seen at that run time; None: what there is."""
        self._held_ns = instant_ns
        try:
            yield
        finally:
            self._held_ns = None


class _Lent:
    """A letter of a register: it stays in hand until a newer one counts."""

    def __init__(self, letter: Letter) -> None:
        self._letter = letter
        self.head = letter.head

    def value(self) -> Any:
        return self._letter.value()

    def release(self) -> None:
        """The register keeps it."""


class DatedInlet:
    """The reading end of an edge some of whose messages do not count yet.

    `waiting`: in which messages wait to be taken, None where they only stand in a register. `history`: the messages of
    the register, oldest first, None where nobody asks for the newest.
    """

    def __init__(self, waiting: Inlet | None, history: Inlet | None, sight: Sight) -> None:
        self._waiting, self._history, self._sight = waiting, history, sight
        self._current: Letter | None = None

    def newest(self) -> Letter | None:
        """The newest message that counts, taken before or not."""
        if self._history is None:
            return None
        until_ns = self._sight.until_ns
        while (head := self._history.oldest()) is not None and head.published_ns <= until_ns:
            letter = self._history.take()
            if self._current is not None:
                self._current.release()
            self._current = letter
        return None if self._current is None else _Lent(self._current)

    def oldest(self) -> Head | None:
        """Of those that count."""
        head = None if self._waiting is None else self._waiting.oldest()
        return head if head is not None and head.published_ns <= self._sight.until_ns else None

    def take(self) -> Letter | None:
        """The message that waits longest, if it counts."""
        return None if self._waiting is None or self.oldest() is None else self._waiting.take()

    def due_ns(self) -> int | None:
        """From when on the message counts that waits longest."""
        head = None if self._waiting is None else self._waiting.oldest()
        return None if head is None else head.published_ns
