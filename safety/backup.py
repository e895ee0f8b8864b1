"""The backup path: brakes for what the LiDAR sees straight ahead, without tracker, camera or map.

It works on the raw sweep with code of its own, so that no mistake in the primary path's stages can blind both. It is
simple and cautious: a straight corridor a little wider than the vehicle, the nearest thing in it, and the speed at
which that distance shrinks from sweep to sweep. While nothing is near it asks for a gentle slow-down: it sees less
than the primary path, so it drives less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DeploymentError
from rt_sched.messages.control import Command
from rt_sched.messages.sensor import PointCloud
from rt_sched.ports.stage import JobContext, Rejected, StageBase, StageContext
from rt_sched.units import NS_PER_MS, NS_PER_S
from safety.command_sequence import MAX_PAUSE_NS, CommandSequence
from safety.corridor import SIGHT_M, Corridor, look_ahead
from safety.parameters import checked

#: Faster than any two cars approach each other: the nearest thing has changed, it has not moved.
MAX_CLOSING_M_S = 70.0

#: Two successive closing speeds further apart than this stem from a change of the nearest thing or from its outline.
MAX_CLOSING_STEP_M_S = 8.0

#: Sweeps that stand for one closing speed.
SWEEPS = 3

#: For so long something that closed in counts on at its speed while sweeps do not show it: one or two may miss it.
HELD_NS = 350 * NS_PER_MS

#: Way left for braking is taken to be at least this: creeping up to something is no emergency.
LEAST_WAY_M = 0.5


class LidarCorridor(StageBase):
    """A raw LiDAR sweep -> a braking command. Input `points`: PointCloud; output `command`: Command.

    Stateful: closing speed comes from successive sweeps.

    `lidar`: sensor name for the view and the pose; None takes the only LiDAR of the run. Without a known pose the
    sensor's frame is taken for the vehicle's (x forward), and the height of the road is looked for.
    `corridor_half_width_m`: from the vehicle's centre line. `ego_front_m`: front bumper ahead of the vehicle's origin.
    `clearance_m`, `max_height_m`: band above the ground that holds obstacles. `min_points`: least evidence for one.
    `min_points_ahead`: a sweep that shows fewer within 40 m ahead, road included, is blind there and is rejected.
    `brake_ttc_s`, `emergency_ttc_s`: times to collision at and below which it brakes; the latter shrinks in proportion
    to the closing speed below `full_closing_m_s`. `emergency_needed_m_s2`: the deceleration that just ends the approach
    `min_gap_m` ahead of the obstacle, at and above which it brakes as in emergency. `stop_gap_m`: closer than this it
    brakes in any case. `release_m_s3`: how fast it lets go of the brake. What closes in and is missing from a sweep, or
    shows no clear speed in it, is braked for as if it went on, for 350 ms since it was last measured.
    Raises ValueError for a parameter out of range; rejects a malformed sweep, a blind one, and one that is not newer
    than the last.
    """

    inputs: ClassVar[Mapping[str, type]] = {"points": PointCloud}
    outputs: ClassVar[Mapping[str, type]] = {"command": Command}
    stateful: ClassVar[bool] = True
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"lidar": ("lidar",)}

    def __init__(
        self,
        *,
        lidar: str | None = None,
        corridor_half_width_m: float = 1.3,
        ego_front_m: float = 2.0,
        range_m: float = 80.0,
        clearance_m: float = 0.3,
        max_height_m: float = 2.5,
        min_points: int = 5,
        min_points_ahead: int = 30,
        brake_ttc_s: float = 3.0,
        emergency_ttc_s: float = 1.4,
        emergency_needed_m_s2: float = 5.0,
        min_gap_m: float = 1.5,
        full_closing_m_s: float = 4.0,
        stop_gap_m: float = 4.0,
        brake_deceleration_m_s2: float = 4.0,
        emergency_deceleration_m_s2: float = 8.0,
        clear_deceleration_m_s2: float = 0.5,
        min_closing_m_s: float = 0.5,
        release_m_s3: float = 20.0,
    ) -> None:
        self._lidar_wanted = lidar
        self._corridor = Corridor(
            half_width_m=checked("corridor_half_width_m", corridor_half_width_m, 0.1, 10.0),
            front_m=checked("ego_front_m", ego_front_m, 0.0, 20.0),
            range_m=checked("range_m", range_m, 1.0, 500.0),
            clearance_m=clearance_m,
            max_height_m=checked("max_height_m", max_height_m, checked("clearance_m", clearance_m, 0.05, 2.0), 10.0),
            min_points=int(checked("min_points", min_points, 1, 100_000)),
        )
        self._min_points_ahead = int(checked("min_points_ahead", min_points_ahead, 0, 100_000))
        self._brake_ttc_s = checked("brake_ttc_s", brake_ttc_s, 0.1, 20.0)
        self._emergency_ttc_s = checked("emergency_ttc_s", emergency_ttc_s, 0.1, self._brake_ttc_s)
        self._stop_gap_m = checked("stop_gap_m", stop_gap_m, 0.0, 50.0)
        self._min_gap_m = checked("min_gap_m", min_gap_m, 0.0, 20.0)
        self._full_closing_m_s = checked("full_closing_m_s", full_closing_m_s, 0.01, 30.0)
        self._emergency_m_s2 = checked("emergency_deceleration_m_s2", emergency_deceleration_m_s2, 0.1, 10.0)
        self._needed_m_s2 = checked("emergency_needed_m_s2", emergency_needed_m_s2, 0.1, 10.0)
        self._brake_m_s2 = checked("brake_deceleration_m_s2", brake_deceleration_m_s2, 0.1, self._emergency_m_s2)
        self._clear_m_s2 = checked("clear_deceleration_m_s2", clear_deceleration_m_s2, 0.0, self._brake_m_s2)
        self._min_closing_m_s = checked("min_closing_m_s", min_closing_m_s, 0.01, 10.0)
        self._release_m_s3 = checked("release_m_s3", release_m_s3, 0.1, 1000.0)
        self._lidar = lidar or "lidar"
        self._pose: npt.NDArray[np.float64] | None = None
        self._history: list[tuple[int, float]] = []
        self._last_clear: tuple[int, float, float] | None = None
        self._commands = CommandSequence(self._release_m_s3, "sweep")

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
        self._forget()
        self._commands = CommandSequence(self._release_m_s3, "sweep")

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        sweep: PointCloud | None = inputs.get("points")
        if sweep is None:
            raise Rejected("no sweep to decide on")
        self._commands.check_order(sweep.capture_time_ns)
        xyz_m = np.asarray(sweep.xyz_m)
        if xyz_m.ndim != 2 or xyz_m.shape[1] != 3 or xyz_m.dtype.kind != "f":
            raise Rejected(f"coordinates {xyz_m.dtype}{list(xyz_m.shape)}, expected float[n, 3]")
        ahead = look_ahead(xyz_m, self._pose, self._corridor)
        if ahead.points < self._min_points_ahead:
            raise Rejected(
                f"the sweep shows {ahead.points} points within {SIGHT_M:g} m ahead, at least {self._min_points_ahead} "
                "are needed to see"
            )
        closing_m_s, is_clear = self._closing_m_s(sweep.capture_time_ns, ahead.gap_m)
        back_m_s = None if is_clear or ahead.gap_m is None else self._back_again(sweep.capture_time_ns, ahead.gap_m)
        if back_m_s is not None:
            closing_m_s, is_clear = back_m_s, True
        wanted_m_s2, emergency, ttc_ns = self._decide(ahead.gap_m, closing_m_s)
        if is_clear and ahead.gap_m is not None and closing_m_s is not None:
            self._last_clear = (sweep.capture_time_ns, ahead.gap_m, closing_m_s)
        else:
            held = self._held(sweep.capture_time_ns)
            if held is not None and held[0] < wanted_m_s2:
                wanted_m_s2, emergency, ttc_ns = held
        command = self._commands.next(
            sweep.capture_time_ns, self._lidar, wanted_m_s2, emergency=emergency, time_to_collision_ns=ttc_ns
        )
        return {"command": command}

    def _forget(self) -> None:
        self._history = []
        self._last_clear = None

    def _gone_on(self, stamp_ns: int) -> tuple[float, float] | None:
        """Gap now, and closing speed, of the thing last measured if it has gone on; None once that is too long ago."""
        if self._last_clear is None or not 0 < stamp_ns - self._last_clear[0] <= HELD_NS:
            return None
        measured_ns, gap_m, closing_m_s = self._last_clear
        return gap_m - closing_m_s * (stamp_ns - measured_ns) / NS_PER_S, closing_m_s

    def _held(self, stamp_ns: int) -> tuple[float, bool, int | None] | None:
        """What that thing calls for."""
        found = self._gone_on(stamp_ns)
        return None if found is None else self._decide(max(found[0], 0.0), found[1])

    def _back_again(self, stamp_ns: int, gap_m: float) -> float | None:
        """The closing speed since that thing was measured where the nearest thing is about where it must be now."""
        found = self._gone_on(stamp_ns)
        if found is None or self._last_clear is None:
            return None
        since_s = (stamp_ns - self._last_clear[0]) / NS_PER_S
        if abs(gap_m - found[0]) > MAX_CLOSING_STEP_M_S * since_s:
            return None
        return (self._last_clear[1] - gap_m) / since_s

    def _closing_m_s(self, stamp_ns: int, gap_m: float | None) -> tuple[float | None, bool]:
        """Closing speed over the last sweeps, and whether they agree on it; None until `SWEEPS` show the same thing."""
        if gap_m is None:
            self._history = []
            return None, False
        if self._history:
            last_ns, last_gap_m = self._history[-1]
            pause_ns = stamp_ns - last_ns
            moved_m = abs(last_gap_m - gap_m)
            if not 0 < pause_ns <= MAX_PAUSE_NS or moved_m > MAX_CLOSING_M_S * pause_ns / NS_PER_S:
                self._history = []
        self._history = [*self._history, (stamp_ns, gap_m)][-SWEEPS:]
        if len(self._history) < SWEEPS:
            return None, False
        steps = [
            (gap_0 - gap_1) * NS_PER_S / (t_1 - t_0)
            for (t_0, gap_0), (t_1, gap_1) in zip(self._history, self._history[1:], strict=False)
        ]
        if max(steps) - min(steps) > MAX_CLOSING_STEP_M_S:
            return min(steps), False
        (t_first, gap_first), (t_last, gap_last) = self._history[0], self._history[-1]
        return (gap_first - gap_last) * NS_PER_S / (t_last - t_first), True

    def _decide(self, gap_m: float | None, closing_m_s: float | None) -> tuple[float, bool, int | None]:
        """Acceleration, emergency and time to collision."""
        if gap_m is None:
            return -self._clear_m_s2, False, None
        calm = -self._brake_m_s2 if gap_m <= self._stop_gap_m else -self._clear_m_s2
        if closing_m_s is None or closing_m_s < self._min_closing_m_s:
            return calm, False, None
        ttc_s = gap_m / closing_m_s
        ttc_ns = math.floor(ttc_s * NS_PER_S)
        needed_m_s2 = closing_m_s**2 / (2.0 * max(gap_m - self._min_gap_m, LEAST_WAY_M))
        hurried = ttc_s <= self._emergency_ttc_s * min(closing_m_s / self._full_closing_m_s, 1.0)
        if hurried or needed_m_s2 >= self._needed_m_s2:
            return -self._emergency_m_s2, True, ttc_ns
        if ttc_s <= self._brake_ttc_s:
            return -self._brake_m_s2, False, ttc_ns
        return calm, False, ttc_ns
