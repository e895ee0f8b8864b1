"""Sensor samples, drawn one after the other: those of `lowering.nominal_samples`, without a table of all of them."""

from __future__ import annotations

import numpy as np

from rt_sched.kernels.bulk.sources import sources_digest
from rt_sched.kernels.codes import NEVER_NS, NONE, SAMPLE_WAITING
from rt_sched.kernels.compiled import entry, part
from rt_sched.kernels.draw import draw, uniform

#: What a draw of a sensor is for.
_PURPOSE_ARRIVAL = 1
_PURPOSE_CAPTURE = 2


@part
def _draw_next(stream, horizon_ns, seed):
    """The next sample of a sensor, never before the one before it; none whose nominal capture is past the horizon."""
    if stream["nominal_ns"] >= horizon_ns:
        stream["arrival_ns"] = NEVER_NS
        return
    number = stream["number"]
    deviation_ns = stream["capture_jitter_ns"]
    capture_ns = stream["nominal_ns"] - deviation_ns
    capture_ns += uniform(2 * deviation_ns, draw(seed, stream["stream"], number, _PURPOSE_CAPTURE))
    capture_ns = max(0, capture_ns, stream["capture_ns"])
    deviation_ns = stream["jitter_ns"]
    arrival_ns = capture_ns + stream["latency_ns"] - deviation_ns
    arrival_ns += uniform(2 * deviation_ns, draw(seed, stream["stream"], number, _PURPOSE_ARRIVAL))
    stream["arrival_ns"] = max(capture_ns, arrival_ns, stream["arrival_ns"])
    stream["capture_ns"] = capture_ns
    stream["number"] += 1
    stream["nominal_ns"] += stream["period_ns"]
    stream["carry"] += stream["period_rest"]
    if stream["carry"] >= stream["rate_numerator"]:
        stream["carry"] -= stream["rate_numerator"]
        stream["nominal_ns"] += 1


@part
def _earliest(streams):
    """The stream whose sample is the next to arrive; the first of equals; NONE when no sample is left."""
    best, best_ns = NONE, NEVER_NS
    for number in range(len(streams)):
        if streams[number]["arrival_ns"] < best_ns:
            best, best_ns = np.int64(number), streams[number]["arrival_ns"]
    return best


def _entry(sources):
    """`deliver`, compiled for these sources."""

    @entry
    def deliver(streams, samples, count, horizon_ns, seed):
        """Write further samples of all sensors behind the first `count` of a table, by arrival, until it is full.

        Every stream holds its next sample; before the first call, `arrival_ns` is NONE everywhere. Returns how many
        samples the table holds, and the arrival of the next one, which it does not hold: NEVER_NS when none is left.
        """
        _ = sources
        for number in range(len(streams)):
            if streams[number]["arrival_ns"] == NONE:
                _draw_next(streams[number], horizon_ns, seed)
        while True:
            sensor = _earliest(streams)
            if sensor == NONE:
                return count, NEVER_NS
            if count == len(samples):
                return count, streams[sensor]["arrival_ns"]
            row = samples[count]
            row["arrival_ns"] = streams[sensor]["arrival_ns"]
            row["sensor"] = sensor
            row["capture_ns"] = streams[sensor]["capture_ns"]
            row["status"] = SAMPLE_WAITING
            count += 1
            _draw_next(streams[sensor], horizon_ns, seed)

    return deliver


deliver = _entry(sources_digest())
