"""E2E protection: the checksum's known answers, every receiver state, and that no change goes unseen."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched.kernels.crc import crc64
from rt_sched.messages.control import ArbiterDecision, ArbiterState, Command, ReleaseRequest, SensorView
from rt_sched.messages.e2e import (
    COUNTER_MODULUS,
    E2EHeader,
    E2EMemory,
    E2EState,
    check,
    data_id_of,
    intact_header,
    protect,
    without_header,
)
from rt_sched.messages.sensor import ImuSample

SOURCE = "decide.command"


def command(**changes: Any) -> Command:
    plain = Command(
        capture_time_ns=123,
        source="primary",
        counter=4,
        acceleration_m_s2=-1.5,
        emergency=False,
        time_to_collision_ns=None,
        valid=True,
        views=(SensorView("front", 100), SensorView("top", 120)),
    )
    return dataclasses.replace(plain, **changes)


def sent(counter: int, **changes: Any) -> Command:
    return protect(command(**changes), source=SOURCE, counter=counter, stamp_ns=1000 + counter)


def states(*messages: object, is_register: bool = True, max_step: int = 3) -> list[E2EState]:
    memory, found = E2EMemory(), []
    for message in messages:
        state, memory = check(message, SOURCE, memory, is_register=is_register, max_step=max_step)
        found.append(state)
    return found


def by_long_division(data: bytes) -> int:
    """CRC-64/ECMA-182, reflected, bit by bit."""
    remainder = 2**64 - 1
    for byte in data:
        remainder ^= byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0xC96C5795D7870F42 if remainder & 1 else 0)
    return remainder ^ (2**64 - 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"123456789", 0x995DC9BBDF1939FA), (b"", 0)],
)
def test_known_checksums(data: bytes, expected: int) -> None:
    assert int(crc64(np.frombuffer(data, np.uint8))) == expected


@given(st.binary(max_size=64))
@settings(max_examples=50, deadline=None)
def test_the_checksum_is_that_of_long_division(data: bytes) -> None:
    assert int(crc64(np.frombuffer(data, np.uint8))) == by_long_division(data)


def test_the_header_says_what_was_sent() -> None:
    header = sent(7).header
    assert header is not None
    assert (header.data_id, header.source, header.counter, header.stamp_ns) == (data_id_of(SOURCE), SOURCE, 7, 1007)
    assert without_header(sent(7)) == command()
    wrapped = sent(COUNTER_MODULUS + 2).header
    assert wrapped is not None
    assert wrapped.counter == 2


OK, REPEATED, WRONG, ERROR, NONE = E2EState


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([None, sent(0), sent(1), sent(2)], [NONE, OK, OK, OK]),
        ([sent(5), sent(8), sent(12)], [OK, OK, WRONG]),
        ([sent(5), sent(12), sent(13)], [OK, WRONG, OK]),
        ([sent(5), sent(4), sent(5)], [OK, WRONG, OK]),
        ([sent(5), sent(5), None, sent(6)], [OK, NONE, NONE, OK]),
        ([sent(5), sent(5, acceleration_m_s2=-2.0)], [OK, REPEATED]),
        ([sent(COUNTER_MODULUS - 1), sent(0), sent(COUNTER_MODULUS - 1)], [OK, OK, WRONG]),
        ([command(), sent(1)], [ERROR, OK]),
        ([protect(command(), source="backup.command", counter=0, stamp_ns=0), sent(1)], [ERROR, OK]),
        ([sent(1), dataclasses.replace(sent(2), emergency=True), sent(3)], [OK, ERROR, OK]),
    ],
)
def test_receiver_states(messages: list[object], expected: list[E2EState]) -> None:
    assert states(*messages) == expected


def test_on_a_queue_the_same_message_once_more_is_a_repetition() -> None:
    assert states(sent(5), sent(5), is_register=False) == [OK, REPEATED]


def test_a_register_that_is_damaged_after_it_was_read_is_an_error() -> None:
    assert states(sent(5), dataclasses.replace(sent(5), acceleration_m_s2=3.0)) == [OK, ERROR]


_CHANGES: dict[str, Any] = {
    "capture_time_ns": 124,
    "source": "primarx",
    "counter": 5,
    "acceleration_m_s2": -1.5000000000000002,
    "emergency": True,
    "time_to_collision_ns": 0,
    "valid": False,
    "views": (SensorView("front", 100), SensorView("top", 121)),
}


def test_every_field_of_a_command_is_protected() -> None:
    fields = {field.name for field in dataclasses.fields(Command)} - {"header"}
    assert fields == set(_CHANGES)
    for name, value in _CHANGES.items():
        assert intact_header(dataclasses.replace(sent(3), **{name: value}), SOURCE) is None, name


def test_every_field_of_the_header_is_protected() -> None:
    header = sent(3).header
    assert header is not None
    changes: dict[str, Any] = {
        "data_id": 1,
        "source": "x",
        "counter": 4,
        "length": 1,
        "stamp_ns": 0,
        "crc": 1,
        "tag": b"x",
    }
    assert set(changes) == {field.name for field in dataclasses.fields(E2EHeader)}
    for name, value in changes.items():
        damaged = dataclasses.replace(sent(3), header=dataclasses.replace(header, **{name: value}))
        assert intact_header(damaged, SOURCE) is None, name


class Odd:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]


looped: list[object] = []
looped.append(looped)
garbage = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=4),
    st.sampled_from([Odd(), looped, "\ud800", 10**400, np.array([object()]), np.zeros(2, ">i4"), Command]),
)


@given(st.sampled_from(sorted(_CHANGES)), garbage, garbage)
@settings(max_examples=150, deadline=None)
def test_garbage_is_an_error_and_never_an_exception(name: str, value: object, other: object) -> None:
    found = check(dataclasses.replace(sent(3), **{name: value}), SOURCE, E2EMemory(), is_register=True)[0]
    assert found is E2EState.ERROR or repr(value) == repr(getattr(command(), name))
    assert check(other, SOURCE, E2EMemory(), is_register=True)[0] is (NONE if other is None else ERROR)
    header = sent(3).header
    assert header is not None
    for field in dataclasses.fields(E2EHeader):
        damaged = dataclasses.replace(header, **{field.name: value})
        state, _ = check(dataclasses.replace(sent(3), header=damaged), SOURCE, E2EMemory(), is_register=True)
        assert state is E2EState.ERROR or repr(value) == repr(getattr(header, field.name))


def test_what_carries_no_header_cannot_be_protected() -> None:
    sample = ImuSample(0, "imu", np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match="ImuSample carries no E2E header"):
        protect(sample, source=SOURCE, counter=0, stamp_ns=0)
    assert without_header(sample) is sample


@pytest.mark.parametrize(
    "message",
    [
        ReleaseRequest(5, "driver"),
        ArbiterDecision(1, 2, ArbiterState.NOMINAL, "primary", command(), "because", ("front",)),
    ],
    ids=lambda message: type(message).__name__,
)
def test_other_messages_of_the_safety_path_are_protected_too(message: Any) -> None:
    whole = protect(message, source=SOURCE, counter=1, stamp_ns=2)
    assert intact_header(whole, SOURCE) == whole.header
    assert intact_header(dataclasses.replace(whole, capture_time_ns=99), SOURCE) is None
