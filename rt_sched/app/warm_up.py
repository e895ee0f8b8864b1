"""Compiles every numba kernel into its cache."""

from __future__ import annotations

import time
from collections.abc import Callable


def compile_all(say: Callable[[str], None]) -> None:
    """Compiles the scheduling kernels and those of the LiDAR stages; `say` gets a line before and after."""
    say("compiling kernels (once per installation) ...")
    began = time.monotonic()
    from rt_sched import kernels

    kernels.warm_up()
    from pipelines import lidar_kernels

    lidar_kernels.warm_up()
    say(f"compiled in {time.monotonic() - began:.1f} s")
