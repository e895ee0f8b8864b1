"""Which system a command works on, and what its stages may know of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from rt_sched.app.init.job import system_text_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.config import load_system, load_system_text
from rt_sched.messages import Authenticator
from rt_sched.model import Sensor, System, Task
from rt_sched.ports import Feeder, Recording, SensorDescription, StageCatalogue, StageContext
from rt_sched.runtime.merged_stage import last_part
from rt_sched.units import NS_PER_S


def system_for(
    argument: str | None, recording: Recording, stages: StageCatalogue, *, host: bool = False
) -> tuple[System, Path | None]:
    """The system of the file that the user named, or the one that `init` would write for the recording.

    `host`: for cores of this one. Raises ConfigError with every problem of the file.
    """
    if argument is not None:
        path = resolve(argument)
        return load_system(path, stages=stages), path
    text = system_text_for(recording, host=host)
    return load_system_text(text, file_name=f"(made from {recording.path})", base_dir=Path.cwd(), stages=stages), None


def stage_context(system: System, task: Task, *, authenticator: Authenticator | None) -> StageContext:
    """What the stage of `task` is told at start; `authenticator`: of the run, None where no message is exchanged."""
    sensors = {sensor.name: _describe(sensor) for sensor in system.sensors}
    tasks = {other.name: other for other in system.tasks}
    feeders = _feeders(task, tasks, levels=2)
    sources = {port.name: port.origin for port in task.inputs}
    rests_on = {port.name: _rests_on(port.source, sensors, tasks) for port in task.inputs}
    return StageContext(
        task.name, Path(system.base_dir), sensors, task.max_disparity_ns, feeders, sources, authenticator, rests_on
    )


def _rests_on(source: str, sensors: Collection[str], tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """The sensors on the way back from a sensor or a task, sorted by name."""
    seen, waiting = {source}, [source]
    while waiting:
        above = tasks.get(waiting.pop())
        new = {port.source for port in (above.inputs if above is not None else ())} - seen
        seen |= new
        waiting += new
    return tuple(sorted(seen & {*sensors}))


def _feeders(task: Task, tasks: Mapping[str, Task], levels: int) -> dict[str, Feeder]:
    """The tasks with stages that feed `task`, so many levels back."""
    if not levels:
        return {}
    return {
        port.name: last_part(
            Feeder(port.source, source.stage, dict(source.parameters), _feeders(source, tasks, levels - 1))
        )
        for port in task.inputs
        if (source := tasks.get(port.source)) is not None and source.stage
    }


def _describe(sensor: Sensor) -> SensorDescription:
    calibration = sensor.calibration
    return SensorDescription(
        name=sensor.name,
        kind=sensor.kind.value,
        period_ns=int(NS_PER_S / sensor.rate_hz),
        image_width=calibration.image_width,
        image_height=calibration.image_height,
        intrinsics=calibration.intrinsics,
        sensor_to_vehicle=calibration.sensor_to_vehicle,
    )
