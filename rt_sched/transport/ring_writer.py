"""The writing end of a channel in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rt_sched.errors import DataError
from rt_sched.kernels.ring import words
from rt_sched.kernels.ring import write as kernel
from rt_sched.transport.channels import Channel
from rt_sched.transport.views import SlotView

if TYPE_CHECKING:
    Ending = Callable[["RingWriter"], None]


class RingLoan:
    """A slot to write into. `data`: its first bytes, as many as were asked for. `view`: what they are seen through."""

    __slots__ = ("data", "slot", "view")

    def __init__(self, slot: int, view: SlotView) -> None:
        self.slot = slot
        self.view = view
        self.data = view.data


class RingWriter:
    """See `rt_sched.ports.Writer`.

    An array over a loan may live on after publication, to be read only. When its slot is loaned again, it has to be
    gone.
    """

    def __init__(self, channel: Channel, ring: int, slots: np.ndarray, stride: int, ending: Ending) -> None:
        self._channel = channel
        self._ring = ring
        self._slots = slots
        self._stride = stride
        self._ending: Ending | None = ending
        self._views: dict[int, SlotView] = {}
        self._loans: dict[int, RingLoan] = {}
        self._epoch = int(kernel.resume(ring))

    @property
    def epoch(self) -> int:
        return self._epoch

    def loan(self, size: int) -> RingLoan:
        if not 0 <= size <= self._channel.message_bytes:
            raise DataError(
                f"channel {self._channel.name}: a message of {size} bytes does not fit; message_bytes is "
                f"{self._channel.message_bytes}"
            )
        self._check_open()
        slot = kernel.loan(self._ring)
        if slot < 0:
            raise self._no_slot(slot)
        try:
            self._forget(slot)
        except BufferError:
            kernel.give_back(self._ring, slot)
            raise
        view = SlotView(self._slots[slot * self._stride : slot * self._stride + size])
        loan = self._loans[slot] = RingLoan(slot, view)
        self._views[slot] = view
        return loan

    def publish(self, loan: RingLoan, stamp_ns: int, now_ns: int, *, size: int | None = None, tag: int = 0) -> int:
        self._end(loan)
        if size is None:
            size = len(loan.data)
        elif not 0 <= size <= len(loan.data):
            self._loans[loan.slot] = loan
            raise DataError(f"channel {self._channel.name}: {size} bytes of a loan of {len(loan.data)}")
        return int(kernel.publish(self._ring, loan.slot, size, stamp_ns, now_ns, tag))

    def give_back(self, loan: RingLoan) -> None:
        self._end(loan)
        kernel.give_back(self._ring, loan.slot)

    def send(self, data: bytes | bytearray | memoryview, stamp_ns: int, now_ns: int, *, tag: int = 0) -> int:
        source = memoryview(data).cast("B")
        loan = self.loan(len(source))
        loan.data[:] = source
        return self.publish(loan, stamp_ns, now_ns, tag=tag)

    def close(self) -> None:
        if self._ending is None:
            return
        for slot in list(self._views):
            self._forget(slot)
        for loan in list(self._loans.values()):
            self.give_back(loan)
        del self._slots
        ending, self._ending = self._ending, None
        ending(self)

    def disown(self) -> None:
        """In a child: the end stays its parent's."""
        self._ending = None
        for view in self._views.values():
            view.end()
        del self._slots

    def _end(self, loan: RingLoan) -> None:
        self._check_open()
        if self._loans.get(loan.slot) is not loan:
            raise DataError(f"channel {self._channel.name}: this loan was published or given back before")
        del self._loans[loan.slot]

    def _check_open(self) -> None:
        if self._ending is None:
            raise DataError(f"channel {self._channel.name}: this writer was closed, or is the parent process's")

    def _forget(self, slot: int) -> None:
        """Ends the view of the slot's former loan."""
        if slot in self._views:
            if not self._views[slot].end():
                raise BufferError(
                    f"channel {self._channel.name}: an array still refers to a slot that was published and is to be "
                    "used again; copy what has to stay"
                )
            del self._views[slot]

    def _no_slot(self, why: int) -> Exception:
        if why == words.NO_LOAN_LEFT:
            allowed = self._channel.loans
            return DataError(f"channel {self._channel.name}: {allowed} of {allowed} loans are open; publish one first")
        return AssertionError(f"channel {self._channel.name}: no slot is free, against the count of its slots")
