"""Inertial navigation against drives whose truth is known, and against sensors that fail."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drives import Drive, drive, through

from pipelines import imu_health as health
from pipelines.imu import GRAVITY_M_S2, Integrate
from rt_sched.messages import EgoMotion, ImuSample, canonical_digest
from rt_sched.ports import JobContext, Rejected, SensorDescription, StageContext

JOB = JobContext("imu", 0, 0, 0, 0, 0)
EUROC = Path(__file__).resolve().parents[2] / "../shared/data/recordings/euroc_stereo_imu_20f.bag"
COMMA = EUROC.with_name("comma2k19_60s_imu_ticks_can.mcap")

#: Three seconds at rest, then up to 15 m/s, a bend to the left, and down to a stop.
ERRAND = {
    "seconds": 24.0,
    "speed_m_s": through((0, 0), (3, 0), (8, 15), (17, 15), (20, 0), (24, 0)),
    "yaw_rate_rad_s": through((9, 0), (10, 0.25), (13, 0.25), (14, 0)),
}


def stage(rate_hz: int = 200, place_m: tuple[float, float, float] = (0, 0, 0), **parameters: object) -> Integrate:
    pose = tuple((*row, p) for row, p in zip(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), place_m, strict=True))
    made = Integrate(**parameters)  # type: ignore[arg-type]
    sensor = SensorDescription("imu", "imu", 10**9 // rate_hz, sensor_to_vehicle=pose)  # type: ignore[arg-type]
    made.start(StageContext("imu", Path(), {"imu": sensor}))
    return made


def run(given: Drive, **parameters: object) -> list[EgoMotion]:
    made = stage(**parameters)  # type: ignore[arg-type]
    return [made.process(JOB, {"imu": sample})["ego"] for sample in given.samples]


@functools.cache
def errand(place_m: tuple[float, float, float]) -> tuple[Drive, list[EgoMotion]]:
    given = drive(**ERRAND, place_m=place_m)  # type: ignore[arg-type]
    return given, run(given, place_m=place_m)


@pytest.mark.parametrize("place_m", [(0.0, 0.0, 0.0), (1.2, -0.3, 0.6)])
def test_an_errand_from_standstill_to_standstill(place_m: tuple[float, float, float]) -> None:
    """Speed, heading and way hold over a bend, wherever the IMU sits, in spite of its biases."""
    given, found = errand(place_m)
    moving = given.speed_m_s > 0.5
    speeds = np.array([math.nan if ego.speed_m_s is None else ego.speed_m_s for ego in found])
    assert np.isfinite(speeds[moving]).mean() > 0.95
    assert np.nanmax(np.abs(speeds - given.speed_m_s)[moving]) < 0.5
    yaw_rates = np.array([ego.yaw_rate_rad_s for ego in found])
    assert abs((yaw_rates - given.yaw_rate_rad_s)[800:].mean()) < 3e-4
    last = found[-1]
    assert last.state is not None
    assert last.at_rest
    assert last.speed_m_s == pytest.approx(0.0, abs=0.02)
    assert math.hypot(*(np.array(last.state.position_m[:2]) - given.place_m[-1] - _arm(given, place_m))) < 4.0
    w, _, _, z = last.state.orientation_wxyz
    assert 2.0 * math.atan2(z, w) == pytest.approx(given.heading_rad[-1], abs=0.02)


def _arm(given: Drive, place_m: tuple[float, float, float]) -> np.ndarray:
    """How far the IMU moved beyond the vehicle's origin, by turning."""
    c, s = math.cos(given.heading_rad[-1]), math.sin(given.heading_rad[-1])
    return np.array([c * place_m[0] - s * place_m[1], s * place_m[0] + c * place_m[1]]) - place_m[:2]


def test_errors_stay_within_the_uncertainty_that_is_given() -> None:
    """Over several sensors: velocity and position are within three standard deviations nearly always."""
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(100 + seed)
        given = drive(
            **ERRAND,  # type: ignore[arg-type]
            gyro_bias=tuple(rng.normal(0, 0.005, 3)),
            force_bias=tuple(rng.normal(0, 0.04, 3)),
            seed=seed,
            rate_hz=50,
        )
        for k, ego in enumerate(run(given, rate_hz=50)):
            if k % 25 == 0 and k > 175 and ego.state is not None:
                c, s = math.cos(given.heading_rad[k]), math.sin(given.heading_rad[k])
                off = np.array(ego.state.velocity_m_s[:2]) - given.speed_m_s[k] * np.array([c, s])
                away = np.array(ego.state.position_m[:2]) - given.place_m[k]
                inside.append(np.abs(off).max() < 3.0 * ego.state.velocity_sigma_m_s)
                inside.append(np.abs(away).max() < 3.0 * ego.state.position_sigma_m)
    assert np.mean(inside) > 0.95


@pytest.mark.parametrize("slope_rad", [-0.1, 0.12])
def test_a_slope_is_no_acceleration(slope_rad: float) -> None:
    given = drive(10.0, through((0, 0), (4, 0), (9, 10)), slope_rad=slope_rad)
    found = run(given)
    assert found[700].at_rest
    assert found[700].forward_acceleration_m_s2 == pytest.approx(0.0, abs=0.1)
    assert np.mean([ego.forward_acceleration_m_s2 for ego in found[1000:1800]]) == pytest.approx(
        2.0 * math.cos(slope_rad), abs=0.08
    )
    assert found[-1].state is not None
    assert found[-1].state.tilt_sigma_rad < 0.03


def test_standstill_tells_the_biases() -> None:
    found = run(drive(5.0, np.zeros_like, gyro_bias=(0.02, -0.01, 0.03), force_bias=(0.0, 0.0, 0.1)))
    state = found[-1].state
    assert state is not None
    np.testing.assert_allclose(state.gyro_bias_rad_s, [0.02, -0.01, 0.03], atol=3e-4)
    assert state.accelerometer_bias_m_s2[2] == pytest.approx(0.1, abs=0.02)
    assert found[-1].yaw_rate_rad_s == pytest.approx(0.0, abs=0.005)


def test_speed_is_unknown_until_the_vehicle_has_stood_and_long_after() -> None:
    cruising = run(drive(6.0, lambda t: np.full_like(t, 20.0)))
    assert all(ego.speed_m_s is None and not ego.at_rest for ego in cruising)
    away = run(drive(12.0, through((0, 0), (2, 0), (6, 12), (12, 12))))
    assert away[350].speed_m_s is not None
    sigmas = [ego.state.velocity_sigma_m_s for ego in away if ego.state is not None]
    assert sigmas[-1] > sigmas[700] > sigmas[350]


def test_quiet_driving_is_not_taken_for_standstill_once_the_speed_is_known() -> None:
    """An IMU without vibration feels the same at any constant speed."""
    found = run(drive(12.0, through((0, 0), (2, 0), (6, 12), (12, 12)), vibration_m_s2=0.0))
    late = found[-400:]
    assert all(not ego.at_rest for ego in late)
    assert any(health.NOT_AT_REST in ego.flags for ego in late)
    assert late[-1].speed_m_s == pytest.approx(12.0, abs=0.4)


@pytest.mark.parametrize(("gap", "integrated"), [(3, True), (40, False), (200, False)])
def test_over_a_gap_nothing_is_integrated_and_everything_gets_less_certain(gap: int, integrated: bool) -> None:
    given = drive(10.0, through((0, 0), (2, 0), (5, 9), (10, 9)))
    made = stage()
    before = [made.process(JOB, {"imu": s})["ego"] for s in given.samples[:1400]][-1]
    after = made.process(JOB, {"imu": given.samples[1399 + gap]})["ego"]
    assert (health.GAP in after.flags) is not integrated
    assert made.gaps == (0 if integrated else 1)
    assert (after.history is None) is not integrated
    assert (after.heading_rad == before.heading_rad) is not integrated
    grown = after.state.velocity_sigma_m_s - before.state.velocity_sigma_m_s
    assert (grown > 0.3) is not integrated
    assert after.state.heading_sigma_rad > before.state.heading_sigma_rad
    if gap == 200:
        assert after.speed_m_s is None


def test_stuck_values_are_flagged_and_not_integrated_until_they_move_again() -> None:
    given = drive(6.0, through((0, 0), (2, 0), (5, 9)), lambda t: np.full_like(t, 0.1))
    made = stage()
    for sample in given.samples[:600]:
        made.process(JOB, {"imu": sample})
    frozen = given.samples[600]
    stuck = [
        made.process(JOB, {"imu": replace(frozen, capture_time_ns=frozen.capture_time_ns + k * 5_000_000)})["ego"]
        for k in range(200)
    ]
    assert not stuck[20].flags
    assert all(health.STUCK in ego.flags for ego in stuck[45:])
    assert stuck[-1].heading_rad == stuck[45].heading_rad
    assert stuck[-1].state.velocity_sigma_m_s > stuck[45].state.velocity_sigma_m_s
    moved = made.process(JOB, {"imu": replace(given.samples[900], capture_time_ns=frozen.capture_time_ns + 10**9)})[
        "ego"
    ]
    assert not moved.flags


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_sensor_at_the_end_of_its_range_is_flagged(axis: int, sign: float) -> None:
    made = stage(gyro_range_deg_s=250.0, accelerometer_range_g=4.0)
    given = drive(0.2, np.zeros_like).samples
    first = made.process(JOB, {"imu": given[0]})["ego"]
    assert first.flags == ()
    for field, value, flag in (
        ("angular_velocity_rad_s", math.radians(250.0), health.GYRO_SATURATED),
        ("linear_acceleration_m_s2", 4.0 * GRAVITY_M_S2, health.FORCE_SATURATED),
    ):
        sample = given[1] if field.startswith("ang") else given[2]
        values = getattr(sample, field).copy()
        values[axis] = sign * value
        ego = made.process(JOB, {"imu": replace(sample, **{field: values})})["ego"]
        assert flag in ego.flags
        assert ego.state.velocity_sigma_m_s > first.state.velocity_sigma_m_s


def test_rejected_samples_are_told_by_the_next_one() -> None:
    made, given = stage(), drive(0.2, np.zeros_like).samples
    made.process(JOB, {"imu": given[0]})
    with pytest.raises(Rejected, match="not three finite numbers"):
        made.process(JOB, {"imu": replace(given[1], angular_velocity_rad_s=np.full(3, np.nan))})
    assert made.process(JOB, {"imu": given[2]})["ego"].flags == (health.SAMPLES_LOST,)
    assert made.process(JOB, {"imu": given[3]})["ego"].flags == ()


@pytest.mark.parametrize("moving", [False, True])
def test_an_accelerometer_in_g_is_refused_and_the_parameter_repairs_it(moving: bool) -> None:
    given = drive(3.0, through((0, 0), (3, 6 if moving else 0)))
    in_g = [replace(s, linear_acceleration_m_s2=s.linear_acceleration_m_s2 / GRAVITY_M_S2) for s in given.samples]
    made = stage()
    for sample in in_g[:300]:
        with pytest.raises(Rejected, match="its unit is g and not m/s\\^2; set acceleration_unit: g"):
            made.process(JOB, {"imu": sample})
    repaired = stage(acceleration_unit="g")
    ego = [repaired.process(JOB, {"imu": sample})["ego"] for sample in in_g][-1]
    assert ego.state.velocity_m_s[0] == pytest.approx(given.speed_m_s[-1], abs=0.5)


def test_rates_in_degrees_are_converted() -> None:
    given = drive(2.0, np.zeros_like, lambda t: np.full_like(t, 0.5), gyro_bias=(0, 0, 0))
    made = stage(rate_unit="deg/s")
    for s in given.samples:
        ego = made.process(JOB, {"imu": replace(s, angular_velocity_rad_s=np.degrees(s.angular_velocity_rad_s))})["ego"]
    assert ego.heading_rad == pytest.approx(1.0, abs=0.005)


def test_an_accelerometer_without_gravity_is_refused() -> None:
    made = stage()
    for s in drive(0.5, np.zeros_like).samples:
        with pytest.raises(Rejected, match="gravity was taken out of it"):
            made.process(
                JOB, {"imu": replace(s, linear_acceleration_m_s2=s.linear_acceleration_m_s2 - [0, 0, GRAVITY_M_S2])}
            )


def test_wrong_gravity_at_standstill_is_flagged() -> None:
    found = run(drive(2.0, np.zeros_like, force_bias=(0.0, 0.0, 0.8)))
    assert health.GRAVITY_OFF in found[-1].flags
    assert not found[-1].at_rest


def test_the_history_is_the_motion_of_the_last_300_ms() -> None:
    given, found = errand((1.2, -0.3, 0.6))
    for k in (1000, 2300, 2900):
        history = found[k].history
        assert history is not None
        assert history.time_ns[-1] == given.time_ns[k]
        assert 300_000_000 <= history.time_ns[-1] - history.time_ns[0] <= 310_000_000
        assert (np.diff(history.time_ns) >= 5_000_000).all()
        assert len(history.turn_rad) == len(history.move_m) == len(history.time_ns) - 1
        first = int(np.searchsorted(given.time_ns, history.time_ns[0]))
        turned = given.heading_rad[k] - given.heading_rad[first]
        assert history.turn_rad[:, 2].sum() == pytest.approx(turned, abs=1e-3)
        way = float(np.linalg.norm(np.diff(given.place_m[first : k + 1], axis=0), axis=1).sum())
        assert history.move_m[:, 0].sum() == pytest.approx(way, abs=0.15)
        assert np.abs(history.move_m[:, 1:].sum(axis=0)).max() < 0.1


@pytest.mark.parametrize("rate_hz", [50, 100, 400])
def test_other_rates_give_the_same_motion(rate_hz: int) -> None:
    given = drive(8.0, through((0, 0), (3, 0), (8, 10)), through((4, 0), (5, 0.2)), rate_hz=rate_hz)
    last = run(given, rate_hz=rate_hz)[-1]
    assert last.speed_m_s == pytest.approx(10.0, abs=0.4)
    assert last.heading_rad == pytest.approx(given.heading_rad[-1], abs=0.03)


def test_equal_samples_give_equal_messages() -> None:
    given = drive(3.0, through((0, 0), (1.5, 0), (3, 4)))
    assert [canonical_digest(ego) for ego in run(given)] == [canonical_digest(ego) for ego in run(given)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"acceleration_unit": "G"}, "acceleration_unit: 'G' is not known; valid: m/s^2, g"),
        ({"max_gap_periods": 0.5}, "max_gap_periods: 0.5 is out of range; valid: from 1 to 1000"),
        ({"rest_accelerometer_std_m_s2": 9}, "valid: from 0 to 2 m/s^2"),
        ({"history_ms": 1}, "history_ms: 1 is out of range; valid: from 10 to 5000 ms"),
    ],
)
def test_wrong_parameters_are_explained(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match="valid:") as caught:
        Integrate(**parameters)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize(("path", "topic", "rate_hz"), [(EUROC, "/imu0", 200), (COMMA, "/imu", 100)])
def test_recorded_sensors_give_finite_motion_and_no_false_standstill(path: Path, topic: str, rate_hz: int) -> None:
    """A flying robot and a minute of highway: neither stands."""
    if not path.exists():
        pytest.skip(f"{path} is not there")
    from sensors.recording import open_recording

    recording = open_recording(path)
    made = stage(rate_hz=rate_hz, max_gap_ms=100.0)
    given: list[ImuSample] = [recording.decode(m) for m in recording.messages([topic])]
    recording.close()
    found = [made.process(JOB, {"imu": sample})["ego"] for sample in given]
    assert len(found) == len(given)
    assert not any(ego.at_rest or ego.speed_m_s is not None for ego in found)
    assert all(math.isfinite(ego.yaw_rate_rad_s + ego.forward_acceleration_m_s2 + ego.heading_rad) for ego in found)
