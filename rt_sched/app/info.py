"""What a recording holds, as one document."""

from __future__ import annotations

import dataclasses
from typing import Any

from rt_sched.app.inputs.shipped import resolve
from sensors.recording import open_recording
from sensors.survey import TopicSurvey, survey

INFO_SCHEMA = "rt-sched/recording-info/1"


def recording_info(log: str, *, salvage: bool) -> dict[str, Any]:
    """Every topic with counts, rates and irregularities. Raises DataError for what is no recording at all."""
    recording = open_recording(resolve(log), salvage=salvage)
    try:
        found = survey(recording)
    finally:
        recording.close()
    return {
        "schema": INFO_SCHEMA,
        "path": found.path,
        "messages": found.messages,
        "first_log_ns": found.first_log_ns,
        "last_log_ns": found.last_log_ns,
        "damage": found.damage,
        "topics": [_topic(topic) for topic in found.topics],
    }


def _topic(topic: TopicSurvey) -> dict[str, Any]:
    row = dataclasses.asdict(topic)
    row["kind"] = topic.kind.value
    row["nominal_rate_hz"] = None if topic.nominal_rate_hz is None else str(topic.nominal_rate_hz)
    row["drift_ppm"] = None if topic.drift_ppm is None else float(topic.drift_ppm)
    return row
