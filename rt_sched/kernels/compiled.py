"""How the state machine is compiled.

A function that takes a `tables.Machine` gets more than a hundred machine words, and counts references of two dozen
arrays, at every call. Parts are therefore merged into the entry by the compiler and without reference counting: no part
allocates, and the caller holds the arrays. That makes bulk simulation three to four times as fast.

Only what Python calls is cached: entries and numbers. The cache of numba watches the file in which a function stands,
not the other files whose functions were merged into it, so `sources_digest` makes all of them part of an entry's key. A
number calls only what stands in its own file.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from rt_sched.kernels.compiling.kernel import Kernel, cached, uncached

#: No function divides by zero: ranges are checked before, so no division needs a way out.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}

#: Functions that only other kernels call need no way in from Python, which takes long to compile.
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}

entry = cached(**_OPTIONS)
part = uncached(forceinline=True, **_INNER)
#: A small function of plain numbers, which Python calls as well.
number = cached(forceinline=True, **_OPTIONS)
#: What few instants need: called, not merged, so that it neither slows the rest down nor is compiled at every use.
routine = uncached(**_INNER)


def as_routine(merged: Kernel) -> Kernel:
    """A `part` once more, as a routine, for its rare uses."""
    return routine(merged.py_func)


def sources_digest() -> int:
    """Checksum over the sources of this package."""
    checksum = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum
