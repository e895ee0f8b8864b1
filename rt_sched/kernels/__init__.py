"""Numba kernels over plain arrays: bare integers in, integers and status codes out, no exceptions."""

from __future__ import annotations


def warm_up() -> None:
    """Compile every kernel into the cache, or load it from there."""
    import numpy as np

    from rt_sched.kernels.crc import crc64
    from rt_sched.kernels.draw import demand_ns, draw, uniform
    from rt_sched.kernels.machine import advance
    from rt_sched.kernels.tables import QUANTILES, Machine, empty_machine

    machine: Machine = empty_machine()
    advance(*machine, np.int64(0), 1)
    uniform(1, np.uint64(draw(np.uint64(0), 0, 0, 0)))
    demand_ns(np.zeros(QUANTILES, np.int64), np.uint64(0), 0, 0)
    crc64(np.frombuffer(b"123456789", np.uint8))
