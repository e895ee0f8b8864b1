"""The arbiter: hand-worked time lines, then properties over random command streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, SensorView
from rt_sched.messages.e2e import E2EState
from safety.arbiter import ArbiterInputs, ArbiterMemory, ArbiterPolicy, PathInput, arbitrate

Stream = list[tuple[int, Command | None, Command | None]]

MS = 1_000_000
CYCLE_NS = 33 * MS
POLICY = ArbiterPolicy(
    primary_age_limit_ns=200 * MS,
    backup_age_limit_ns=300 * MS,
    view_age_limit_ns={"front": 200 * MS, "top": 400 * MS},
    forward_sensors=("front", "top"),
    startup_grace_ns=500 * MS,
    minimal_risk_after_ns=300 * MS,
    recovery_commands=3,
)


def primary(counter: int, capture_ns: int, acceleration: float = 0.0, **changes: object) -> Command:
    command = Command(
        capture_time_ns=capture_ns,
        source="primary",
        counter=counter,
        acceleration_m_s2=acceleration,
        emergency=False,
        time_to_collision_ns=None,
        valid=True,
        views=(SensorView("front", capture_ns), SensorView("top", capture_ns)),
    )
    return replace(command, **changes)  # type: ignore[arg-type]


def backup(counter: int, capture_ns: int, acceleration: float = -0.5, **changes: object) -> Command:
    return primary(counter, capture_ns, acceleration, **{"source": "backup", "views": (), **changes})


class Link:
    """The receiving end of one path: what an ideal sender's header would say of each command."""

    def __init__(self) -> None:
        self.last: Command | None = None

    def receive(self, command: Command | None) -> PathInput:
        last = self.last
        if command is None:
            return PathInput(None, E2EState.NO_NEW_DATA)
        self.last = command
        if last is None or command.counter > last.counter:
            return PathInput(command, E2EState.OK)
        if command is last:
            return PathInput(command, E2EState.NO_NEW_DATA)
        repeated = command.counter == last.counter
        return PathInput(command, E2EState.REPEATED if repeated else E2EState.WRONG_SEQUENCE)


def run(stream: Sequence[tuple[int, Command | None, Command | None]]) -> list[ArbiterDecision]:
    memory, decisions, links = ArbiterMemory(), [], (Link(), Link())
    for now_ns, first, second in stream:
        inputs = ArbiterInputs(links[0].receive(first), links[1].receive(second))
        memory, decision = arbitrate(memory, inputs, now_ns, POLICY)
        decisions.append(decision)
    return decisions


def healthy(cycles: range) -> Stream:
    return [(k * CYCLE_NS, primary(k, k * CYCLE_NS - 30 * MS), backup(k, k * CYCLE_NS - 40 * MS)) for k in cycles]


def test_three_good_commands_end_the_start() -> None:
    states = [decision.state for decision in run(healthy(range(5)))]
    assert states == [ArbiterState.STARTING] * 2 + [ArbiterState.NOMINAL] * 3


def test_a_command_that_is_only_read_again_earns_no_trust() -> None:
    once = primary(1, 0)
    stream = [(k * 10 * MS, once, None) for k in range(10)]
    assert {decision.state for decision in run(stream)} == {ArbiterState.STARTING}


def test_silence_from_the_start_becomes_minimal_risk_after_grace_and_limit() -> None:
    stream = [(k * 100 * MS, None, None) for k in range(10)]
    decisions = run(stream)
    states = [decision.state for decision in decisions]
    assert states[:5] == [ArbiterState.STARTING] * 5
    assert states[5:8] == [ArbiterState.DEGRADED] * 3
    assert states[8:] == [ArbiterState.MINIMAL_RISK] * 2
    assert decisions[8].command.acceleration_m_s2 == -POLICY.minimal_risk_deceleration_m_s2
    assert decisions[9].stale_sensors == ("front", "top")


def test_a_silent_primary_hands_over_to_the_backup_and_back_after_three() -> None:
    stream = healthy(range(20))
    last = stream[4][1]
    stream[5:14] = [(now, last, second) for now, _, second in stream[5:14]]
    states = [decision.state for decision in run(stream)]
    # Captured at 102 ms, the command of cycle 4 is older than 200 ms from cycle 10 (330 ms) on.
    assert states[9] in (ArbiterState.NOMINAL, ArbiterState.DEGRADED)
    assert states[10:16] == [ArbiterState.BACKUP] * 6
    assert states[16:] == [ArbiterState.NOMINAL] * 4


def test_a_stale_camera_degrades_but_does_not_take_the_primary_path_away() -> None:
    stream = healthy(range(20))
    for k in range(8, 20):
        now_ns, first, second = stream[k]
        assert first is not None
        views = (SensorView("front", 7 * CYCLE_NS), SensorView("top", first.capture_time_ns))
        stream[k] = (now_ns, replace(first, views=views), second)
    decisions = run(stream)
    # 231 ms + 200 ms limit: stale after 431 ms, cycle 14 (462 ms) is the first.
    assert [d.state for d in decisions[12:15]] == [ArbiterState.NOMINAL] * 2 + [ArbiterState.DEGRADED]
    assert decisions[14].stale_sensors == ("front",)
    assert {d.selected for d in decisions[3:]} == {"primary"}


def test_a_primary_path_that_sees_nothing_ahead_is_not_accepted() -> None:
    stream = healthy(range(30))
    for k in range(5, 30):
        now_ns, first, second = stream[k]
        assert first is not None
        views = (SensorView("front", 0), SensorView("top", 0), SensorView("rear", first.capture_time_ns))
        stream[k] = (now_ns, replace(first, views=views), second)
    decisions = run(stream)
    assert decisions[12].state is ArbiterState.DEGRADED  # the LiDAR's limit of 400 ms has not passed
    assert decisions[13].state is ArbiterState.BACKUP  # 429 ms


def test_a_view_stamped_in_the_future_is_stale() -> None:
    stream = healthy(range(6))
    now_ns, first, second = stream[5]
    assert first is not None
    views = (SensorView("front", now_ns + 10**12), SensorView("top", first.capture_time_ns))
    stream[5] = (now_ns, replace(first, views=views), second)
    assert run(stream)[5].stale_sensors == ("front",)


def test_emergency_of_the_backup_outranks_a_calm_primary_at_once() -> None:
    stream = healthy(range(6))
    now_ns, first, _ = stream[5]
    brake = backup(5, now_ns - 40 * MS, -8.0, emergency=True, time_to_collision_ns=1_000 * MS)
    stream[5] = (now_ns, first, brake)
    decision = run(stream)[5]
    assert (decision.state, decision.selected, decision.command) == (ArbiterState.NOMINAL, "backup", brake)
    assert "emergency" in decision.reason


def test_emergency_is_carried_out_while_starting_and_in_minimal_risk() -> None:
    brake = primary(1, 0, -8.0, emergency=True)
    starting = run([(10 * MS, brake, None)])[0]
    assert (starting.state, starting.command) == (ArbiterState.STARTING, brake)
    lost = [(k * 100 * MS, None, None) for k in range(10)]
    risk = run([*lost, (1_000 * MS, primary(1, 990 * MS, -8.0, emergency=True), None)])[-1]
    assert (risk.state, risk.command.acceleration_m_s2, risk.selected) == (ArbiterState.MINIMAL_RISK, -8.0, "primary")


def test_a_weaker_emergency_does_not_loosen_the_brake() -> None:
    lost = [(k * 100 * MS, None, None) for k in range(10)]
    risk = run([*lost, (1_000 * MS, primary(1, 990 * MS, -2.0, emergency=True), None)])[-1]
    assert (risk.command.acceleration_m_s2, risk.selected) == (-4.0, "minimal_risk")


def test_with_both_paths_lost_the_last_brake_request_is_held_but_no_acceleration() -> None:
    stream = healthy(range(6))
    now_ns, first, second = stream[5]
    assert first is not None
    stream[5] = (now_ns, replace(first, acceleration_m_s2=-3.0), second)
    held = run([*stream, (6 * CYCLE_NS, None, None)])[-1]
    assert (held.state, held.selected, held.command.acceleration_m_s2) == (ArbiterState.DEGRADED, "hold", -3.0)
    stream[5] = (now_ns, replace(first, acceleration_m_s2=2.0), second)
    assert run([*stream, (6 * CYCLE_NS, None, None)])[-1].command.acceleration_m_s2 == 0.0


@pytest.mark.parametrize(
    "changes",
    [
        {"valid": False},
        {"acceleration_m_s2": math.nan},
        {"acceleration_m_s2": -50.0},
        {"acceleration_m_s2": 4.1},
        {"emergency": True},
        {"time_to_collision_ns": -1},
        {"counter": 0},
        {"counter": 4},
        {"capture_time_ns": 6 * CYCLE_NS},
        {"capture_time_ns": -CYCLE_NS},
    ],
    ids=lambda changes: "-".join(f"{k}={v}" for k, v in changes.items()),
)
def test_one_implausible_primary_command_costs_its_trust(changes: dict[str, object]) -> None:
    stream = healthy(range(9))
    now_ns, first, second = stream[5]
    assert first is not None
    stream[5] = (now_ns, replace(first, **changes), second)  # type: ignore[arg-type]
    states = [decision.state for decision in run(stream)]
    assert states[4:7] == [ArbiterState.NOMINAL, ArbiterState.BACKUP, ArbiterState.BACKUP]


def test_time_that_steps_back_starts_again_but_keeps_minimal_risk() -> None:
    again = run([*healthy(range(5)), *healthy(range(2))])
    assert [d.state for d in again[-2:]] == [ArbiterState.STARTING] * 2
    lost = [(k * 100 * MS, None, None) for k in range(10)]
    assert run([*lost, *healthy(range(5))])[-1].state is ArbiterState.MINIMAL_RISK


# -- properties ------------------------------------------------------------------------------------------------------

commands = st.one_of(
    st.none(),
    st.builds(
        Command,
        capture_time_ns=st.integers(-600, 100).map(lambda ms: ms * MS),
        source=st.just("x"),
        counter=st.integers(-1, 1),
        acceleration_m_s2=st.one_of(st.floats(-12, 6), st.sampled_from([math.nan, math.inf, -math.inf])),
        emergency=st.booleans(),
        time_to_collision_ns=st.one_of(st.none(), st.integers(-1, 10**10)),
        valid=st.sampled_from([True, True, True, False]),
        views=st.lists(
            st.builds(SensorView, st.sampled_from(["front", "top"]), st.integers(-600, 100).map(lambda ms: ms * MS)),
            max_size=3,
        ).map(tuple),
    ),
)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Stretches of healthy cycles with anything in between; capture stamps and counters are relative to the cycle."""
    stream: Stream = []
    for _ in range(draw(st.integers(1, 4))):
        for _ in range(draw(st.integers(0, 6))):
            k = len(stream)
            stream.extend(healthy(range(k, k + 1)))
        for _ in range(draw(st.integers(0, 8))):
            k = len(stream)
            pair = []
            for _ in range(2):
                command = draw(commands)
                if command is not None:
                    views = tuple(SensorView(v.sensor, v.capture_time_ns + k * CYCLE_NS) for v in command.views)
                    command = replace(
                        command,
                        capture_time_ns=command.capture_time_ns + k * CYCLE_NS,
                        counter=command.counter + k,
                        views=views,
                    )
                pair.append(command)
            stream.append((k * CYCLE_NS, pair[0], pair[1]))
    return stream


@given(streams())
@settings(max_examples=120, deadline=None)
def test_the_command_is_always_valid_and_never_a_stale_or_broken_one(stream: Stream) -> None:
    for (now_ns, first, second), decision in zip(stream, run(stream), strict=True):
        command = decision.command
        assert command.valid
        limits = POLICY.limits
        assert -limits.max_deceleration_m_s2 <= command.acceleration_m_s2 <= limits.max_acceleration_m_s2
        assert decision.decided_at_ns == now_ns
        if decision.selected == "primary":
            assert command is first
            assert now_ns - command.capture_time_ns <= POLICY.primary_age_limit_ns
        elif decision.selected == "backup":
            assert command is second
            assert now_ns - command.capture_time_ns <= POLICY.backup_age_limit_ns
        else:
            assert command.source == "arbiter"
            assert command.acceleration_m_s2 <= 0.0


@given(streams())
@settings(max_examples=120, deadline=None)
def test_minimal_risk_is_never_left(stream: Stream) -> None:
    # Two seconds of silence reach it, whatever came before.
    silence = [((len(stream) + k) * CYCLE_NS, None, None) for k in range(60)]
    after = healthy(range(len(stream) + 60, len(stream) + 80))
    states = [decision.state for decision in run([*stream, *silence, *after])]
    first = states.index(ArbiterState.MINIMAL_RISK)
    assert set(states[first:]) == {ArbiterState.MINIMAL_RISK}


@given(streams())
@settings(max_examples=120, deadline=None)
def test_no_path_drives_before_enough_good_commands_unless_it_brakes_in_emergency(stream: Stream) -> None:
    decisions = run(stream)
    for index, decision in enumerate(decisions):
        if decision.selected in ("primary", "backup") and not decision.command.emergency:
            counters: list[int] = []
            for _, first, second in stream[index::-1]:
                command = first if decision.selected == "primary" else second
                if command is None or not command.valid or (counters and command.counter > counters[-1]):
                    break
                if not counters or command.counter != counters[-1]:
                    counters.append(command.counter)
            assert len(counters) >= POLICY.recovery_commands


@given(streams())
@settings(max_examples=100, deadline=None)
def test_an_acceptable_emergency_is_never_softened(stream: Stream) -> None:
    k = len(stream)
    now_ns = k * CYCLE_NS
    brake = backup(0, now_ns, -8.0, emergency=True)
    decision = run([*stream, (now_ns, primary(k + 5, now_ns, 1.0), brake)])[-1]
    assert decision.command.acceleration_m_s2 <= -8.0


@given(streams())
@settings(max_examples=30, deadline=None)
def test_it_is_a_pure_function(stream: Stream) -> None:
    assert repr(run(stream)) == repr(run(stream))
