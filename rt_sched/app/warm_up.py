"""Compiles every numba kernel into its cache, and every module to bytecode."""

from __future__ import annotations

import compileall
import importlib
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

_PACKAGES = ("rt_sched", "pipelines", "sensors", "safety", "hw")


def compile_all(say: Callable[[str], None]) -> None:
    """Compiles the kernels of scheduling, analysis, LiDAR stages and scenes; `say` gets a line before and after.

    The scheduling machine, which takes longest, beside all others. Modules come along, as an installation that is only
    linked into an environment has no bytecode yet, and some environments tell Python to keep none.
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
    _compile_scene()
    _compile_modules()


def _compile_scene() -> None:
    """By the first frame and sweep of a scene."""
    from sensors.scene.catalogue import SCENES, build_world
    from sensors.scene.rig import quad_orin_rig
    from sensors.scene.writer import write_scene

    duration_s = 0.02
    world = build_world(SCENES["hazard"], duration_s=duration_s)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.mcap"
        write_scene(world, quad_orin_rig(), path, duration_s=duration_s, cameras=("front_wide",), seed=1)


def _compile_modules() -> None:
    """Where a folder cannot be written, modules are compiled at every start, as they are by Python itself."""
    for package in _PACKAGES:
        for folder in importlib.import_module(package).__path__:
            compileall.compile_dir(folder, quiet=2)
