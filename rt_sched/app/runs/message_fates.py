"""What became of every recorded message: each is counted once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.model import System
from rt_sched.ports import Recording
from rt_sched.runtime.timeline import SensorIntake, Timeline
from rt_sched.trace.records import DropReason, JobStatus, SampleStatus, Trace, sample_of
from rt_sched.units import NS_PER_MS

Bools = npt.NDArray[np.bool_]

#: What was due so shortly before the end of a paced run is not missing when it was not published any more.
_LAST_NS = NS_PER_MS


def topic_rows(
    system: System,
    trace: Trace,
    recording: Recording,
    timeline: Timeline,
    refused_samples: Collection[int],
    first_fault_ns: int | None,
) -> list[dict[str, Any]]:
    """One row per topic; `recorded` is the sum of all other counts of its row, always.

    `delivered`: read by a job. `unread`: reached its readers' registers, but a newer message came before they looked
    (or the run ended, or no task reads the sensor). `dropped`: lost by a full queue or without a partner, on any
    edge, or due in a paced run that did not publish it.
    `undecodable`: unreadable or refused. `quarantined`: not replayed, as its stamps jump or step back.
    `lost_to_faults`: by an injected fault. `after_end`: due after the run had ended. `unmapped`: of a topic without a
    sensor. `refused_samples`: rows of the sample table.
    """
    fates = _fates(trace, refused_samples, first_fault_ns)
    index_of = {sensor.name: index for index, sensor in enumerate(system.sensors)}
    intake = {entry.topic: entry for entry in timeline.intake}
    rows = []
    for topic in recording.topics:
        row: dict[str, Any] = {"name": topic.name, "schema": topic.schema, "sensor": None, "recorded": topic.messages}
        row |= dict.fromkeys(fates, 0) | {"quarantined": 0, "unmapped": 0}
        entry = intake.get(topic.name)
        if entry is None:
            row["unmapped"] = topic.messages
        else:
            row |= _counts(fates, trace.samples.sensor == index_of[entry.sensor], entry)
        rows.append(row)
    return rows


def _counts(fates: dict[str, Bools], mine: Bools, entry: SensorIntake) -> dict[str, Any]:
    counts = {fate: int(np.count_nonzero(mine & members)) for fate, members in fates.items()}
    counts["undecodable"] += entry.undecodable
    return {"sensor": entry.sensor, "recorded": entry.recorded, **counts, "quarantined": entry.quarantined}


def _fates(trace: Trace, refused_samples: Collection[int], first_fault_ns: int | None) -> dict[str, Bools]:
    """Fate -> bool[n_samples]; every sample has exactly one."""
    count, jobs, drops = len(trace.samples), trace.jobs, trace.drops
    refused = _members(count, np.fromiter(refused_samples, np.int64, len(refused_samples)))
    after_fault = np.zeros(len(drops), np.bool_) if first_fault_ns is None else drops.time_ns >= first_fault_ns
    by_fault = after_fault & np.equal(drops.reason, DropReason.UNMATCHED)
    partner_lost = _members(count, _samples(drops.message[by_fault]))
    dropped = _members(count, _samples(drops.message[~by_fault]))
    ended = np.equal(jobs.status, JobStatus.LOST)
    read = _members(count, _samples(jobs.inputs[~ended & np.not_equal(jobs.status, JobStatus.SKIPPED)]))
    read_by_lost = _members(count, _samples(jobs.inputs[ended]))
    sensor_lost = np.equal(trace.samples.status, SampleStatus.LOST)
    waiting = np.equal(trace.samples.status, SampleStatus.WAITING)
    overdue = waiting & (trace.samples.arrival_ns < trace.horizon_ns - _LAST_NS)
    decided = np.zeros(count, np.bool_)
    fates: dict[str, Bools] = {}
    for fate, members in (
        ("lost_to_faults", sensor_lost),
        ("dropped", overdue),
        ("after_end", waiting),
        ("undecodable", refused),
        ("dropped", dropped),
        ("lost_to_faults", partner_lost),
        ("delivered", read),
        ("lost_to_faults", read_by_lost),
    ):
        new = members & ~decided
        fates[fate] = fates.get(fate, np.zeros(count, np.bool_)) | new
        decided |= new
    fates["unread"] = ~decided
    return fates


def _samples(messages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows of the sample table among message ids."""
    rows = sample_of(messages)
    return rows[rows >= 0]


def _members(count: int, rows: npt.NDArray[np.int64]) -> Bools:
    members = np.zeros(count, np.bool_)
    members[rows] = True
    return members
