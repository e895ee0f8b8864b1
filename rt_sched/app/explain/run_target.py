"""What is to be explained: `fuse#12`, `front_wide#40`, `front_wide@1.5s`, or a name alone for the worst of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.config.problems import unknown
from rt_sched.trace.records import Int64s, Trace
from rt_sched.trace.statistics import response_ns
from rt_sched.units import floor_int, format_ns, parse_time


@dataclass(frozen=True, slots=True)
class Target:
    """A row of the job table, or of the sample table where `of_sensor`; None: the worst frame of the sensor.

    `how`: why this one, where the name alone was given.
    """

    name: str
    of_sensor: bool
    row: int | None
    how: str | None = None


def find_target(trace: Trace, text: str) -> Target:
    """What `text` names in a trace.

    `NAME#N` and `NAME@N` are job or sample N of a task or sensor. `NAME@TIME` is its last job that had arrived, or its
    last sample that was captured, by then. A task alone stands for its job with the longest response.
    Raises ValueError that says what there is.
    """
    name, sign, which = _split(trace, text)
    of_sensor = name in trace.sensor_names
    if name not in trace.task_names and not of_sensor:
        raise ValueError(unknown("task or sensor", name, [*trace.task_names, *trace.sensor_names]))
    if of_sensor:
        table = trace.samples
        rows = np.flatnonzero(table.sensor == trace.sensor_names.index(name)).astype(np.int64)
        return _chosen(name, True, sign, which, rows, table.number[rows], table.capture_ns[rows])
    jobs = trace.jobs
    rows = np.flatnonzero(jobs.task == trace.task_names.index(name)).astype(np.int64)
    if sign:
        return _chosen(name, False, sign, which, rows, jobs.number[rows], jobs.arrival_ns[rows])
    responses, _ = response_ns(trace)
    if not len(rows) or responses[rows].max() < 0:
        raise ValueError(f"task {name} has {len(rows)} jobs, of which none completed or was still under way at the end")
    return Target(name, False, int(rows[np.argmax(responses[rows])]), "its job with the longest response")


def _split(trace: Trace, text: str) -> tuple[str, str, str]:
    """Name, sign and what stands behind it; a name of the trace is never cut."""
    if text in trace.task_names or text in trace.sensor_names:
        return text, "", ""
    place = max(text.rfind("#"), text.rfind("@"))
    return (text, "", "") if place < 0 else (text[:place], text[place], text[place + 1 :])


def _chosen(name: str, of_sensor: bool, sign: str, which: str, rows: Int64s, numbers: Int64s, times: Int64s) -> Target:
    what = "sample" if of_sensor else "job"
    if not sign:
        return Target(name, of_sensor, None, "its frame with the longest way")
    if not len(rows):
        raise ValueError(f"{name} has no {what} in this run")
    if which.isascii() and which.isdigit() and len(which) < 19:
        found = np.flatnonzero(numbers == int(which))
        if not len(found):
            raise ValueError(f"{name} has no {what} {which}; it has #{int(numbers.min())} to #{int(numbers.max())}")
        return Target(name, of_sensor, int(rows[found[0]]))
    if sign == "#":
        raise ValueError(f"{which!r} is not the number of a {what}; write {name}#12, or {name}@1.5s for a time")
    time_ns = floor_int(parse_time(which))
    if not (times <= time_ns).any():
        raise ValueError(f"{name} has no {what} by {format_ns(time_ns)}; its first is at {format_ns(int(times.min()))}")
    place = int(np.argmax(np.where(times <= time_ns, times, times.min() - 1)))
    return Target(name, of_sensor, int(rows[place]))
