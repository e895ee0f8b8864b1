"""How one job or sample is called: `fuse#12` in text, `job-fuse-12` as a place in a page."""

from __future__ import annotations

from rt_sched.trace.records import Trace, sample_of


def job_name(trace: Trace, job: int) -> str:
    """The task and the number of the job in row `job`."""
    return f"{trace.task_names[int(trace.jobs.task[job])]}#{int(trace.jobs.number[job])}"


def job_anchor(trace: Trace, job: int) -> str:
    """Where a page shows the job in row `job`; the number stands behind the last hyphen, so no two jobs share one."""
    return f"job-{trace.task_names[int(trace.jobs.task[job])]}-{int(trace.jobs.number[job])}"


def message_name(trace: Trace, message: int) -> str:
    """A message by the job or sample that it comes from; see `records` for message ids."""
    sample = int(sample_of(message))
    if sample < 0:
        return job_name(trace, message)
    return f"{trace.sensor_names[int(trace.samples.sensor[sample])]}#{int(trace.samples.number[sample])}"
