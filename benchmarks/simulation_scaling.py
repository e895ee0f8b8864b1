"""What one job of a simulation costs among more and more tasks.

    python benchmarks/simulation_scaling.py [--tasks N ...] [--runs N] [--plots FOLDER]

Three kinds of systems under EDF. `ten to a processor`: a load of 0.6 on each, arrivals spread. `one queue`: all on two
cores that share a queue, arrivals spread, so that few jobs wait at a time. `one queue, together`: the same with periods
of 10, 20, 50 and 100 ms that all begin at once, so that most tasks have a job that waits. Figures are processor times
of one thread in bulk, with statistics, over the jobs: the median of the runs after one that is not counted, and the
least. `--plots` draws the medians over the logarithm of the number of tasks, beside a line that grows as that does from
ten tasks on: the picture of docs/simulate.md by

    python benchmarks/simulation_scaling.py --plots docs/plots
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent / "stages")]

from plot import Series, line_plot  # noqa: E402

from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow  # noqa: E402
from rt_sched.sim.bulk import BulkSimulation  # noqa: E402
from rt_sched.sim.bulk_tables import Questions  # noqa: E402
from rt_sched.sim.sample_feeds import GivenSamples  # noqa: E402

NS_PER_MS = 10**6
#: Tasks times virtual time of a run, and its least virtual time.
_TASK_NS, _LEAST_NS = 10**12, 300 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class Kind:
    """`of_processor`: tasks on each, None for all on one with two cores. `together`: whether all begin at once."""

    name: str
    of_processor: int | None
    together: bool


KINDS = (
    Kind("ten to a processor", 10, together=False),
    Kind("one queue", None, together=False),
    Kind("one queue, together", None, together=True),
)


def system(kind: Kind, count: int) -> MachineInput:
    """So many tasks of this kind; the same at every call."""
    rng = random.Random(count)  # noqa: S311 - reproducible
    share = 0.6 / kind.of_processor if kind.of_processor else 1.2 / count
    tasks = []
    for number in range(count):
        period_ns = int(1e7 * 20 ** rng.random())
        if kind.together:
            period_ns = rng.choice((10, 20, 50, 100)) * NS_PER_MS
        tasks.append(
            TaskRow(
                f"t{number}",
                number // kind.of_processor if kind.of_processor else 0,
                period_ns,
                max(1, int(share * period_ns)),
                number,
                rate_hz=Fraction(10**9, period_ns),
                offset_ns=0 if kind.together else rng.randrange(period_ns),
            )
        )
    processors = [ProcessorRow("all", Policy.EDF, True, cores=2)]
    if kind.of_processor:
        processors = [ProcessorRow(f"p{number}", Policy.EDF, True) for number in range(count // kind.of_processor)]
    horizon_ns = max(_TASK_NS // count, _LEAST_NS)
    return MachineInput(tuple(processors), (), tuple(tasks), (), horizon_ns=horizon_ns)


def costs_us(given: MachineInput, runs: int) -> list[float]:
    """Processor time of a job in every run but the first."""
    simulation, seconds = BulkSimulation(given, Questions()), []
    for run in range(runs + 1):
        began = time.thread_time()
        simulation.run(run, 0, GivenSamples(given))
        seconds.append(time.thread_time() - began)
    jobs = sum(int(simulation.bulk.tallies[outcome].sum()) for outcome in ("completed", "unfinished")) / (runs + 1)
    return [1e6 * one / jobs for one in seconds[1:]]


def drawn(medians: dict[str, dict[int, float]]) -> str:
    """The plot; the line beside the curves begins with the first kind."""
    first = next(iter(medians.values()))
    least = min(first)
    medians = medians | {"c log n": {count: first[least] * math.log(count) / math.log(least) for count in first}}
    curves = [
        Series(name, tuple((math.log2(count), cost) for count, cost in costs.items()))
        for name, costs in medians.items()
    ]
    ends = f"{least} to {max(first)}"
    title, label = "Cost of a job among more and more tasks", f"log2 of the number of tasks, {ends}"
    return line_plot(title, label, "processor time of a job, us", curves)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 3000, 10_000])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the medians there")
    asked = parser.parse_args()
    print(f"us of processor time a job, median of {asked.runs} runs (least)")
    medians: dict[str, dict[int, float]] = {}
    for kind in KINDS:
        for count in asked.tasks:
            costs = costs_us(system(kind, count), asked.runs)
            medians.setdefault(kind.name, {})[count] = statistics.median(costs)
            print(f"{kind.name:20}{count:7} tasks {statistics.median(costs):8.3f} ({min(costs):.3f})", flush=True)
    if asked.plots:
        (asked.plots / "simulate-scaling.svg").write_text(drawn(medians), encoding="utf-8")


if __name__ == "__main__":
    main()
