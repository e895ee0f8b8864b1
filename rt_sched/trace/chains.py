"""End-to-end times of a cause-effect chain as measured in a trace: data age, latency and reaction time.

Definitions, for a chain from a sensor through tasks, with implicit communication (read at the first dispatch,
publish at completion); `finish` is the instant at which an output appears and `capture` a sample's own stamp:

- *data age* of an output: its finish minus the capture of the sample behind it.
- *latency* of sample k: finish of the first output behind which sample k or a later one lies, minus capture of k.
  This is the length of an immediate forward job chain, the "reduced" reaction time.
- *reaction* of sample k: the same finish minus capture of k - 1. An event right after sample k - 1 was captured waits
  for sample k, so the largest of these is the maximum reaction time, sampling included.

Sources: M. Günzel, K.-H. Chen, N. Ueter, G. von der Brüggen, M. Dürr, J.-J. Chen, "Timing Analysis of Asynchronized
Distributed Cause-Effect Chains", RTAS 2021 (immediate forward and backward job chains); M. Günzel, H. Teper,
K.-H. Chen, G. von der Brüggen, J.-J. Chen, "On the Equivalence of Maximum Reaction Time and Maximum Data Age for
Cause-Effect Chains", ECRTS 2023, doi:10.4230/LIPIcs.ECRTS.2023.10.

Start-up: let s be the sample behind the first output. Latencies are taken from sample s on and reactions from s + 1 on,
for events after the capture of s. Before that the chain was still filling: how long an event waited then tells when the
tasks were first activated, not how the chain reacts. `start_up_samples` and `first_output_ns` show that part.

End: an event after the last reflected sample is still on its way when the run ends. It has waited `open_reaction_ns`, a
lower bound of its reaction that does not enter the distribution; when it exceeds the largest reaction, the chain has
stopped delivering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rt_sched.trace.records import Bools, Int64s, JobStatus, SampleStatus, Trace
from rt_sched.trace.statistics import Spread, spread_of

_FIRST_SAMPLE = -2


@dataclass(frozen=True, slots=True, eq=False)
class ChainMeasurement:
    """What a trace says about one chain. Times in ns on the run's clock, arrays int64.

    Per output that a sample lies behind, in order of time: `output_ns` (finish), `capture_ns`, `sample_number`,
    `data_age_ns`. Per sample from the first reflected to the last: `latency_sample_number`, `latency_ns`; without the
    first of them `reaction_ns`, so `reaction_ns[i]` belongs to `latency_sample_number[i + 1]`.

    `samples`: delivered by the sensor. `start_up_samples`: before the first reflected one. `lost`: never used although
    a later one was. `unreflected`: after the last reflected one. `repeated`: outputs that used the same sample as
    another one before. `outputs_without_sample`: completed jobs of the last task that read no data along this path.
    `first_output_ns`, `open_reaction_ns`: see the module; None when there was no output.
    """

    path: tuple[str, ...]
    output_ns: Int64s
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


def measure_chain(trace: Trace, path: Sequence[str], published: Bools | None = None) -> ChainMeasurement:
    """Data ages, latencies and reactions of the chain `path`: a sensor, then tasks, each reading the one before.

    `published` bool[n_jobs]: False for completed jobs that published nothing (a stage refused its input); None when
    every completed job published. Where a task reads its predecessor on several inputs, the first edge in
    `trace.edges` counts. Raises ValueError for a path that is no path of this trace, naming the place.
    """
    sensor, slots = _resolve(trace, path)
    jobs = trace.jobs
    useful = np.equal(jobs.status, JobStatus.COMPLETED)
    if published is not None:
        useful &= published
    outputs = np.flatnonzero(useful & np.equal(jobs.task, trace.task_names.index(path[-1]))).astype(np.int64)
    chained, behind = _walk_back(trace, outputs, slots, useful, sensor)
    order = np.argsort(jobs.finish_ns[chained], kind="stable")
    output_ns, behind = jobs.finish_ns[chained][order], behind[order]

    arrived = np.flatnonzero((trace.samples.sensor == sensor) & (trace.samples.status == SampleStatus.DELIVERED))
    capture_of_rank = trace.samples.capture_ns[arrived]
    number_of_rank = trace.samples.number[arrived]
    rank = np.searchsorted(arrived, behind)
    capture_ns = capture_of_rank[rank]
    reflected = np.maximum.accumulate(rank)
    first_output_ns: int | None = None
    open_reaction_ns: int | None = None
    if len(rank):
        first, last = int(reflected[0]), int(reflected[-1])
        first_output_ns = int(output_ns[0])
        open_reaction_ns = trace.horizon_ns - int(capture_of_rank[last])
    else:
        first, last = len(arrived), len(arrived) - 1
    ranks = np.arange(first, last + 1)
    reflected_ns = output_ns[np.searchsorted(reflected, ranks, side="left")]
    latency_ns = reflected_ns - capture_of_rank[ranks]
    reaction_ns = reflected_ns[1:] - capture_of_rank[ranks[:-1]]
    data_age_ns = output_ns - capture_ns
    used = np.unique(rank)
    return ChainMeasurement(
        path=tuple(path),
        output_ns=output_ns,
        capture_ns=capture_ns,
        sample_number=number_of_rank[rank],
        data_age_ns=data_age_ns,
        latency_sample_number=number_of_rank[ranks],
        latency_ns=latency_ns,
        reaction_ns=reaction_ns,
        data_age=spread_of(data_age_ns),
        latency=spread_of(latency_ns),
        reaction=spread_of(reaction_ns),
        samples=len(arrived),
        start_up_samples=first if len(rank) else 0,
        lost=len(ranks) - int(np.count_nonzero(used >= first)),
        unreflected=len(arrived) - 1 - last if len(rank) else len(arrived),
        repeated=len(rank) - len(used),
        outputs_without_sample=len(outputs) - len(chained),
        first_output_ns=first_output_ns,
        open_reaction_ns=open_reaction_ns,
    )


def _resolve(trace: Trace, path: Sequence[str]) -> tuple[int, list[int]]:
    """Index of the sensor, and per task of the path the input slot on which it reads its predecessor."""
    if len(path) < 2:
        raise ValueError(f"a chain needs a sensor and at least one task, not {list(path)}")
    if path[0] not in trace.sensor_names:
        raise ValueError(f"chain {' -> '.join(path)}: {path[0]!r} is not a sensor; known: {list(trace.sensor_names)}")
    slots = []
    for source, target in pairwise(path):
        if target not in trace.task_names:
            raise ValueError(f"chain {' -> '.join(path)}: {target!r} is not a task; known: {list(trace.task_names)}")
        slot = next((edge.slot for edge in trace.edges if (edge.source, edge.target) == (source, target)), None)
        if slot is None:
            raise ValueError(f"chain {' -> '.join(path)}: no edge leads from {source!r} to {target!r}")
        slots.append(slot)
    return trace.sensor_names.index(path[0]), slots


def _walk_back(
    trace: Trace, outputs: Int64s, slots: Sequence[int], useful: Bools, sensor: int
) -> tuple[Int64s, npt.NDArray[np.int64]]:
    """The outputs that a sample of the sensor lies behind, and the row of that sample for each."""
    reached = outputs
    for depth, slot in enumerate(reversed(slots)):
        message = trace.jobs.inputs[reached, slot]
        if depth < len(slots) - 1:
            found = message >= 0
            found[found] = useful[message[found]]
        else:
            message = _FIRST_SAMPLE - message
            found = message >= 0
            found[found] = trace.samples.sensor[message[found]] == sensor
        outputs, reached = outputs[found], message[found]
    return outputs, reached
