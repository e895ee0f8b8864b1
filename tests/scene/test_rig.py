import json
from fractions import Fraction

import numpy as np
import pytest

from sensors.scene.rig import CaptureTiming, Rig, rig_as_data


def test_capture_instants_are_exact_rationals_rounded_down() -> None:
    timing = CaptureTiming(Fraction(30), 0, 0)
    assert [timing.capture_ns(k) for k in (0, 1, 2, 3)] == [0, 33_333_333, 66_666_666, 100_000_000]
    assert timing.count(4 * 10**9) == 120
    assert timing.count(100_000_000) == 3
    assert timing.count(100_000_001) == 4
    assert CaptureTiming(Fraction(30000, 1001), 0, 0).capture_ns(30000) == 1001 * 10**9


def test_rig_data_is_plain_and_its_transforms_are_inverse(rig: Rig) -> None:
    data = json.loads(json.dumps(rig_as_data(rig)))
    assert [c["name"] for c in data["cameras"]] == [c.name for c in rig.cameras]
    assert len(data["cameras"]) == 8
    for camera in data["cameras"]:
        forth = np.vstack([camera["vehicle_to_camera"], [0, 0, 0, 1]])
        back = np.vstack([camera["sensor_to_vehicle"], [0, 0, 0, 1]])
        assert forth @ back == pytest.approx(np.eye(4), abs=1e-6)
        assert np.linalg.det(forth[:3, :3]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("front_wide", (21.95, 0.0, 1.42 - 20 * np.tan(np.radians(2.0)))),
        ("left", (1.4, 10.8, 1.45 - 10 * np.tan(np.radians(4.0)))),
        ("right", (1.4, -10.8, 1.45 - 10 * np.tan(np.radians(4.0)))),
        ("rear", (-10.75, 0.0, 1.25 - 10 * np.tan(np.radians(2.0)))),
    ],
)
def test_optical_axes_point_where_the_names_say(rig: Rig, name: str, point: tuple[float, float, float]) -> None:
    camera = next(c for c in rig.cameras if c.name == name)
    x, y, z = camera.vehicle_to_camera() @ [*point, 1.0]
    assert (x, y) == (pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
    assert z > 9.0
    above = camera.vehicle_to_camera() @ [point[0], point[1], point[2] + 1.0, 1.0]
    assert above[1] < 0.0
