"""A chain that is whole only for parts of a run is measured there alone."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rt_sched.trace.chain_spans import measure_chain_in
from rt_sched.trace.chains import measure_chain


def steady(new_trace, count: int = 12, missing: range = range(0), horizon: int = 1_200):
    """A sample every 100 ns, seen 10 ns later and acted on after another 20; no job for samples in `missing`."""
    trace = new_trace(["see", "act"], ["cam"], ["p"])
    trace.edge("cam", "see")
    trace.edge("see", "act")
    for k in range(count):
        sample = trace.sample("cam", 100 * k + 5, 100 * k)
        if k not in missing:
            seen = trace.job("see", 100 * k + 5, 100 * k + 15, inputs=[sample])
            trace.job("act", 100 * k + 15, 100 * k + 35, inputs=[seen])
    return trace.build(horizon)


PATH = ("cam", "see", "act")


def test_a_gap_does_not_count_between_two_spans(new_trace) -> None:
    trace = steady(new_trace, missing=range(4, 7))
    whole = measure_chain(trace, PATH)
    assert (whole.reaction.max_ns, whole.latency.max_ns) == (435, 335)
    parts = measure_chain_in(trace, PATH, None, [(0, 400), (650, None)])
    assert (parts.reaction.max_ns, parts.latency.max_ns, parts.data_age.max_ns) == (135, 35, 35)
    # The first read of each span is where it begins.
    assert parts.latency_sample_number.tolist() == [1, 2, 3, 8, 9, 10, 11]
    assert (parts.samples, parts.lost, parts.unreflected, parts.first_output_ns) == (12, 0, 0, 35)


def test_a_span_without_an_output_has_waited_since_its_begin(new_trace) -> None:
    trace = steady(new_trace, missing=range(4, 12))
    parts = measure_chain_in(trace, PATH, None, [(0, 400), (650, None)])
    assert (parts.open_reaction_ns, parts.unreflected, len(parts.output_ns)) == (550, 5, 4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 1_200), min_size=2, max_size=8, unique=True))
def test_outputs_and_reads_are_those_within_the_spans(new_trace, cuts: list[int]) -> None:
    cuts = sorted(cuts)[: len(cuts) // 2 * 2]
    spans = list(zip(cuts[::2], cuts[1::2], strict=True))
    trace = steady(new_trace)
    whole, parts = measure_chain(trace, PATH), measure_chain_in(trace, PATH, None, spans)
    inside = [
        place
        for place, (read, output) in enumerate(zip(whole.capture_ns, whole.output_ns, strict=True))
        if any(begin <= read and output <= end for begin, end in spans)
    ]
    assert parts.output_ns.tolist() == whole.output_ns[np.array(inside, int)].tolist()
    assert parts.data_age.max_ns == (35 if inside else None)
    # Every span loses its first read.
    begun = sum(any(begin <= whole.capture_ns[i] and whole.output_ns[i] <= end for i in inside) for begin, end in spans)
    assert len(parts.latency_ns) == len(inside) - begun
