"""The arbiter as a stage: its limits, its E2E checks, the release, and a valid command whatever arrives."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, ReleaseRequest, SensorView
from rt_sched.messages.e2e import E2EState, protect
from rt_sched.ports import JobContext, SensorDescription, StageContext
from safety.arbiter_stage import Arbiter

MS = 1_000_000
CYCLE_NS = 33 * MS


def primary(counter: int, capture_ns: int, acceleration: float = 0.0, **changes: Any) -> Command:
    command = Command(capture_ns, "primary", counter, acceleration, False, None, True)
    return dataclasses.replace(command, **changes)


def job(number: int, now_ns: int) -> JobContext:
    return JobContext("arbiter", number, now_ns, now_ns + MS, now_ns + 2 * MS, now_ns + 33 * MS)


SOURCES = {"primary": "control.command", "backup": "backup.command", "release": "panel.release"}


def sent(path: str, command: Command | None, number: int) -> Command | None:
    return None if command is None else protect(command, source=SOURCES[path], counter=number, stamp_ns=number)


def pose(forward: float) -> tuple[tuple[float, float, float, float], ...]:
    return ((0.0, 0.0, forward, 0.0), (-1.0, 0.0, 0.0, 0.0), (0.0, -1.0, 0.0, 1.5))


def test_the_stage_takes_limits_and_forward_sensors_from_the_run() -> None:
    stage = Arbiter()
    sensors = {
        "front": SensorDescription("front", "camera", 33_333_333, sensor_to_vehicle=pose(1.0)),
        "rear": SensorDescription("rear", "camera", 33_333_333, sensor_to_vehicle=pose(-1.0)),
        "top": SensorDescription("top", "lidar", 100 * MS),
        "imu": SensorDescription("imu", "imu", 5 * MS),
    }
    stage.start(StageContext("arbiter", Path(), sensors))
    assert stage.policy.view_age_limit_ns == {"front": 199_999_999, "rear": 199_999_999, "top": 400 * MS}
    assert stage.policy.forward_sensors == ("front", "top")
    assert (stage.policy.primary_age_limit_ns, stage.policy.backup_age_limit_ns) == (200 * MS, 300 * MS)
    stage = Arbiter(command_age_limit_ms=150)
    stage.start(StageContext("arbiter", Path(), {"top": sensors["top"]}))
    assert (stage.policy.primary_age_limit_ns, stage.policy.backup_age_limit_ns) == (150 * MS, 300 * MS)


def test_the_stage_works_without_backup_and_without_sensors() -> None:
    stage = Arbiter(startup_grace_ms=100, minimal_risk_after_ms=100)
    stage.start(StageContext("arbiter", Path(), sources={"primary": SOURCES["primary"]}))
    states = []
    for k in range(12):
        now_ns = k * CYCLE_NS
        command = sent("primary", primary(k, now_ns - 10 * MS), k) if k < 6 else None
        states.append(stage.process(job(k, now_ns), {"primary": command})["decision"].state)
    assert states[2:6] == [ArbiterState.NOMINAL] * 4
    assert states[-1] is ArbiterState.MINIMAL_RISK


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"command_age_limit_ms": -1}, "command_age_limit_ms: -1 is out of range; valid: from 1 to 10000"),
        ({"recovery_commands": 0}, "recovery_commands: 0 is out of range; valid: from 1 to 1000"),
        ({"recovery_commands": 2.5}, "recovery_commands: 2.5 is not a whole number; valid: from 1 to 1000"),
        ({"max_counter_step": 0}, "max_counter_step: 0 is out of range; valid: from 1 to"),
        ({"max_rate_m_s3": 0.5}, "max_rate_m_s3: 0.5 is out of range; valid: from 1 to 100000"),
        ({"release_age_limit_ms": 0}, "release_age_limit_ms: 0 is out of range; valid: from 1 to 60000"),
        ({"view_age_limit_ms": {"top": "x"}}, "view_age_limit_ms: top: 'x' is not a number; valid: from 1 to 60000"),
        ({"minimal_risk_deceleration_m_s2": math.nan}, "minimal_risk_deceleration_m_s2: nan is not a number"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match="^" + words.replace(".", r"\.")):
        Arbiter(**parameters)  # type: ignore[arg-type]


def started(**parameters: Any) -> Arbiter:
    stage = Arbiter(**{"startup_grace_ms": 100, "minimal_risk_after_ms": 100, **parameters})
    stage.start(StageContext("arbiter", Path(), sources=SOURCES))
    return stage


def decide(stage: Arbiter, number: int, **inputs: Any) -> ArbiterDecision:
    decision = stage.process(job(number, number * CYCLE_NS), inputs)["decision"]
    assert isinstance(decision, ArbiterDecision)
    return decision


def healthy(stage: Arbiter, cycles: range) -> list[ArbiterDecision]:
    return [
        decide(stage, k, primary=sent("primary", primary(k, k * CYCLE_NS), k), backup=sent("backup", calm(k), k))
        for k in cycles
    ]


def calm(number: int) -> Command:
    return primary(number, number * CYCLE_NS, -0.5, source="backup")


def dead(stage: Arbiter, first: int) -> int:
    """Nothing arrives until MINIMAL_RISK; the next cycle's number."""
    while decide(stage, first).state is not ArbiterState.MINIMAL_RISK:
        first += 1
    return first + 1


@pytest.mark.parametrize(
    ("damage", "state"),
    [
        (lambda c: dataclasses.replace(c, acceleration_m_s2=-0.1), E2EState.ERROR),
        (lambda c: dataclasses.replace(c, header=None), E2EState.ERROR),
        (lambda c: sent("backup", dataclasses.replace(c, header=None), 5), E2EState.ERROR),
        (lambda c: sent("primary", dataclasses.replace(c, header=None), 4), E2EState.REPEATED),
        (lambda c: sent("primary", dataclasses.replace(c, header=None), 3), E2EState.WRONG_SEQUENCE),
        (lambda c: sent("primary", dataclasses.replace(c, header=None), 15), E2EState.WRONG_SEQUENCE),
    ],
    ids=["changed", "no header", "of the other path", "counter stands", "counter back", "counter far ahead"],
)
def test_a_message_that_fails_its_check_costs_trust_until_three_good_ones(damage: Any, state: E2EState) -> None:
    stage = started()
    healthy(stage, range(5))
    bad = damage(sent("primary", primary(5, 5 * CYCLE_NS), 5))
    decision = decide(stage, 5, primary=bad, backup=sent("backup", calm(5), 5))
    assert (decision.state, decision.selected) == (ArbiterState.BACKUP, "backup")
    assert {found.input: found.state for found in decision.checks}["primary"] is state
    after = [d.state for d in healthy(stage, range(6, 11))]
    # After a jump ahead the sequence goes on from there, after the others from the last intact counter.
    lost = after.index(ArbiterState.NOMINAL)
    assert 2 <= lost <= 3
    assert after == [ArbiterState.BACKUP] * lost + [ArbiterState.NOMINAL] * (5 - lost)


def test_a_damaged_emergency_is_not_carried_out_and_an_intact_one_is() -> None:
    stage = started()
    healthy(stage, range(5))
    brake = sent("backup", primary(5, 5 * CYCLE_NS, -8.0, emergency=True), 5)
    forged = dataclasses.replace(sent("backup", calm(5), 5), acceleration_m_s2=-8.0, emergency=True)  # type: ignore[type-var]
    calm_primary = sent("primary", primary(5, 5 * CYCLE_NS), 5)
    assert decide(stage, 5, primary=calm_primary, backup=forged).selected == "primary"
    assert decide(stage, 5, primary=calm_primary, backup=brake).command.emergency


def test_the_command_passed_on_carries_no_header_of_its_path() -> None:
    assert {decision.command.header for decision in healthy(started(), range(5))} == {None}


def release(number: int, age_ns: int = 0) -> ReleaseRequest:
    return protect(
        ReleaseRequest(number * CYCLE_NS - age_ns, "driver"), source=SOURCES["release"], counter=number, stamp_ns=0
    )


def test_minimal_risk_is_left_by_a_release_while_a_path_is_trusted_and_by_nothing_else() -> None:
    stage = started()
    at = dead(stage, 0)
    assert decide(stage, at, release=release(at)).state is ArbiterState.MINIMAL_RISK  # no path is trusted
    states = {d.state for d in healthy(stage, range(at + 1, at + 9))}
    assert states == {ArbiterState.MINIMAL_RISK}
    at += 9
    path = sent("primary", primary(at, at * CYCLE_NS), at)
    stale, damaged = release(at, 501 * MS), dataclasses.replace(release(at + 1), source="someone")
    for number, bad in enumerate((stale, damaged, "please", release(at, -MS))):
        assert decide(stage, at, primary=path, release=bad).state is ArbiterState.MINIMAL_RISK, number
    good = release(at + 2, 2 * CYCLE_NS)
    decision = decide(stage, at, primary=path, release=good)
    assert (decision.state, decision.selected) == (ArbiterState.DEGRADED, "primary")
    assert decide(stage, at + 1, primary=path, release=good).state is ArbiterState.NOMINAL
    at = dead(stage, at + 2)  # long after the first request the second is as good
    healthy(stage, range(at, at + 8))
    path = sent("primary", primary(at + 8, (at + 8) * CYCLE_NS), at + 8)
    assert decide(stage, at + 8, primary=path, release=release(at + 8)).state is ArbiterState.DEGRADED


def test_a_release_that_stays_in_its_register_is_good_once() -> None:
    stage = started()
    at = dead(stage, 0)
    asked = release(at)
    decide(stage, at, release=asked)
    for k in range(at, at + 6):
        path = sent("primary", primary(k, k * CYCLE_NS), k)
        assert decide(stage, k, primary=path, release=asked).state is ArbiterState.MINIMAL_RISK


# -- a valid command whatever arrives --------------------------------------------------------------------------------


class Odd:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([Odd(), "\ud800", 10**400, -(10**400), math.nan, Command, (SensorView("a", 10**30),)]),
)
fields = [field.name for field in dataclasses.fields(Command)]


@st.composite
def messages(draw: st.DrawFn, path: str, number: int) -> Any:
    """Mostly good messages of a path; else old, damaged in any field, sealed with garbage inside, or no message."""
    kind = draw(st.sampled_from(["good"] * 6 + ["none", "other", "old", "damaged", "sealed garbage"]))
    acceleration = draw(st.sampled_from([0.0, -1.0, -8.0, 2.0, 99.0]))
    command = primary(number, number * CYCLE_NS, acceleration, emergency=draw(st.booleans()))
    if kind == "none":
        return None
    if kind == "other":
        return draw(anything)
    if kind == "old":
        return sent(path, dataclasses.replace(command, capture_time_ns=draw(st.integers(-(10**9), 10**9))), number)
    if kind == "good":
        return sent(path, command, number)
    changed = dataclasses.replace(command, **{draw(st.sampled_from(fields)): draw(anything)})
    if kind == "sealed garbage":
        try:
            return sent(path, changed, number)
        except (TypeError, UnicodeError):
            return changed
    header = sent(path, command, number).header  # type: ignore[union-attr]
    return changed if changed.header is not None else dataclasses.replace(changed, header=header)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_arrives_there_is_a_valid_command_in_every_cycle(data: st.DataObject) -> None:
    stage = started()
    limits = stage.policy.limits
    before = ArbiterState.STARTING
    for k in range(data.draw(st.integers(1, 12))):
        inputs = {name: data.draw(messages(name, k)) for name in ("primary", "backup")}
        inputs["release"] = data.draw(anything)
        decision = decide(stage, k, **inputs)
        command = decision.command
        assert command.valid is True
        assert -limits.max_deceleration_m_s2 <= command.acceleration_m_s2 <= limits.max_acceleration_m_s2
        if decision.selected in ("primary", "backup"):
            state = {found.input: found.state for found in decision.checks}[decision.selected]
            assert state is not E2EState.ERROR
            assert k * CYCLE_NS - command.capture_time_ns <= 200 * MS
        assert before is not ArbiterState.MINIMAL_RISK or decision.state is ArbiterState.MINIMAL_RISK
        before = decision.state
