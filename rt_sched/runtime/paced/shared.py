"""Memory that a process shares with those it forks: anonymous, so it vanishes with the last of them."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt


def shared_array(dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
    """`count` zeroed records that this process and all that are forked from it see alike."""
    kind = np.dtype(dtype)
    return np.frombuffer(mmap.mmap(-1, max(kind.itemsize * count, 1)), kind, count)
