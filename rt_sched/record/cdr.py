"""CDR, little endian (OMG Common Data Representation 1, as ROS 2 writes it): packing runs of fields at full speed.

A message is built by appending `Layout`s to the bytearray that `new_message` returns. Every value is aligned to its own
size, counted from the end of the four leading bytes that name the encoding.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache

_ENCODING = b"\x00\x01\x00\x00"
_BODY = len(_ENCODING)
_FIELD = re.compile(r"(\d*)([?BiIfdxs])")
_ALIGNMENT = {"x": 1, "s": 4} | {kind: struct.calcsize(f"<{kind}") for kind in "?BiIfd"}


def new_message() -> bytearray:
    """A message without fields yet."""
    return bytearray(_ENCODING)


@lru_cache(maxsize=4096)
def string(text: str) -> bytes:
    """A string as CDR holds it: length with the closing zero, UTF-8 bytes, zero."""
    encoded = text.encode()
    return struct.pack("<I", len(encoded) + 1) + encoded + b"\0"


def set_count(out: bytearray, count: int) -> None:
    """Overwrite the first four bytes of the body, where a message that is one sequence has its length."""
    struct.pack_into("<I", out, _BODY, count)


def body(out: bytearray) -> bytes:
    """What was packed so far, without the leading bytes."""
    return bytes(out[_BODY:])


def align(out: bytearray, size: int) -> None:
    """Fill `out` with zeros up to a multiple of `size` bytes."""
    out.extend(bytes((_BODY - len(out)) % size))


class Layout:
    """A run of fields with one precompiled packer per place it starts at and length of its strings.

    `fields`: kinds separated by spaces, each with an optional count: ? bool, B uint8, i int32, I uint32, f float32,
    d float64 in the notation of the struct module; x a zero byte, which takes no value; s encoded bytes that start at a
    multiple of 4, such as the result of `string`.
    """

    def __init__(self, fields: str) -> None:
        self._fields: list[tuple[int, str]] = []
        self._strings: list[int] = []
        values = 0
        for field in fields.split():
            match = _FIELD.fullmatch(field)
            if match is None:
                raise ValueError(f"{field!r} is no field; valid kinds: ? B i I f d x s after an optional count")
            count, kind = int(match[1] or 1), match[2]
            for part in [1] * count if kind == "s" else [count]:
                self._fields.append((part, kind))
                self._strings += [values] if kind == "s" else []
                values += 0 if kind == "x" else part
        self._packers: dict[tuple[int, ...], struct.Struct] = {}

    def append(self, out: bytearray, *values: float | bytes) -> None:
        """Pack one value per field behind `out`. Raises struct.error when a value does not fit its field."""
        key = ((len(out) - _BODY) % 8, *[len(values[index]) for index in self._strings])  # type: ignore[arg-type]
        packer = self._packers.get(key)
        if packer is None:
            packer = self._packers[key] = self._compiled(*key)
        out += packer.pack(*values)

    def _compiled(self, start: int, *lengths: int) -> struct.Struct:
        position, left, parts = start, iter(lengths), ["<"]
        for count, kind in self._fields:
            gap = -position % _ALIGNMENT[kind]
            size = next(left) if kind == "s" else count
            parts.append(f"{gap}x{size}{kind}")
            position += gap + size * (1 if kind == "s" else struct.calcsize(f"<{kind}"))
        return struct.Struct("".join(parts))
