"""Statistics of a bulk run beside those of its whole trace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from rt_sched.lowering.machine_input import MachineInput
from rt_sched.sim import Simulation
from rt_sched.sim.bulk import BulkSimulation
from rt_sched.sim.bulk_tables import ChainQuestion, Questions
from rt_sched.sim.sample_feeds import GivenSamples
from rt_sched.sim.statistics import Counts, Distribution, counted
from rt_sched.trace.chains import ChainMeasurement, measure_chain
from rt_sched.trace.statistics import Spread, TaskStatistics, measure_processors, measure_tasks
from rt_sched.trace.weakly_hard import measure_weakly_hard


def chains_of(given: MachineInput) -> Iterator[tuple[str, ...]]:
    """Some paths of a system, each task at most once."""
    rng = random.Random(given.seed)  # noqa: S311 - reproducible test data
    starts = [*given.sensors, *(task.name for task in given.tasks if task.timed)]
    names = {task.name for task in given.tasks}
    edges = [
        (given.sensors[edge.sensor] if edge.sensor is not None else given.tasks[edge.task or 0].name, edge)
        for edge in given.edges
    ]
    for start in starts:
        for _ in range(2):
            path = [start]
            while True:
                onward = sorted({given.tasks[edge.target].name for source, edge in edges if source == path[-1]})
                onward = [name for name in onward if name not in path and name in names]
                if not onward or (len(path) > 1 and rng.random() < 0.3):
                    break
                path.append(rng.choice(onward))
            if len(path) > 1:
                yield tuple(path)


def bulk_counts(given: MachineInput, questions: Questions, rows: int, samples: int, runs: int = 1) -> Counts:
    simulation = BulkSimulation(given, questions, rows=rows, samples=samples)
    for run in range(runs):
        simulation.run(run, given.seed, GivenSamples(given))
    return counted([simulation.bulk], runs, [edge.target for edge in given.edges])


def difference(given: MachineInput, rows: int, samples: int) -> str | None:
    """What a bulk run says otherwise than the whole trace does; None when they agree."""
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    paths = list(dict.fromkeys(chains_of(given)))
    until = given.horizon_ns // 2
    asked = [ChainQuestion(" ".join(path), path, 50, until if i % 4 == 3 else None) for i, path in enumerate(paths)]
    counts = bulk_counts(given, Questions(tuple(asked)), rows, samples)
    for task, mine, whole in zip(given.tasks, counts.tasks, measure_tasks(trace), strict=True):
        for name, got, wanted in _task_pairs(mine, whole):
            if got != wanted:
                return f"{task.name} {name}: bulk {got}, trace {wanted}"
    limits = {one.task: one for one in measure_weakly_hard(trace)}
    for task, mine in zip(given.tasks, counts.tasks, strict=True):
        if (limit := limits.get(task.name)) is not None:
            first = int(trace.jobs.number[limit.violations[0]]) if limit.violations else None
            got = mine.weakly_hard
            if (got.most_unmet, got.violations) != (limit.most_missed, len(limit.violations)):
                return f"{task.name}: weakly hard {got}, trace {limit}"
            if first is not None and got.first_over != (0, first):
                return f"{task.name}: weakly hard {got}, first {first}"
    busy = tuple(one.busy_ns for one in measure_processors(trace))
    if counts.busy_ns != busy:
        return f"busy: bulk {counts.busy_ns}, trace {busy}"
    for chain, mine in zip(asked, counts.chains, strict=True):
        whole = measure_chain(trace, chain.path, until_ns=chain.until_ns)
        for name, got, wanted in _chain_pairs(mine, whole):
            if got != wanted:
                return f"chain {chain.name} {name}: bulk {got}, trace {wanted}"
    return None


def _task_pairs(mine: Any, whole: TaskStatistics) -> Iterator[tuple[str, Any, Any]]:
    for name in (
        "jobs", "completed", "unfinished", "aborted", "skipped", "lost", "suppressed", "misses", "overruns", "drops",
    ):  # fmt: skip
        yield name, getattr(mine, name), getattr(whole, name)
    yield "censored", mine.response.censored, whole.censored
    yield from _spread_pairs("response", mine.response, whole.response)


def _spread_pairs(name: str, mine: Distribution, whole: Spread) -> Iterator[tuple[str, Any, Any]]:
    """Below 128 units every time has a bin of its own, so quantiles are exact here."""
    for field in ("count", "min_ns", "p50_ns", "p99_ns", "max_ns"):
        yield f"{name} {field}", getattr(mine, field), getattr(whole, field)


def _chain_pairs(mine: Any, whole: ChainMeasurement) -> Iterator[tuple[str, Any, Any]]:
    yield "outputs", mine.outputs, len(whole.output_ns)
    yield "without", mine.without_read, whole.outputs_without_sample
    yield "reads", mine.reads, whole.samples
    yield "start up", mine.start_up, whole.start_up_samples
    yield "unreflected", mine.unreflected, whole.unreflected
    yield "open", mine.open_max_ns if mine.outputs else None, whole.open_reaction_ns
    ranks = whole.sample_number
    if (ranks[1:] >= ranks[:-1]).all():
        yield "lost", mine.lost, whole.lost
        yield "repeated", mine.repeated, whole.repeated
    for name in ("reaction", "latency", "data_age"):
        yield from _spread_pairs(name, getattr(mine, name), getattr(whole, name))
