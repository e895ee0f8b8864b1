"""Bins of a histogram of times, linear at first and then 64 to every doubling: no bin is wider than 1/64 of its times.

A histogram has a *shift* s: times count in units of 2**s ns. Units below 128 have a bin each; bins end at 2**24 units,
and later times are in the last one. `shift_for` chooses s so that times of interest lie well inside.

Source of the layout: G. Tene, HdrHistogram (hdrhistogram.org).
"""

from __future__ import annotations

from rt_sched.kernels.compiled import number

_SUB_BITS = 6
_LINEAR = 2 << _SUB_BITS
_TOP_BITS = 24
BINS = (_TOP_BITS - _SUB_BITS) * (1 << _SUB_BITS) + (1 << _SUB_BITS)
#: Bits of a time of interest, counted in units: it is told apart to 1/64, and so is what is 2**11 times shorter.
_USUAL_BITS = 18


def shift_for(usual_ns: int) -> int:
    """The shift of a histogram for times around `usual_ns`, and up to at least 32 times that."""
    return max(0, int(usual_ns).bit_length() - _USUAL_BITS)


@number
def bin_of(value_ns, shift):
    """The bin of a time >= 0."""
    units = value_ns >> shift
    if units < _LINEAR:
        return units
    if units >> _TOP_BITS:
        return BINS - 1
    doublings = 1
    while units >> doublings >= _LINEAR:
        doublings += 1
    return (doublings << _SUB_BITS) + (units >> doublings)


@number
def last_of_bin(place, shift):
    """The largest time in a bin; the last bin has no end, the caller knows its largest time."""
    if place < _LINEAR:
        return ((place + 1) << shift) - 1
    doublings = (place >> _SUB_BITS) - 1
    units = (place & ((1 << _SUB_BITS) - 1)) + (1 << _SUB_BITS)
    return ((units + 1) << (doublings + shift)) - 1
