"""Which topic of a recording feeds which sensor of the system file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rt_sched.ports.source import TopicInfo, TopicKind


@dataclass(frozen=True, slots=True)
class SensorPattern:
    """What a sensor looks for: a kind, and topic names or globs (as in fnmatch, case matters), best first."""

    kind: TopicKind
    globs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AmbiguousMatch:
    """Several topics suited a sensor; one was taken."""

    sensor: str
    chosen: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return f"sensor {self.sensor}: {self.chosen} was taken; {', '.join(self.others)} would match as well"


@dataclass(frozen=True, slots=True)
class WrongKind:
    """A topic matched a sensor by name but holds something else."""

    sensor: str
    topic: str
    schema: str
    wanted: TopicKind

    def __str__(self) -> str:
        schema = self.schema or "no type"
        return f"sensor {self.sensor}: {self.topic} matches by name but holds {schema}, not {self.wanted.value} data"


@dataclass(frozen=True, slots=True)
class TopicMapping:
    """The answer. `sensor_to_topic` keeps the order of the sensors; `unmapped_topics` are in the recording's order."""

    sensor_to_topic: Mapping[str, str]
    unmapped_topics: tuple[str, ...]
    missing_sensors: tuple[str, ...]
    ambiguous: tuple[AmbiguousMatch, ...]
    wrong_kind: tuple[WrongKind, ...]


def match_topics(topics: Sequence[TopicInfo], patterns: Mapping[str, SensorPattern]) -> TopicMapping:
    """Give each sensor at most one topic of its kind, and each topic to at most one sensor.

    A full name beats a glob, whichever sensor it stands at. Among the rest, the sensor with the fewest topics to
    choose from chooses first, then the earlier one; it takes its earliest glob that matches, topics with messages
    before empty ones, then by name. The result depends on the arguments only.
    """
    free = {topic.name: topic for topic in topics}
    chosen: dict[str, str] = {}
    ambiguous: list[AmbiguousMatch] = []
    for sensor, pattern in patterns.items():
        for glob in pattern.globs:
            if glob in free and free[glob].kind is pattern.kind and sensor not in chosen:
                chosen[sensor] = glob
                del free[glob]
    while waiting := {s: c for s, p in patterns.items() if s not in chosen and (c := _candidates(p, free))}:
        sensor = min(waiting, key=lambda name: len(waiting[name]))
        first, *others = waiting[sensor]
        chosen[sensor] = first
        del free[first]
        if others:
            ambiguous.append(AmbiguousMatch(sensor, first, tuple(others)))
    missing = tuple(sensor for sensor in patterns if sensor not in chosen)
    wrong = tuple(
        WrongKind(sensor, topic.name, topic.schema, patterns[sensor].kind)
        for sensor in missing
        for topic in topics
        if topic.kind is not patterns[sensor].kind and _rank(topic.name, patterns[sensor]) is not None
    )
    return TopicMapping(
        {sensor: chosen[sensor] for sensor in patterns if sensor in chosen},
        tuple(topic.name for topic in topics if topic.name in free),
        missing,
        tuple(match for match in ambiguous if any(other in free for other in match.others)),
        wrong,
    )


def _rank(name: str, pattern: SensorPattern) -> int | None:
    """Position of the first glob that matches, or None."""
    return next((i for i, glob in enumerate(pattern.globs) if name == glob or fnmatchcase(name, glob)), None)


def _candidates(pattern: SensorPattern, free: Mapping[str, TopicInfo]) -> list[str]:
    """Free topics of the right kind that match, best first."""
    ranked = [
        (rank, topic.messages == 0, topic.name)
        for topic in free.values()
        if topic.kind is pattern.kind and (rank := _rank(topic.name, pattern)) is not None
    ]
    return [name for _, _, name in sorted(ranked)]
