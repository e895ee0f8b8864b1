"""The ends of a channel that iceoryx2 carries."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from time import monotonic_ns
from types import TracebackType
from typing import Any

import numpy as np

from rt_sched.errors import DataError
from rt_sched.transport.channels import Channel

_A_WHILE_NS = 1_000_000_000


class Header(ctypes.Structure):
    """What travels with each message."""

    _fields_ = tuple(
        (name, ctypes.c_int64) for name in ("sequence", "epoch", "stamp_ns", "published_ns", "size", "tag")
    )


class Counters:
    """Two words that outlive the process of an end: of a writer, messages and epoch; of a reader, taken and in hand."""

    WORDS = 2

    def __init__(self, words: np.ndarray) -> None:
        self.words = words

    def add(self, word: int, change: int) -> int:
        self.words[word] += change
        return int(self.words[word])


class _Payload:
    """A sample's content, and whether anything still refers to it (see `views`)."""

    def __init__(self, sample: Any, size: int) -> None:
        array = np.frombuffer(sample.payload().as_memory_view(), np.uint8)
        self._array = weakref.ref(array)
        self._whole = array.data
        self.data = self._whole[:size]

    def end(self) -> bool:
        try:
            self.data.release()
        except BufferError:
            return False
        self._whole.release()
        return self._array() is None


class IceoryxLoan:
    """A sample to write into."""

    def __init__(self, sample: Any, size: int) -> None:
        self.sample = sample
        self.payload = _Payload(sample, size)
        self.data = self.payload.data
        self.open = True


class IceoryxWriter:
    """See `rt_sched.ports.Writer`. No array over a loan may be left when it is published."""

    def __init__(
        self,
        channel: Channel,
        publisher: Any,
        notifiers: Sequence[Any],
        counters: Counters,
        ending: Callable[[IceoryxWriter], None],
    ) -> None:
        self._channel = channel
        self._publisher = publisher
        self._notifiers = notifiers
        self._counters = counters
        self._ending: Callable[[IceoryxWriter], None] | None = ending
        self._open = 0
        self.epoch = counters.add(1, 1)

    def loan(self, size: int) -> IceoryxLoan:
        if not 0 <= size <= self._channel.message_bytes:
            raise DataError(
                f"channel {self._channel.name}: a message of {size} bytes does not fit; message_bytes is "
                f"{self._channel.message_bytes}"
            )
        if self._ending is None:
            raise DataError(f"channel {self._channel.name}: this writer was closed")
        allowed = self._channel.loans
        if self._open == allowed:
            raise DataError(f"channel {self._channel.name}: {allowed} of {allowed} loans are open; publish one first")
        self._open += 1
        return IceoryxLoan(self._publisher.loan_slice_uninit(max(size, 1)), size)

    def publish(self, loan: IceoryxLoan, stamp_ns: int, now_ns: int, *, size: int | None = None, tag: int = 0) -> int:
        if size is None:
            size = len(loan.data) if loan.open else 0
        elif loan.open and not 0 <= size <= len(loan.data):
            raise DataError(f"channel {self._channel.name}: {size} bytes of a loan of {len(loan.data)}")
        self._end(loan)
        sequence = int(self._counters.words[0]) + 1
        header = Header(sequence, self.epoch, stamp_ns, now_ns, size, tag)
        ctypes.memmove(loan.sample.user_header_ptr, ctypes.addressof(header), ctypes.sizeof(header))
        self._counters.words[0] = sequence  # a writer killed right here leaves a gap, never a number twice
        loan.sample.assume_init().send()
        for notifier in self._notifiers:
            notifier.notify()
        return sequence

    def give_back(self, loan: IceoryxLoan) -> None:
        self._end(loan)
        loan.sample.delete()

    def send(self, data: bytes | bytearray | memoryview, stamp_ns: int, now_ns: int, *, tag: int = 0) -> int:
        source = memoryview(data).cast("B")
        loan = self.loan(len(source))
        loan.data[:] = source
        return self.publish(loan, stamp_ns, now_ns, tag=tag)

    def close(self) -> None:
        if self._ending is None:
            return
        ending, self._ending = self._ending, None
        self._publisher.delete()
        for notifier in self._notifiers:
            notifier.delete()
        self._counters.words = np.zeros(Counters.WORDS, np.int64)
        ending(self)

    def _end(self, loan: IceoryxLoan) -> None:
        if not loan.open:
            raise DataError(f"channel {self._channel.name}: this loan was published or given back before")
        if not loan.payload.end():
            raise BufferError(f"channel {self._channel.name}: an array still refers to a loan that is to be published")
        loan.open = False
        self._open -= 1


class _Sample:
    """A sample with its header; `users`: messages in hand that are views of it."""

    def __init__(self, sample: Any) -> None:
        self.sample = sample
        self.header: Header = Header.from_buffer_copy(sample.user_header().contents)
        self.users = 0


class IceoryxMessage:
    """See `rt_sched.ports.Message`."""

    def __init__(self, reader: IceoryxReader, sample: _Sample, taken: int) -> None:
        header = sample.header
        self._reader: IceoryxReader | None = reader
        self._payload = _Payload(sample.sample, header.size)
        self.sample = sample
        self.data = self._payload.data.toreadonly()
        self.sequence: int = header.sequence
        self.epoch: int = header.epoch
        self.stamp_ns: int = header.stamp_ns
        self.published_ns: int = header.published_ns
        self.tag: int = header.tag
        self.lost = self.sequence - taken

    def release(self) -> None:
        if self._reader is not None:
            self._reader.let_go(self)
            self._reader = None

    def end(self) -> bool:
        """Makes `data` unusable. Whether nothing refers to it any more."""
        try:
            self.data.release()
        except BufferError:
            return False
        return self._payload.end()

    def __enter__(self) -> IceoryxMessage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class IceoryxReader:
    """See `rt_sched.ports.Reader`. `unread` says 1 where anything waits: iceoryx2 does not tell how much."""

    def __init__(
        self,
        name: str,
        subscriber: Any,
        listener: Any,
        register: bool,
        holds: int,
        counters: Counters,
        duration: Callable[[int], Any],
        ending: Callable[[IceoryxReader], None],
    ) -> None:
        self._name = name
        self._subscriber = subscriber
        self._listener = listener
        self._register = register
        self._holds = holds
        self._counters = counters
        self._duration = duration
        self._ending: Callable[[IceoryxReader], None] | None = ending
        self._latest: _Sample | None = None
        self._in_hand: list[IceoryxMessage] = []
        self.abandoned = int(counters.words[1])
        counters.words[1] = 0

    def unread(self) -> int:
        return int(self._subscriber.has_samples())

    def wait(self, timeout_ns: int | None) -> bool:
        until_ns = None if timeout_ns is None else monotonic_ns() + timeout_ns
        while not self.unread():
            rest_ns = _A_WHILE_NS if until_ns is None else until_ns - monotonic_ns()
            if rest_ns <= 0:
                return False
            self._listener.timed_wait(self._duration(min(rest_ns, _A_WHILE_NS)))
        return True

    def take(self) -> IceoryxMessage | None:
        if self._ending is None:
            raise DataError(f"{self._name}: it was closed")
        if len(self._in_hand) == self._holds:
            raise DataError(f"{self._name}: {self._holds} messages are in hand, as many as it holds; release one")
        received = self._subscriber.receive()
        sample = self._latest if received is None else _Sample(received)
        if sample is None:
            return None
        if received is not None:
            self._counters.add(0, 1)
            if self._register:
                former, self._latest = self._latest, sample
                if former is not None and not former.users:
                    former.sample.delete()
        message = IceoryxMessage(self, sample, int(self._counters.words[0]))
        sample.users += 1
        self._in_hand.append(message)
        self._counters.add(1, 1)
        return message

    def let_go(self, message: IceoryxMessage) -> None:
        """What `IceoryxMessage.release` does."""
        if not message.end():
            raise BufferError(f"{self._name}: an array still refers to a message that is let go; copy what has to stay")
        self._in_hand.remove(message)
        self._counters.add(1, -1)
        message.sample.users -= 1
        if not message.sample.users and message.sample is not self._latest:
            message.sample.sample.delete()

    def close(self) -> None:
        if self._ending is None:
            return
        for message in list(self._in_hand):
            message.release()
        if self._latest is not None:
            self._latest.sample.delete()
        ending, self._ending = self._ending, None
        self._subscriber.delete()
        self._listener.delete()
        self._counters.words = np.zeros(Counters.WORDS, np.int64)
        ending(self)
