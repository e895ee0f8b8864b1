"""Sensor samples as the system file declares them, for runs that no recording drives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.kernels.draw import draw, uniform
from rt_sched.model import FaultEffect, FaultScenario, Sensor, System
from rt_sched.trace.records import SampleStatus, SampleTable
from rt_sched.units import NS_PER_S

#: Draws of sensors count their streams from here, far above every task.
_FIRST_STREAM = 2**32
_PURPOSE_ARRIVAL = 1
_PURPOSE_CAPTURE = 2


def nominal_samples(system: System, horizon_ns: int, seed: int = 0) -> SampleTable:
    """Every sample captured before `horizon_ns`, in order of arrival.

    Sample k is captured within the capture jitter of offset + floor(k / rate), by a clock that runs fast by the
    declared drift, but neither before the run begins nor before the sample before it. It arrives after latency + a
    drawn deviation in [-jitter, jitter], never before its capture or the sample before it. Draws depend on
    (seed, sensor, k) alone.
    """
    columns = [_samples_of(sensor, index, horizon_ns, seed) for index, sensor in enumerate(system.sensors)]
    arrival, capture, number = (
        np.concatenate([np.zeros(0, np.int64), *(column[part] for column in columns)]) for part in range(3)
    )
    sensor = np.repeat(np.arange(len(columns), dtype=np.int32), [len(column[0]) for column in columns])
    order = np.lexsort((number, sensor, arrival))
    status = np.full(len(order), SampleStatus.WAITING, np.int8)
    return SampleTable(sensor[order], number[order], arrival[order], capture[order], status)


def _samples_of(
    sensor: Sensor, index: int, horizon_ns: int, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Arrivals, capture stamps and numbers of one sensor."""
    rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / Fraction(10**6))
    captures: list[int] = []
    arrivals: list[int] = []
    stream = _FIRST_STREAM + index

    def deviation(purpose: int, most_ns: int) -> int:
        bits = draw(np.uint64(seed), stream, len(captures), purpose)
        return int(uniform(2 * most_ns, np.uint64(bits))) - most_ns

    while (nominal := sensor.offset_ns + int(len(captures) * NS_PER_S / rate_hz)) < horizon_ns:
        capture = max(0, nominal + deviation(_PURPOSE_CAPTURE, sensor.capture_jitter_ns), *captures[-1:])
        arrival = capture + sensor.latency_ns + deviation(_PURPOSE_ARRIVAL, sensor.jitter_ns)
        arrivals.append(max(capture, arrival, *arrivals[-1:]))
        captures.append(capture)
    return np.array(arrivals, np.int64), np.array(captures, np.int64), np.arange(len(captures), dtype=np.int64)


def samples_under(system: System, scenario: FaultScenario, samples: SampleTable) -> SampleTable:
    """The samples as a scenario leaves them: a frozen sensor goes on with the stamp that it showed last."""
    if scenario.effect is not FaultEffect.FREEZE:
        return samples
    frozen = next(index for index, sensor in enumerate(system.sensors) if sensor.name == scenario.target)
    mine = samples.sensor == frozen
    late = mine & (samples.capture_ns >= scenario.time_ns)
    shown = samples.capture_ns[mine & ~late]
    capture = samples.capture_ns.copy()
    capture[late] = shown.max() if len(shown) else scenario.time_ns
    return SampleTable(samples.sensor, samples.number, samples.arrival_ns, capture, samples.status)
