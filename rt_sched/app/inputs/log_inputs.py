"""What a run takes from a recording before it begins: topics for sensors, poses, and when it will be over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rt_sched.errors import DataError
from rt_sched.lowering import Role, input_role
from rt_sched.model import System
from rt_sched.ports import Recording, Stage, TopicKind
from rt_sched.runtime.timeline import Timeline
from sensors.decode_ahead import PixelsNeeded
from sensors.mapping import SensorPattern, TopicMapping, match_topics


def map_topics(system: System, recording: Recording) -> TopicMapping:
    """Which topic of the recording belongs to which sensor; DataError when none belongs to any."""
    patterns = {sensor.name: SensorPattern(TopicKind(sensor.kind.value), sensor.topics) for sensor in system.sensors}
    mapping = match_topics(recording.topics, patterns)
    if not mapping.sensor_to_topic:
        topics = ", ".join(f"{topic.name} ({topic.schema})" for topic in recording.topics) or "none"
        raise DataError(
            f"{recording.path}: no topic belongs to a sensor of system {system.name}; topics in the recording: {topics}"
        )
    return mapping


def sensor_poses(
    system: System, recording: Recording, mapping: TopicMapping
) -> dict[str, tuple[tuple[float, float, float, float], ...]]:
    """Frame of each sensor whose pose is known, by the name that its first readable message gives it -> pose."""
    poses = {}
    for sensor in system.sensors:
        pose, topic = sensor.calibration.sensor_to_vehicle, mapping.sensor_to_topic.get(sensor.name)
        if pose is None or topic is None:
            continue
        first = next((message for message in recording.messages([topic]) if message.problem is None), None)
        try:
            frame = recording.decode(first).frame_id if first else ""
        except DataError:
            continue
        if frame:
            poses[frame] = pose
    return poses


def horizon_of(system: System, timeline: Timeline) -> int:
    """The end of the run: the last arrival and room for the jobs that follow from it.

    Room is the largest deadline, but no more than three times the longest path of worst-case execution times: clocks
    go on meanwhile, and what they would do long after the recording says nothing about the drive.
    """
    tasks = {task.name: task for task in system.tasks}

    @cache
    def path_ns(name: str) -> int:
        if name not in tasks:
            return 0
        task = tasks[name]
        activating = [port for port in task.inputs if input_role(task.activation, port) is not Role.READ]
        return task.execution.wcet_ns + max((path_ns(port.source) for port in activating), default=0)

    room_ns = min(max(task.deadline_ns for task in system.tasks), 3 * max(map(path_ns, tasks)))
    return timeline.last_arrival_ns + room_ns + 1


def pixels_needed(system: System, stages: Sequence[Stage], mapping: TopicMapping) -> dict[str, list[PixelsNeeded]]:
    """Topic of a camera -> what each stage that says so needs of its frames."""
    needs: dict[str, list[PixelsNeeded]] = {}
    for task, stage in zip(system.tasks, stages, strict=True):
        needed = getattr(stage, "pixels_needed", None)
        for port in task.inputs:
            topic = mapping.sensor_to_topic.get(port.source)
            if needed is not None and topic is not None:
                needs.setdefault(topic, []).append(needed)
    return needs
