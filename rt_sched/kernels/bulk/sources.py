"""What a cached kernel of this package was compiled from."""

from __future__ import annotations

import zlib
from pathlib import Path

from rt_sched.kernels import compiled


def sources_digest() -> int:
    """Checksum over the sources of this package and of those that it is built on."""
    checksum = compiled.sources_digest()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return checksum
