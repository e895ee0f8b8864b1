"""A reading end of a channel in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from rt_sched.errors import DataError
from rt_sched.kernels.ring.bell import CHANGED
from rt_sched.kernels.ring.read import claim, release, take, unread, wait
from rt_sched.kernels.ring.words import NOTHING
from rt_sched.transport.bell import Bell, is_over, look_up_ns
from rt_sched.transport.views import SlotViews

if TYPE_CHECKING:
    Ending = Callable[["RingReader"], None]


class RingMessage:
    """See `rt_sched.ports.Message`. `facts`: what the kernel's `take` said of it."""

    __slots__ = ("_reader", "data", "facts")

    def __init__(self, reader: RingReader, facts: tuple[int, ...], data: memoryview) -> None:
        self._reader: RingReader | None = reader
        self.facts = facts
        self.data = data

    @property
    def sequence(self) -> int:
        return self.facts[2]

    @property
    def stamp_ns(self) -> int:
        return self.facts[3]

    @property
    def published_ns(self) -> int:
        return self.facts[4]

    @property
    def epoch(self) -> int:
        return self.facts[6]

    @property
    def tag(self) -> int:
        return self.facts[7]

    @property
    def lost(self) -> int:
        return self.facts[8]

    def release(self) -> None:
        if self._reader is not None:
            self._reader.let_go(self)
            self._reader = None

    def __enter__(self) -> RingMessage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class RingReader:
    """See `rt_sched.ports.Reader`. `bell`: what wakes it."""

    def __init__(
        self, name: str, ring: int, reader: int, slots: np.ndarray, stride: int, bell: Bell, ending: Ending
    ) -> None:
        self.bell = bell
        self._name = name
        self._ring = ring
        self._reader = reader
        self._views = SlotViews(slots, stride)
        self._ending: Ending | None = ending
        self._held: dict[int, RingMessage] = {}
        self._time = np.zeros(2, np.int64)
        self._time_address = self._time.ctypes.data
        self._abandoned: int = claim(reader)

    @property
    def abandoned(self) -> int:
        return self._abandoned

    def unread(self) -> int:
        count: int = unread(self._reader)
        return count

    def wait(self, timeout_ns: int | None) -> bool:
        until_ns = None if timeout_ns is None else monotonic_ns() + timeout_ns
        while True:
            result = wait(self._reader, self.bell.address, look_up_ns(until_ns), self._time_address)
            if result == CHANGED:
                return True
            if is_over(result, until_ns):
                return False

    def take(self) -> RingMessage | None:
        if self._ending is None:
            raise DataError(f"{self._name}: it was closed, or is the parent process's")
        facts = take(self._ring, self._reader)
        slot = facts[0]
        if slot >= 0:
            message = self._held[facts[1]] = RingMessage(self, facts, self._views.give(slot, facts[5]))
            return message
        if slot == NOTHING:
            return None
        raise DataError(f"{self._name}: {len(self._held)} messages are in hand, as many as it holds; release one")

    def let_go(self, message: RingMessage) -> None:
        """What `RingMessage.release` does."""
        if self._ending is None:
            return  # in a child, where `disown` has ended its view
        slot, pin = message.facts[:2]
        if not self._views.end(slot, message.data):
            raise BufferError(f"{self._name}: an array still refers to a message that is let go; copy what has to stay")
        del self._held[pin]
        release(self._reader, pin)

    def close(self) -> None:
        """BufferError while an array refers to a message in hand."""
        if self._ending is None:
            return
        for message in list(self._held.values()):
            message.release()
        ending = self._ending
        self.disown()
        ending(self)

    def disown(self) -> None:
        """The end is no longer this process's, or, in a child, never was. Views of messages may still be around."""
        self._ending = None
        for message in self._held.values():
            self._views.end(message.facts[0], message.data)
        self._held.clear()
        del self._views
