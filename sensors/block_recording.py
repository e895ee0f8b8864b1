"""What recordings made of blocks (chunks, or runs of loose messages) have in common.

Opening walks the record framing only. The first iteration reads every block once, checks it and notes where each
message lies; then messages are served in order of (log time, index in the file) from a bounded cache of blocks, so
that memory stays bounded however long the file is, and damage is found before the first message is handed out.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from rt_sched.errors import DataError
from rt_sched.messages.sensor import SensorMessage
from rt_sched.ports.source import RecordedMessage, TopicInfo
from rt_sched.units import MAX_TIME_NS
from sensors.block_index import Block, BlockDamage, Index, IndexBuilder, RawMessage
from sensors.ros_decode import decode_message
from sensors.ros_types import RosChannel, recorded_message

#: Decompressed blocks kept at hand; a file of sorted, non-overlapping chunks needs one at a time.
CACHE_BYTES = 256 * 2**20
#: No recorder makes chunks this large; a larger figure in a file is damage, not a request for memory.
MAX_BLOCK_BYTES = 2**31
_NOTES_SHOWN = 6


class BlockRecording(ABC):
    """A `Recording` over a file of blocks. Subclasses know the framing; see the module for how it is read.

    Errors: DataError naming file, byte offset and --salvage for damage; with `salvage`, damage is noted instead.
    Iteration and decoding may happen in different threads.
    """

    def __init__(self, path: str, *, salvage: bool) -> None:
        self._path = path
        self._salvage = salvage
        self._channels: dict[int, RosChannel] = {}
        self._blocks: list[Block] = []
        self._declared_counts: dict[int, int] | None = None
        self._notes: list[str] = []
        self._lost_messages = 0
        self._lost_count_known = True
        self._orphans: dict[int, tuple[int, int]] = {}
        self._index: Index | None = None
        self._found: Counter[int] = Counter()
        self._cache: OrderedDict[int, memoryview] = OrderedDict()
        self._cache_bytes = 0
        self._lock = threading.RLock()
        try:
            self._fd: int | None = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise DataError(f"{path}: cannot be opened: {error.strerror}") from None
        try:
            self._size = os.fstat(self._fd).st_size
            self._walk()
            if salvage:
                self._ensure_index()
        except BaseException:
            self.close()
            raise

    # What a format provides.

    @abstractmethod
    def _walk(self) -> None:
        """Fill blocks, channels and declared counts from the record framing; report damage through `_damaged`."""

    @abstractmethod
    def _parse_block(self, block: Block, data: memoryview) -> Iterator[RawMessage]:
        """The messages of a loaded block in order; registers channels met on the way. Raises BlockDamage."""

    @abstractmethod
    def _decompress(self, block: Block, stored: bytes) -> bytes:
        """The block's bytes, checked as far as the file allows. Raises BlockDamage."""

    @abstractmethod
    def _count_lost(self, block: Block) -> int | None:
        """How many messages an unreadable block held, from the index records behind it; None when unknown."""

    @abstractmethod
    def _check_whole(self) -> None:
        """Checks that need the whole file read; reports through `_damaged`."""

    # What the product sees.

    @property
    def path(self) -> str:
        return self._path

    @property
    def files(self) -> Sequence[str]:
        return (self._path,)

    @property
    def topics(self) -> Sequence[TopicInfo]:
        """By name. Counts come from the file's own statistics until the messages have been counted."""
        if self._index is None and not self._declared_complete():
            self._ensure_index()
        counts: dict[int, int] = dict(self._found) if self._index is not None else (self._declared_counts or {})
        by_topic: dict[str, tuple[RosChannel, int]] = {}
        for channel_id, channel in self._channels.items():
            first, total = by_topic.get(channel.topic, (channel, 0))
            by_topic[channel.topic] = (first, total + counts.get(channel_id, 0))
        return tuple(
            TopicInfo(name, channel.schema, channel.kind, total) for name, (channel, total) in sorted(by_topic.items())
        )

    @property
    def damage(self) -> str | None:
        """What was unreadable; None for an intact file, and None without salvage (which raises instead)."""
        if not self._notes:
            return None
        shown = "; ".join(self._notes[:_NOTES_SHOWN])
        if len(self._notes) > _NOTES_SHOWN:
            shown += f"; and {len(self._notes) - _NOTES_SHOWN} more places"
        if self._lost_count_known:
            return f"{shown}; {self._lost_messages} messages lost"
        at_least = f", at least {self._lost_messages}" if self._lost_messages else ""
        return f"{shown}; an unknown number of messages lost{at_least}"

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Messages in order of (log_time_ns, index); only the named topics where given. Raises DataError."""
        index = self._ensure_index()
        first_schema: dict[str, str] = {}
        for channel in self._channels.values():
            first_schema.setdefault(channel.topic, channel.schema)
        order = index.order
        if topics is not None:
            wanted = [i for i, channel in self._channels.items() if channel.topic in set(topics)]
            order = order[np.isin(index.channel_id[order], wanted)]
        for position in order:
            channel = self._channels[int(index.channel_id[position])]
            data = self._block_data(int(index.block[position]))
            payload = data[int(index.start[position]) : int(index.end[position])]
            message = recorded_message(channel, int(position), int(index.log_time_ns[position]), payload)
            if channel.schema != first_schema[channel.topic] and message.problem is None:
                problem = f"type {channel.schema} on a topic that began with {first_schema[channel.topic]}"
                message = RecordedMessage(
                    message.topic, message.index, message.log_time_ns, message.capture_time_ns, message.payload, problem
                )
            yield message

    def decode(self, message: RecordedMessage) -> SensorMessage:
        """The message as EncodedImage, PointCloud or ImuSample, stamps as recorded; raises DataError."""
        return decode_message(message)

    def close(self) -> None:
        """Give the file back. Messages already handed out stay valid."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
            self._cache.clear()
            self._cache_bytes = 0

    # Shared machinery.

    def _read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        if self._fd is None:
            raise DataError(f"{self._path}: the recording was closed")
        try:
            data = os.pread(self._fd, size, offset)
            # One call may return less than asked for (the kernel stops at 2 GiB).
            while len(data) < size and (more := os.pread(self._fd, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read at byte {offset}: {error.strerror}") from None
        return data

    def _damaged(self, reason: str, offset: int, lost: int | None = 0) -> None:
        """Raise DataError, or with salvage take note. `lost`: messages lost there, None when that is unknown."""
        text = f"{reason} at byte {offset}"
        if not self._salvage:
            raise DataError(f"{self._path}: damaged: {text}; --salvage reads what is intact")
        if lost is None:
            self._lost_count_known = False
        elif lost:
            text += f" ({lost} messages)"
            self._lost_messages += lost
        self._notes.append(text)

    def _orphan(self, channel_id: int, offset: int) -> None:
        """A message whose channel is not defined: damage, or with salvage the price of damage elsewhere."""
        if not self._salvage:
            raise BlockDamage(f"a message on the undefined channel {channel_id}", offset)
        first, count = self._orphans.get(channel_id, (offset, 0))
        self._orphans[channel_id] = (first, count + 1)

    def _declared_complete(self) -> bool:
        return self._declared_counts is not None and self._declared_counts.keys() <= self._channels.keys()

    def _ensure_index(self) -> Index:
        with self._lock:
            if self._index is None:
                self._index = self._build_index()
            return self._index

    def _build_index(self) -> Index:
        builder = IndexBuilder()
        self._found = Counter()
        for number, block in enumerate(self._blocks):
            messages: list[RawMessage] = []
            try:
                data = self._load(block)
                for message in self._parse_block(block, data):
                    if not 0 <= message.log_time_ns <= MAX_TIME_NS:
                        raise BlockDamage(f"log time {message.log_time_ns} ns is out of range", block.offset)
                    messages.append(message)
                self._remember(number, data)
            except BlockDamage as damage:
                expected = self._count_lost(block)
                lost = None if expected is None else max(expected - len(messages), 0)
                self._damaged(damage.reason, damage.offset, lost)
                if messages:
                    self._remember(number, data)
            if messages:
                builder.add(number, messages)
                self._found.update(m.channel_id for m in messages)
        for channel_id, (offset, count) in sorted(self._orphans.items()):
            self._damaged(f"channel {channel_id}, which no readable part of the file defines,", offset, count)
        self._check_whole()
        self._check_counts()
        return builder.build()

    def _check_counts(self) -> None:
        """A file whose own counts differ from what is in it has lost messages without a trace in its framing."""
        if self._declared_counts is None or self._notes:
            return
        for channel_id, declared in sorted(self._declared_counts.items()):
            found = self._found[channel_id]
            if declared != found:
                channel = self._channels.get(channel_id)
                name = channel.topic if channel else f"channel {channel_id}"
                reason = f"the file counts {declared} messages on {name} and holds {found}, missing before the summary"
                self._damaged(reason, self._size, max(declared - found, 0))

    def _load(self, block: Block) -> memoryview:
        if max(block.data_size, block.uncompressed_size) > MAX_BLOCK_BYTES:
            raise BlockDamage(f"chunk claims {max(block.data_size, block.uncompressed_size)} bytes", block.offset)
        stored = self._read_at(block.data_offset, block.data_size)
        if len(stored) < block.data_size:
            raise BlockDamage("the file ends inside a chunk", block.offset)
        return memoryview(self._decompress(block, stored)).toreadonly()

    def _block_data(self, number: int) -> memoryview:
        with self._lock:
            data = self._cache.get(number)
            if data is not None:
                self._cache.move_to_end(number)
                return data
            block = self._blocks[number]
            try:
                data = self._load(block)
            except BlockDamage as damage:
                reason = f"{damage.reason} at byte {damage.offset}"
                raise DataError(f"{self._path}: changed while it was being read: {reason}") from None
            self._remember(number, data)
            return data

    def _remember(self, number: int, data: memoryview) -> None:
        self._cache[number] = data
        self._cache_bytes += data.nbytes
        while self._cache_bytes > CACHE_BYTES and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cache_bytes -= dropped.nbytes
