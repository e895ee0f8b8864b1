"""Weights of the other cameras when a view is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from failover_rigs import load, rig

from rt_sched.model import System
from rt_sched.planner.failover.weights import fusion_weights


def _cameras(*views: tuple[str, float, float]) -> System:
    """Cameras by name, direction and width of the view in degrees."""
    return load(
        "rt_sched: 1\nname: rig\ndevices: {a: {processing_elements: {cpu: {kind: cpu}}}}\nsensors:\n"
        + "".join(_camera(*view) for view in views)
        + "  top: {kind: lidar, rate: 10Hz, attached_to: a, topic: /top}\n"
        + "tasks: {t: {runs_on: a.cpu, activation: {rate: 1Hz}, execution: {wcet: 1ms}}}\n"
    )


def _camera(name: str, ahead: float, width: float) -> str:
    yaw, focal = math.radians(ahead), 500 / math.tan(math.radians(width / 2))
    rows: Sequence[Sequence[float]] = (
        (math.sin(yaw), 0, math.cos(yaw), 0),
        (-math.cos(yaw), 0, math.sin(yaw), 0),
        (0, -1, 0, 0),
    )
    pose = ", ".join("[" + ", ".join(f"{x:.9f}" for x in row) + "]" for row in rows)
    intrinsics = f"{{fx: {focal:.6f}, fy: {focal:.6f}, cx: 500, cy: 300}}"
    return (
        f"  {name}: {{kind: camera, rate: 20Hz, attached_to: a, topic: /{name}, calibration: "
        f"{{image_size: [1000, 600], intrinsics: {intrinsics}, sensor_to_vehicle: [{pose}]}}}}\n"
    )


def test_a_camera_with_the_same_view_gets_all_of_it() -> None:
    system = _cameras(("one", 0, 60), ("other", 0, 60), ("rear", 180, 60))
    assert fusion_weights(system, ["one"]) == (("one", 0), ("other", 2))


def test_a_wider_one_gets_it_where_it_was_seen_only() -> None:
    system = _cameras(("wide", 90, 100), ("narrow", 90, 40), ("rear", 270, 60))
    weights = dict(fusion_weights(system, ["narrow"]))
    assert set(weights) == {"narrow", "wide"}
    assert 1 < weights["wide"] < 2
    assert dict(fusion_weights(system, ["wide"]))["narrow"] == 2, "its whole view was shared"


def test_an_adjacent_camera_weighs_more_and_a_distant_one_does_not() -> None:
    system = _cameras(("left", 60, 58), ("ahead", 0, 58), ("rear", 180, 58))
    weights = dict(fusion_weights(system, ["left"]))
    assert weights["ahead"] > 1
    assert "rear" not in weights


def test_all_shares_of_a_direction_add_up_again() -> None:
    """With equal views, n cameras of which m are lost weigh n / (n - m)."""
    system = _cameras(*((f"c{number}", 30, 70) for number in range(5)))
    assert fusion_weights(system, ["c0", "c3"]) == (
        ("c0", 0),
        ("c1", Fraction(5, 3)),
        ("c2", Fraction(5, 3)),
        ("c3", 0),
        ("c4", Fraction(5, 3)),
    )


def test_other_sensors_do_not_stand_in() -> None:
    system = _cameras(("one", 0, 60))
    assert fusion_weights(system, ["top"]) == (("top", 0),)
    assert fusion_weights(system, ["one", "top"]) == (("one", 0), ("top", 0))
    assert fusion_weights(system, []) == ()


def test_without_calibration_all_cameras_see_the_same() -> None:
    assert fusion_weights(rig(), ["front"]) == (("front", 0), ("rear", 2))
