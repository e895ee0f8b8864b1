"""Which topics of a recording become sensors of a system file, by which names, and why the others are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from rt_sched.app.runs.reasons import without_choices
from rt_sched.config.quantities import MAX_RATE_HZ, MIN_RATE_HZ
from rt_sched.errors import DataError
from rt_sched.messages import PointCloud
from rt_sched.model import Sensor, SensorKind
from rt_sched.ports import Recording, TopicKind
from rt_sched.runtime.log_jumps import JUMP_NS
from rt_sched.runtime.timeline import build_timeline
from sensors.survey import TopicSurvey, survey

#: Sweeps of each LiDAR that are looked at to find the one that sees most.
_SWEEPS = 8

#: The tasks that work on one sensor are called after it; the others have names of their own.
_TASKS_OF_SENSOR = {
    TopicKind.CAMERA: ("pre", "infer", "post"),
    TopicKind.LIDAR: ("pre", "cluster"),
    TopicKind.IMU: ("imu",),
}
_COMMON_TASKS = ("fuse", "understand", "plan", "control", "backup", "arbiter")

#: What some version of YAML takes for a value that is no text.
_YAML_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class FoundSensor:
    """A topic that becomes a sensor. `rate_hz`: one that a system file may state, the nearest to the measured one.

    `drift_ppm`, `capture_jitter_ns`: so that its stamps lie within the jitter of a grid of that rate and drift, pauses
    left out.
    """

    name: str
    topic: TopicSurvey
    rate_hz: Fraction
    drift_ppm: Fraction
    capture_jitter_ns: int


@dataclass(frozen=True, slots=True)
class ChosenTopics:
    """`sensors`: in the recording's order. `main_lidar`: the one with the most points per sweep.

    `left_out`: topic -> why it is no sensor, for those that should hold sensor data.
    """

    sensors: tuple[FoundSensor, ...]
    main_lidar: FoundSensor | None
    left_out: Mapping[str, str]

    def of_kind(self, kind: TopicKind) -> tuple[FoundSensor, ...]:
        """The sensors of one kind, the main LiDAR before the others."""
        found = [sensor for sensor in self.sensors if sensor.topic.kind is kind]
        return tuple(sorted(found, key=lambda sensor: sensor is not self.main_lidar))

    @property
    def decides(self) -> bool:
        """Whether something sees what lies ahead, so that there is anything to decide."""
        return any(sensor.topic.kind is not TopicKind.IMU for sensor in self.sensors)


def choose_topics(recording: Recording) -> ChosenTopics:
    """Every topic of cameras, LiDARs and IMUs that can be replayed.

    Raises DataError, with the reason for each topic, when there is none.
    """
    left_out: dict[str, str] = {}
    usable = []
    for topic in survey(recording, decode_all=False).topics:
        reason = _unusable(topic)
        if topic.kind is TopicKind.OTHER:
            continue
        if reason is None:
            usable.append(topic)
        else:
            left_out[topic.name] = reason
    for name in _quarantined(recording, usable):
        left_out[name] = "all its messages were logged before or after a jump of the clock"
    usable = [topic for topic in usable if topic.name not in left_out]
    if not usable:
        listed = ", ".join(f"{topic.name} ({topic.schema})" for topic in recording.topics) or "none"
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out.items()) or f"topics: {listed}"
        raise DataError(f"{recording.path}: no camera, LiDAR or IMU topic with two usable messages; {reasons}")
    found = _named(usable)
    lidars = [sensor for sensor in found if sensor.topic.kind is TopicKind.LIDAR]
    return ChosenTopics(tuple(found), _main_lidar(recording, lidars), left_out)


def _unusable(topic: TopicSurvey) -> str | None:
    if topic.messages == 0:
        return "it holds no message"
    if topic.undecodable == topic.messages:
        problem = without_choices(topic.first_problem or "").removeprefix(f"{topic.name} ")
        return f"none of its {topic.messages} messages can be decoded, first: {problem}"
    if topic.rate_hz is None:
        return "its rate cannot be told from fewer than two usable stamps"
    return None


def _quarantined(recording: Recording, topics: Sequence[TopicSurvey]) -> list[str]:
    """Topics of which a replay would use no message, as the log clock was set while it recorded."""
    first = min((topic.first_log_ns for topic in topics if topic.first_log_ns is not None), default=0)
    last = max((topic.last_log_ns for topic in topics if topic.last_log_ns is not None), default=0)
    if last - first <= JUMP_NS:
        return []
    stand_ins = [
        Sensor(topic.name, SensorKind(topic.kind.value), Fraction(1), ("any",), (topic.name,)) for topic in topics
    ]
    timeline = build_timeline(recording, stand_ins, {topic.name: topic.name for topic in topics})
    return [entry.topic for entry in timeline.intake if not entry.accepted]


def _main_lidar(recording: Recording, lidars: Sequence[FoundSensor]) -> FoundSensor | None:
    """The one with the most points, by a few sweeps of each that are spread over the recording."""
    if len(lidars) < 2:
        return lidars[0] if lidars else None
    messages = {lidar.topic.name: lidar.topic.messages for lidar in lidars}
    points: dict[str, list[int]] = {name: [] for name in messages}
    seen = dict.fromkeys(messages, 0)
    for message in recording.messages(list(messages)):
        name = message.topic
        seen[name] += 1
        if (seen[name] - 1) % max(1, messages[name] // _SWEEPS):
            continue
        try:
            cloud = recording.decode(message)
        except DataError:
            continue
        if isinstance(cloud, PointCloud):
            points[name].append(len(cloud.xyz_m))
    return max(lidars, key=lambda lidar: median(points[lidar.topic.name] or [0]))


def _named(topics: Sequence[TopicSurvey]) -> list[FoundSensor]:
    """Under names that no other sensor and no task has."""
    taken = set(_COMMON_TASKS)
    found = []
    for topic in topics:
        measured = topic.nominal_rate_hz or Fraction(topic.rate_hz or 1).limit_denominator(1000)
        rate_hz = min(max(measured, MIN_RATE_HZ), MAX_RATE_HZ)
        base = _sensor_name(topic)
        name, number = base, 1
        while taken & {name, *_task_names(topic.kind, name)}:
            number += 1
            name = f"{base}_{number}"
        taken |= {name, *_task_names(topic.kind, name)}
        found.append(FoundSensor(name, topic, rate_hz, _statable_drift_ppm(topic, rate_hz), _capture_jitter_ns(topic)))
    return found


def _statable_drift_ppm(topic: TopicSurvey, rate_hz: Fraction) -> Fraction:
    known = topic.drift_ppm is not None and topic.nominal_rate_hz == rate_hz
    return topic.drift_ppm if known and topic.drift_ppm is not None else Fraction(0)


def _capture_jitter_ns(topic: TopicSurvey) -> int:
    """Largest deviation from the stated grid, whose drift is rounded to a hundredth of a part in a million."""
    if topic.grid_deviation_ns is None or topic.first_capture_ns is None or topic.last_capture_ns is None:
        return 0
    rounding_ns = (topic.last_capture_ns - topic.first_capture_ns) // 10**8 + 2
    return topic.grid_deviation_ns + rounding_ns


def _task_names(kind: TopicKind, sensor: str) -> list[str]:
    """Sensors and tasks share one space of names."""
    return [f"{part}_{sensor}" for part in _TASKS_OF_SENSOR[kind]]


def _sensor_name(topic: TopicSurvey) -> str:
    noise = {"compressed", "image", "image_raw", "image_rect", "image_color", "raw", "points", "pointcloud", "data"}
    words = [word for word in re.split(r"[^A-Za-z0-9]+", topic.name) if word and word.lower() not in noise]
    return identifier("_".join(words) or topic.kind.value)


def identifier(text: str) -> str:
    """A name that YAML takes for text, made of `text`."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_-") or "recording"
    return name if name[0].isalpha() and name.lower() not in _YAML_WORDS else f"r_{name}"
