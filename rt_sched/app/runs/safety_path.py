"""The safety path of a system as plain data: what primary and backup share, and how their messages fared in a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.messages.e2e import E2EState
from rt_sched.model import SensorKind, System
from rt_sched.ports import StageCatalogue, StageDescription
from safety.independence import shared_by_paths

_SENSOR_MESSAGES = {
    SensorKind.CAMERA: EncodedImage.__name__,
    SensorKind.LIDAR: PointCloud.__name__,
    SensorKind.IMU: ImuSample.__name__,
}


def shared_document(system: System, stages: StageCatalogue) -> dict[str, list[str]] | None:
    """What the paths to the two commands have in common, by kind; None for a system without a backup path."""
    shared = shared_by_paths(system, message_types(system, stages))
    if shared is None:
        return None
    return {name: list(names) for name, names in dataclasses.asdict(shared).items()}


def message_types(system: System, stages: StageCatalogue) -> dict[str, str]:
    """Origin ("task.port", or a sensor) -> name of the type of its messages."""
    types = {sensor.name: _SENSOR_MESSAGES[sensor.kind] for sensor in system.sensors}
    for task in system.tasks:
        description = stages.describe(task.stage) if task.stage else None
        if isinstance(description, StageDescription):
            types.update({f"{task.name}.{port}": kind.__name__ for port, kind in description.outputs.items()})
    return types


def e2e_rows(system: System, checks: Mapping[tuple[str, str, E2EState], int]) -> list[dict[str, Any]]:
    """One row per input whose messages were checked, in the order of the system. `checks`: (task, input, state)."""
    rows = []
    for task in system.tasks:
        for given in task.inputs:
            counts = {state.value.lower(): checks.get((task.name, given.name, state), 0) for state in E2EState}
            if any(counts.values()):
                rows.append({"source": given.origin, "task": task.name, "input": given.name, **counts})
    return rows
