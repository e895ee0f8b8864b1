"""What happened in a run: one schema for simulation, replay and hardware in the loop."""

from rt_sched.trace.records import (
    DropReason,
    DropTable,
    EdgeName,
    EventKind,
    EventTable,
    JobStatus,
    JobTable,
    SampleStatus,
    SampleTable,
    SliceKind,
    SliceTable,
    Trace,
    TransferTable,
    schedule_sha256,
)

__all__ = [
    "DropReason",
    "DropTable",
    "EdgeName",
    "EventKind",
    "EventTable",
    "JobStatus",
    "JobTable",
    "SampleStatus",
    "SampleTable",
    "SliceKind",
    "SliceTable",
    "Trace",
    "TransferTable",
    "schedule_sha256",
]
