"""Counter-based randomness: every draw is a function of (seed, task, job number, purpose), never of the order of draws.

The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
OOPSLA 2014), applied once per word of the counter.
"""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.compiled import number

#: What a draw is for; each purpose has a stream of its own.
PURPOSE_DEMAND = 1
PURPOSE_JITTER = 2
PURPOSE_SEPARATION = 3
#: Suspension i of a job has the purpose PURPOSE_SUSPENSION + i.
PURPOSE_SUSPENSION = 16

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_SEGMENT_SHIFT, _FRACTION_SHIFT, _TOP_SHIFT = np.uint64(59), np.uint64(29), np.uint64(34)
_FRACTION_BITS = 30
_FRACTION_MASK = np.uint64(2**_FRACTION_BITS - 1)
_LOW_MASK = 2**_FRACTION_BITS - 1


@number
def mix(word):
    """One step of SplitMix64 on a uint64."""
    word = word + _GAMMA
    word = (word ^ (word >> _SHIFT_30)) * _MULTIPLIER_1
    word = (word ^ (word >> _SHIFT_27)) * _MULTIPLIER_2
    return word ^ (word >> _SHIFT_31)


@number
def draw(seed, task, index, purpose):
    """64 uniform bits for job `index` of `task`. `seed` is a uint64, the others are integers >= 0."""
    word = mix(seed)
    word = mix(word ^ np.uint64(task))
    word = mix(word ^ np.uint64(index))
    return mix(word ^ np.uint64(purpose))


@number
def interpolate(quantiles, bits):
    """Value of a 33-point quantile table at a uniform draw, rounded down, at least 1.

    The top five bits choose the segment, the next thirty the place in it. The product of step and fraction is split
    so that it stays inside int64 for steps below 2**62.
    """
    segment = np.int64(bits >> _SEGMENT_SHIFT)
    fraction = np.int64((bits >> _FRACTION_SHIFT) & _FRACTION_MASK)
    low = quantiles[segment]
    step = quantiles[segment + 1] - low
    part = (step >> _FRACTION_BITS) * fraction + (((step & _LOW_MASK) * fraction) >> _FRACTION_BITS)
    return max(low + part, 1)


@number
def demand_ns(quantiles, seed, task, index):
    """Execution demand of a job, drawn from its task's profile `quantiles` int64[33]."""
    return interpolate(quantiles, draw(seed, task, index, PURPOSE_DEMAND))


@number
def uniform(most, bits):
    """An integer in [0, most], most < 2**62: floor((most + 1) * f / 2**30) with f the top thirty bits of a draw."""
    fraction = np.int64(bits >> _TOP_SHIFT)
    values = most + 1
    return (values >> _FRACTION_BITS) * fraction + (((values & _LOW_MASK) * fraction) >> _FRACTION_BITS)
