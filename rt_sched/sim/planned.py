"""Everything that is planned to change during a run, in the order in which the machine makes it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rt_sched.kernels import codes, tables
from rt_sched.lowering.machine_input import FaultTarget, MachineInput

_LOSSES = {
    FaultTarget.PROCESSOR: codes.PROCESSOR_LOSS,
    FaultTarget.SENSOR: codes.SENSOR_LOSS,
    FaultTarget.LINK: codes.LINK_LOSS,
}
_RETURNS = {
    FaultTarget.PROCESSOR: codes.PROCESSOR_RETURN,
    FaultTarget.SENSOR: codes.SENSOR_RETURN,
    FaultTarget.LINK: codes.LINK_RETURN,
}


def transfer_ns(given: MachineInput, edge: int, link: int | None) -> int:
    """Time of a message of an edge on a link, rounded up; none without a link."""
    if link is None:
        return 0
    exact_ns = Fraction(given.edges[edge].size_bytes * 10**9) / given.links[link].bytes_per_s
    return -(-exact_ns.numerator // exact_ns.denominator)


def planned_changes(given: MachineInput) -> npt.NDArray[np.void]:
    """Records `tables.CHANGE` by time, kind, target; those that agree in all three keep their order."""
    rows = [(fault.time_ns, int(_LOSSES[fault.kind]), fault.target, 0, 0) for fault in given.faults]
    rows += [
        (fault.until_ns, int(_RETURNS[fault.kind]), fault.target, 0, 0)
        for fault in given.faults
        if fault.until_ns is not None
    ]
    rows += [
        (change.time_ns, int(codes.FREQUENCY_CHANGE), change.processor, change.frequency_khz, 0)
        for change in given.frequency_changes
    ]
    rows += [
        (change.time_ns, int(codes.MOVE if change.moved else codes.VARIATION), change.task, number, 0)
        for number, change in enumerate(given.task_changes)
    ]
    rows += [
        (
            change.time_ns,
            int(codes.ROUTE_CHANGE),
            change.edge,
            int(codes.NONE) if change.link is None else change.link,
            transfer_ns(given, change.edge, change.link),
        )
        for change in given.route_changes
    ]
    rows += [(extra.time_ns, int(codes.EXTRA_ARRIVAL), extra.task, 0, 0) for extra in given.extra_arrivals]
    for number in range(len(given.tasks)):
        rows += _presence(given, number)
    rows.sort(key=lambda row: row[:3])
    return np.array(rows, tables.CHANGE) if rows else np.zeros(0, tables.CHANGE)


def _presence(given: MachineInput, task: int) -> list[tuple[int, int, int, int, int]]:
    """When a task is removed, and when its arrivals begin unless it is removed before."""
    rows: list[tuple[int, int, int, int, int]] = []
    begins_ns: int | None = None
    for change in sorted(given.mode_changes, key=lambda one: one.time_ns):
        if task in change.removed:
            if begins_ns is not None and begins_ns >= change.time_ns:
                rows.pop()
            rows.append((change.time_ns, int(codes.REMOVAL), task, 0, 0))
        if task in change.added:
            begins_ns = change.time_ns + given.tasks[task].start_latency_ns
            rows.append((begins_ns, int(codes.ADDITION), task, 0, 0))
    return rows
