"""Traces written by hand: rows in, tables out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from rt_sched.trace.records import DropTable, EdgeName, JobStatus, JobTable, SampleTable, SliceTable, Trace

#: Hand-made systems lie beside these tests, the generator of random ones beside those of the kernel; what calls
#: commands, beside those of the command line.
sys.path[:0] = [str(Path(__file__).parent), *(str(Path(__file__).parents[1] / name) for name in ("kernel", "cli"))]


class TraceBuilder:
    """Collects rows; `job` and `sample` return the message id of what they add."""

    def __init__(self, tasks: Sequence[str], sensors: Sequence[str], processors: Sequence[str]) -> None:
        self.tasks, self.sensors, self.processors = tuple(tasks), tuple(sensors), tuple(processors)
        self.edges: list[EdgeName] = []
        self._jobs: list[dict] = []
        self._slices: list[tuple[int, int, int, int]] = []
        self._drops: list[tuple[int, int, int, int]] = []
        self._samples: list[tuple[int, int, int, int, int]] = []

    def edge(self, source: str, target: str, name: str = "in", slot: int = 0) -> None:
        self.edges.append(EdgeName(source, target, name, slot))

    def sample(self, sensor: str, arrival: int, capture: int | None = None, status: int = 1) -> int:
        index = self.sensors.index(sensor)
        number = sum(row[0] == index for row in self._samples)
        self._samples.append((index, number, arrival, arrival if capture is None else capture, status))
        return -1 - len(self._samples)

    def job(
        self,
        task: str,
        arrival: int,
        finish: int = -1,
        *,
        inputs: Sequence[int] = (),
        deadline: int = 100,
        status: JobStatus | None = None,
        missed: bool = False,
        overrun: bool = False,
        capture: int = -1,
        slices: Sequence[tuple[str, int, int]] = (),
    ) -> int:
        index = self.tasks.index(task)
        if status is None:
            status = JobStatus.COMPLETED if finish >= 0 else JobStatus.UNFINISHED
        row = len(self._jobs)
        self._jobs.append(
            {
                "task": index,
                "number": sum(job["task"] == index for job in self._jobs),
                "arrival_ns": arrival,
                "release_ns": arrival,
                "start_ns": slices[0][1] if slices else -1,
                "finish_ns": finish,
                "deadline_ns": arrival + deadline,
                "demand_ns": max(1, sum(end - start for _, start, end in slices)),
                "executed_ns": sum(end - start for _, start, end in slices),
                "capture_ns": capture,
                "status": status,
                "missed": missed,
                "overrun": overrun,
                "inputs": list(inputs),
            }
        )
        self._slices.extend((self.processors.index(name), row, start, end) for name, start, end in slices)
        return row

    def drop(self, time: int, edge: int, message: int, reason: int = 0) -> None:
        self._drops.append((time, edge, message, reason))

    def build(self, horizon: int = 1_000) -> Trace:
        slots = max((edge.slot for edge in self.edges), default=0) + 1
        kinds = dict.fromkeys(JobTable.__dataclass_fields__, np.int64)
        kinds |= {"task": np.int32, "status": np.int8, "missed": np.bool_, "overrun": np.bool_}
        columns = {
            name: np.array([job[name] for job in self._jobs], kind) for name, kind in kinds.items() if name != "inputs"
        }
        inputs = np.full((len(self._jobs), slots), -1, np.int64)
        for row, job in enumerate(self._jobs):
            inputs[row, : len(job["inputs"])] = job["inputs"]
        slices = sorted(self._slices, key=lambda row: row[3])
        return Trace(
            task_names=self.tasks,
            processor_names=self.processors,
            sensor_names=self.sensors,
            edges=tuple(self.edges),
            jobs=JobTable(**columns, inputs=inputs),
            slices=SliceTable(*_columns(slices, (np.int32, np.int64, np.int64, np.int64))),
            drops=DropTable(*_columns(self._drops, (np.int64, np.int32, np.int64, np.int8))),
            samples=SampleTable(*_columns(self._samples, (np.int32, np.int64, np.int64, np.int64, np.int8))),
            horizon_ns=horizon,
            seed=0,
        )


def _columns(rows: Sequence[Sequence[int]], kinds: Sequence[type]) -> list[np.ndarray]:
    return [np.array([row[column] for row in rows], kind) for column, kind in enumerate(kinds)]


@pytest.fixture
def new_trace() -> Callable[..., TraceBuilder]:
    """Makes an empty TraceBuilder: new_trace(tasks, sensors, processors)."""
    return TraceBuilder
