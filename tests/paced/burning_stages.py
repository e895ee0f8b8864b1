"""Stages that do nothing but take time: a number of loops, and some that never end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

import numba
import numpy as np

from rt_sched.messages import ImuSample
from rt_sched.ports import JobContext, JobStopped, StageBase


@numba.njit(nogil=True)  # type: ignore[misc]
def _spin(loops: int) -> int:
    """Compiled code, in which no handler of Python runs."""
    value = 1
    for step in range(loops):
        value = (value * 1103515245 + step) & 0x7FFFFFFF
    return value


class Burn(StageBase):
    """Takes `ms` of CPU time in each job, in `long_at` five times that, in `forever_at` until it is killed, in
    compiled code."""

    inputs: ClassVar[Mapping[str, type]] = {"imu": ImuSample}
    optional_inputs: ClassVar[frozenset[str]] = frozenset({"imu"})
    outputs: ClassVar[Mapping[str, type]] = {"out": ImuSample}

    def __init__(self, *, ms: float = 1.0, forever_at: int | None = None, long_at: int | None = None) -> None:
        self._ns, self._forever_at, self._long_at = int(ms * 1e6), forever_at, long_at

    def start(self, _context: Any) -> None:
        _spin(10)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        end_ns = time.thread_time_ns() + self._ns * (5 if job.number == self._long_at else 1)
        while job.number == self._forever_at or time.thread_time_ns() < end_ns:
            _spin(10_000)
        none = np.zeros(3)
        return {"out": ImuSample(job.arrival_ns, "burn", none, none)}


class Stoppable(Burn):
    """In job `forever_at` it goes on until it is asked to stop, which it looks at now and then, as a network does."""

    def __init__(self, *, ms: float = 1.0, forever_at: int | None = None) -> None:
        super().__init__(ms=ms)
        self._endless, self._is_asked = forever_at, False

    def stop_job(self) -> None:
        self._is_asked = True

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        if job.number != self._endless:
            return super().process(job, inputs)
        self._is_asked = False
        while not self._is_asked:
            _spin(100_000)
        raise JobStopped("told to stop")


class Locker(Burn):
    """Takes `ms` of CPU time before it enters the section of `bus` that its task declares, and `inside_ms` within."""

    enters_sections: ClassVar[bool] = True

    def __init__(self, *, ms: float = 0.1, inside_ms: float = 1.0, forever_at: int | None = None) -> None:
        super().__init__(ms=ms)
        self._inside_ns, self._endless = int(inside_ms * 1e6), forever_at

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        outputs = super().process(job, inputs)
        with job.section("bus"):
            end_ns = time.thread_time_ns() + self._inside_ns
            while job.number == self._endless or time.thread_time_ns() < end_ns:
                _spin(10_000)
        return outputs


class Waiter(Burn):
    """Waits for `wait_ms` between `ms` and 1 ms of CPU time, in job `longer_at` for three times that.

    In job `twice_at` it waits twice, each time half as long.
    """

    def __init__(
        self, *, ms: float = 1.0, wait_ms: float = 1.0, longer_at: int | None = None, twice_at: int | None = None
    ) -> None:
        super().__init__(ms=ms)
        self._wait_s, self._longer_at, self._twice_at = wait_ms / 1e3, longer_at, twice_at

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        outputs = super().process(job, inputs)
        parts = 2 if job.number == self._twice_at else 1
        for _ in range(parts):
            time.sleep(self._wait_s * (3 if job.number == self._longer_at else 1) / parts)
        end_ns = time.thread_time_ns() + 1_000_000
        while time.thread_time_ns() < end_ns:
            _spin(10_000)
        return outputs


class Lesser(Burn):
    """Takes `less_ms` instead of `ms` in a job that is to do less."""

    def __init__(self, *, ms: float = 1.0, less_ms: float = 1.0, long_at: int | None = None) -> None:
        super().__init__(ms=ms, long_at=long_at)
        self._usual_ns, self._less_ns = self._ns, int(less_ms * 1e6)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        self._ns = self._less_ns if job.degraded else self._usual_ns
        return super().process(job, inputs)
