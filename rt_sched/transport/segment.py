"""Channels in shared memory.

The memory is a memfd(2): it has no name, so there is nothing that could be left behind. It is there as long as some
process has it open, however the others end. The one that starts the run creates the segment before it forks, or passes
`fileno()` on (`subprocess.Popen(pass_fds=...)`, a unix socket). Every process then claims the ends that it serves.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

import numpy as np

from rt_sched.errors import DeploymentError
from rt_sched.kernels import ring as kernels
from rt_sched.kernels.ring import bell as bell_kernel
from rt_sched.kernels.ring.layout import fill_in
from rt_sched.transport.bell import Bell
from rt_sched.transport.channels import Channel, check_channels
from rt_sched.transport.claims import Claims
from rt_sched.transport.memory import check_memory
from rt_sched.transport.placement import Place, Placement, bell_name, place, read_description
from rt_sched.transport.ring_reader import RingReader
from rt_sched.transport.ring_writer import RingWriter
from rt_sched.transport.status import ChannelStatus, channel_status

#: Advice that maps pages at once, which MAP_POPULATE does not where memory is locked as it is used (mlockall(2)).
_POPULATE_READ, _POPULATE_WRITE = 22, 23

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

#: Every segment of this process.
_segments: weakref.WeakSet[Segment] = weakref.WeakSet()


def _forked() -> None:
    for segment in _segments:
        segment.forked()


os.register_at_fork(after_in_child=_forked)


class Segment:
    """The channels of a run as one process sees them, a `rt_sched.ports.Port`; `create` or `attach` one."""

    def __init__(self, fd: int, placement: Placement) -> None:
        kernels.warm_up()  # the first call of each loads it, which takes longer than a job may
        self._fd = fd
        self._placement = placement
        self._control = mmap.mmap(fd, placement.payload, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        self._words = np.frombuffer(self._control, np.int64)
        self._base = self._words.ctypes.data
        self._payloads: dict[tuple[str, bool], mmap.mmap] = {}
        self._claims = Claims(fd)
        self._ends: list[RingWriter | RingReader] = []
        _segments.add(self)

    @classmethod
    def create(cls, channels: Sequence[Channel]) -> Self:
        """New shared memory with these channels, all of it allocated; DeploymentError where that cannot be."""
        if not bell_kernel.SUPPORTED:
            raise DeploymentError("shared-memory channels need Linux on x86-64 or aarch64")
        check_channels(channels)
        placement = place(channels)
        check_memory(placement.size)
        fd = os.memfd_create("rt-sched", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, placement.size)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            os.posix_fallocate(fd, 0, placement.size)
        except OSError as error:
            os.close(fd)
            raise DeploymentError(
                f"{placement.size / 1e6:.1f} MB of shared memory for the channels: {error.strerror}"
            ) from error
        os.pwrite(fd, placement.description, 0)
        segment = cls(fd, placement)
        for at in placement.places.values():
            words = segment._words[at.ring // 8 : (at.ring + at.layout.size) // 8]
            fill_in(words, at.slots, at.channel.loans, at.words)
        return segment

    @classmethod
    def attach(cls, fd: int) -> Self:
        """The segment that another process created and passed on as `fd`, which is closed with the segment."""
        return cls(fd, place(read_description(fd)))

    @property
    def channels(self) -> tuple[Channel, ...]:
        return tuple(at.channel for at in self._placement.places.values())

    def fileno(self) -> int:
        """What another process attaches to."""
        return self._fd

    def writer(self, channel: str) -> RingWriter:
        at = self._place(channel)
        self._claims.claim(at.lock, f"the writer of channel {channel}")
        end = RingWriter(
            at.channel,
            self._base + at.ring,
            self._slots(at, writable=True),
            at.stride,
            self._ending(at.lock),
        )
        self._ends.append(end)
        return end

    def reader(self, channel: str, reader: str) -> RingReader:
        at = self._place(channel)
        names = [known.name for known in at.channel.readers]
        if reader not in names:
            raise DeploymentError(f"channel {channel} has no reader {reader}; it has {', '.join(names) or 'none'}")
        number = names.index(reader)
        lock = at.lock + 1 + number
        self._claims.claim(lock, f"reader {reader} of channel {channel}")
        end = RingReader(
            f"reader {reader} of channel {channel}",
            self._base + at.ring,
            self._base + at.ring + at.layout.readers[number],
            self._slots(at, writable=False),
            at.stride,
            self.bell(bell_name(at.channel, at.channel.readers[number])),
            self._ending(lock),
        )
        self._ends.append(end)
        return end

    def prepare(self, channel: str, *, writable: bool) -> None:
        """Maps the slots of a channel, so that claiming its writing end, or a reading one, takes no time later."""
        self._slots(self._place(channel), writable=writable)

    def bell(self, name: str) -> Bell:
        """The bell of that name, or that of one reader by "channel/reader"."""
        if name not in self._placement.bells:
            raise DeploymentError(f"no bell is named {name}; there are {', '.join(self._placement.bells) or 'none'}")
        return Bell(self._base + self._placement.bells[name])

    def status(self) -> tuple[ChannelStatus, ...]:
        """The counters of every channel. Exact once its processes rest or are dead, a snapshot before."""
        return tuple(channel_status(at, self._words) for at in self._placement.places.values())

    def close(self) -> None:
        """Gives back every end of this process. BufferError while messages are in hand or arrays refer to slots."""
        for end in list(self._ends):
            end.close()
        _segments.discard(self)
        for payload in self._payloads.values():
            payload.close()
        self._payloads.clear()
        if self._fd >= 0:
            del self._words
            self._control.close()
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forked(self) -> None:
        """Called in a child: the ends that its parent has claimed are not the child's."""
        for end in self._ends:
            end.disown()
        self._ends.clear()
        self._claims.forked()

    def _place(self, channel: str) -> Place:
        if channel not in self._placement.places:
            raise DeploymentError(f"no channel is named {channel}; there are {', '.join(self._placement.places)}")
        return self._placement.places[channel]

    def _slots(self, at: Place, *, writable: bool) -> np.ndarray:
        """uint8[slots * stride], mapped once and as long as the segment is: to unmap would end locks (see `Claims`)."""
        key = (at.channel.name, writable)
        if key not in self._payloads:
            self._payloads[key] = mmap.mmap(
                self._fd,
                at.payload_bytes,
                flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
                prot=mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0),
                offset=at.payload,
            )
            with suppress(OSError):  # Linux before 5.14, where the first use of each slot takes longer
                self._payloads[key].madvise(_POPULATE_WRITE if writable else _POPULATE_READ)
        return np.frombuffer(self._payloads[key], np.uint8)

    def _ending(self, lock: int) -> Callable[[RingWriter | RingReader], None]:
        def ended(end: RingWriter | RingReader) -> None:
            self._ends.remove(end)
            self._claims.give_back(lock)

        return ended
