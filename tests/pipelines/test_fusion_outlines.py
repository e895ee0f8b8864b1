"""Outlines that change: what is hidden or comes out of hiding, and how fast the fusion says that it moves sideways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipelines.fusion import Fuse
from pipelines.planning import Plan
from pipelines.understanding import Understand
from rt_sched.messages import Boxes3D, TrackedObjects
from rt_sched.ports import JobContext, SensorDescription, StageContext

MS = 1_000_000
CYCLE_NS = 33_333_333
SWEEP_NS = 100 * MS
POSE = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
LIDAR = SensorDescription("top", "lidar", SWEEP_NS, sensor_to_vehicle=POSE)

#: Seconds -> near end and the two sides of what shows, metres; sides nearer than a millimetre show nothing.
Outline = Callable[[float], tuple[float, float, float]]


def job(now_ns: int) -> JobContext:
    return JobContext("t", 0, now_ns, now_ns, now_ns, now_ns)


def box(capture_ns: int, outline: Outline) -> Boxes3D:
    near, right, left = outline(capture_ns / 1e9)
    n = 1 if left - right > 1e-3 else 0
    centers = np.array([[near + 0.15, 0.5 * (right + left), 1.2]], np.float32)[:n]
    sizes = np.array([[0.3, left - right, 2.4]], np.float32)[:n]
    return Boxes3D(capture_ns, "vehicle", centers, sizes, np.zeros(n, np.float32), np.full(n, 60, np.int32))


def follow(outline: Outline, seconds: float) -> list[TrackedObjects]:
    """What the fusion publishes cycle by cycle."""
    stage = Fuse(initial_speed_m_s=3.0)
    stage.start(StageContext("fusion", Path(), {"top": LIDAR}))
    published = []
    for k in range(2, round(seconds * 30)):
        now_ns = k * CYCLE_NS
        boxes = box((now_ns - 40 * MS) // SWEEP_NS * SWEEP_NS, outline)
        published.append(stage.process(job(now_ns), {"boxes": boxes})["objects"])
    return published


def sideways_m_s(objects: TrackedObjects) -> float:
    """The fastest sideways motion of all objects."""
    return float(np.abs(objects.velocities_m_s[:, 1]).max(initial=0.0))


def hidden_from_the_left(t: float, pace_m_s: float, rest_m: float) -> tuple[float, float, float]:
    """An oncoming truck that drives straight on; from 1 s on its left side disappears, but for `rest_m`."""
    return 60.0 - 14.0 * t, 5.8, max(8.2 - pace_m_s * max(t - 1.0, 0.0), 5.8 + rest_m)


def mirrored(outline: Outline) -> Outline:
    def other(t: float) -> tuple[float, float, float]:
        near, right, left = outline(t)
        return near, -left, -right

    return other


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("rest_m", [0.02, 0.8])
@pytest.mark.parametrize("pace_m_s", [2.0, 4.0, 8.0, 12.0])
def test_what_is_hidden_from_one_side_does_not_cross(pace_m_s: float, rest_m: float, mirror: bool) -> None:
    def outline(t: float) -> tuple[float, float, float]:
        return hidden_from_the_left(t, pace_m_s, rest_m)

    published = follow(mirrored(outline) if mirror else outline, 3.0)
    assert all(len(objects.track_ids) for objects in published[30:])
    assert max(map(sideways_m_s, published)) < 0.5
    decision = Understand(ego_front_m=3.75), Plan()
    for objects in published:
        situation = decision[0].process(job(objects.capture_time_ns), {"objects": objects})["situation"]
        assert not decision[1].process(job(objects.capture_time_ns), {"situation": situation})["plan"].emergency


def test_a_sliver_that_is_left_stays_where_it_is() -> None:
    """From one sweep to the next most of the object is gone, and then the little that is left is all that shows."""
    published = follow(lambda t: (60.0 - 12.0 * t, 5.8, 7.2 if t < 1.45 else 5.82), 2.6)
    assert max(map(sideways_m_s, published)) < 0.5
    assert published[-1].positions_m[0, 1] == pytest.approx(5.81, abs=0.2)
    assert len(published[-1].track_ids) == 1


def crossing(t: float, pace_m_s: float, length_m: float, wall_m: float) -> tuple[float, float, float]:
    """Drives to the left, out from behind a wall whose end is at `wall_m`: its nose appears at 0.3 s."""
    nose = wall_m + pace_m_s * (t - 0.3)
    return 40.0 - 10.0 * t, max(nose - length_m, wall_m), max(nose, wall_m)


@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize(("pace_m_s", "length_m"), [(5.0, 4.5), (6.0, 6.0), (9.0, 8.0)])
def test_what_comes_out_of_hiding_crosses(pace_m_s: float, length_m: float, mirror: bool) -> None:
    def outline(t: float) -> tuple[float, float, float]:
        return crossing(t, pace_m_s, length_m, -8.0)

    # One of the sides stands at the wall until all of the object shows: till then it seems to move half as fast.
    published = follow(mirrored(outline) if mirror else outline, 2.6)
    out_s = 0.3 + length_m / pace_m_s
    partly = [objects for objects in published if objects.capture_time_ns / 1e9 < out_s]
    assert sideways_m_s(partly[-1]) > 0.35 * pace_m_s
    assert sideways_m_s(published[-1]) == pytest.approx(pace_m_s, abs=0.15 * pace_m_s + 0.2)


def test_what_crosses_in_full_view_is_believed_although_its_outline_flickers() -> None:
    def outline(t: float) -> tuple[float, float, float]:
        flicker = 0.1 if round(t * 10) % 2 else 0.0
        return 40.0 - 10.0 * t, -8.0 + 3.0 * t, -6.2 + 3.0 * t - flicker

    published = follow(outline, 2.0)
    assert all(abs(sideways_m_s(objects) - 3.0) < 0.75 for objects in published[30:])
