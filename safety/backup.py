"""The backup path: brakes for what the LiDAR sees straight ahead, without tracker, camera or map.

It shares no code with the primary path's fusion and decision, so that one mistake cannot blind both. It is simple
and cautious: a straight corridor a little wider than the vehicle, the nearest thing in it, and the speed at which
that distance shrinks from sweep to sweep. While nothing is near it asks for a gentle slow-down: it sees less than
the primary path, so it drives less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DeploymentError
from rt_sched.messages.control import Command, SensorView
from rt_sched.messages.perception import Boxes3D
from rt_sched.ports.stage import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S
from safety.parameters import checked

#: Boxes that carry this frame are in vehicle coordinates already.
VEHICLE_FRAME = "vehicle"

#: Faster than any two cars approach each other: the nearest thing has changed, it has not moved.
MAX_CLOSING_M_S = 70.0

#: Two successive closing speeds further apart than this stem from a change of the nearest thing or from its outline.
MAX_CLOSING_STEP_M_S = 8.0

#: Sweeps that stand for one closing speed, and the longest pause between two of them.
SWEEPS = 3
MAX_PAUSE_NS = 500 * NS_PER_MS


class LidarCorridor(StageBase):
    """Boxes of a LiDAR sweep -> a braking command. Stateful: closing speed comes from successive sweeps.

    `lidar`: sensor name for the view and the pose; None takes the only LiDAR of the run. Boxes in its own frame are
    carried to the vehicle's with its pose (used as they are when that is unknown).
    `corridor_half_width_m`: from the vehicle's centre line. `ego_front_m`: front bumper ahead of the vehicle's origin.
    `brake_ttc_s`, `emergency_ttc_s`: times to collision at and below which it brakes; the latter shrinks in proportion
    to the closing speed below `full_closing_m_s`. `stop_gap_m`: closer than this it brakes in any case.
    Raises ValueError for a parameter out of range; rejects a sweep older than the last one.
    """

    inputs: ClassVar[Mapping[str, type]] = {"boxes": Boxes3D}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}
    stateful: ClassVar[bool] = True

    def __init__(
        self,
        *,
        lidar: str | None = None,
        corridor_half_width_m: float = 1.3,
        ego_front_m: float = 2.0,
        range_m: float = 80.0,
        min_points: int = 5,
        brake_ttc_s: float = 3.0,
        emergency_ttc_s: float = 1.4,
        full_closing_m_s: float = 4.0,
        stop_gap_m: float = 4.0,
        brake_deceleration_m_s2: float = 4.0,
        emergency_deceleration_m_s2: float = 8.0,
        clear_deceleration_m_s2: float = 0.5,
        min_closing_m_s: float = 0.5,
    ) -> None:
        self._lidar_wanted = lidar
        self._half_width_m = checked("corridor_half_width_m", corridor_half_width_m, 0.1, 10.0)
        self._front_m = checked("ego_front_m", ego_front_m, 0.0, 20.0)
        self._range_m = checked("range_m", range_m, 1.0, 500.0)
        self._min_points = int(checked("min_points", min_points, 0, 100_000))
        self._brake_ttc_s = checked("brake_ttc_s", brake_ttc_s, 0.1, 20.0)
        self._emergency_ttc_s = checked("emergency_ttc_s", emergency_ttc_s, 0.1, self._brake_ttc_s)
        self._stop_gap_m = checked("stop_gap_m", stop_gap_m, 0.0, 50.0)
        self._full_closing_m_s = checked("full_closing_m_s", full_closing_m_s, 0.01, 30.0)
        self._emergency_m_s2 = checked("emergency_deceleration_m_s2", emergency_deceleration_m_s2, 0.1, 10.0)
        self._brake_m_s2 = checked("brake_deceleration_m_s2", brake_deceleration_m_s2, 0.1, self._emergency_m_s2)
        self._clear_m_s2 = checked("clear_deceleration_m_s2", clear_deceleration_m_s2, 0.0, self._brake_m_s2)
        self._min_closing_m_s = checked("min_closing_m_s", min_closing_m_s, 0.01, 10.0)
        self._lidar = lidar or "lidar"
        self._pose: npt.NDArray[np.float64] | None = None
        self._history: list[tuple[int, float]] = []
        self._last_sweep_ns: int | None = None
        self._counter = 0

    def start(self, context: StageContext) -> None:
        lidars = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "lidar")
        if self._lidar_wanted is not None and lidars and self._lidar_wanted not in lidars:
            raise DeploymentError(
                f"task {context.task}: lidar {self._lidar_wanted!r} is no LiDAR of this run; valid: {', '.join(lidars)}"
            )
        if self._lidar_wanted is None and len(lidars) > 1:
            raise DeploymentError(
                f"task {context.task}: several LiDARs ({', '.join(lidars)}); name one with the parameter lidar"
            )
        self._lidar = self._lidar_wanted or (lidars[0] if lidars else "lidar")
        sensor = context.sensors.get(self._lidar)
        pose = None if sensor is None else sensor.sensor_to_vehicle
        self._pose = None if pose is None else np.array(pose, dtype=np.float64)
        self._history = []
        self._last_sweep_ns = None
        self._counter = 0

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        boxes: Boxes3D | None = inputs.get("boxes")
        if boxes is None:
            raise Rejected("no sweep to decide on")
        stamp_ns = boxes.capture_time_ns
        if self._last_sweep_ns is not None:
            if stamp_ns == self._last_sweep_ns:
                raise Rejected("the sweep's capture stamp repeats the last one")
            if 0 < self._last_sweep_ns - stamp_ns <= MAX_PAUSE_NS:
                raise Rejected(f"the sweep is {self._last_sweep_ns - stamp_ns} ns older than the last one")
        self._last_sweep_ns = stamp_ns

        gap_m = self._nearest_gap_m(boxes)
        closing_m_s = self._closing_m_s(stamp_ns, gap_m)
        acceleration, emergency, ttc_ns = self._decide(gap_m, closing_m_s)
        self._counter += 1
        command = Command(
            capture_time_ns=stamp_ns,
            source="backup",
            counter=self._counter,
            acceleration_m_s2=acceleration,
            emergency=emergency,
            time_to_collision_ns=ttc_ns,
            valid=True,
            views=(SensorView(self._lidar, stamp_ns),),
        )
        return {"command": command}

    def _nearest_gap_m(self, boxes: Boxes3D) -> float | None:
        """Distance from the front bumper to the nearest box that reaches into the corridor, 0 at contact."""
        centers = boxes.centers_m.astype(np.float64)
        yaws = boxes.yaws_rad.astype(np.float64)
        if boxes.frame_id != VEHICLE_FRAME and self._pose is not None:
            centers = centers @ self._pose[:, :3].T + self._pose[:, 3]
            yaws = yaws + math.atan2(self._pose[1, 0], self._pose[0, 0])
        half = boxes.sizes_m.astype(np.float64) / 2.0
        cos, sin = np.abs(np.cos(yaws)), np.abs(np.sin(yaws))
        reach_x = cos * half[:, 0] + sin * half[:, 1]
        reach_y = sin * half[:, 0] + cos * half[:, 1]
        # A box that begins behind the bumper but reaches ahead of it counts with gap 0.
        ahead = centers[:, 0] + reach_x > self._front_m
        inside = np.abs(centers[:, 1]) - reach_y < self._half_width_m
        gaps = np.maximum(centers[:, 0] - reach_x - self._front_m, 0.0)
        gaps = gaps[ahead & inside & (boxes.num_points >= self._min_points) & (gaps <= self._range_m)]
        return float(gaps.min()) if gaps.size else None

    def _closing_m_s(self, stamp_ns: int, gap_m: float | None) -> float | None:
        """Closing speed over the last sweeps; None until `SWEEPS` of them show the same nearest thing."""
        if gap_m is None:
            self._history = []
            return None
        if self._history:
            last_ns, last_gap_m = self._history[-1]
            pause_ns = stamp_ns - last_ns
            moved_m = abs(last_gap_m - gap_m)
            if not 0 < pause_ns <= MAX_PAUSE_NS or moved_m > MAX_CLOSING_M_S * pause_ns / NS_PER_S:
                self._history = []
        self._history = [*self._history, (stamp_ns, gap_m)][-SWEEPS:]
        if len(self._history) < SWEEPS:
            return None
        steps = [
            (gap_0 - gap_1) * NS_PER_S / (t_1 - t_0)
            for (t_0, gap_0), (t_1, gap_1) in zip(self._history, self._history[1:], strict=False)
        ]
        if max(steps) - min(steps) > MAX_CLOSING_STEP_M_S:
            return min(steps)
        (t_first, gap_first), (t_last, gap_last) = self._history[0], self._history[-1]
        return (gap_first - gap_last) * NS_PER_S / (t_last - t_first)

    def _decide(self, gap_m: float | None, closing_m_s: float | None) -> tuple[float, bool, int | None]:
        """Acceleration, emergency and time to collision."""
        if gap_m is None:
            return -self._clear_m_s2, False, None
        calm = -self._brake_m_s2 if gap_m <= self._stop_gap_m else -self._clear_m_s2
        if closing_m_s is None or closing_m_s < self._min_closing_m_s:
            return calm, False, None
        ttc_s = gap_m / closing_m_s
        ttc_ns = math.floor(ttc_s * NS_PER_S)
        if ttc_s <= self._emergency_ttc_s * min(closing_m_s / self._full_closing_m_s, 1.0):
            return -self._emergency_m_s2, True, ttc_ns
        if ttc_s <= self._brake_ttc_s:
            return -self._brake_m_s2, False, ttc_ns
        return calm, False, ttc_ns
