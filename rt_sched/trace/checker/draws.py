"""Re-derives the counter-based draws of a run (semantics 17), over whole columns at once.

A draw mixes seed, task, job number and purpose with one step of SplitMix64 per word (Steele, Lea, Flood, OOPSLA 2014).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

UInt64s = npt.NDArray[np.uint64]
Int64s = npt.NDArray[np.int64]

DEMAND, JITTER, SEPARATION, FIRST_SUSPENSION = 1, 2, 3, 16


def _mixed(word: UInt64s) -> UInt64s:
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)), np.uint64)


def bits_of(seed: int, task: int, numbers: Int64s, purpose: int) -> UInt64s:
    """uint64[n]: the draws of the given job numbers of a task for one purpose."""
    word = _mixed(np.full(1, seed, np.uint64))
    word = _mixed(word ^ np.uint64(task))
    return _mixed(_mixed(word ^ numbers.astype(np.uint64)) ^ np.uint64(purpose))


def up_to(most: int, bits: UInt64s) -> Int64s:
    """int64[n] in [0, most]: floor((most + 1) * f / 2**30), f the top thirty bits of the draw."""
    whole, rest = divmod(most + 1, 2**30)
    fraction = (bits >> np.uint64(34)).astype(np.int64)
    return np.asarray(whole * fraction + ((rest * fraction) >> 30), np.int64)


def demands_of(quantiles: Sequence[int], bits: UInt64s) -> Int64s:
    """int64[n]: 33 quantiles at steps of 1/32, interpolated at the draws, rounded down, at least 1."""
    table = np.array(quantiles, np.int64)
    segment = (bits >> np.uint64(59)).astype(np.int64)
    fraction = ((bits >> np.uint64(29)) & np.uint64(2**30 - 1)).astype(np.int64)
    low = table[segment]
    whole, rest = np.divmod(table[segment + 1] - low, 2**30)
    return np.asarray(np.maximum(low + whole * fraction + ((rest * fraction) >> 30), 1), np.int64)
