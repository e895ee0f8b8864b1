"""End-to-end times of a cause-effect chain as measured in a trace: data age, latency and reaction time.

A chain leads from a sensor, or from a timed task that samples the outside world itself, through tasks. Its outside
world is *read* when a sample of the sensor is captured, or when a job of the first task reads: implicitly at its first
dispatch, under LET at its arrival. Implicit outputs appear at the completion of a job, those under LET at its deadline.
Definitions, with `output` the instant at which an output appears and `read` the instant behind it:

- *data age* of an output: its instant minus the read behind it.
- *latency* of read k: instant of the first output behind which read k or a later one lies, minus read k.
  This is the length of an immediate forward job chain, the "reduced" reaction time.
- *reaction* of read k: the same instant minus read k - 1. An event right after read k - 1 waits for read k, so the
  largest of these is the maximum reaction time, sampling included.

Sources: M. Günzel, K.-H. Chen, N. Ueter, G. von der Brüggen, M. Dürr, J.-J. Chen, "Timing Analysis of Asynchronized
Distributed Cause-Effect Chains", RTAS 2021 (immediate forward and backward job chains); M. Günzel, H. Teper,
K.-H. Chen, G. von der Brüggen, J.-J. Chen, "On the Equivalence of Maximum Reaction Time and Maximum Data Age for
Cause-Effect Chains", ECRTS 2023, doi:10.4230/LIPIcs.ECRTS.2023.10.

Start-up: let s be the read behind the first output. Latencies and reactions are taken from read s + 1 on, for events
after read s. Before that the chain was still filling: how long an event, or read s itself, waited then tells when
the tasks were first activated, not how the chain reacts. `start_up_samples` and `first_output_ns` show that part.

End: an event after the last reflected read is still on its way when the run ends. It has waited `open_reaction_ns`, a
lower bound of its reaction that does not enter the distribution; when it exceeds the largest reaction, the chain has
stopped delivering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rt_sched.trace.records import Bools, EventKind, Int64s, JobStatus, SampleStatus, Trace, sample_of
from rt_sched.trace.statistics import Spread, spread_of


@dataclass(frozen=True, slots=True, eq=False)
class ChainMeasurement:
    """What a trace says about one chain. Times in ns on the run's clock, arrays int64.

    Per output that a read lies behind, in order of time: `output_ns` (when it appears), `output_job` (row of the job),
    `capture_ns` (the read), `sample_number` (of the sample, or of the job that read), `data_age_ns`. Per read from the
    first reflected one, which is left out, to the last: `latency_sample_number`, `latency_ns`, `reaction_ns`.

    `samples`: samples that the sensor delivered, or jobs of the first task that read. `start_up_samples`: before the
    first reflected one. `lost`: never used although a later one was. `unreflected`: after the last reflected one.
    `repeated`: outputs that used the same sample as another one before. `outputs_without_sample`: outputs of the last
    task that no data along this path lies behind.
    `first_output_ns`, `open_reaction_ns`: see the module; None when there was no output.
    """

    path: tuple[str, ...]
    output_ns: Int64s
    output_job: Int64s
    capture_ns: Int64s
    sample_number: Int64s
    data_age_ns: Int64s
    latency_sample_number: Int64s
    latency_ns: Int64s
    reaction_ns: Int64s
    data_age: Spread
    latency: Spread
    reaction: Spread
    samples: int
    start_up_samples: int
    lost: int
    unreflected: int
    repeated: int
    outputs_without_sample: int
    first_output_ns: int | None
    open_reaction_ns: int | None


def measure_chain(
    trace: Trace,
    path: Sequence[str],
    published: Bools | None = None,
    until_ns: int | None = None,
    from_ns: int = 0,
) -> ChainMeasurement:
    """Data ages, latencies and reactions of the chain `path`: a sensor or timed task, then tasks that read each other.

    `published` bool[n_jobs]: False for completed jobs that published nothing (a stage refused its input); None when
    every completed job published. Outputs after `until_ns` do not count, nor do reads before `from_ns`. Where a task
    reads its predecessor on several inputs, the first edge in `trace.edges` counts. A trace without a setup is taken to
    communicate implicitly.
    Raises ValueError for a path that is no path of this trace, naming the place.
    """
    slots = _resolve(trace, path)
    jobs = trace.jobs
    useful = np.equal(jobs.status, JobStatus.COMPLETED)
    if published is not None:
        useful &= published
    outputs, appears_ns = _outputs(trace, path[-1], useful)
    if until_ns is not None:
        outputs = outputs[appears_ns[outputs] <= until_ns]
    reads = _reads_of(trace, path[0], from_ns)
    chained, behind = _walk_back(trace, outputs, slots, useful, reads)
    order = np.argsort(appears_ns[chained], kind="stable")
    chained, behind = chained[order], behind[order]
    output_ns = appears_ns[chained]

    capture_of_rank, number_of_rank = reads.time_ns, reads.number
    rank = np.searchsorted(reads.row, behind)
    capture_ns = capture_of_rank[rank]
    reflected = np.maximum.accumulate(rank)
    first_output_ns: int | None = None
    open_reaction_ns: int | None = None
    if len(rank):
        first, last = int(reflected[0]), int(reflected[-1])
        first_output_ns = int(output_ns[0])
        open_reaction_ns = trace.horizon_ns - int(capture_of_rank[last])
    else:
        first, last = len(reads.row), len(reads.row) - 1
    ranks = np.arange(first, last + 1)
    reflected_ns = output_ns[np.searchsorted(reflected, ranks, side="left")]
    latency_ns = reflected_ns[1:] - capture_of_rank[ranks[1:]]
    reaction_ns = reflected_ns[1:] - capture_of_rank[ranks[:-1]]
    data_age_ns = output_ns - capture_ns
    used = np.unique(rank)
    return ChainMeasurement(
        path=tuple(path),
        output_ns=output_ns,
        output_job=chained,
        capture_ns=capture_ns,
        sample_number=number_of_rank[rank],
        data_age_ns=data_age_ns,
        latency_sample_number=number_of_rank[ranks[1:]],
        latency_ns=latency_ns,
        reaction_ns=reaction_ns,
        data_age=spread_of(data_age_ns),
        latency=spread_of(latency_ns),
        reaction=spread_of(reaction_ns),
        samples=len(reads.row),
        start_up_samples=first if len(rank) else 0,
        lost=len(ranks) - int(np.count_nonzero(used >= first)),
        unreflected=len(reads.row) - 1 - last if len(rank) else len(reads.row),
        repeated=len(rank) - len(used),
        outputs_without_sample=len(outputs) - len(chained),
        first_output_ns=first_output_ns,
        open_reaction_ns=open_reaction_ns,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Reads:
    """When the outside world was read: row of the sample or job, instant and number of each, in order.

    `by_sensor`: whether the rows are samples.
    """

    by_sensor: bool
    row: Int64s
    time_ns: Int64s
    number: Int64s


def _resolve(trace: Trace, path: Sequence[str]) -> list[int]:
    """Per task behind the first member of the path the input slot on which it reads the member before it."""
    shown = " -> ".join(path)
    if len(path) < 2:
        raise ValueError(f"a chain needs a sensor or a timed task and at least one task more, not {list(path)}")
    if path[0] not in trace.sensor_names:
        if path[0] not in trace.task_names:
            known = [*trace.sensor_names, *trace.task_names]
            raise ValueError(f"chain {shown}: {path[0]!r} is neither a sensor nor a task; known: {known}")
        if trace.setup is not None and not trace.setup.tasks[trace.task_names.index(path[0])].timed:
            text = "is activated by messages, so it does not read the outside world"
            raise ValueError(f"chain {shown}: {path[0]!r} {text}")
    slots = []
    for source, target in pairwise(path):
        if target not in trace.task_names:
            raise ValueError(f"chain {shown}: {target!r} is not a task; known: {list(trace.task_names)}")
        slot = next((edge.slot for edge in trace.edges if (edge.source, edge.target) == (source, target)), None)
        if slot is None:
            raise ValueError(f"chain {shown}: no edge leads from {source!r} to {target!r}")
        slots.append(slot)
    return slots


def _is_let(trace: Trace, task: int) -> bool:
    return trace.setup is not None and trace.setup.tasks[task].let


def _outputs(trace: Trace, name: str, useful: Bools) -> tuple[Int64s, Int64s]:
    """Rows of the jobs of a task that published, and int64[n_jobs] the instants at which the outputs appeared."""
    jobs, task = trace.jobs, trace.task_names.index(name)
    published, appears_ns = useful & np.equal(jobs.task, task), jobs.finish_ns
    if _is_let(trace, task):
        events = trace.events
        told = np.flatnonzero((events.kind == EventKind.LET_PUBLISH) & (events.task == task))
        visible = np.zeros(len(jobs), np.bool_)
        visible[events.job[told]] = True
        published, appears_ns = published & visible, jobs.deadline_ns
    return np.flatnonzero(published).astype(np.int64), appears_ns


def _reads_of(trace: Trace, name: str, from_ns: int) -> _Reads:
    """Reads of the outside world from an instant on; from the begin on all, since samples may be captured before it."""
    found = _all_reads_of(trace, name)
    if from_ns <= 0:
        return found
    some = found.time_ns >= from_ns
    return _Reads(found.by_sensor, found.row[some], found.time_ns[some], found.number[some])


def _all_reads_of(trace: Trace, name: str) -> _Reads:
    """Reads of the outside world by a sensor, or by a task whose jobs sample it themselves."""
    if name in trace.sensor_names:
        samples = trace.samples
        mine = np.equal(samples.sensor, trace.sensor_names.index(name))
        rows = np.flatnonzero(mine & (samples.status == SampleStatus.DELIVERED)).astype(np.int64)
        return _Reads(True, rows, samples.capture_ns[rows], samples.number[rows])
    jobs, task = trace.jobs, trace.task_names.index(name)
    mine = np.equal(jobs.task, task)
    if _is_let(trace, task):
        never = np.equal(jobs.status, JobStatus.SUPPRESSED)
        never |= np.equal(jobs.status, JobStatus.LOST) & (jobs.start_ns < 0)
        rows = np.flatnonzero(mine & ~never).astype(np.int64)
        return _Reads(False, rows, jobs.arrival_ns[rows], jobs.number[rows])
    rows = np.flatnonzero(mine & (jobs.start_ns >= 0)).astype(np.int64)
    return _Reads(False, rows, jobs.start_ns[rows], jobs.number[rows])


def _walk_back(
    trace: Trace, outputs: Int64s, slots: Sequence[int], useful: Bools, reads: _Reads
) -> tuple[Int64s, npt.NDArray[np.int64]]:
    """The outputs that a read lies behind, and the row of the sample or job that read, for each."""
    reached = outputs
    for depth, slot in enumerate(reversed(slots)):
        message = trace.jobs.inputs[reached, slot]
        if reads.by_sensor and depth == len(slots) - 1:
            message = sample_of(message)
            found = np.isin(message, reads.row)
        else:
            found = message >= 0
            found[found] = useful[message[found]]
        outputs, reached = outputs[found], message[found]
    known = np.isin(reached, reads.row)
    return outputs[known], reached[known]
