"""How the kernels of rings are compiled.

An operation on a ring is short and keeps the interpreter lock: a thread that gives it away may wait for milliseconds
until it has it again. Only `waiting` gives it away.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from rt_sched.kernels.compiling.kernel import cached, uncached

_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}

#: Functions that only operations call need no way in from Python.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}

operation = cached(**_OPTIONS)
waiting = cached(nogil=True, **_OPTIONS)
part = uncached(forceinline=True, **_INNER)


def sources_digest() -> int:
    """Checksum over the sources of this package, part of the key under which its operations are cached."""
    checksum = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum
