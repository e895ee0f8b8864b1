"""Numbers of every kind in commands, and every kind of value in the arbiter's parameters."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.errors import DeploymentError
from rt_sched.messages.control import ArbiterDecision, Command, SensorView
from rt_sched.messages.e2e import E2EState, protect
from rt_sched.ports import JobContext, SensorDescription, StageContext
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, PathInput, arbitrate
from safety.arbiter_stage import Arbiter

MS = 1_000_000
NOW_NS = 4_000_000_000
SENSORS = {
    "front_wide": SensorDescription("front_wide", "camera", 33 * MS),
    "lidar_top": SensorDescription("lidar_top", "lidar", 100 * MS),
    "imu": SensorDescription("imu", "imu", 5 * MS),
}
WHOLE = [int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
NOTHING = PathInput(None, E2EState.NO_NEW_DATA)


def decided(command: Any) -> ArbiterDecision:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = ArbiterPolicy(view_age_limit_ns={"front_wide": 200 * MS}, forward_sensors=("front_wide",))
        inputs = ArbiterInputs(PathInput(command, E2EState.OK), NOTHING)
        return arbitrate(ArbiterMemory(), inputs, NOW_NS, policy)[1]


@st.composite
def numbers(draw: st.DrawFn) -> Any:
    """A whole number of some type that can hold it, or something that is none."""
    kind = draw(st.sampled_from([*WHOLE, bool, np.bool_, float, np.float32, np.longdouble, "huge", "other"]))
    if kind == "huge":
        return draw(st.sampled_from([10**30, -(10**30), 2**63, -(2**63) - 1]))
    if kind == "other":
        return draw(st.sampled_from([None, "5", np.array(5), np.array([1, 2]), np.datetime64(5, "ns"), 5 + 0j]))
    near = st.integers(NOW_NS - 10, NOW_NS + 10) | st.integers(-3, 3)
    edges = st.sampled_from([0, 1, 127, -128, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2**64 - 1])
    value = draw(near | edges)
    if kind in (bool, np.bool_, float, np.float32, np.longdouble):
        return kind(value)
    if kind is not int and not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
        return value
    return kind(value)


@settings(max_examples=150, deadline=None)
@given(numbers(), numbers(), numbers(), numbers(), st.sampled_from([True, np.True_, 1, None]))
def test_numbers_of_any_type_raise_nothing_and_leave_a_plain_command(
    stamp: Any, collision: Any, acceleration: Any, view: Any, flag: Any
) -> None:
    views = (SensorView("front_wide", view),)
    made = decided(Command(stamp, "control", 1, acceleration, False, collision, flag, views))
    assert type(made.command.capture_time_ns) is int
    assert type(made.command.acceleration_m_s2) in (int, float)
    assert -10.0 <= made.command.acceleration_m_s2 <= 4.0
    protect(made, source="arbiter.decision", counter=1, stamp_ns=0)


@pytest.mark.parametrize("whole", WHOLE)
def test_the_type_of_a_number_changes_no_decision(whole: Any) -> None:
    def wanted(number: Any) -> Command:
        views = (SensorView("front_wide", number(NOW_NS - 5) if whole in (np.int64, np.uint64, int) else NOW_NS - 5),)
        return Command(number(100), "control", number(1), number(3), False, number(7), True, views)

    assert repr(decided(wanted(whole))) == repr(decided(wanted(int)))
    if whole in (np.int64, np.uint64, int):
        fresh = Command(whole(NOW_NS - 5), "control", 1, -1.0, False, None, True, wanted(whole).views)
        assert "future" not in decided(fresh).reason
        assert decided(fresh).selected == "hold"
        assert decided(fresh).command.acceleration_m_s2 == -1.0


def started(**parameters: Any) -> Arbiter:
    stage = Arbiter(**parameters)
    stage.start(StageContext("arbiter", Path(), SENSORS))
    return stage


@pytest.mark.parametrize("parameter", ["view_age_limit_ms", "forward_sensors"])
@pytest.mark.parametrize("name", ["front_wdie", "lidar", "x", "Front_wide"])
def test_names_that_no_sensor_has_are_refused_at_start(parameter: str, name: str) -> None:
    value: Any = [name] if parameter == "forward_sensors" else {name: 89}
    with pytest.raises(DeploymentError, match=f"task arbiter: {parameter}: '{name}' is no such sensor; .*valid: "):
        started(**{parameter: value})
    with pytest.raises(DeploymentError, match="is no such sensor"):
        Arbiter(**{parameter: value}).watches(StageContext("arbiter", Path(), SENSORS))


def test_the_name_that_was_probably_meant_is_told() -> None:
    with pytest.raises(DeploymentError, match=r"did you mean 'front_wide'\? valid: front_wide, lidar_top"):
        started(forward_sensors=["front_wdie"])


def test_an_imu_does_not_look_ahead_but_may_be_watched() -> None:
    with pytest.raises(DeploymentError, match="forward_sensors: 'imu' is no such sensor"):
        started(forward_sensors=["imu"])
    assert started(view_age_limit_ms={"imu": 50}).policy.view_age_limit_ns == {"imu": 50 * MS}


any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(list(SENSORS)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=2),
    max_leaves=5,
)
PARAMETERS = sorted(Arbiter.__init__.__kwdefaults__)


@settings(max_examples=120, deadline=None)
@given(st.dictionaries(st.sampled_from(PARAMETERS), any_value, min_size=1, max_size=2))
def test_any_parameter_is_refused_by_name_or_gives_a_valid_command(parameters: dict[str, Any]) -> None:
    try:
        stage = started(**parameters)
    except (ValueError, DeploymentError) as error:
        assert any(f"{name}: " in str(error) for name in parameters)
        return
    made = stage.process(JobContext("arbiter", 0, NOW_NS, NOW_NS, NOW_NS, NOW_NS), {})["decision"]
    assert -15.0 <= made.command.acceleration_m_s2 <= 0.0
