"""How the messages of one producer reach its readers in other processes of the same host.

A channel has one writer and several readers; each reader has an edge of its own, a queue or a register, as in the
system file. Nobody waits for anybody: what a reader does not take in time is lost to it and counted, and the writer
always finds a place for the next message.

    loan = writer.loan(size)              # a place in the shared memory
    loan.data[:] = ...                    # written where the readers will read it
    writer.publish(loan, stamp_ns, now_ns)

    while (message := reader.take()) is not None:
        with message:                     # read where it was written, unchanged until the block ends
            ... message.data ...
    reader.wait(timeout_ns)

A process may be killed at any instant: what was published is there for the others, what was not has never been. Its
successor claims the same end and goes on. Ends are not for several threads at once.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol


class Loan(Protocol):
    """A place for one message. `data`: its bytes, writable, with undefined content; to be read only once published."""

    @property
    def data(self) -> memoryview: ...


class Message(Protocol):
    """A message in hand: `data` stays as it was published until `release`, or until the block ends.

    `sequence`: number among all messages of the channel, from 1. `epoch`: which writer published it, from 1; a larger
    one means that the writer was started again. `stamp_ns`: the producer's stamp, such as the instant of capture.
    `published_ns`: the producer's clock at publication. `tag`: a number that means something to the two ends.
    `lost`: how many messages up to this one the reader never got, in all.
    """

    @property
    def data(self) -> memoryview: ...
    @property
    def sequence(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def stamp_ns(self) -> int: ...
    @property
    def published_ns(self) -> int: ...
    @property
    def tag(self) -> int: ...
    @property
    def lost(self) -> int: ...

    def release(self) -> None:
        """Lets go of the message. BufferError, and it stays in hand, while an array or view still refers to `data`."""

    def __enter__(self) -> Message: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Writer(Protocol):
    """The producer's end. `epoch`: how many writers the channel has had, this one included."""

    @property
    def epoch(self) -> int: ...

    def loan(self, size: int) -> Loan:
        """A place for a message of up to `size` bytes; DataError where messages of this channel are smaller."""

    def publish(self, loan: Loan, stamp_ns: int, now_ns: int, *, size: int | None = None, tag: int = 0) -> int:
        """The loan becomes the newest message, of `size` bytes where fewer were needed. Returns its sequence number."""

    def give_back(self, loan: Loan) -> None:
        """Ends a loan that does not become a message."""

    def send(self, data: bytes | bytearray | memoryview, stamp_ns: int, now_ns: int, *, tag: int = 0) -> int:
        """Copies `data` into a loan and publishes it."""

    def close(self) -> None:
        """Gives the end back, for another process to claim. Messages stay."""


class Reader(Protocol):
    """A reader's end. `abandoned`: how many messages the reader before this one had in hand when it ended."""

    @property
    def abandoned(self) -> int: ...

    def unread(self) -> int:
        """How many messages wait that this reader has not taken; of a register, whether its message is a new one."""

    def wait(self, timeout_ns: int | None) -> bool:
        """Sleeps until something is unread, for at most `timeout_ns`, None for ever. Whether something is."""

    def take(self) -> Message | None:
        """The oldest unread message; of a register its newest, taken before or not. None where there is none."""

    def close(self) -> None:
        """Gives the end back, for another process to claim. Unread messages stay for it."""


class Port(Protocol):
    """The channels of a host, as one process sees them."""

    def writer(self, channel: str) -> Writer:
        """Claims the channel's writing end; DeploymentError while another process has it."""

    def reader(self, channel: str, reader: str) -> Reader:
        """Claims one of the channel's reading ends; DeploymentError while another process has it."""

    def close(self) -> None:
        """Gives back every end that this process has claimed."""
