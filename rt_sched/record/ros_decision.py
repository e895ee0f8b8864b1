"""The decision's messages, fusion weights and changes of objects as ROS 2 messages of rt_sched_msgs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rt_sched.messages import MotionPlan, ObjectChanges, Situation, TrackedObjects
from rt_sched.record.ros_scene import SceneMessages
from rt_sched.record.ros_types import RosMessage, RosTypes
from rt_sched.units import NS_PER_S

_PACKAGE = "rt_sched_msgs/msg/"


class DecisionMessages:
    """Converter of TrackedObjects, ObjectChanges, Situation and MotionPlan."""

    def __init__(self, build: RosTypes, scene: SceneMessages) -> None:
        self._build = build
        self._scene = scene
        self.converters: dict[type, Callable[[str, Any], Iterator[RosMessage]]] = {
            TrackedObjects: self._tracks,
            ObjectChanges: self._changes,
            Situation: self._situation,
            MotionPlan: self._plan,
        }

    def _tracks(self, topic: str, message: TrackedObjects) -> Iterator[RosMessage]:
        """The objects as the scene shows them, and beside them what each sensor counted."""
        yield from self._scene.tracks(topic, message)
        if message.weights:
            yield self._build.message(
                f"{topic}/weights",
                _PACKAGE + "FusionWeights",
                self._build.header(message.capture_time_ns, message.frame_id),
                [weight.sensor for weight in message.weights],
                np.array([weight.weight for weight in message.weights], np.float64),
                np.array([weight.left_out for weight in message.weights], np.uint64),
                _or_nan(message.ego_speed_m_s),
            )

    def _changes(self, topic: str, message: ObjectChanges) -> Iterator[RosMessage]:
        yield self._build.message(
            topic,
            _PACKAGE + "ObjectChanges",
            self._build.header(message.capture_time_ns, message.frame_id),
            message.sequence,
            message.full,
            message.changed.track_ids,
            message.created_ids,
            message.removed_ids,
        )
        yield from self._scene.tracks(f"{topic}/changed", message.changed)

    def _situation(self, topic: str, message: Situation) -> Iterator[RosMessage]:
        yield self._build.message(
            topic,
            _PACKAGE + "Situation",
            self._build.header(message.capture_time_ns, message.frame_id),
            self._build.time(message.data_time_ns),
            message.valid,
            _or_nan(message.speed_m_s),
            message.curvature_per_m,
            message.track_ids,
            message.gaps_m,
            message.gap_sigmas_m,
            message.closing_m_s,
            message.closing_sigmas_m_s,
            message.braking_m_s2,
            message.in_path,
            message.times_to_collision_s,
            message.time_to_collision_sigmas_s,
            message.needed_m_s2,
        )

    def _plan(self, topic: str, message: MotionPlan) -> Iterator[RosMessage]:
        collision_ns = message.time_to_collision_ns
        yield self._build.message(
            topic,
            _PACKAGE + "MotionPlan",
            self._build.header(message.capture_time_ns, ""),
            self._build.time(message.data_time_ns),
            message.valid,
            message.warning,
            message.emergency,
            -1 if message.track_id is None else message.track_id,
            math.inf if collision_ns is None else collision_ns / NS_PER_S,
            message.acceleration_m_s2,
            _or_nan(message.speed_m_s),
            message.times_ns / NS_PER_S,
            message.speed_changes_m_s,
        )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
