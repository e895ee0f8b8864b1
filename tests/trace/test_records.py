"""The record tables: consistency, codes shared with the kernel, the portable schedule hash."""

from dataclasses import fields, replace

import numpy as np
import pytest

from rt_sched.kernels import codes
from rt_sched.trace import (
    DropReason,
    DropTable,
    EdgeName,
    JobStatus,
    JobTable,
    SampleStatus,
    SampleTable,
    SliceTable,
    Trace,
    schedule_sha256,
)


def two_jobs() -> JobTable:
    return JobTable(
        task=np.array([0, 1], np.int32),
        number=np.array([0, 0]),
        arrival_ns=np.array([0, 5]),
        release_ns=np.array([0, 5]),
        start_ns=np.array([0, 10]),
        finish_ns=np.array([10, -1]),
        deadline_ns=np.array([20, 15]),
        demand_ns=np.array([10, 7]),
        executed_ns=np.array([10, 5]),
        capture_ns=np.array([-3, 5]),
        status=np.array([JobStatus.COMPLETED, JobStatus.ABORTED], np.int8),
        missed=np.array([False, True]),
        overrun=np.array([False, False]),
        inputs=np.array([[-2, -1], [-1, 0]]),
    )


def trace_of(jobs: JobTable) -> Trace:
    nothing = np.zeros(0, np.int64)
    return Trace(
        task_names=("see", "décide"),
        processor_names=("cpu",),
        sensor_names=("front",),
        edges=(EdgeName("front", "see", "image", 0),),
        jobs=jobs,
        slices=SliceTable(nothing.astype(np.int32), nothing, nothing, nothing),
        drops=DropTable(nothing, nothing.astype(np.int32), nothing, nothing.astype(np.int8)),
        samples=SampleTable(nothing.astype(np.int32), nothing, nothing, nothing, nothing.astype(np.int8)),
        horizon_ns=30,
        seed=1,
    )


def test_codes_are_those_of_the_kernel() -> None:
    assert [JobStatus(code).name for code in range(5)] == ["COMPLETED", "UNFINISHED", "ABORTED", "SKIPPED", "LOST"]
    for status in JobStatus:
        assert status == getattr(codes, status.name)
    for reason in DropReason:
        assert reason == getattr(codes, f"REASON_{reason.name}")
    for sample in SampleStatus:
        assert sample == getattr(codes, f"SAMPLE_{sample.name}")


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"JobTable: columns of different length: .*'number': 1"):
        replace(two_jobs(), number=np.array([0]))


def test_schedule_hash_is_the_same_everywhere() -> None:
    expected = "334e764075fbffab7f039f76b71a3bfd36ec3d9285ee09f8c8eb38036b8f9f62"
    assert schedule_sha256(trace_of(two_jobs())) == expected


def test_schedule_hash_ignores_how_columns_lie_in_memory() -> None:
    jobs = two_jobs()
    wide = np.asfortranarray(np.repeat(jobs.inputs, 2, axis=0))[::2]
    foreign = replace(jobs, inputs=wide, arrival_ns=jobs.arrival_ns.astype(">i8"), task=jobs.task.astype(np.int64))
    assert schedule_sha256(trace_of(foreign)) == schedule_sha256(trace_of(jobs))


@pytest.mark.parametrize("column", [column.name for column in fields(JobTable)])
def test_schedule_hash_depends_on_every_column(column: str) -> None:
    jobs = two_jobs()
    changed = getattr(jobs, column).copy()
    changed[1] = not changed[1] if changed.dtype == bool else changed[1] + 1
    assert schedule_sha256(trace_of(replace(jobs, **{column: changed}))) != schedule_sha256(trace_of(jobs))


@pytest.mark.parametrize(
    "change",
    [{"task_names": ("se", "edécide")}, {"processor_names": ("cpu0",)}, {"sensor_names": ()}, {"horizon_ns": 31}],
)
def test_schedule_hash_depends_on_names_and_horizon(change: dict) -> None:
    trace = trace_of(two_jobs())
    assert schedule_sha256(replace(trace, **change)) != schedule_sha256(trace)
