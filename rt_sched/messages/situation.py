"""What the decision's tasks exchange: the situation ahead, and the plan made for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rt_sched.messages.control import SensorView
from rt_sched.messages.e2e import E2EHeader


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """The objects in the way of the vehicle at `capture_time_ns`, the nearest first.

    `speed_m_s`: over ground, None when unknown. `curvature_per_m`: of the path ahead, positive to the left.
    All arrays are float64[n], but `track_ids`: int64[n].
    `gaps_m`: way along the path from bumper to object, at least 0; `closing_m_s`: speed at which it shrinks, positive
    when it does; both with their standard deviations. `braking_m_s2`: how hard the object brakes, 0 when it does not,
    less where that is not certain. `in_path`: probability that the object reaches into the corridor.
    `times_to_collision_s`: gap over closing speed, infinite when nothing closes in, with their standard deviations.
    `needed_m_s2`: constant deceleration of the vehicle that just keeps its distance.
    `valid`: False without the data that is required. `data_time_ns`: capture stamp of the oldest required data.
    """

    capture_time_ns: int
    frame_id: str
    data_time_ns: int
    valid: bool
    speed_m_s: float | None
    curvature_per_m: float
    track_ids: npt.NDArray[np.int64]
    gaps_m: npt.NDArray[np.float64]
    gap_sigmas_m: npt.NDArray[np.float64]
    closing_m_s: npt.NDArray[np.float64]
    closing_sigmas_m_s: npt.NDArray[np.float64]
    braking_m_s2: npt.NDArray[np.float64]
    in_path: npt.NDArray[np.float64]
    times_to_collision_s: npt.NDArray[np.float64]
    time_to_collision_sigmas_s: npt.NDArray[np.float64]
    needed_m_s2: npt.NDArray[np.float64]
    views: tuple[SensorView, ...]
    header: E2EHeader | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MotionPlan:
    """How fast the vehicle should drive from `capture_time_ns` on.

    `warning`: the driver is warned of a collision. `emergency`: brake as hard as the vehicle may.
    `track_id`: the object that decides, None when none does. `acceleration_m_s2`: wanted now.
    `times_ns`: int64[k] after `capture_time_ns`, ascending; `speed_changes_m_s`: float64[k], change of speed until
    then. `data_time_ns`, `valid`, `views`, `speed_m_s`: as in the situation that the plan was made for.
    """

    capture_time_ns: int
    data_time_ns: int
    valid: bool
    warning: bool
    emergency: bool
    track_id: int | None
    time_to_collision_ns: int | None
    acceleration_m_s2: float
    speed_m_s: float | None
    times_ns: npt.NDArray[np.int64]
    speed_changes_m_s: npt.NDArray[np.float64]
    views: tuple[SensorView, ...]
    header: E2EHeader | None = None
