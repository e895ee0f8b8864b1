"""Runs of a simulation on several threads: which run is whose changes no number."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from rt_sched.analysis.faults.takeover_detection import concept_of
from rt_sched.app.progress import Progress
from rt_sched.app.simulate.trace import TracedRun
from rt_sched.kernels.bulk.tables import Bulk
from rt_sched.lowering import Execution, lower
from rt_sched.lowering.freedoms import without_samples
from rt_sched.lowering.machine_input import MachineInput
from rt_sched.lowering.scenarios import lower_scenario
from rt_sched.model import Fault, Plan, Scenario, System
from rt_sched.runtime.detection import NOTHING_LOST, Detection, detect
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import Questions
from rt_sched.sim.sample_feeds import GivenSamples, NominalSamples, SampleFeed, drawn_samples
from rt_sched.sim.statistics import Counts, counted
from rt_sched.units import NS_PER_S

#: The last seed that a call can name.
LARGEST_SEED = 2**63 - 1
#: How often the progress is told, in seconds.
_PAUSE_S = 0.2
#: For how long after the last fault, or its end, what is lost or back is looked for.
_WATCHED_NS = 5 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Case:
    """What is simulated: a plan with faults, and where demands come from. Run i has the seed `first_seed` + i.

    `scenario`: the one run, in which nothing is drawn; None for drawn ones.
    """

    system: System
    plan: Plan
    faults: tuple[Fault, ...]
    execution: Execution
    horizon_ns: int
    first_seed: int
    scenario: Scenario | None = None

    def seed(self, run: int) -> int:
        """The seed of a run; draws depend on it and on nothing that came before."""
        return self.first_seed + run

    def detection(self, run: int) -> Detection:
        """When the losses of a run are noticed, and which takeovers of the plan answer them."""
        if not self.faults or not self.plan.takeovers:
            return NOTHING_LOST
        last_ns = max(max(fault.time_ns, fault.until_ns or 0) for fault in self.faults)
        until_ns = min(self.horizon_ns, last_ns + _WATCHED_NS + concept_of(self.system).return_after_ns)
        samples = drawn_samples(self.system.sensors, until_ns, self.seed(run))
        sensors = {sensor.name for sensor in self.system.sensors}
        return detect(self.system, self.plan, samples, self.faults, sensors, until_ns)

    def lowered(self, run: int, horizon_ns: int, detection: Detection, *, with_samples: bool = False) -> MachineInput:
        """The machine's input for one run until `horizon_ns`, with the samples of its sensors or without.

        `detection`: that of the run.
        """
        if self.scenario is not None:
            return lower_scenario(self.system, self.plan, replace(self.scenario, horizon_ns=horizon_ns))
        samples = without_samples()
        if with_samples:
            samples = drawn_samples(self.system.sensors, horizon_ns, self.seed(run))
        return lower(
            self.system,
            self.plan,
            samples,
            horizon_ns=horizon_ns,
            seed=self.seed(run),
            execution=self.execution,
            faults=[fault for fault in self.faults if fault.time_ns < horizon_ns],
            plan_changes=[one for one in detection.plan_changes if one.time_ns < horizon_ns],
        )

    @property
    def runs_differ(self) -> bool:
        """Whether runs differ in more than draws: by the errors of device clocks, or when losses are noticed."""
        clocks = any(device.clock.sync_error_ns for device in self.system.devices)
        return clocks or bool(self.faults and self.plan.takeovers)


class _Stopped(Exception):
    """Another thread has failed, or nobody wants the result any more."""


class _Workers:
    """What the threads share: the number of the next run, how far each is, and whether to stop."""

    def __init__(self, case: Case, questions: Questions, runs: int, traced: TracedRun | None) -> None:
        self.case, self.questions, self.traced = case, questions, traced
        self.stop = threading.Event()
        self.done_ns: dict[int, int] = {}
        self.detections: dict[int, Detection] = {}
        self.given = case.lowered(0, case.horizon_ns, NOTHING_LOST)
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
        simulation = BulkSimulation(self.given, self.questions)
        for position, run in enumerate(self._runs()):
            before_ns = position * case.horizon_ns

            def reached(now_ns: int, before_ns: int = before_ns) -> None:
                self.done_ns[worker] = before_ns + now_ns
                if self.stop.is_set():
                    raise _Stopped

            given = self.given
            if case.runs_differ:
                self.detections[run] = detection = case.detection(run)
                given = case.lowered(run, case.horizon_ns, detection)
                simulation.change(given)
            feed: SampleFeed = GivenSamples(given)
            if case.scenario is None:
                feed = NominalSamples(case.system.sensors, case.horizon_ns, case.seed(run))
            if self.traced is not None and run == self.traced.run:
                with self.traced.open(case.system, case.faults, given) as see:
                    simulation.run(run, case.seed(run), feed, see=see, reached=reached)
            else:
                simulation.run(run, case.seed(run), feed, reached=reached)
        return simulation.bulk


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was counted in all runs, and of each what was noticed of its losses; empty where runs do not differ."""

    counts: Counts
    detections: tuple[Detection, ...]


def run_all(
    case: Case, questions: Questions, runs: int, threads: int | None, traced: TracedRun | None, progress: Progress
) -> Simulated:
    """`runs` runs on `threads` threads (None: one per core)."""
    workers = _Workers(case, questions, runs, traced)
    count = min(threads or os.cpu_count() or 1, runs)
    total_ns = runs * case.horizon_ns
    with ThreadPoolExecutor(count) as pool:
        try:
            futures = [pool.submit(workers.work, number) for number in range(count)]
            _wait(futures, workers, total_ns, progress)
            parts = [future.result() for future in futures]
        finally:
            workers.stop.set()
    counts = counted(parts, runs, [edge.target for edge in workers.given.edges])
    return Simulated(counts, tuple(workers.detections[run] for run in sorted(workers.detections)))


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
