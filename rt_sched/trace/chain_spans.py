"""A chain as measured in the parts of a run in which it was whole: each part begins anew, as a run does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rt_sched.trace.chains import ChainMeasurement, measure_chain
from rt_sched.trace.records import Bools, Trace
from rt_sched.trace.statistics import spread_of

_ARRAYS = (
    "output_ns",
    "output_job",
    "capture_ns",
    "sample_number",
    "data_age_ns",
    "latency_sample_number",
    "latency_ns",
    "reaction_ns",
)


def measure_chain_in(
    trace: Trace, path: Sequence[str], published: Bools | None, spans: Sequence[tuple[int, int | None]]
) -> ChainMeasurement:
    """What `measure_chain` says of the reads and outputs of each of `spans`, [from, until]; None: the end of the run.

    `spans`: ascending and apart, one at least. Reads of one span behind outputs of another do not count. `samples`,
    `start_up_samples` and `first_output_ns` are of the whole run, and of its first output; `unreflected` and
    `open_reaction_ns` are of the last span, which has been waiting from its begin on where it has no output.
    """
    parts = [measure_chain(trace, path, published, until_ns, from_ns) for from_ns, until_ns in spans]
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return first
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    open_ns = last.open_reaction_ns
    if open_ns is None and spans[-1][0] < trace.horizon_ns:
        open_ns = trace.horizon_ns - spans[-1][0]
    return replace(
        first,
        **arrays,
        data_age=spread_of(arrays["data_age_ns"]),
        latency=spread_of(arrays["latency_ns"]),
        reaction=spread_of(arrays["reaction_ns"]),
        lost=sum(part.lost for part in parts),
        unreflected=last.unreflected,
        repeated=sum(part.repeated for part in parts),
        outputs_without_sample=first.outputs_without_sample,
        first_output_ns=next((part.first_output_ns for part in parts if part.first_output_ns is not None), None),
        open_reaction_ns=open_ns,
    )
