"""Execution times of the stages of a system on this host: each job of a log once more, as a paced worker does it."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.model import System
from rt_sched.ports import Stage
from rt_sched.runtime.host.affinity import allowed_cores, pinned
from rt_sched.runtime.host.child import in_child, on_cores
from rt_sched.runtime.host.memory import keep_freed_memory, stop_collecting
from rt_sched.runtime.paced.jobs.practice import practise_all
from rt_sched.runtime.paced.jobs.rehearsal import Example
from rt_sched.trace.setup import Setup

_LIMIT_S = 600.0
#: Jobs that are done before any is measured, by a stage that is then forgotten: workers of paced runs do so too.
_WARM_UP = 3
#: More than the caches of a core that jobs find warm when one follows at once on another.
_CACHED_BYTES = 1 << 23
#: What keeps another core and the memory busy: more than the last cache of any host.
_BURNT_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU time of the jobs of one task, int64[n] ns, in their order: alone, and with every other core busy; or None."""

    task: str
    alone_ns: npt.NDArray[np.int64]
    contended_ns: npt.NDArray[np.int64] | None


def measure(
    system: System,
    setup: Setup,
    jobs: Mapping[str, Sequence[Example]],
    make_stage: Callable[[int], Stage],
    *,
    contention: bool,
    progress: Callable[[str], None],
) -> list[Measured]:
    """Every task with jobs, one after the other, each in a process of its own on the lowest core of this one.

    As in a paced run, the garbage collector is off, and each job finds the core's own caches full of other things, as
    after a pause in which others have run.

    `make_stage`: a started stage of a task, by its index. Raises what stages raise.
    """
    core = min(allowed_cores())
    others = sorted(allowed_cores() - {core})
    found = []
    for index, task in enumerate(system.tasks):
        examples = jobs.get(task.name, ())
        if not examples:
            continue
        progress(task.name)

        def run(index: int = index, examples: Sequence[Example] = examples) -> list[int]:
            def jobs_of(some: Sequence[Example], before_each: Callable[[], None] | None = None) -> list[int]:
                edges = tuple(edge for edge in setup.edges if edge.target == index)
                stage = make_stage(index)
                return practise_all(system.tasks[index], setup.tasks[index], edges, stage, some, before_each)

            keep_freed_memory()
            jobs_of(examples[:_WARM_UP])
            stop_collecting()
            return jobs_of(examples, _EmptyCaches())

        with pinned([core]):
            alone = np.array(in_child(run, _LIMIT_S), np.int64)
            contended = None
            if contention and others:
                with on_cores(others, _burn):
                    contended = np.array(in_child(run, _LIMIT_S), np.int64)
        found.append(Measured(task.name, alone, contended))
    return found


class _EmptyCaches:
    """Fills the caches of the core with something else."""

    def __init__(self) -> None:
        self._memory = np.zeros(_CACHED_BYTES // 8, np.int64)

    def __call__(self) -> None:
        self._memory += 1


def _burn() -> None:
    """Computes, and moves memory that no cache holds."""
    memory = np.frombuffer(mmap.mmap(-1, _BURNT_BYTES), np.int64)
    while True:
        memory += 1
