"""Compiles every numba kernel into its cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path


def compile_all(say: Callable[[str], None]) -> None:
    """Compiles the kernels of scheduling, analysis and LiDAR stages; `say` gets a line before and after.

    The scheduling machine, which takes longest, beside all others.
    """
    say("compiling kernels (once per installation) ...")
    began = time.monotonic()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for part in [pool.submit(_compile_machine), pool.submit(_compile_others)]:
            part.result()
    say(f"compiled in {time.monotonic() - began:.1f} s")


def _compile_machine() -> None:
    from rt_sched import kernels

    kernels.warm_up()


def _compile_others() -> None:
    from pipelines.lidar import Cluster, Preprocess
    from rt_sched.analysis import batch
    from rt_sched.kernels import bulk, ring
    from rt_sched.ports import StageContext

    bulk.warm_up()
    ring.warm_up()
    batch.warm_up()
    for stage in (Preprocess(), Cluster()):
        stage.start(StageContext(task="compile", base_dir=Path()))
