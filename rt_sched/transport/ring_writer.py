"""The writing end of a channel in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rt_sched.errors import DataError
from rt_sched.kernels.ring import words
from rt_sched.kernels.ring import write as kernel
from rt_sched.transport.channels import Channel
from rt_sched.transport.views import SlotViews

if TYPE_CHECKING:
    Ending = Callable[["RingWriter"], None]

#: Beside what `kernel.loan` answers: no slot has been chosen, or one to which an array of this process still refers.
_NOT_CHOSEN = -10
_REFERRED_TO = -11


class RingLoan:
    """A slot to write into. `data`: its first bytes, as many as were asked for."""

    __slots__ = ("data", "slot")

    def __init__(self, slot: int, data: memoryview) -> None:
        self.slot = slot
        self.data = data


class RingWriter:
    """See `rt_sched.ports.Writer`. The slot of the next message is chosen after the one before is on its way.

    An array over a loan may live on after publication, to be read only. When its slot is loaned again, it has to be
    gone.
    """

    def __init__(self, channel: Channel, ring: int, slots: np.ndarray, stride: int, ending: Ending) -> None:
        self._channel = channel
        self._ring = ring
        self._memory = slots.data
        self._views = SlotViews(slots, stride)
        self._stride = stride
        self._ending: Ending | None = ending
        #: slot -> what was given out of it, until that has come back
        self._given: dict[int, memoryview] = {}
        self._open: dict[int, RingLoan] = {}
        self._epoch: int = kernel.resume(ring)
        self._chosen = self._choose()

    @property
    def epoch(self) -> int:
        return self._epoch

    def loan(self, size: int) -> RingLoan:
        slot = self._next_slot(size)
        data = self._given[slot] = self._views.give(slot, size)
        loan = self._open[slot] = RingLoan(slot, data)
        return loan

    def publish(self, loan: RingLoan, stamp_ns: int, now_ns: int, *, size: int | None = None, tag: int = 0) -> int:
        self._check(loan)
        if size is None:
            size = len(loan.data)
        elif not 0 <= size <= len(loan.data):
            raise DataError(f"channel {self._channel.name}: {size} bytes of a loan of {len(loan.data)}")
        sequence: int = kernel.publish(self._ring, loan.slot, size, stamp_ns, now_ns, tag)
        del self._open[loan.slot]
        self._chosen = self._choose()
        return sequence

    def give_back(self, loan: RingLoan) -> None:
        self._check(loan)
        del self._open[loan.slot]
        kernel.give_back(self._ring, loan.slot)

    def send(self, data: bytes | bytearray | memoryview, stamp_ns: int, now_ns: int, *, tag: int = 0) -> int:
        source = data if isinstance(data, bytes) else memoryview(data).cast("B")
        slot = self._next_slot(len(source))
        at = slot * self._stride
        self._memory[at : at + len(source)] = source
        sequence: int = kernel.publish(self._ring, slot, len(source), stamp_ns, now_ns, tag)
        self._chosen = self._choose()
        return sequence

    def close(self) -> None:
        """BufferError while an array refers to a slot."""
        if self._ending is None:
            return
        for slot, data in list(self._given.items()):
            if not self._views.end(slot, data):
                raise self._no_slot(_REFERRED_TO)
            del self._given[slot]
        for slot in (*self._open, self._chosen):
            kernel.give_back(self._ring, slot)
        ending = self._ending
        self.disown()
        ending(self)

    def disown(self) -> None:
        """The end is no longer this process's, or, in a child, never was. Views of slots may still be around."""
        self._ending = None
        for slot, data in self._given.items():
            self._views.end(slot, data)
        del self._views, self._memory

    def _next_slot(self, size: int) -> int:
        """A slot for so many bytes, which is on loan from now on."""
        if not 0 <= size <= self._channel.message_bytes:
            raise DataError(
                f"channel {self._channel.name}: a message of {size} bytes does not fit; message_bytes is "
                f"{self._channel.message_bytes}"
            )
        if self._ending is None:
            raise self._ended()
        slot, self._chosen = self._chosen, _NOT_CHOSEN
        if slot < 0:
            slot = self._choose()
            if slot < 0:
                raise self._no_slot(slot)
        return slot

    def _choose(self) -> int:
        slot: int = kernel.loan(self._ring)
        if slot in self._given:
            if not self._views.end(slot, self._given[slot]):
                kernel.give_back(self._ring, slot)
                return _REFERRED_TO
            del self._given[slot]
        return slot

    def _check(self, loan: RingLoan) -> None:
        if self._ending is None:
            raise self._ended()
        if self._open.get(loan.slot) is not loan:
            raise DataError(f"channel {self._channel.name}: this loan was published or given back before")

    def _ended(self) -> DataError:
        return DataError(f"channel {self._channel.name}: this writer was closed, or is the parent process's")

    def _no_slot(self, why: int) -> Exception:
        if why == _REFERRED_TO:
            return BufferError(
                f"channel {self._channel.name}: an array still refers to a slot that was published and is to be used "
                "again; copy what has to stay"
            )
        if why == words.NO_LOAN_LEFT:
            allowed = self._channel.loans
            return DataError(f"channel {self._channel.name}: {allowed} of {allowed} loans are open; publish one first")
        return AssertionError(f"channel {self._channel.name}: no slot is free, against the count of its slots")
