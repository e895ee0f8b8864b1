"""A reading end of a channel in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from rt_sched.errors import DataError
from rt_sched.kernels.ring import read as kernel
from rt_sched.kernels.ring import words
from rt_sched.transport.bell import Bell, wait_for_any
from rt_sched.transport.views import SlotView

if TYPE_CHECKING:
    Ending = Callable[["RingReader"], None]


class RingMessage:
    """See `rt_sched.ports.Message`."""

    __slots__ = ("_pin", "_reader", "_view", "data", "epoch", "lost", "published_ns", "sequence", "stamp_ns", "tag")

    def __init__(
        self,
        reader: RingReader,
        pin: int,
        view: SlotView,
        sequence: int,
        epoch: int,
        stamp_ns: int,
        published_ns: int,
        tag: int,
        lost: int,
    ) -> None:
        self._reader: RingReader | None = reader
        self._pin = pin
        self._view = view
        self.data = view.data
        self.sequence = sequence
        self.epoch = epoch
        self.stamp_ns = stamp_ns
        self.published_ns = published_ns
        self.tag = tag
        self.lost = lost

    def release(self) -> None:
        if self._reader is not None:
            self._reader.let_go(self._pin, self._view)
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
        self._slots = slots
        self._stride = stride
        self._ending: Ending | None = ending
        self._held: dict[int, RingMessage] = {}
        self._abandoned = int(kernel.claim(reader))

    @property
    def abandoned(self) -> int:
        return self._abandoned

    def unread(self) -> int:
        return int(kernel.unread(self._reader))

    def wait(self, timeout_ns: int | None) -> bool:
        return wait_for_any((self,), timeout_ns)

    def take(self) -> RingMessage | None:
        if self._ending is None:
            raise DataError(f"{self._name}: it was closed, or is the parent process's")
        slot, pin, sequence, stamp_ns, published_ns, size, epoch, tag, lost = kernel.take(self._ring, self._reader)
        if slot == words.NOTHING:
            return None
        if slot == words.NO_PIN_LEFT:
            raise DataError(f"{self._name}: {len(self._held)} messages are in hand, as many as it holds; release one")
        view = SlotView(self._slots[slot * self._stride : slot * self._stride + size])
        message = RingMessage(self, pin, view, sequence, epoch, stamp_ns, published_ns, tag, lost)
        self._held[pin] = message
        return message

    def disown(self) -> None:
        """In a child: the end stays its parent's."""
        self._ending = None
        for message in list(self._held.values()):
            with suppress(BufferError):  # an array of the child refers to it
                message.release()
        del self._slots

    def let_go(self, pin: int, view: SlotView) -> None:
        """What `RingMessage.release` does."""
        if not view.end():
            raise BufferError(f"{self._name}: an array still refers to a message that is let go; copy what has to stay")
        del self._held[pin]
        if self._ending is not None:
            kernel.release(self._reader, pin)

    def close(self) -> None:
        if self._ending is None:
            return
        for message in list(self._held.values()):
            message.release()
        del self._slots
        ending, self._ending = self._ending, None
        ending(self)
