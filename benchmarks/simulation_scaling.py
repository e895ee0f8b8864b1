"""What one job of a simulation costs among more and more tasks, and in longer and longer runs.

    python benchmarks/simulation_scaling.py [--tasks N ...] [--jobs N ...] [--runs N] [--plots FOLDER] [-o FILE]

Systems of several kinds. `ten to a processor`: EDF, a load of 0.6 on each, arrivals spread. `one queue`: all on two
cores that share a queue under EDF, arrivals spread, so that few jobs wait at a time. `..., together`: all in one queue,
with periods of 10, 20, 50 and 100 ms that all begin at once, so that most tasks have a job that waits; under EDF on two
cores, by fixed priorities and in order of release on one. Figures are processor times of one thread in bulk, with
statistics, over the jobs: the median of the runs after one that is not counted, and the least. Last, a hundred tasks,
ten to a processor, for so long that about so many jobs arrive.

`--plots` draws the medians over the logarithm of the number of tasks, beside a line that grows as that does from ten
tasks on: the picture of docs/simulate.md. Both are made by

    python benchmarks/simulation_scaling.py --plots docs/plots -o benchmarks/results/simulation_scaling.txt
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE / "stages"), str(_HERE / "evidence")]

from machine import describe_run  # noqa: E402
from plot import Series, line_plot  # noqa: E402

from rt_sched.lowering.machine_input import MachineInput, Policy, ProcessorRow, TaskRow  # noqa: E402
from rt_sched.sim.bulk import BulkSimulation  # noqa: E402
from rt_sched.sim.bulk_tables import Questions  # noqa: E402
from rt_sched.sim.sample_feeds import GivenSamples  # noqa: E402

NS_PER_MS = 10**6
#: Tasks times virtual time of a run, and its least virtual time.
_TASK_NS, _LEAST_NS = 10**12, 300 * NS_PER_MS
_TASKS_OF_LONG_RUNS = 100


@dataclass(frozen=True, slots=True)
class Kind:
    """`of_processor`: tasks on each, None for all on one, with so many `cores`. `together`: all begin at once."""

    name: str
    policy: Policy
    of_processor: int | None = None
    cores: int = 1
    together: bool = False


SPREAD = Kind("ten to a processor", Policy.EDF, of_processor=10)
KINDS = (
    SPREAD,
    Kind("one queue", Policy.EDF, cores=2),
    Kind("EDF, together", Policy.EDF, cores=2, together=True),
    Kind("priorities, together", Policy.FIXED_PRIORITY, together=True),
    Kind("FIFO, together", Policy.FIFO, together=True),
)


def system(kind: Kind, count: int, horizon_ns: int) -> MachineInput:
    """So many tasks of this kind; the same at every call. The load of a core is 0.6."""
    rng = random.Random(count)  # noqa: S311 - reproducible
    share = 0.6 / kind.of_processor if kind.of_processor else 0.6 * kind.cores / count
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
    processors = [ProcessorRow("all", kind.policy, kind.policy is not Policy.FIFO, cores=kind.cores)]
    if kind.of_processor:
        processors = [ProcessorRow(f"p{number}", kind.policy, True) for number in range(count // kind.of_processor)]
    return MachineInput(tuple(processors), (), tuple(tasks), (), horizon_ns=horizon_ns)


@dataclass(frozen=True, slots=True)
class Costs:
    """`us`: processor time of a job in every run but the first. `jobs`: of one run."""

    us: tuple[float, ...]
    jobs: int

    @property
    def median_us(self) -> float:
        """The figure that is told."""
        return statistics.median(self.us)

    def __str__(self) -> str:
        return f"{self.median_us:8.3f} ({min(self.us):.3f})"


def costs(given: MachineInput, runs: int) -> Costs:
    """What the jobs of this system cost in so many runs."""
    simulation, seconds = BulkSimulation(given, Questions()), []
    for run in range(runs + 1):
        began = time.thread_time()
        simulation.run(run, 0, GivenSamples(given))
        seconds.append(time.thread_time() - began)
    jobs = sum(int(simulation.bulk.tallies[outcome].sum()) for outcome in ("completed", "unfinished")) // (runs + 1)
    return Costs(tuple(1e6 * one / jobs for one in seconds[1:]), jobs)


def drawn(medians_us: dict[str, dict[int, float]]) -> str:
    """The plot; the line beside the curves begins with the first kind."""
    first = next(iter(medians_us.values()))
    least = min(first)
    medians_us = medians_us | {"c log n": {count: first[least] * math.log(count) / math.log(least) for count in first}}
    curves = [
        Series(name, tuple((math.log2(count), cost) for count, cost in of_kind.items()))
        for name, of_kind in medians_us.items()
    ]
    ends = f"{least} to {max(first)}"
    title, label = "Cost of a job among more and more tasks", f"log2 of the number of tasks, {ends}"
    return line_plot(title, label, "processor time of a job, us", curves)


class Lines:
    """What is told, line by line, and kept."""

    def __init__(self) -> None:
        self.text = ""

    def tell(self, line: str) -> None:
        """Print it at once."""
        print(line, flush=True)
        self.text += line + "\n"


def among_tasks(counts: Sequence[int], runs: int, lines: Lines) -> dict[str, dict[int, float]]:
    """Medians by kind and number of tasks."""
    medians_us: dict[str, dict[int, float]] = {}
    for kind in KINDS:
        for count in counts:
            found = costs(system(kind, count, max(_TASK_NS // count, _LEAST_NS)), runs)
            medians_us.setdefault(kind.name, {})[count] = found.median_us
            lines.tell(f"{kind.name:22}{count:7} tasks {found}   {found.median_us / math.log2(count):.3f} a log2")
    return medians_us


def in_longer_runs(wanted: Sequence[int], runs: int, lines: Lines) -> None:
    """The same tasks for longer and longer."""
    second = costs(system(SPREAD, _TASKS_OF_LONG_RUNS, 10**9), 1).jobs
    for jobs in wanted:
        found = costs(system(SPREAD, _TASKS_OF_LONG_RUNS, max(1, jobs * 10**9 // second)), runs)
        lines.tell(f"{SPREAD.name:22}{_TASKS_OF_LONG_RUNS:7} tasks {found}   {found.jobs} jobs")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, nargs="+", default=[10, 30, 100, 300, 1000, 3000, 10_000])
    parser.add_argument("--jobs", type=int, nargs="*", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the medians there")
    parser.add_argument("-o", dest="output", type=Path, metavar="FILE", help="write what is printed there as well")
    asked = parser.parse_args()
    if min(asked.tasks) < 10 or any(count % 10 for count in asked.tasks):
        parser.error("--tasks: tens of tasks, as ten of them share a processor")
    lines = Lines()
    made = describe_run(_HERE.parent)
    host = made["machine"]
    where = f"{host['cpus']} cores {host['processor']}, Python {host['python']}, numba {host['numba']}"
    lines.tell(f"commit {made['commit']}, {where}, load average {os.getloadavg()[0]:.1f} at the begin")
    lines.tell(f"us of processor time a job, median of {asked.runs} runs (least)")
    medians_us = among_tasks(asked.tasks, asked.runs, lines)
    lines.tell("the same in longer and longer runs, median of 2")
    in_longer_runs(asked.jobs, 2, lines)
    if asked.plots:
        (asked.plots / "simulate-scaling.svg").write_text(drawn(medians_us), encoding="utf-8")
    if asked.output:
        asked.output.write_text(lines.text, encoding="utf-8")


if __name__ == "__main__":
    main()
