"""What bulk runs counted, as values: distributions of times, outcomes of jobs, busy cores, chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.kernels.bulk.histogram import last_of_bin as compiled_last_of_bin
from rt_sched.kernels.bulk.tables import Bulk
from rt_sched.sim.bulk_tables import QUANTITIES

#: As it is written: three values a distribution are not worth a compilation.
last_of_bin = getattr(compiled_last_of_bin, "py_func", compiled_last_of_bin)

#: Columns of a table of tallies that do not add up over runs.
_LARGEST = ("most_unmet", "open_max_ns")
_FIRST = ("over_run", "over_number")


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest time, first of equals: in which run, of which job or read, that arrived or was shown when."""

    run: int
    number: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times in ns over all runs. Exact but for the quantiles, which may be up to 1/64 too large, never too small.

    `at`: of the largest; None when `count` is 0, as are all times then. `censored`: of the values so many are those of
    jobs that a run's end cut off, lower bounds. `exceeded`: how many were above the bound.
    """

    count: int
    min_ns: int | None
    mean_ns: float | None
    p50_ns: int | None
    p99_ns: int | None
    p999_ns: int | None
    max_ns: int | None
    at: Largest | None
    max_is_censored: bool
    censored: int
    exceeded: int


@dataclass(frozen=True, slots=True)
class WeaklyHard:
    """How a task kept its limit over all runs: the most of k consecutive deadlines that were not met, and how often
    that was too many; `first_over`: run and job in which it was for the first time.
    """

    most_unmet: int
    violations: int
    first_over: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Jobs of one task by outcome, as `trace.statistics` counts them. `drops`: messages on edges into it."""

    jobs: int
    completed: int
    unfinished: int
    aborted: int
    skipped: int
    lost: int
    suppressed: int
    misses: int
    overruns: int
    drops: int
    response: Distribution
    weakly_hard: WeaklyHard


@dataclass(frozen=True, slots=True)
class ChainCounts:
    """What `trace.chains` says of a chain, over all runs.

    `lost`: reads that no output had shown when one showed a later read. `repeated`: outputs that showed no later read
    than one before. `open_max_ns`: greatest age of the newest shown read at the end of a run; `without_output`: runs in
    which the chain showed nothing.
    """

    outputs: int
    without_read: int
    repeated: int
    reads: int
    start_up: int
    lost: int
    unreflected: int
    open_max_ns: int
    without_output: int
    reaction: Distribution
    latency: Distribution
    data_age: Distribution


@dataclass(frozen=True, slots=True)
class Counts:
    """Everything that was counted. `busy_ns`: per core; `arrived`: per sensor, samples delivered and lost; `drops`: per
    edge.
    """

    runs: int
    tasks: tuple[TaskCounts, ...]
    chains: tuple[ChainCounts, ...]
    busy_ns: tuple[int, ...]
    arrived: tuple[tuple[int, int], ...]
    drops: tuple[int, ...]


def counted(parts: Sequence[Bulk], runs: int, targets: Sequence[int]) -> Counts:
    """The sum of what several workers have counted in `runs` runs of one system; the same for any division of them.

    `targets`: the task at the end of every edge.
    """
    tallies = _summed([part.tallies for part in parts])
    chain_tallies = _summed([part.chain_tallies for part in parts])
    spreads = _merged_spreads([part.spreads for part in parts])
    bins = np.sum([part.bins for part in parts], axis=0)
    drops = np.zeros(len(tallies), np.int64)
    on_edges = np.sum([part.drops for part in parts], axis=0)
    np.add.at(drops, np.array(targets, np.int64), on_edges)
    distributions = [_distribution(row, counts) for row, counts in zip(spreads, bins, strict=True)]
    of_chains = distributions[len(tallies) :]
    size = len(QUANTITIES)
    return Counts(
        runs=runs,
        tasks=tuple(
            _task(row, int(dropped), one)
            for row, dropped, one in zip(tallies, drops, distributions[: len(tallies)], strict=True)
        ),
        chains=tuple(
            _chain(row, of_chains[size * number : size * number + size]) for number, row in enumerate(chain_tallies)
        ),
        busy_ns=tuple(np.sum([part.busy_ns for part in parts], axis=0).tolist()),
        arrived=tuple((one, other) for one, other, _ in np.sum([part.arrived for part in parts], axis=0).tolist()),
        drops=tuple(on_edges.tolist()),
    )


def _summed(tables: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Tallies of all workers; what came first is that of the lowest run."""
    total = tables[0].copy()
    for table in tables[1:]:
        for name in total.dtype.names or ():
            if name in _LARGEST:
                total[name] = np.maximum(total[name], table[name])
            elif name not in _FIRST:
                if name == "violations":
                    earlier = (table[name] > 0) & ((total[name] == 0) | (table["over_run"] < total["over_run"]))
                    for column in _FIRST:
                        total[column][earlier] = table[column][earlier]
                total[name] += table[name]
    return total


def _merged_spreads(tables: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Distributions of all workers; the largest time is that of the lowest run where it occurred several times."""
    total = tables[0].copy()
    for table in tables[1:]:
        larger = table["max_ns"] > total["max_ns"]
        larger |= (table["max_ns"] == total["max_ns"]) & (table["count"] > 0) & (table["run"] < total["run"])
        for column in ("max_ns", "max_censored", "run", "number", "time_ns"):
            total[column][larger] = table[column][larger]
        total["min_ns"] = np.minimum(total["min_ns"], table["min_ns"])
        for column in ("count", "sum_ns", "censored", "exceeded"):
            total[column] += table[column]
    return total


def _distribution(row: np.void, counts: npt.NDArray[np.int64]) -> Distribution:
    count = int(row["count"])
    if count == 0:
        return Distribution(0, None, None, None, None, None, None, None, False, 0, int(row["exceeded"]))
    cumulated, largest_ns = np.cumsum(counts), int(row["max_ns"])

    def quantile(thousandths: int) -> int:
        place = int(np.searchsorted(cumulated, -(-count * thousandths // 1000)))
        last = place == len(counts) - 1
        return largest_ns if last else min(int(last_of_bin(place, int(row["shift"]))), largest_ns)

    return Distribution(
        count=count,
        min_ns=int(row["min_ns"]),
        mean_ns=int(row["sum_ns"]) / count,
        p50_ns=quantile(500),
        p99_ns=quantile(990),
        p999_ns=quantile(999),
        max_ns=largest_ns,
        at=Largest(int(row["run"]), int(row["number"]), int(row["time_ns"])),
        max_is_censored=bool(row["max_censored"]),
        censored=int(row["censored"]),
        exceeded=int(row["exceeded"]),
    )


def _task(row: np.void, drops: int, response: Distribution) -> TaskCounts:
    outcomes = {name: int(row[name]) for name in _OUTCOMES}
    over = (int(row["over_run"]), int(row["over_number"])) if row["violations"] else None
    return TaskCounts(
        jobs=sum(outcomes.values()),
        **outcomes,
        misses=int(row["misses"]),
        overruns=int(row["overruns"]),
        drops=drops,
        response=response,
        weakly_hard=WeaklyHard(int(row["most_unmet"]), int(row["violations"]), over),
    )


def _chain(row: np.void, times: Sequence[Distribution]) -> ChainCounts:
    counts = {name: int(row[name]) for name in row.dtype.names or ()}
    reaction, latency, data_age = times
    return ChainCounts(**counts, reaction=reaction, latency=latency, data_age=data_age)


_OUTCOMES = ("completed", "unfinished", "aborted", "skipped", "lost", "suppressed")
