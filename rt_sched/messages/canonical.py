"""A digest of a message that depends on its content only, never on addresses, dictionaries' order or the process."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

_pack_float = struct.Struct("<d").pack


def canonical_digest(message: object) -> bytes:
    """SHA-256 (32 bytes) over type name, field names and values; TypeError for values without a canonical form.

    The content of an array, which may be megabytes, enters as its 128-bit XXH3: a fingerprint, not a defence.
    """
    parts: list[bytes] = []
    _collect(parts.append, message, _fingerprint)
    return hashlib.sha256(b"".join(parts)).digest()


def canonical_bytes(message: object) -> bytes:
    """Type name, field names and values in full, arrays included; TypeError for values without a canonical form."""
    parts: list[bytes] = []
    _collect(parts.append, message, np.ndarray.tobytes)
    return b"".join(parts)


def _fingerprint(array: npt.NDArray[Any]) -> bytes:
    return xxhash.xxh3_128_digest(array.tobytes() if array.ndim == 0 or not array.size else array.data)


def _collect(add: Callable[[bytes], None], value: Any, content: Callable[[npt.NDArray[Any]], bytes]) -> None:
    """Adds the canonical form of `value`, piece by piece; the most frequent kinds come first.

    `content`: how the elements of an array enter, after its type and shape.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        data = value.encode()
        add(b"s%d:" % len(data))
        add(data)
    elif isinstance(value, bool | np.bool_):
        add(b"t" if value else b"f")
    elif isinstance(value, Enum):
        _collect(add, value.value, content)
    elif isinstance(value, int | np.integer):
        add(b"i%d;" % int(value))
    elif isinstance(value, float | np.floating):
        add(b"d" + _pack_float(value))
    elif isinstance(value, tuple | list):
        add(b"l%d:" % len(value))
        for item in value:
            _collect(add, item, content)
    elif isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        if array.dtype.byteorder == ">" or array.dtype.hasobject:
            raise TypeError(f"array of dtype {array.dtype} has no canonical form")
        add(f"a{array.dtype.str}{value.shape};".encode())
        add(content(array))
    elif value is None:
        add(b"n")
    elif isinstance(value, bytes | bytearray | memoryview):
        view = memoryview(value).cast("B")
        add(b"b%d:" % view.nbytes)
        add(bytes(view))
    elif dataclasses.is_dataclass(value):
        kind: type = type(value)
        head, names = _layout(kind)
        add(head)
        for name, label in names:
            add(label)
            _collect(add, getattr(value, name), content)
    else:
        raise TypeError(f"{type(value).__name__} has no canonical form")


@cache
def _layout(kind: type) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
    """How a message type begins, and per field its name and how that enters."""
    names = [field.name for field in dataclasses.fields(kind)]
    head = f"m{kind.__name__}:{len(names)};".encode()
    return head, tuple((name, b"s%d:%s" % (len(name.encode()), name.encode())) for name in names)
