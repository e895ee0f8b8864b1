"""CRC-64 over bytes: polynomial 0x42F0E1EBA9EA3693 (ECMA-182), reflected, all ones before and after.

Source: AUTOSAR FO SWS CRC library, Crc_CalculateCRC64, which E2E profile 7 uses. Of "123456789" it is
0x995DC9BBDF1939FA. It detects every burst of up to 64 bits and all but 1 in 2^64 of other errors.
"""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.compiled import entry

_REFLECTED = 0xC96C5795D7870F42
_BYTE = np.uint64(0xFF)
_EIGHT = np.uint64(8)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def _table() -> np.ndarray:
    """uint64[256]: the remainder that each value of a byte leaves."""
    remainders = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_REFLECTED if value & 1 else 0)
        remainders.append(value)
    return np.array(remainders, np.uint64)


_TABLE = _table()


@entry
def crc64(data):
    """The checksum of `data`, uint8[n], as uint64."""
    remainder = _ONES
    for value in data:
        remainder = _TABLE[(remainder ^ np.uint64(value)) & _BYTE] ^ (remainder >> _EIGHT)
    return remainder ^ _ONES
