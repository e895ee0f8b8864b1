"""Samples that are drawn when they are due are those of the table of all samples."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.kernels import codes
from rt_sched.kernels.tables import SAMPLE
from rt_sched.lowering import nominal_samples
from rt_sched.model import Device, Sensor, SensorKind, System
from rt_sched.sim.sample_feeds import NominalSamples

CAMERA = Sensor("cam", SensorKind.CAMERA, Fraction(10**9, 100), ("box",), ())


@st.composite
def sensors(draw: st.DrawFn) -> Sensor:
    return replace(
        CAMERA,
        rate_hz=Fraction(10**9 * draw(st.integers(1, 7)), draw(st.integers(40, 900))),
        drift_ppm=Fraction(draw(st.integers(-900, 900)), draw(st.integers(1, 7))),
        offset_ns=draw(st.integers(0, 60)),
        latency_ns=draw(st.integers(0, 80)),
        jitter_ns=draw(st.sampled_from((0, 3, 200))),
        capture_jitter_ns=draw(st.sampled_from((0, 5, 150))),
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(sensors(), max_size=4), st.integers(0, 2**64 - 1), st.integers(1, 40))
def test_pieces_of_any_size_make_the_whole_table(several: list[Sensor], seed: int, size: int) -> None:
    named = tuple(replace(sensor, name=f"s{number}") for number, sensor in enumerate(several))
    whole = nominal_samples(System("s", (Device("box", ()),), named, (), (), None, "rms", "."), 2000, seed)
    expected = list(zip(whole.arrival_ns, whole.sensor, whole.capture_ns, strict=True))
    feed, table, found = NominalSamples(named, 2000, seed), np.zeros(size, SAMPLE), []
    while True:
        count, next_ns = feed.fill(table, 0)
        found += [(row["arrival_ns"], row["sensor"], row["capture_ns"]) for row in table[:count].copy()]
        if next_ns == codes.NEVER_NS:
            break
        assert next_ns == expected[len(found)][0]
    assert found == expected
