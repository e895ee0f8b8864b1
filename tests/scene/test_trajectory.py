import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.units import NS_PER_MS, NS_PER_S
from sensors.scene.trajectory import Phase, Trajectory

BRAKING = Trajectory(10.0, 2.0, speed_m_s=12.0, phases=(Phase(NS_PER_S, -6.0),))


def test_constant_speed_reaches_back_before_the_start() -> None:
    assert BRAKING.state_at(-NS_PER_S).x_m == -2.0
    assert BRAKING.state_at(NS_PER_S // 2).x_m == 16.0


def test_braking_distance_is_v_squared_over_two_a() -> None:
    at_rest = BRAKING.state_at(3 * NS_PER_S)
    assert at_rest.x_m == pytest.approx(10.0 + 12.0 + 12.0**2 / 12.0)
    assert (at_rest.speed_m_s, at_rest.acceleration_m_s2) == (0.0, 0.0)
    assert at_rest.braking
    assert BRAKING.state_at(60 * NS_PER_S) == at_rest


def test_brakes_are_released_by_a_later_phase() -> None:
    moving_off = Trajectory(0.0, 0.0, speed_m_s=2.0, phases=(Phase(0, -2.0), Phase(2 * NS_PER_S, 1.0)))
    state = moving_off.state_at(4 * NS_PER_S)
    assert (state.x_m, state.speed_m_s, state.braking) == (pytest.approx(1.0 + 2.0), pytest.approx(2.0), False)


def test_oncoming_traffic_moves_against_x() -> None:
    oncoming = Trajectory(50.0, 7.0, math.pi, 10.0)
    state = oncoming.state_at(2 * NS_PER_S)
    assert (state.x_m, state.y_m) == (pytest.approx(30.0), pytest.approx(7.0))


@given(
    speed=st.floats(0.0, 40.0),
    accelerations=st.lists(st.floats(-9.0, 4.0), max_size=4),
    time_ms=st.integers(0, 6000),
)
def test_position_is_the_integral_of_speed(speed: float, accelerations: list[float], time_ms: int) -> None:
    phases = tuple(Phase(k * 1300 * NS_PER_MS, a) for k, a in enumerate(accelerations))
    trajectory = Trajectory(0.0, 0.0, speed_m_s=speed, phases=phases)
    before, after = (trajectory.state_at(t * NS_PER_MS) for t in (time_ms, time_ms + 1))
    assert after.speed_m_s >= 0.0
    mean = (before.speed_m_s + after.speed_m_s) / 2
    assert after.x_m - before.x_m == pytest.approx(mean * 1e-3, abs=5e-6)
