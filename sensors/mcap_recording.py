"""MCAP files (https://mcap.dev/spec): any compression, chunked or not, with or without index and summary."""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, TypeVar

from sensors.block_index import Block, BlockDamage, RawMessage
from sensors.block_recording import MAX_BLOCK_BYTES, BlockRecording
from sensors.ros_types import make_channel

MAGIC = b"\x89MCAP0\r\n"

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _MESSAGE_INDEX, _CHUNK_INDEX = 2, 3, 4, 5, 6, 7, 8
_STATISTICS = 0x0B
_DATA_END = 0x0F
_RECORD = struct.Struct("<BQ")
_MESSAGE_HEAD = struct.Struct("<HIQQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_INDEX_HEAD = struct.Struct("<HI")
_INDEX_ENTRY_BYTES = 16
_FOOTER_BODY = struct.Struct("<QQI")
_FOOTER_BYTES = _RECORD.size + _FOOTER_BODY.size
#: A run of loose messages is read at once, so it is kept to about the size of a chunk.
_RUN_BYTES = 4 * 2**20
_MAX_DEFINITION_BYTES = 64 * 2**20
#: Compression name, with its length, as it stands in a chunk record, _MARK_OFFSET bytes after the record's start.
_CHUNK_MARKS = (b"\x04\x00\x00\x00zstd", b"\x03\x00\x00\x00lz4")
_MARK_OFFSET = _RECORD.size + _CHUNK_HEAD.size
_LOOSE = "loose"
_DEFINITION_FORMATS = ("ros1msg", "ros2msg", "ros2idl", "omgidl")

_T = TypeVar("_T")


class McapRecording(BlockRecording):
    """One MCAP file. CRCs of chunks, data section and summary are checked wherever the file has them."""

    def __init__(self, path: str, *, salvage: bool = False) -> None:
        self._schemas: dict[int, Any] = {}
        self._data_end: tuple[int, int] | None = None
        self._landmarks: list[int] = []
        self._chunks_known = False
        super().__init__(path, salvage=salvage)

    # Framing.

    def _walk(self) -> None:
        if self._salvage:
            self._read_summary_ahead()
        position = len(MAGIC)
        in_data = True
        while True:
            head = self._read_at(position, _RECORD.size)
            if len(head) < _RECORD.size:
                self._damaged("the file ends before its footer", position + len(head), None)
                return
            opcode, length = _RECORD.unpack(head)
            body, end = position + _RECORD.size, position + _RECORD.size + length
            if opcode == 0 or end > self._size:
                resumed = self._step_over(opcode, position, in_data)
                if resumed is None:
                    return
                position = resumed
                continue
            try:
                if opcode == _FOOTER:
                    self._check_footer(position, body, end)
                    return
                if opcode == _DATA_END:
                    self._data_end = (position, _U32.unpack_from(self._read_at(body, min(length, 4)))[0])
                    in_data = False
                else:
                    self._take_record(opcode, position, body, end, in_data)
            except BlockDamage as damage:
                self._damaged(damage.reason, damage.offset, None)
            except struct.error:
                self._damaged(f"a record of kind {opcode:#04x} is only {length} bytes long", position, None)
            position = end

    def _take_record(self, opcode: int, position: int, body: int, end: int, in_data: bool) -> None:
        if opcode == _MESSAGE and in_data:
            self._take_loose_message(position, end)
        elif opcode == _CHUNK and in_data:
            self._blocks.append(self._chunk(position, body, end))
        elif opcode == _MESSAGE_INDEX and in_data and self._blocks:
            self._blocks[-1].index_end = end
        elif opcode in (_SCHEMA, _CHANNEL, _STATISTICS):
            if end - body > _MAX_DEFINITION_BYTES:
                raise BlockDamage(f"a definition of {end - body} bytes", position)
            self._take_definition(opcode, self._read_at(body, end - body), position)

    def _take_loose_message(self, position: int, end: int) -> None:
        last = self._blocks[-1] if self._blocks else None
        follows = last is not None and last.compression == _LOOSE and last.end == position
        if last is not None and follows and end - last.offset <= _RUN_BYTES:
            last.end = end
            last.data_size = last.uncompressed_size = end - last.offset
            return
        self._blocks.append(Block(position, end, position, end - position, _LOOSE, end - position))

    def _chunk(self, position: int, body: int, end: int) -> Block:
        """The chunk's place and sizes, from its first bytes only."""
        head = self._read_at(body, min(_CHUNK_HEAD.size + 64, end - body))
        _, _, uncompressed_size, crc = _CHUNK_HEAD.unpack_from(head)
        (name_length,) = _U32.unpack_from(head, _CHUNK_HEAD.size)
        name_start = _CHUNK_HEAD.size + _U32.size
        compression = head[name_start : name_start + min(name_length, 32)].decode("ascii", "replace")
        if compression not in ("", "zstd", "lz4"):
            raise BlockDamage(f"a chunk with the unknown compression {compression!r} (read are zstd, lz4)", position)
        (data_size,) = _U64.unpack_from(head, name_start + name_length)
        data_offset = body + name_start + name_length + _U64.size
        truncated = end > self._size
        if data_offset + data_size > end:
            raise BlockDamage("a chunk larger than its record", position)
        data_size = min(data_size, self._size - data_offset)
        return Block(position, end, data_offset, data_size, compression, uncompressed_size, crc, truncated=truncated)

    def _take_definition(self, opcode: int, body: bytes, offset: int) -> None:
        from mcap import records

        if opcode == _STATISTICS:
            self._declared_counts = dict(_parse(records.Statistics.read, body, offset).channel_message_counts)
        elif opcode == _SCHEMA:
            schema = _parse(records.Schema.read, body, offset)
            self._schemas.setdefault(schema.id, schema)
        else:
            record = _parse(records.Channel.read, body, offset)
            known = self._channels.get(record.id)
            schema = self._schemas.get(record.schema_id)
            # A channel may stand before its schema in a damaged file; the summary repeats it with the schema known.
            if known is None or (not known.schema and schema is not None):
                name, text, text_format = "", "", ""
                if schema is not None:
                    name, text_format = schema.name, schema.encoding
                    text = schema.data.decode("utf-8", "replace") if text_format in _DEFINITION_FORMATS else ""
                self._channels[record.id] = make_channel(record.topic, name, record.message_encoding, text, text_format)

    # Blocks.

    def _decompress(self, block: Block, stored: bytes) -> bytes:
        if block.compression == _LOOSE:
            return stored
        if block.truncated:
            return _decompress_prefix(block, stored)
        data = _decompress_whole(block, stored)
        if len(data) != block.uncompressed_size:
            raise BlockDamage(f"a chunk of {len(data)} bytes that should be {block.uncompressed_size}", block.offset)
        if block.crc and zlib.crc32(data) != block.crc:
            raise BlockDamage("a chunk whose CRC does not match", block.offset)
        return data

    def _parse_block(self, block: Block, data: memoryview) -> Iterator[RawMessage]:
        position, size = 0, len(data)
        while position < size:
            body = position + _RECORD.size
            opcode, length = _RECORD.unpack_from(data, position) if body <= size else (0, 0)
            end = body + length
            if opcode == 0 or end > size or (opcode == _MESSAGE and length < _MESSAGE_HEAD.size):
                if block.truncated:
                    return
                raise BlockDamage(f"a bad record {position} bytes into the chunk", block.offset)
            if opcode == _MESSAGE:
                channel_id, _, log_time_ns, _ = _MESSAGE_HEAD.unpack_from(data, body)
                if channel_id in self._channels:
                    yield RawMessage(channel_id, log_time_ns, body + _MESSAGE_HEAD.size, end)
                else:
                    self._orphan(channel_id, block.offset)
            elif opcode in (_SCHEMA, _CHANNEL):
                self._take_definition(opcode, bytes(data[body:end]), block.offset)
            position = end

    def _count_lost(self, block: Block) -> int | None:
        if block.compression == _LOOSE or not block.index_end:
            return None
        data = self._read_at(block.end, min(block.index_end - block.end, MAX_BLOCK_BYTES))
        position = lost = 0
        while position + _RECORD.size + _INDEX_HEAD.size <= len(data):
            opcode, length = _RECORD.unpack_from(data, position)
            if opcode == _MESSAGE_INDEX:
                lost += _INDEX_HEAD.unpack_from(data, position + _RECORD.size)[1] // _INDEX_ENTRY_BYTES
            position += _RECORD.size + length
        return lost

    # The whole file.

    def _check_footer(self, position: int, body: int, end: int) -> None:
        summary_start, _, crc = _FOOTER_BODY.unpack(self._read_at(body, min(end - body, _FOOTER_BODY.size)))
        if summary_start > position:
            raise BlockDamage("a footer that points behind itself", position)
        if crc and summary_start and position - summary_start <= MAX_BLOCK_BYTES:
            covered = self._read_at(summary_start, body + _FOOTER_BODY.size - _U32.size - summary_start)
            if zlib.crc32(covered) != crc:
                self._damaged("a summary whose CRC does not match", summary_start)
        if self._read_at(end, len(MAGIC)) != MAGIC:
            self._damaged("the closing mark is missing", end)

    def _check_whole(self) -> None:
        if self._data_end is None or not self._data_end[1] or self._notes:
            return
        end, expected = self._data_end
        crc = 0
        for offset in range(0, end, _RUN_BYTES):
            crc = zlib.crc32(self._read_at(offset, min(_RUN_BYTES, end - offset)), crc)
        if crc != expected:
            reason = f"the data section (bytes 0 to {end}) has a CRC that does not match its end mark"
            self._damaged(reason, end)

    # Salvage.

    def _read_summary_ahead(self) -> None:
        """Channels and chunk offsets from the summary, so that a damaged data section can be entered again."""
        from mcap import records

        footer = self._size - len(MAGIC) - _FOOTER_BYTES
        tail = self._read_at(footer, _FOOTER_BYTES + len(MAGIC)) if footer > 0 else b""
        if not tail.endswith(MAGIC) or tail[0] != _FOOTER:
            return
        position, _, _ = _FOOTER_BODY.unpack_from(tail, _RECORD.size)
        self._landmarks += [footer, position]
        while 0 < position < footer:
            head = self._read_at(position, _RECORD.size)
            opcode, length = _RECORD.unpack(head)
            body, end = position + _RECORD.size, position + _RECORD.size + length
            if opcode == 0 or end > footer:
                return
            try:
                if opcode in (_SCHEMA, _CHANNEL) and length <= _MAX_DEFINITION_BYTES:
                    self._take_definition(opcode, self._read_at(body, length), position)
                elif opcode == _CHUNK_INDEX and length <= _MAX_DEFINITION_BYTES:
                    index = _parse(records.ChunkIndex.read, self._read_at(body, length), position)
                    self._landmarks.append(index.chunk_start_offset)
                    self._chunks_known = True
            except BlockDamage:
                # The walk meets the same record again and reports it.
                return
            position = end

    def _step_over(self, opcode: int, position: int, in_data: bool) -> int | None:
        """Where to go on behind a record that is none or reaches beyond the end; None when nothing follows."""
        resumed = self._next_landmark(position) if self._salvage else None
        if resumed is not None:
            self._damaged(f"unreadable bytes up to byte {resumed}", position, None)
            return resumed
        if opcode == 0:
            self._damaged("a record that is none", position, None)
            return None
        self._damaged(f"the file ends (byte {self._size}) inside the record", position, None)
        if opcode == _CHUNK and in_data:
            try:
                self._blocks.append(self._chunk(position, position + _RECORD.size, self._record_end(position)))
            except (BlockDamage, struct.error):
                # Too little of the chunk is there to hold a message; the damage is already noted.
                return None
        return None

    def _record_end(self, position: int) -> int:
        _, length = _RECORD.unpack(self._read_at(position, _RECORD.size))
        return position + _RECORD.size + int(length)

    def _next_landmark(self, position: int) -> int | None:
        places = [offset for offset in self._landmarks if position < offset < self._size]
        if not self._chunks_known and self._fd is not None:
            with mmap.mmap(self._fd, 0, access=mmap.ACCESS_READ) as view:
                places += [at for mark in _CHUNK_MARKS if (at := _find_chunk(view, mark, position + 1)) is not None]
        return min(places, default=None)


def _find_chunk(view: mmap.mmap, mark: bytes, start: int) -> int | None:
    """The next place that looks like a chunk record with this compression and lies inside the file."""
    at = view.find(mark, start + _MARK_OFFSET)
    while at >= 0:
        position = at - _MARK_OFFSET
        opcode, length = _RECORD.unpack_from(view, position)
        if opcode == _CHUNK and position + _RECORD.size + length <= len(view):
            return position
        at = view.find(mark, at + 1)
    return None


def _parse(read: Callable[[Any], _T], body: bytes, offset: int) -> _T:
    from mcap.data_stream import ReadDataStream
    from mcap.exceptions import McapError

    try:
        return read(ReadDataStream(BytesIO(body)))
    except (McapError, struct.error, ValueError, OverflowError):
        raise BlockDamage("a definition that cannot be read", offset) from None


def _decompress_whole(block: Block, stored: bytes) -> bytes:
    if block.compression == "zstd":
        import zstandard

        try:
            if zstandard.frame_content_size(stored) > block.uncompressed_size:
                raise BlockDamage("a zstd chunk that holds more than its record states", block.offset)
            return zstandard.ZstdDecompressor().decompress(stored, max_output_size=max(block.uncompressed_size, 1))
        except zstandard.ZstdError as error:
            raise BlockDamage(f"a zstd chunk that does not decompress ({error})", block.offset) from None
    if block.compression == "lz4":
        import lz4.frame

        try:
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(stored, max_length=block.uncompressed_size + 1))
        except (RuntimeError, EOFError) as error:
            raise BlockDamage(f"an lz4 chunk that does not decompress ({error})", block.offset) from None
    return stored


def _decompress_prefix(block: Block, stored: bytes) -> bytes:
    """As much as the beginning of a chunk gives; its CRC cannot be checked."""
    try:
        if block.compression == "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().stream_reader(stored).read(block.uncompressed_size)
        if block.compression == "lz4":
            import lz4.frame

            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(stored, max_length=block.uncompressed_size + 1))
    # Both libraries raise errors of their own; an unreadable beginning holds no message.
    except Exception:
        return b""
    return stored
