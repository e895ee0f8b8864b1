"""Compiles every numba kernel into its cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def compile_all(say: Callable[[str], None]) -> None:
    """Compiles the kernels of scheduling, analysis and LiDAR stages; `say` gets a line before and after."""
    say("compiling kernels (once per installation) ...")
    began = time.monotonic()
    from pipelines.lidar import Cluster, Preprocess
    from rt_sched import kernels
    from rt_sched.analysis import batch
    from rt_sched.kernels import bulk
    from rt_sched.ports import StageContext

    kernels.warm_up()
    bulk.warm_up()
    batch.warm_up()
    for stage in (Preprocess(), Cluster()):
        stage.start(StageContext(task="compile", base_dir=Path()))
    say(f"compiled in {time.monotonic() - began:.1f} s")
