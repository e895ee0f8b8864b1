"""Where the samples of a bulk simulation come from, a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rt_sched.errors import ConfigError, Problem
from rt_sched.kernels import codes
from rt_sched.kernels.bulk.samples import deliver
from rt_sched.kernels.bulk.tables import STREAM
from rt_sched.kernels.tables import SAMPLE
from rt_sched.lowering.machine_input import LIMIT_RATE, MachineInput
from rt_sched.model import Sensor
from rt_sched.sim.build import sample_order
from rt_sched.trace.records import SampleTable
from rt_sched.units import NS_PER_S

#: Draws of sensors count their streams from here (`lowering.nominal_samples`).
_FIRST_STREAM = 2**32


class SampleFeed(Protocol):
    """Samples of one run in the order in which they arrive: by time, sensor, number."""

    def fill(self, table: npt.NDArray[np.void], count: int) -> tuple[int, int]:
        """Write further samples behind the first `count` rows (`kernels.tables.SAMPLE`), as many as fit.

        Returns how many rows there are then, and the arrival of the next sample, `codes.NEVER_NS` when none is left.
        """
        ...


class GivenSamples:
    """The samples of a machine input."""

    def __init__(self, given: MachineInput) -> None:
        order = sample_order(given)
        self._columns = {
            "arrival_ns": given.samples.arrival_ns[order],
            "sensor": given.samples.sensor[order],
            "capture_ns": given.samples.capture_ns[order],
        }
        self._next = 0

    def fill(self, table: npt.NDArray[np.void], count: int) -> tuple[int, int]:
        """See `SampleFeed`."""
        arrival_ns = self._columns["arrival_ns"]
        end = min(self._next + len(table) - count, len(arrival_ns))
        rows = table[count : count + end - self._next]
        for name, column in self._columns.items():
            rows[name] = column[self._next : end]
        rows["status"] = codes.SAMPLE_WAITING
        self._next = end
        return count + len(rows), int(arrival_ns[end]) if end < len(arrival_ns) else int(codes.NEVER_NS)


class NominalSamples:
    """The samples that sensors declare, as `lowering.nominal_samples` has them, drawn when they are due.

    `sensors`: in the order of the machine's. Raises ConfigError for a rate that is no ratio of numbers below 2**60.
    """

    def __init__(self, sensors: Sequence[Sensor], horizon_ns: int, seed: int) -> None:
        self._streams = np.zeros(len(sensors), STREAM)
        self._horizon_ns, self._seed = np.int64(horizon_ns), np.uint64(seed)
        for index, (row, sensor) in enumerate(zip(self._streams, sensors, strict=True)):
            rate_hz = sensor.rate_hz * (1 + sensor.drift_ppm / Fraction(10**6))
            if rate_hz.numerator > LIMIT_RATE:
                words = "with its drift it is no ratio of numbers below 2**60"
                raise ConfigError([Problem(f"sensors.{sensor.name}.rate", 0, 0, f"{rate_hz} Hz", words)])
            row["stream"] = _FIRST_STREAM + index
            row["period_ns"], row["period_rest"] = divmod(rate_hz.denominator * NS_PER_S, rate_hz.numerator)
            row["rate_numerator"] = rate_hz.numerator
            row["nominal_ns"] = sensor.offset_ns
            row["latency_ns"], row["jitter_ns"] = sensor.latency_ns, sensor.jitter_ns
            row["capture_jitter_ns"] = sensor.capture_jitter_ns
            row["arrival_ns"] = codes.NONE

    def fill(self, table: npt.NDArray[np.void], count: int) -> tuple[int, int]:
        """See `SampleFeed`."""
        count, next_ns = deliver(self._streams, table, count, self._horizon_ns, self._seed)
        return int(count), int(next_ns)


def drawn_samples(sensors: Sequence[Sensor], horizon_ns: int, seed: int) -> SampleTable:
    """All samples of a run in one table."""
    feed, table, count, next_ns = NominalSamples(sensors, horizon_ns, seed), np.zeros(4096, SAMPLE), 0, 0
    while next_ns != codes.NEVER_NS:
        count, next_ns = feed.fill(table, count)
        if count == len(table):
            table = np.concatenate((table, np.zeros_like(table)))
    rows = table[:count]
    number = np.zeros(count, np.int64)
    for sensor in range(len(sensors)):
        mine = rows["sensor"] == sensor
        number[mine] = np.arange(np.count_nonzero(mine))
    return SampleTable(
        rows["sensor"].astype(np.int32),
        number,
        rows["arrival_ns"].copy(),
        rows["capture_ns"].copy(),
        np.full(count, codes.SAMPLE_WAITING, np.int8),
    )
