"""From what carriers have written down to the transfers and events of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.runtime.paced.links.carrier import TRANSFER
from rt_sched.trace.records import EventKind, Int64s, JobTable, TransferTable, message_of_sample
from rt_sched.trace.setup import FaultTarget, Setup


def transfers_of(
    setup: Setup, records: Sequence[npt.NDArray[Any]], jobs: JobTable, row_of_sample: Int64s
) -> TransferTable:
    """In order of publication. `records`: of each carrier, as `TRANSFER`. `row_of_sample`: by sample of the log."""
    rows = np.concatenate([*records, np.zeros(0, TRANSFER)])
    rows = rows[np.lexsort((rows["edge"], rows["queued_ns"]))]
    message = np.full(len(rows), NONE, np.int64)
    for index, edge in enumerate(setup.edges):
        mine = rows["edge"] == index
        numbers = rows["number"][mine]
        if edge.sensor is not None:
            message[mine] = message_of_sample(row_of_sample[numbers])
        elif edge.task is not None:
            of_task = np.flatnonzero(jobs.task == edge.task)
            message[mine] = of_task[np.argsort(jobs.number[of_task], kind="stable")][numbers]
    return TransferTable(
        edge=rows["edge"].astype(np.int32),
        message=message,
        queued_ns=rows["queued_ns"].copy(),
        start_ns=rows["start_ns"].copy(),
        end_ns=rows["end_ns"].copy(),
        delivered_ns=rows["delivered_ns"].copy(),
    )


def link_events(setup: Setup, horizon_ns: int) -> list[tuple[int, int, int, int, int, int]]:
    """Losses of links, as rows of events."""
    found = []
    for fault in setup.faults:
        if fault.kind is FaultTarget.LINK:
            found.append((fault.time_ns, int(EventKind.LINK_LOST), NONE, NONE, NONE, fault.target))
            if fault.until_ns is not None and fault.until_ns < horizon_ns:
                found.append((fault.until_ns, int(EventKind.LINK_RETURNED), NONE, NONE, NONE, fault.target))
    return found
