"""A digest of a message that depends on its content only, never on addresses, dictionaries' order or the process."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from enum import Enum
from typing import Any

import numpy as np
import xxhash


def canonical_digest(message: object) -> bytes:
    """SHA-256 (32 bytes) over type name, field names and values; TypeError for values without a canonical form.

    The content of an array, which may be megabytes, enters as its 128-bit XXH3: a fingerprint, not a defence.
    """
    hasher = hashlib.sha256()
    _feed(hasher, message)
    return hasher.digest()


def _feed(hasher: Any, value: object) -> None:
    if value is None:
        hasher.update(b"n")
    elif isinstance(value, bool | np.bool_):
        hasher.update(b"t" if value else b"f")
    elif isinstance(value, Enum):
        _feed(hasher, value.value)
    elif isinstance(value, int | np.integer):
        hasher.update(b"i%d;" % int(value))
    elif isinstance(value, float | np.floating):
        hasher.update(b"d" + struct.pack("<d", value))
    elif isinstance(value, str):
        data = value.encode()
        hasher.update(b"s%d:" % len(data))
        hasher.update(data)
    elif isinstance(value, bytes | bytearray | memoryview):
        view = memoryview(value).cast("B")
        hasher.update(b"b%d:" % view.nbytes)
        hasher.update(view)
    elif isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        if array.dtype.byteorder == ">" or array.dtype.hasobject:
            raise TypeError(f"array of dtype {array.dtype} has no canonical form")
        hasher.update(f"a{array.dtype.str}{value.shape};".encode())
        hasher.update(xxhash.xxh3_128_digest(array.tobytes() if array.ndim == 0 or not array.size else array.data))
    elif isinstance(value, tuple | list):
        hasher.update(b"l%d:" % len(value))
        for item in value:
            _feed(hasher, item)
    elif dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        hasher.update(f"m{type(value).__name__}:{len(fields)};".encode())
        for field in fields:
            _feed(hasher, field.name)
            _feed(hasher, getattr(value, field.name))
    else:
        raise TypeError(f"{type(value).__name__} has no canonical form")
