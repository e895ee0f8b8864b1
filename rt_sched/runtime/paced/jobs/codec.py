"""Messages as bytes: the pickle of a message, with the data of its arrays beside it (PEP 574).

    lengths   int64 x (2 + n): of the pickle, how many arrays, of each array
    pickle    everything but the data of arrays, padded to 64 bytes
    arrays    each padded to 64 bytes

Only processes of one run, which are forked from one another, exchange such bytes.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any

_ALIGNMENT = 64
_COUNT = struct.Struct("<q")


class _Pickler(pickle.Pickler):
    """Views of bytes, as recorded frames hold them, travel like arrays."""

    def reducer_override(self, value: Any) -> Any:
        return (memoryview, (pickle.PickleBuffer(value),)) if isinstance(value, memoryview) else NotImplemented


class Encoded:
    """A message ready to be written: how large it is, and how it gets into a place of that size.

    `kind`: its type.
    """

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        buffers: list[pickle.PickleBuffer] = []
        pickled = io.BytesIO()
        _Pickler(pickled, protocol=5, buffer_callback=buffers.append).dump(value)
        self._pickle = pickled.getbuffer()
        self._arrays = [buffer.raw() for buffer in buffers]
        lengths = [len(self._pickle), len(self._arrays), *(array.nbytes for array in self._arrays)]
        self._lengths = b"".join(map(_COUNT.pack, lengths))
        self.size = _padded(len(self._lengths) + len(self._pickle)) + sum(map(_padded, lengths[2:]))

    def to_bytes(self) -> bytes:
        """The message as it would be written."""
        place = bytearray(self.size)
        self.write(memoryview(place))
        return bytes(place)

    def write(self, place: memoryview) -> None:
        """`place`: at least `size` bytes."""
        at = 0
        for part in (self._lengths, self._pickle):
            place[at : at + len(part)] = part
            at += len(part)
        at = _padded(at)
        for array in self._arrays:
            place[at : at + array.nbytes] = array
            at += _padded(array.nbytes)


def decoded(place: memoryview, *, copy: bool) -> Any:
    """The message, read-only. Unless it is a `copy`, its arrays are views of `place`."""
    (pickled,) = _COUNT.unpack_from(place)
    (count,) = _COUNT.unpack_from(place, _COUNT.size)
    at = _COUNT.size * (2 + count)
    start = _padded(at + pickled)
    arrays: list[bytes | memoryview] = []
    for index in range(count):
        (length,) = _COUNT.unpack_from(place, _COUNT.size * (2 + index))
        part = place[start : start + length]
        arrays.append(bytes(part) if copy else part.toreadonly())
        start += _padded(length)
    return pickle.loads(place[at : at + pickled], buffers=arrays)  # noqa: S301  # from a process of the same run


def _padded(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT
