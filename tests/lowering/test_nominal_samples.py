"""Samples that no recording drives: on their grid, off it by at most the declared jitter, in order."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from rt_sched.lowering import nominal_samples
from rt_sched.model import Device, Sensor, SensorKind, System

CAMERA = Sensor("cam", SensorKind.CAMERA, Fraction(10**9, 100), ("box",), (), offset_ns=5, latency_ns=7, jitter_ns=3)


def samples_of(sensor: Sensor, seed: int = 0):
    return nominal_samples(System("s", (Device("box", ()),), (sensor,), (), (), None, "rms", "."), 20_000, seed)


def test_captures_lie_on_the_grid_without_capture_jitter():
    samples = samples_of(CAMERA)
    assert samples.capture_ns.tolist() == list(range(5, 20_000, 100))
    assert set((samples.arrival_ns - samples.capture_ns).tolist()) == set(range(4, 11))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("jitter_ns", [1, 30, 250])
def test_captures_leave_the_grid_by_at_most_their_jitter_and_stay_in_order(jitter_ns, seed):
    samples = samples_of(replace(CAMERA, capture_jitter_ns=jitter_ns), seed)
    off = samples.capture_ns - np.arange(5, 20_000, 100)
    order = np.argsort(samples.number)
    assert (np.diff(samples.capture_ns[order]) >= 0).all()
    assert samples.capture_ns.min() >= 0
    assert np.abs(off).max() <= jitter_ns
    assert off.max() > jitter_ns // 2
    assert off.min() < -(jitter_ns // 2)
    assert (
        samples.capture_ns.tolist()
        != samples_of(replace(CAMERA, capture_jitter_ns=jitter_ns), seed + 9).capture_ns.tolist()
    )
