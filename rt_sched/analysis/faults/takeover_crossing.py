"""A takeover with what is known of the system around it, and the tasks that put together what it changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rt_sched import model
from rt_sched.analysis.faults.losses import Loss
from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.system.engine import TaskBound


@dataclass(frozen=True, slots=True)
class Crossing:
    """A takeover with what is known of the system around it.

    `after`: the mode with it in force, `steady`: the bounds then; `across`: the mode while it comes into force, with
    all additional arrivals, `bounds`: those meanwhile. `lost_before`, `lost_after`: what is lost without it, and with
    it.
    """

    takeover: model.Takeover
    after: ModeLoad
    across: ModeLoad
    lost_before: Loss
    lost_after: Loss
    steady: Mapping[int, TaskBound]
    bounds: Mapping[int, TaskBound]


def sampling_tasks(mode: ModeLoad, sensors: Collection[str]) -> tuple[str, ...]:
    """The first timed tasks that anything of these sensors reaches: those that put it together with other things.

    The arbiter is none of them: it looks often enough of its own accord.
    """
    safety = mode.system.safety
    found: dict[str, None] = {}
    reached: set[int] = set()
    open_edges = [
        edge for edge in mode.setup.edges if edge.sensor is not None and mode.setup.sensors[edge.sensor] in sensors
    ]
    while open_edges:
        edge = open_edges.pop(0)
        row = mode.setup.tasks[edge.target]
        if edge.target in reached or not mode.active[edge.target]:
            continue
        reached.add(edge.target)
        if not row.timed:
            open_edges += [one for one in mode.setup.edges if one.task == edge.target]
        elif safety is None or row.name != safety.arbiter:
            found[row.name] = None
    return tuple(found)
