"""Channels carried by iceoryx2, the optional second back end behind `rt_sched.ports.Port`.

A channel is a publish-subscribe service, a bell an event service. What a service has no place for lies in a small
memory of ours beside it: the numbers of messages and writers, which go on when a writer is started again, and who has
which end. As overflow is a property of the service, the queues of one channel either all drop their oldest message or
all their newest; a register counts as one that drops its oldest.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from rt_sched.errors import DeploymentError
from rt_sched.model.task import Edge, EdgeKind, Overflow
from rt_sched.transport.channels import Channel, check_channels
from rt_sched.transport.claims import Claims
from rt_sched.transport.iceoryx_ends import Counters, Header, IceoryxReader, IceoryxWriter
from rt_sched.transport.leftovers import remove, run_folder, run_name
from rt_sched.transport.placement import bell_name


class IceoryxPort:
    """The channels of a run as one process sees them, made before the processes are forked, which inherit it.

    A process that has ever claimed an end must not fork: iceoryx2 does not support that. It names its memory and keeps
    files; all names of a run begin with `run`. The process that made the port removes what is left when it closes it;
    what a killed run has left, `leftovers.clean_leftovers` knows by its name.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        try:
            import iceoryx2
        except ImportError as error:
            raise DeploymentError("iceoryx2 is not installed: pip install 'rt-sched[iceoryx2]'") from error
        check_channels(channels)
        for channel in channels:
            _check_overflow(channel)
        self._iceoryx2: Any = iceoryx2
        self._channels = {channel.name: channel for channel in channels}
        names = [(channel.name, end) for channel in channels for end in ("", *(r.name for r in channel.readers))]
        self._numbers = {name: number for number, name in enumerate(names)}
        self.run = run_name()
        self._owner = os.getpid()
        self._fd = os.memfd_create("rt-sched iceoryx2", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, len(names) * Counters.WORDS * 8)
        self._memory = mmap.mmap(self._fd, 0)
        self._claims = Claims(self._fd)
        self._node: Any = None
        self._ends: list[IceoryxWriter | IceoryxReader] = []

    def writer(self, channel: str) -> IceoryxWriter:
        declared = self._channel(channel)
        number = self._claim(channel, "", f"the writer of channel {channel}")
        service = self._messages(declared)
        builder = service.publisher_builder().initial_max_slice_len(declared.message_bytes)
        builder = builder.max_loaned_samples(declared.loans)
        builder = builder.backpressure_strategy(self._iceoryx2.BackpressureStrategy.DiscardData)
        bells = sorted({bell_name(declared, reader) for reader in declared.readers})
        notifiers = [self._event(bell).notifier_builder().create() for bell in bells]
        end = IceoryxWriter(declared, builder.create(), notifiers, self._counters(number), self._ending(number))
        self._ends.append(end)
        return end

    def reader(self, channel: str, reader: str) -> IceoryxReader:
        declared = self._channel(channel)
        known = {one.name: one for one in declared.readers}
        if reader not in known:
            raise DeploymentError(f"channel {channel} has no reader {reader}; it has {', '.join(known) or 'none'}")
        name = f"reader {reader} of channel {channel}"
        number = self._claim(channel, reader, name)
        edge = known[reader].edge
        subscriber = self._messages(declared).subscriber_builder().buffer_size(_depth(edge)).create()
        listener = self._event(bell_name(declared, known[reader])).listener_builder().create()
        end = IceoryxReader(
            name,
            subscriber,
            listener,
            edge.kind is EdgeKind.LATEST,
            known[reader].holds,
            self._counters(number),
            self._iceoryx2.Duration.from_nanos,
            self._ending(number),
        )
        self._ends.append(end)
        return end

    def close(self) -> None:
        for end in list(self._ends):
            end.close()
        self._node = None
        if self._fd >= 0:
            self._memory.close()
            os.close(self._fd)
            self._fd = -1
            if os.getpid() == self._owner:
                remove(self.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _channel(self, name: str) -> Channel:
        if name not in self._channels:
            raise DeploymentError(f"no channel is named {name}; there are {', '.join(self._channels)}")
        return self._channels[name]

    def _claim(self, channel: str, reader: str, name: str) -> int:
        """The end's number. What a dead process had of iceoryx2 is given back before it is asked for again."""
        number = self._numbers[channel, reader]
        self._claims.claim(number, name)
        if self._node is None:
            library = self._iceoryx2
            config = library.config.default()
            config.global_cfg.prefix = library.FileName.new(self.run)
            config.global_cfg.root_path = library.Path.new(str(run_folder(self.run)))
            self._node = library.NodeBuilder.new().config(config).create(library.ServiceType.Ipc)
        self._node.blocking_cleanup_dead_nodes(self._iceoryx2.Duration.from_secs(1))
        return number

    def _messages(self, channel: Channel) -> Any:
        library = self._iceoryx2
        builder = self._node.service_builder(library.ServiceName.new(f"{self.run}/{channel.name}"))
        builder = builder.publish_subscribe(library.Slice[ctypes.c_uint8]).user_header(Header)
        depth = max((_depth(reader.edge) for reader in channel.readers), default=1)
        holds = max((reader.holds for reader in channel.readers), default=1)
        return (
            builder.enable_safe_overflow(not any(_refuses(reader.edge) for reader in channel.readers))
            .max_publishers(1)
            .max_subscribers(max(len(channel.readers), 1))
            .max_nodes(2 * len(channel.readers) + 2)
            .subscriber_max_buffer_size(depth)
            .subscriber_max_borrowed_samples(holds + 1)
            .history_size(1 if any(reader.edge.kind is EdgeKind.LATEST for reader in channel.readers) else 0)
            .open_or_create()
        )

    def _event(self, bell: str) -> Any:
        name = self._iceoryx2.ServiceName.new(f"{self.run}/{bell}")
        return self._node.service_builder(name).event().open_or_create()

    def _counters(self, number: int) -> Counters:
        return Counters(np.frombuffer(self._memory, np.int64, Counters.WORDS, number * Counters.WORDS * 8))

    def _ending(self, number: int) -> Callable[[IceoryxWriter | IceoryxReader], None]:
        def ended(end: IceoryxWriter | IceoryxReader) -> None:
            self._ends.remove(end)
            self._claims.give_back(number)

        return ended


def _depth(edge: Edge) -> int:
    return 1 if edge.kind is EdgeKind.LATEST else edge.depth


def _refuses(edge: Edge) -> bool:
    return edge.kind is EdgeKind.QUEUE and edge.overflow is Overflow.DROP_NEWEST


def _check_overflow(channel: Channel) -> None:
    if len({_refuses(reader.edge) for reader in channel.readers}) > 1:
        raise DeploymentError(
            f"channel {channel.name}: iceoryx2 drops either the oldest or the newest message for all readers of a "
            "channel; these readers want both"
        )
