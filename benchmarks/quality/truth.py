"""The ground truth of a scene, at any instant, from the file that lies beside its recording."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Words of the detector's vocabulary that count as one kind of road user.
GROUPS = {
    "car": "vehicle",
    "truck": "vehicle",
    "bus": "vehicle",
    "person": "person",
    "bicycle": "two-wheeler",
    "motorcycle": "two-wheeler",
}


@dataclass(frozen=True, slots=True)
class Body:
    """An actor in the vehicle frame: box centre, heading, speed over ground, extent along and across its heading."""

    name: str
    group: str
    x_m: float
    y_m: float
    yaw_rad: float
    speed_m_s: float
    length_m: float
    width_m: float

    @property
    def range_m(self) -> float:
        """Distance of its centre from the vehicle's origin."""
        return math.hypot(self.x_m, self.y_m)

    @property
    def half_x_m(self) -> float:
        """Half of its extent along the ego vehicle's x."""
        return (abs(math.cos(self.yaw_rad)) * self.length_m + abs(math.sin(self.yaw_rad)) * self.width_m) / 2

    @property
    def half_y_m(self) -> float:
        """Half of its extent along the ego vehicle's y."""
        return (abs(math.sin(self.yaw_rad)) * self.length_m + abs(math.cos(self.yaw_rad)) * self.width_m) / 2

    def distance_m(self, x_m: float, y_m: float) -> float:
        """From its outline on the ground to a point; 0 inside."""
        c, s = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        dx, dy = x_m - self.x_m, y_m - self.y_m
        along, across = abs(c * dx + s * dy), abs(c * dy - s * dx)
        return math.hypot(max(0.0, along - self.length_m / 2), max(0.0, across - self.width_m / 2))


@dataclass(frozen=True, slots=True)
class Threat:
    """What is ahead in the ego's lane: name, gap from bumper to outline, closing speed, time to collision or None."""

    name: str
    gap_m: float
    closing_m_s: float
    ttc_s: float | None


class Truth:
    """A truth file. Times are absolute, in ns."""

    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_text(encoding="utf-8"))
        self.expected: dict[str, Any] = document["expected"]
        self.conditions: str = document["conditions"]
        self.epoch_ns: int = document["epoch_ns"]
        self.end_ns: int = self.epoch_ns + document["duration_ns"]
        self.lead: str | None = document["lead"]
        self.front_m: float = document["ego"]["front_m"]
        self.half_width_m: float = document["ego"]["size_m"][1] / 2
        self._actors: list[dict[str, Any]] = document["actors"]
        self._frames: list[dict[str, Any]] = document["frames"]
        self._times = np.array([frame["capture_time_ns"] for frame in self._frames])

    def boxes(self, time_ns: int, camera: str) -> dict[str, list[float]] | None:
        """Actor -> x_min, y_min, x_max, y_max, visible share, truncated; None where no frame was captured then."""
        row = int(np.searchsorted(self._times, time_ns))
        if row == len(self._times) or self._times[row] != time_ns:
            return None
        boxes: dict[str, list[float]] = self._frames[row]["boxes"].get(camera, {})
        return boxes

    def seen(self, time_ns: int) -> dict[str, float]:
        """Actor -> the largest share of it that any camera sees, in the latest frame up to `time_ns`."""
        row = max(0, int(np.searchsorted(self._times, time_ns, side="right")) - 1)
        best: dict[str, float] = {}
        for boxes in self._frames[row]["boxes"].values():
            for name, box in boxes.items():
                best[name] = max(best.get(name, 0.0), box[4])
        return best

    def bodies(self, time_ns: int) -> list[Body]:
        """All actors at `time_ns`, between frames on a straight line."""
        row = min(max(0, int(np.searchsorted(self._times, time_ns, side="right")) - 1), len(self._times) - 2)
        before, after = self._frames[row]["actors"], self._frames[row + 1]["actors"]
        share = (time_ns - int(self._times[row])) / int(self._times[row + 1] - self._times[row])
        found = []
        for actor in self._actors:
            a, b = before[actor["name"]], after[actor["name"]]
            x, y, yaw, speed = (a[key] + (b[key] - a[key]) * share for key in ("x_m", "y_m", "yaw_rad", "speed_m_s"))
            length, width, _ = actor["size_m"]
            found.append(Body(actor["name"], GROUPS[actor["kind"]], x, y, yaw, speed, length, width))
        return found

    def threat(self, time_ns: int) -> Threat | None:
        """The body in the ego's lane that the vehicle reaches first; where none comes closer, the nearest."""
        row = min(int(np.searchsorted(self._times, time_ns)), len(self._times) - 1)
        own_speed = self._frames[row]["ego"]["speed_m_s"]
        ahead = []
        for body in self.bodies(time_ns):
            gap = body.x_m - body.half_x_m - self.front_m
            if gap < -1.0 or abs(body.y_m) - body.half_y_m > self.half_width_m:
                continue
            closing = own_speed - body.speed_m_s * math.cos(body.yaw_rad)
            ahead.append(Threat(body.name, gap, closing, max(0.0, gap) / closing if closing > 0.1 else None))
        closing_in = [threat for threat in ahead if threat.ttc_s is not None]
        if closing_in:
            return min(closing_in, key=lambda threat: threat.ttc_s or 0.0)
        return min(ahead, key=lambda threat: threat.gap_m, default=None)
