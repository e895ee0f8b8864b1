"""ROS 1 bags, format 2.0 (http://wiki.ros.org/Bags/Format/2.0), chunks stored plain or as bz2 or lz4."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator

from rt_sched.units import NS_PER_S
from sensors.block_index import Block, BlockDamage, RawMessage
from sensors.block_recording import BlockRecording
from sensors.ros_types import make_channel

MAGIC = b"#ROSBAG V2.0\n"

_MESSAGE, _BAG_HEADER, _INDEX, _CHUNK, _CHUNK_INFO, _CONNECTION = 2, 3, 4, 5, 6, 7
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_TIME = struct.Struct("<II")
_MAX_HEADER_BYTES = 16 * 2**20
_LOOSE = "loose"

_Fields = dict[bytes, bytes]


class Rosbag1Recording(BlockRecording):
    """One ROS 1 bag. Bags have no checksums; sizes, compression and the counts of their index are checked."""

    def __init__(self, path: str, *, salvage: bool = False) -> None:
        self._stated_chunks: int | None = None
        self._landmarks: list[int] = []
        super().__init__(path, salvage=salvage)

    def _walk(self) -> None:
        position = len(MAGIC)
        indexed: Counter[int] = Counter()
        while position < self._size:
            try:
                opcode, fields, data_offset, end = self._record(position)
                if end > self._size:
                    self._take_truncated_chunk(opcode, fields, position, data_offset, end)
                    return
                if opcode == _BAG_HEADER:
                    self._take_bag_header(fields, position)
                elif opcode == _CHUNK:
                    self._blocks.append(_chunk(fields, position, data_offset, end))
                elif opcode == _INDEX:
                    indexed[_u32(fields, b"conn", position)] += _u32(fields, b"count", position)
                    if self._blocks:
                        self._blocks[-1].index_end = end
                elif opcode == _CONNECTION:
                    self._take_connection(fields, self._read_at(data_offset, end - data_offset), position)
                elif opcode == _MESSAGE:
                    self._blocks.append(Block(position, end, position, end - position, _LOOSE, end - position))
            except BlockDamage as damage:
                self._damaged(damage.reason, damage.offset, None)
                end = min((offset for offset in self._landmarks if offset > position), default=self._size)
            position = end
        chunks = sum(block.compression != _LOOSE for block in self._blocks)
        if chunks == len(self._blocks) and all(block.index_end for block in self._blocks):
            self._declared_counts = dict(indexed)

    def _record(self, position: int) -> tuple[int, _Fields, int, int]:
        """(kind, header fields, offset of the data, end) of the record at `position`."""
        prefix = self._read_at(position, _U32.size)
        if len(prefix) < _U32.size:
            raise BlockDamage(f"the file ends (byte {self._size}) inside the record", position)
        (header_size,) = _U32.unpack(prefix)
        if header_size > _MAX_HEADER_BYTES:
            raise BlockDamage(f"a record header of {header_size} bytes", position)
        raw = self._read_at(position + _U32.size, header_size + _U32.size)
        if len(raw) < header_size + _U32.size:
            raise BlockDamage(f"the file ends (byte {self._size}) inside the record", position)
        fields = _fields(memoryview(raw)[:header_size], position)
        (data_size,) = _U32.unpack_from(raw, header_size)
        data_offset = position + 2 * _U32.size + header_size
        return _opcode(fields, position), fields, data_offset, data_offset + data_size

    def _take_bag_header(self, fields: _Fields, position: int) -> None:
        if len(fields.get(b"index_pos", b"")) != _U64.size:
            raise BlockDamage("a bag header without the place of the index", position)
        if fields.get(b"encryptor"):
            raise BlockDamage("an encrypted bag, which is not read,", position)
        (index_position,) = _U64.unpack(fields[b"index_pos"])
        if index_position == 0:
            self._damaged("the recorder did not close this bag: it has no index, as its header says", position, None)
        elif self._salvage:
            self._read_index_ahead(index_position)
        self._stated_chunks = _u32(fields, b"chunk_count", position)

    def _read_index_ahead(self, position: int) -> None:
        """Connections and chunk offsets from the end of the file, so that damage before it can be stepped over."""
        self._landmarks.append(position)
        while position < self._size:
            try:
                opcode, fields, data_offset, end = self._record(position)
                if opcode == _CONNECTION and end <= self._size:
                    self._take_connection(fields, self._read_at(data_offset, end - data_offset), position)
                elif opcode == _CHUNK_INFO and len(fields.get(b"chunk_pos", b"")) == _U64.size:
                    self._landmarks.append(_U64.unpack(fields[b"chunk_pos"])[0])
            except BlockDamage:
                # The walk meets the same record again and reports it.
                return
            position = end

    def _take_truncated_chunk(self, opcode: int, fields: _Fields, position: int, data_offset: int, end: int) -> None:
        self._damaged(f"the file ends (byte {self._size}) inside the record", position, None)
        if opcode == _CHUNK:
            block = _chunk(fields, position, data_offset, end)
            block.data_size = self._size - data_offset
            block.truncated = True
            self._blocks.append(block)

    def _take_connection(self, fields: _Fields, data: bytes | memoryview, offset: int) -> None:
        connection = _u32(fields, b"conn", offset)
        if connection in self._channels:
            return
        about = _fields(memoryview(data), offset)
        try:
            topic = fields[b"topic"].decode()
            schema = about[b"type"].decode()
            definition = about.get(b"message_definition", b"").decode("utf-8", "replace")
        except (KeyError, UnicodeDecodeError):
            raise BlockDamage("a connection without topic or type", offset) from None
        self._channels[connection] = make_channel(topic, schema, "ros1", definition, "ros1msg")

    def _decompress(self, block: Block, stored: bytes) -> bytes:
        try:
            if block.compression == "bz2":
                import bz2

                data = bz2.BZ2Decompressor().decompress(stored, max_length=block.uncompressed_size + 1)
            elif block.compression == "lz4":
                import lz4.frame

                data = lz4.frame.LZ4FrameDecompressor().decompress(stored, max_length=block.uncompressed_size + 1)
            else:
                data = stored
        except (OSError, RuntimeError, EOFError, ValueError) as error:
            if block.truncated:
                return b""
            raise BlockDamage(f"a {block.compression} chunk that does not decompress ({error})", block.offset) from None
        if len(data) != block.uncompressed_size and not block.truncated:
            raise BlockDamage(f"a chunk of {len(data)} bytes that should be {block.uncompressed_size}", block.offset)
        return bytes(data)

    def _parse_block(self, block: Block, data: memoryview) -> Iterator[RawMessage]:
        position, size = 0, len(data)
        while position < size:
            try:
                (header_size,) = _U32.unpack_from(data, position)
                header_end = position + _U32.size + header_size
                (data_size,) = _U32.unpack_from(data, header_end)
            except struct.error:
                header_end, data_size = size, size
            start = header_end + _U32.size
            end = start + data_size
            if end > size:
                if block.truncated:
                    return
                raise BlockDamage(f"a bad record {position} bytes into the chunk", block.offset)
            fields = _fields(data[position + _U32.size : header_end], block.offset)
            opcode = _opcode(fields, block.offset)
            if opcode == _CONNECTION:
                self._take_connection(fields, data[start:end], block.offset)
            elif opcode == _MESSAGE:
                connection = _u32(fields, b"conn", block.offset)
                time = fields.get(b"time", b"")
                if len(time) != _TIME.size:
                    raise BlockDamage("a message without a time", block.offset)
                if connection in self._channels:
                    seconds, nanoseconds = _TIME.unpack(time)
                    yield RawMessage(connection, seconds * NS_PER_S + nanoseconds, start, end)
                else:
                    self._orphan(connection, block.offset)
            position = end

    def _check_whole(self) -> None:
        found = sum(block.compression != _LOOSE for block in self._blocks)
        if self._stated_chunks != found and not self._notes:
            self._damaged(f"the bag states {self._stated_chunks} chunks and holds {found}, the end", self._size, None)

    def _count_lost(self, block: Block) -> int | None:
        if block.compression == _LOOSE:
            return 1
        if not block.index_end:
            return None
        lost, position = 0, block.end
        try:
            while position < block.index_end:
                _, fields, _, position = self._record(position)
                lost += _u32(fields, b"count", block.offset)
        except BlockDamage:
            return None
        return lost


def _chunk(fields: _Fields, position: int, data_offset: int, end: int) -> Block:
    compression = fields.get(b"compression", b"").decode("ascii", "replace")
    if compression not in ("none", "bz2", "lz4"):
        raise BlockDamage(f"a chunk with the unknown compression {compression!r} (read are none, bz2, lz4)", position)
    size = _u32(fields, b"size", position)
    return Block(position, end, data_offset, end - data_offset, compression, size)


def _fields(header: memoryview, offset: int) -> _Fields:
    """name=value pairs, each with its length before it."""
    fields: _Fields = {}
    position = 0
    while position < len(header):
        if position + _U32.size > len(header):
            raise BlockDamage("a record header that cannot be read", offset)
        (size,) = _U32.unpack_from(header, position)
        position += _U32.size
        if position + size > len(header):
            raise BlockDamage("a record header that cannot be read", offset)
        name, separator, value = bytes(header[position : position + size]).partition(b"=")
        if not separator:
            raise BlockDamage("a record header that cannot be read", offset)
        fields[name] = value
        position += size
    return fields


def _u32(fields: _Fields, name: bytes, offset: int) -> int:
    value = fields.get(name, b"")
    if len(value) != _U32.size:
        raise BlockDamage(f"a record without the field {name.decode()}", offset)
    return int(_U32.unpack(value)[0])


def _opcode(fields: _Fields, offset: int) -> int:
    value = fields.get(b"op", b"")
    if len(value) != 1:
        raise BlockDamage("a record without a kind", offset)
    return value[0]
