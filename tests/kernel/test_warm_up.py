"""After an installation has compiled its kernels no command compiles one: what Python calls is warmed up."""

from __future__ import annotations

from rt_sched import kernels
from rt_sched.kernels import crc, draw, machine


def test_functions_that_python_calls_are_compiled() -> None:
    kernels.warm_up()
    for called in (machine.advance, crc.crc64, draw.draw, draw.uniform, draw.demand_ns):
        # Without a compiler they are plain functions.
        assert getattr(called, "signatures", ["plain"]), called
