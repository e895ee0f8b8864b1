# mypy: disable-error-code="no-untyped-call"
"""An MCAP file writer whose bytes depend on the messages alone, with a chosen zstd level.

The library's own writer puts its version into the file and compresses at a fixed fast level, which makes point
clouds half again as large. Records and their layout come from the library.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from typing import BinaryIO

import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Message,
    MessageIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC

LIBRARY = "rt-sched scene"


class McapFile:
    """Writes messages in the order given into zstd chunks with indexes, statistics and checksums; profile ros2."""

    def __init__(self, stream: BinaryIO, *, chunk_bytes: int = 1 << 20, zstd_level: int = 16) -> None:
        self._stream = stream
        self._chunk_bytes = chunk_bytes
        self._compressor = zstandard.ZstdCompressor(level=zstd_level)
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[str, Channel] = {}
        self._counts: Counter[int] = Counter()
        self._chunk = RecordBuilder()
        self._chunk_index: dict[int, MessageIndex] = {}
        self._chunks: list[ChunkIndex] = []
        self._offset = 0
        builder = RecordBuilder()
        Header("ros2", LIBRARY).write(builder)
        self._write(MCAP0_MAGIC + builder.end())

    def add_channel(self, topic: str, schema_name: str, definition: str) -> None:
        """Declare a topic with CDR messages of a ROS 2 type; its definition is the concatenated ros2msg text."""
        schema = self._schemas.get(schema_name)
        if schema is None:
            schema = Schema(id=len(self._schemas) + 1, name=schema_name, encoding="ros2msg", data=definition.encode())
            self._schemas[schema_name] = schema
            schema.write(self._chunk)
        channel = Channel(len(self._channels) + 1, topic, "cdr", {}, schema.id)
        self._channels[topic] = channel
        channel.write(self._chunk)

    def add_message(self, topic: str, data: bytes, *, log_time_ns: int, publish_time_ns: int) -> None:
        """Append one message of a declared topic."""
        channel = self._channels[topic]
        index = self._chunk_index.setdefault(channel.id, MessageIndex(channel.id, []))
        index.records.append((log_time_ns, self._chunk.count))
        message = Message(
            channel_id=channel.id,
            log_time=log_time_ns,
            data=data,
            publish_time=publish_time_ns,
            sequence=self._counts[channel.id],
        )
        message.write(self._chunk)
        self._counts[channel.id] += 1
        if self._chunk.count > self._chunk_bytes:
            self._end_chunk()

    def finish(self) -> None:
        """Write the last chunk and the summary section. The stream stays open."""
        self._end_chunk()
        builder = RecordBuilder()
        DataEnd(0).write(builder)
        self._write(builder.end())

        start = self._offset
        offsets: list[SummaryOffset] = []
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(sorted(self._counts.items())),
            chunk_count=len(self._chunks),
            message_count=self._counts.total(),
            metadata_count=0,
            message_start_time=min((c.message_start_time for c in self._chunks), default=0),
            message_end_time=max((c.message_end_time for c in self._chunks), default=0),
            schema_count=len(self._schemas),
        )
        groups = (
            (Opcode.SCHEMA, self._schemas.values()),
            (Opcode.CHANNEL, self._channels.values()),
            (Opcode.STATISTICS, (statistics,)),
            (Opcode.CHUNK_INDEX, self._chunks),
        )
        for opcode, records in groups:
            group_start = builder.count
            for record in records:
                record.write(builder)
            if builder.count > group_start:
                offsets.append(SummaryOffset(opcode, start + group_start, builder.count - group_start))
        offset_start = start + builder.count
        for offset in offsets:
            offset.write(builder)
        summary = builder.end()
        footer_head = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start)
        Footer(start, offset_start, zlib.crc32(footer_head, zlib.crc32(summary))).write(builder)
        self._write(summary + builder.end() + MCAP0_MAGIC)

    def _end_chunk(self) -> None:
        if not self._chunk_index:
            return
        log_times = [time for index in self._chunk_index.values() for time, _ in index.records]
        first, last = min(log_times), max(log_times)
        raw = self._chunk.end()
        data = self._compressor.compress(raw)
        builder = RecordBuilder()
        Chunk(
            compression="zstd",
            data=data,
            message_start_time=first,
            message_end_time=last,
            uncompressed_crc=zlib.crc32(raw),
            uncompressed_size=len(raw),
        ).write(builder)
        chunk_length = builder.count
        index_offsets: dict[int, int] = {}
        for channel_id, index in self._chunk_index.items():
            index_offsets[channel_id] = self._offset + builder.count
            index.write(builder)
        self._chunks.append(
            ChunkIndex(
                chunk_length=chunk_length,
                chunk_start_offset=self._offset,
                compression="zstd",
                compressed_size=len(data),
                message_start_time=first,
                message_end_time=last,
                message_index_length=builder.count - chunk_length,
                message_index_offsets=index_offsets,
                uncompressed_size=len(raw),
            )
        )
        self._write(builder.end())
        self._chunk_index = {}

    def _write(self, data: bytes) -> None:
        self._stream.write(data)
        self._offset += len(data)
