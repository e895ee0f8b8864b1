"""Runs of a simulation on several threads: which run is whose changes no number."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rt_sched.app.replay import Progress
from rt_sched.app.simulate_trace import open_trace
from rt_sched.kernels.bulk.tables import Bulk
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.model import Fault, Plan, System
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import NominalSamples
from rt_sched.sim.statistics import Counts, counted
from rt_sched.trace.records import SampleTable

#: How often the progress is told, in seconds.
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Case:
    """What is simulated: a plan with faults, and where demands come from. Run i has the seed `first_seed` + i."""

    system: System
    plan: Plan
    faults: tuple[Fault, ...]
    execution: Execution
    horizon_ns: int
    first_seed: int

    def seed(self, run: int) -> int:
        """The seed of a run; draws depend on it and on nothing that came before."""
        return (self.first_seed + run) % 2**64

    def lowered(self, run: int, horizon_ns: int, *, with_samples: bool = False) -> MachineInput:
        """The machine's input for one run until `horizon_ns`, with the samples of its sensors or without."""
        samples = nominal_samples(self.system, horizon_ns, self.seed(run)) if with_samples else _no_samples()
        return lower(
            self.system,
            self.plan,
            samples,
            horizon_ns=horizon_ns,
            seed=self.seed(run),
            execution=self.execution,
            faults=[fault for fault in self.faults if fault.time_ns < horizon_ns],
        )

    @property
    def clocks_differ(self) -> bool:
        """Whether clocks of devices are off by another amount in every run."""
        return any(device.clock.sync_error_ns for device in self.system.devices)


def _no_samples() -> SampleTable:
    none = np.zeros(0, np.int64)
    return SampleTable(none.astype(np.int32), none, none, none, none.astype(np.int8))


class _Stopped(Exception):
    """Another thread has failed, or nobody wants the result any more."""


class _Workers:
    """What the threads share: the number of the next run, how far each is, and whether to stop."""

    def __init__(self, case: Case, questions: Questions, runs: int, trace: Path | None) -> None:
        self.case, self.questions, self.trace = case, questions, trace
        self.stop = threading.Event()
        self.done_ns: dict[int, int] = {}
        self._given = case.lowered(0, case.horizon_ns)
        self._numbers = iter(range(runs))
        self._lock = threading.Lock()

    def _runs(self) -> Iterator[int]:
        while True:
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                return
            yield number

    def work(self, worker: int) -> Bulk:
        """Runs, one after the other, as long as there are any."""
        case = self.case
        simulation = BulkSimulation(self._given, self.questions)
        for position, run in enumerate(self._runs()):
            before_ns = position * case.horizon_ns

            def reached(now_ns: int, before_ns: int = before_ns) -> None:
                self.done_ns[worker] = before_ns + now_ns
                if self.stop.is_set():
                    raise _Stopped

            if case.clocks_differ:
                simulation.change(case.lowered(run, case.horizon_ns))
            feed = NominalSamples(case.system.sensors, case.horizon_ns, case.seed(run))
            if run == 0 and self.trace is not None:
                with open_trace(self.trace, case.system, case.faults, self._given) as see:
                    simulation.run(run, case.seed(run), feed, see=see, reached=reached)
            else:
                simulation.run(run, case.seed(run), feed, reached=reached)
        return simulation.bulk


def run_all(
    case: Case, questions: Questions, runs: int, threads: int | None, trace: Path | None, progress: Progress
) -> Counts:
    """Everything that is counted in `runs` runs, on `threads` threads (None: one per core)."""
    workers = _Workers(case, questions, runs, trace)
    count = min(threads or os.cpu_count() or 1, runs)
    total_ns = runs * case.horizon_ns
    with ThreadPoolExecutor(count) as pool:
        try:
            futures = [pool.submit(workers.work, number) for number in range(count)]
            _wait(futures, workers, total_ns, progress)
            parts = [future.result() for future in futures]
        finally:
            workers.stop.set()
    given = workers.case.lowered(0, case.horizon_ns)
    return counted(parts, runs, [edge.target for edge in given.edges])


def _wait(futures: list[Future[Bulk]], workers: _Workers, total_ns: int, progress: Progress) -> None:
    """Until all are done, or one has failed."""
    for _ in itertools.count():
        done, waiting = wait(futures, timeout=_PAUSE_S, return_when=FIRST_EXCEPTION)
        progress.advance(min(sum(workers.done_ns.copy().values()), total_ns), total_ns)
        failed = [future for future in done if future.exception() is not None]
        if failed:
            workers.stop.set()
            failed[0].result()
        if not waiting:
            return
