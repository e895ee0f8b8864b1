"""Undoing the vehicle's motion during a LiDAR sweep: one transform for each short span of the sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.ego import tells_speed_change, tells_turning
from pipelines.rotations import Float, matrices_of_vectors
from rt_sched.messages import Deskew, EgoMotion, MotionHistory
from rt_sched.units import NS_PER_MS

#: Longest span with one transform: at 30 m/s it moves a point by at most 8 mm from where it belongs.
_SPAN_NS = NS_PER_MS // 2
_MAX_SPANS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class SweepTransforms:
    """float64[b, 3, 4] per span: from the sensor at a point's instant to the results' frame at the capture time.

    Span 0 begins `first_ns` after the capture time, each lasts `span_ns`.
    """

    matrices: Float
    first_ns: int
    span_ns: int
    deskew: Deskew


def sweep_transforms(
    capture_time_ns: int,
    time_offset_ns: npt.NDArray[np.int32] | None,
    mounting: Float | None,
    ego: EgoMotion | None,
    max_extrapolation_ns: int,
) -> SweepTransforms:
    """The transforms of one sweep.

    `mounting`: float64[3, 4] from the sensor to the vehicle; None where it is not known: then only turning about the
    sensor's own z axis is undone. Motion must reach over the sweep and its capture time; beyond its last sample it is
    continued for at most `max_extrapolation_ns`.
    """
    still = np.eye(3, 4) if mounting is None else mounting
    if time_offset_ns is None or len(time_offset_ns) == 0:
        return SweepTransforms(still[None], 0, 1, Deskew.NO_TIMES)
    first_ns, last_ns = int(time_offset_ns.min()), int(time_offset_ns.max())
    history = None if ego is None or not tells_turning(ego) else ego.history
    if ego is None or history is None:
        return SweepTransforms(still[None], 0, 1, Deskew.NO_MOTION)
    earliest_ns, latest_ns = capture_time_ns + min(first_ns, 0), capture_time_ns + max(last_ns, 0)
    covered = len(history.time_ns) > 1 and (
        history.time_ns[0] <= earliest_ns and latest_ns <= history.time_ns[-1] + max_extrapolation_ns
    )
    if not covered:
        return SweepTransforms(still[None], 0, 1, Deskew.NO_MOTION)

    full = ego.speed_m_s is not None and tells_speed_change(ego) and mounting is not None
    span_ns = max(_SPAN_NS, -(-(last_ns - first_ns + 1) // _MAX_SPANS))
    spans = (last_ns - first_ns) // span_ns + 1
    # The reference instant goes last; a span counts with its middle.
    offsets = np.append(first_ns + span_ns * np.arange(spans) + span_ns // 2, 0)
    if mounting is None:
        history = MotionHistory(history.time_ns, history.turn_rad * [0.0, 0.0, 1.0], history.move_m)
    rotations, places = _poses(history, capture_time_ns + offsets)
    if not full:
        places = np.zeros_like(places)
    back = rotations[-1].T
    moved = np.empty((spans, 3, 4))
    turn = back @ rotations[:-1]
    moved[:, :, :3] = turn @ still[:, :3]
    moved[:, :, 3] = turn @ still[:, 3] + (places[:-1] - places[-1]) @ back.T
    if not np.isfinite(moved).all():
        return SweepTransforms(still[None], 0, 1, Deskew.NO_MOTION)
    return SweepTransforms(moved, first_ns, span_ns, Deskew.FULL if full else Deskew.ROTATION)


def _poses(history: MotionHistory, instants_ns: npt.NDArray[np.int64]) -> tuple[Float, Float]:
    """Axes float64[n, 3, 3] and origins float64[n, 3] of the vehicle at `instants_ns`, seen from the history's start.

    Turning and speed are constant within an interval, and after the last one as in it.
    """
    steps = matrices_of_vectors(history.turn_rad)
    rotations = np.empty((len(steps), 3, 3))
    places = np.empty((len(steps), 3))
    rotation, place = np.eye(3), np.zeros(3)
    for i in range(len(steps)):
        rotations[i], places[i] = rotation, place
        place = place + rotation @ history.move_m[i]
        rotation = rotation @ steps[i]
    index = np.clip(np.searchsorted(history.time_ns, instants_ns, side="right") - 1, 0, len(steps) - 1)
    duration = (history.time_ns[index + 1] - history.time_ns[index]).astype(np.float64)
    share = ((instants_ns - history.time_ns[index]) / duration)[:, None]
    partial = matrices_of_vectors(history.turn_rad[index] * share)
    return rotations[index] @ partial, places[index] + np.einsum(
        "nij,nj->ni", rotations[index], history.move_m[index] * share
    )
