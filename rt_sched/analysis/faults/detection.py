"""Within what time a fault has to be noticed, from what the stages say that they watch over.

When the last thing that a stage watches has been captured at t, every job that arrives later than t + the age limit
notices; the first of these arrives at most one distance of its jobs later, and acts within its response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rt_sched.analysis.faults.losses import Loss, edge_is_cut
from rt_sched.analysis.faults.result import Detection
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.ports import Watch
from rt_sched.trace.setup import EdgeRow, TaskRow
from rt_sched.units import NS_PER_S, ceil_int

#: What the stage of each task watches over, by the name of the task.
Watches = Mapping[str, Sequence[Watch]]


def detection_of(
    mode: ModeLoad, loss: Loss, watches: Watches, responses_ns: Mapping[int, int | None]
) -> Detection | None:
    """The earliest instant at which the loss must have been noticed, from the fault on; None when nothing watches it.

    `responses_ns`: bounds by index of the task, as they hold after the fault.
    """
    found = [
        one
        for index, row in enumerate(mode.setup.tasks)
        if mode.active[index] and index not in loss.dead
        for watch in watches.get(row.name, ())
        if (one := _detection(mode, loss, index, watch, responses_ns.get(index))) is not None
    ]
    return min(found, key=lambda one: one.value_ns, default=None)


def _detection(mode: ModeLoad, loss: Loss, index: int, watch: Watch, response_ns: int | None) -> Detection | None:
    row = mode.setup.tasks[index]
    if row.rate_hz is None or response_ns is None or not _is_cut(mode, loss, index, watch):
        return None
    gap_ns = ceil_int(NS_PER_S / row.rate_hz) + row.extra_separation_ns
    clock_ns = _clock_error_ns(mode, index, watch)
    source = f"input {watch.input}" if watch.sensor is None else watch.sensor
    value_ns = watch.age_limit_ns + gap_ns + response_ns + clock_ns
    return Detection(value_ns, row.name, source, watch.age_limit_ns, gap_ns, response_ns, clock_ns)


def _clock_error_ns(mode: ModeLoad, index: int, watch: Watch) -> int:
    """Errors of the clock that reads the age, and of the worst that may have stamped what is watched."""
    errors = {device.name: device.clock.sync_error_ns for device in mode.system.devices}
    here = mode.plan.processors[mode.setup.tasks[index].processor].device
    sensors = [one for one in mode.system.sensors if one.name == watch.sensor]
    makers = {device for one in sensors for device in one.attached_to} or set(errors)
    others = [errors[device] for device in makers if device != here]
    return errors[here] + max(others) if any(others) else (errors[here] if others else 0)


def _is_cut(mode: ModeLoad, loss: Loss, index: int, watch: Watch) -> bool:
    """Whether nothing new of what is watched reaches the task any more, although it did before."""
    edges = [edge for edge in mode.setup.edges if edge.target == index and edge.input == watch.input]
    if watch.sensor is None:
        return any(edge_is_cut(mode, loss, edge) and _fed(mode, edge) for edge in edges)
    nothing = Loss(frozenset(), frozenset(), frozenset(), {}, {})
    before = _reaches(mode, nothing, watch.sensor)
    after = _reaches(mode, loss, watch.sensor)
    return any(_comes(edge, mode, before) for edge in edges) and not any(
        _comes(edge, mode, after) and not edge_is_cut(mode, loss, edge) for edge in edges
    )


def _fed(mode: ModeLoad, edge: EdgeRow) -> bool:
    return edge.task is None or mode.active[edge.task]


def _comes(edge: EdgeRow, mode: ModeLoad, reached: set[str]) -> bool:
    name = mode.setup.sensors[edge.sensor] if edge.sensor is not None else mode.setup.tasks[edge.task or 0].name
    return name in reached


def _reaches(mode: ModeLoad, loss: Loss, sensor: str) -> set[str]:
    """The sensor, unless it is lost, and every task that anything new of it reaches."""
    if sensor in loss.sensors:
        return set()
    reached = {sensor}
    while True:
        more = {
            row.name
            for edge in mode.setup.edges
            if mode.active[edge.target] and edge.target not in loss.dead
            if _comes(edge, mode, reached) and not edge_is_cut(mode, loss, edge)
            for row in (_target(mode, edge),)
        }
        if more <= reached:
            return reached
        reached |= more


def _target(mode: ModeLoad, edge: EdgeRow) -> TaskRow:
    return mode.setup.tasks[edge.target]
