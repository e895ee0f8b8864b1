"""Record layouts of bulk statistics. Every field is an integer; times are nanoseconds.

*Reads* are those of the outside world at the head of a chain: the delivered samples of a sensor, or the jobs of a timed
task that read; reads of one *source* are ranked from 0. A *node* is a beginning of a chain's path that ends at a task:
what a job of that task has at a node is the read behind it along that path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rt_sched.kernels.bulk.histogram import BINS


def _record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


#: `run`: number of the present run. `bounds_until_ns`: what happens from then on is not compared with bounds.
#: `drains`: how many there were in this run; `rows`, `samples`: rows that the last one left behind, of jobs and
#: samples (`samples` then counts those that have arrived since, too); `jobs`, `samples_before`: how many have been
#: numbered in this run.
HEAD = _record(
    "run",
    "bounds_until_ns",
    "first_chain_spread",
    "drains",
    "rows",
    "samples",
    "old_samples",
    "jobs",
    "samples_before",
)

#: Of a task. `m`, `k`: its weakly hard deadline, `first_bit`: where its last k outcomes stand in `bits`.
#: `source`: the source whose reads are its jobs, or NONE. `first_node`, `last_node`: half-open range in `nodes`;
#: `first_end`, `last_end`: range in `ends` of the chains that end here.
#: State of a run: `blocked`: number of the drain in which an unfinished job of it has been met; `newest`, `following`:
#: places of the last row that stays and of the one met last; `removed_ns`: when a change of mode last removed it;
#: `place`, `judged`, `unmet`: of the weakly hard window.
TASK = _record(
    "m",
    "k",
    "first_bit",
    "source",
    "first_node",
    "last_node",
    "first_end",
    "last_end",
    # state
    "blocked",
    "newest",
    "following",
    "removed_ns",
    "place",
    "judged",
    "unmet",
)

#: What became of a task's jobs, over all runs. `most_unmet`: most deadlines not met in k consecutive jobs, or in fewer
#: at the beginning; `violations`: jobs with which they were more than k - m, the first one in run `over_run`.
TASK_TALLY = _record(
    "completed",
    "unfinished",
    "aborted",
    "skipped",
    "lost",
    "suppressed",
    "misses",
    "overruns",
    "most_unmet",
    "violations",
    "over_run",
    "over_number",
)

#: A distribution of times: one for the responses of every task, then reaction, latency and data age of every chain.
#: `shift`, `bound_ns`: given; NEVER_NS where there is no bound. `max_censored`: whether the largest value is that of a
#: job which was not finished. `run`, `number`, `time_ns`: the largest one, first of equals: the run, number of the job
#: or read, and its arrival or the output.
SPREAD = _record(
    "shift",
    "bound_ns",
    "count",
    "sum_ns",
    "min_ns",
    "max_ns",
    "max_censored",
    "run",
    "number",
    "time_ns",
    "censored",
    "exceeded",
)

#: `parent`: node of the path without its last task, NONE when that is the source alone; `slot`: where the task reads.
NODE = _record("slot", "parent", "source", "by_sensor")

#: `until_ns`: outputs after that instant do not count. State of a run: `reflected`, `reflected_ns`: the newest read
#: that an output has shown, NONE before the first.
CHAIN = _record("node", "source", "until_ns", "reflected", "reflected_ns")
#: `lost`: reads that no output showed before it showed a later one; `unreflected`: later than any that was shown;
#: `open_max_ns`: greatest age of the newest shown read at the end of a run; `without_output`: runs that had none.
CHAIN_TALLY = _record(
    "outputs", "without_read", "repeated", "reads", "start_up", "lost", "unreflected", "open_max_ns", "without_output"
)

#: `sensor`: whose samples are the reads, NONE for a task. State of a run: `first`: rank of the oldest read that is
#: kept; `count`: reads kept.
SOURCE = _record("sensor", "first", "count")

#: Beside every job row. `excused`: whether a change of mode ended it. `folded`: 0 not yet, 2 by the present drain, 1
#: before. `known`: whether its reads are in `read_rank` and `read_ns`. `rank`: of the read that the job itself is.
#: `ident`: row that the job would have in tables that grow. `place`: row that it will have; NONE when it goes.
ROW = _record("excused", "folded", "known", "rank", "ident", "place")
#: The same beside every sample. `number`: of its sensor's samples, from 0.
SAMPLE_ROW = _record("number", "rank", "ident", "place")

#: A sensor whose samples are drawn one after the other; sample k is nominally captured at offset + floor(k / rate).
#: `stream`: that of its draws. State: `number`: of the next sample; `nominal_ns`, `carry`: nominal capture of the one
#: after it; `arrival_ns`, `capture_ns`: of the next one. NEVER_NS: there is none.
STREAM = _record(
    "stream",
    "period_ns",
    "period_rest",
    "rate_numerator",
    "latency_ns",
    "jitter_ns",
    "capture_jitter_ns",
    # state
    "number",
    "nominal_ns",
    "carry",
    "arrival_ns",
    "capture_ns",
)


class Bulk(NamedTuple):
    """Everything beside a `Machine` in bulk simulation.

    Shapes: head[1]; tasks, tallies: one record per task; spreads[n_tasks + 3 n_chains], bins int64[the same, BINS];
    bits int64[sum of k]; nodes; ends int64[*]: chains by task; chains, chain_tallies; sources; reads int64[n_sources,
    *]: times of the reads kept; rows[len(machine.jobs)]; read_rank, read_ns int64[len(rows), most nodes of a task];
    samples[len(machine.samples)]; transfers int64[len(machine.transfers)]: the place of each; busy_ns int64[n_cores];
    drops int64[n_edges]; source_of int64[n_sensors]: its source or NONE; arrived int64[n_sensors, 3]: samples that were
    delivered, that were lost with their sensor, and number of the next one in this run; streams: one record per sensor.
    """

    head: npt.NDArray[np.void]
    tasks: npt.NDArray[np.void]
    tallies: npt.NDArray[np.void]
    spreads: npt.NDArray[np.void]
    bins: npt.NDArray[np.int64]
    bits: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.void]
    ends: npt.NDArray[np.int64]
    chains: npt.NDArray[np.void]
    chain_tallies: npt.NDArray[np.void]
    sources: npt.NDArray[np.void]
    reads: npt.NDArray[np.int64]
    rows: npt.NDArray[np.void]
    read_rank: npt.NDArray[np.int64]
    read_ns: npt.NDArray[np.int64]
    samples: npt.NDArray[np.void]
    transfers: npt.NDArray[np.int64]
    busy_ns: npt.NDArray[np.int64]
    drops: npt.NDArray[np.int64]
    source_of: npt.NDArray[np.int64]
    arrived: npt.NDArray[np.int64]
    streams: npt.NDArray[np.void]


def empty_bulk() -> Bulk:
    """Beside `tables.empty_machine`; its arrays have the types that the compiled code expects."""
    no_integers, no_table = np.zeros(0, np.int64), np.zeros((0, 1), np.int64)

    def no_records(layout: np.dtype[np.void]) -> npt.NDArray[np.void]:
        return np.zeros(0, layout)

    return Bulk(
        head=np.zeros(1, HEAD),
        tasks=no_records(TASK),
        tallies=no_records(TASK_TALLY),
        spreads=no_records(SPREAD),
        bins=np.zeros((0, BINS), np.int64),
        bits=no_integers,
        nodes=no_records(NODE),
        ends=no_integers,
        chains=no_records(CHAIN),
        chain_tallies=no_records(CHAIN_TALLY),
        sources=no_records(SOURCE),
        reads=no_table,
        rows=no_records(ROW),
        read_rank=no_table,
        read_ns=no_table,
        samples=no_records(SAMPLE_ROW),
        transfers=no_integers,
        busy_ns=no_integers,
        drops=no_integers,
        source_of=no_integers,
        arrived=np.zeros((0, 3), np.int64),
        streams=no_records(STREAM),
    )
