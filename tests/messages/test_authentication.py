"""Authenticated messages: nothing but what the sender made, once, and no older than what came before, is good."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.messages import ArbiterDecision, ArbiterState, Authenticator, Command, ReleaseRequest, SensorView
from rt_sched.messages.canonical import canonical_bytes
from rt_sched.messages.e2e import COUNTER_MODULUS, E2EHeader, E2EMemory, E2EState, check, intact_header, protect

KEY = bytes(range(32))
SOURCE = "control.command"
TYPES = frozenset({"Command", "ArbiterDecision", "ReleaseRequest"})
KEYED = Authenticator(KEY, TYPES)
COMMAND = Command(5, "primary", 7, -1.5, True, 900, True, (SensorView("front", 4),))
MESSAGES = (
    COMMAND,
    ReleaseRequest(3, "panel"),
    ArbiterDecision(5, 6, ArbiterState.NOMINAL, "primary", COMMAND, "why", ("rear",)),
)


def sent(message: Any = COMMAND, counter: int = 7, stamp_ns: int = 70, by: Authenticator | None = KEYED) -> Any:
    return protect(message, source=SOURCE, counter=counter, stamp_ns=stamp_ns, authenticator=by)


def states(*messages: Any, by: Authenticator | None = KEYED) -> list[E2EState]:
    memory, found = E2EMemory(), []
    for message in messages:
        state, memory = check(message, SOURCE, memory, is_register=True, authenticator=by)
        found.append(state)
    return found


def crc_is_made_to_fit(message: Any) -> Any:
    """As one would who can compute a checksum and has no key: the old tag is kept."""
    header = message.header
    forged = protect(
        dataclasses.replace(message, header=None),
        source=header.source,
        counter=header.counter,
        stamp_ns=header.stamp_ns,
    )
    return dataclasses.replace(forged, header=dataclasses.replace(forged.header, tag=header.tag))


def test_the_tag_is_the_hmac_of_header_and_content() -> None:
    """RFC 2104 written out: H(key xor opad, H(key xor ipad, text))."""
    header = sent().header
    text = b"rt-sched message 1\0"
    text += b"".join(
        value.to_bytes(size, "little", signed=signed)
        for value, size, signed in (
            (header.data_id, 4, False),
            (header.counter, 4, False),
            (header.length, 4, False),
            (header.stamp_ns, 8, True),
            (len(SOURCE), 4, False),
        )
    )
    text += SOURCE.encode() + header.crc.to_bytes(8, "little")
    text += canonical_bytes(COMMAND)
    padded = KEY + bytes(32)
    inner, outer = (bytes(byte ^ pad for byte in padded) for pad in (0x36, 0x5C))
    assert header.tag == hashlib.sha256(outer + hashlib.sha256(inner + text).digest()).digest()
    assert len(header.tag) * 8 == 256


def test_hmac_sha256_is_that_of_rfc_4231() -> None:
    """Test case 2, keyed hash of the library underneath."""
    assert hmac.digest(b"Jefe", b"what do ya want for nothing?", "sha256").hex().startswith("5bdcc146bf60754e")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_what_was_sent_is_good_and_the_same_without_header(message: Any) -> None:
    assert states(sent(message)) == [E2EState.OK]
    assert dataclasses.replace(sent(message), header=None) == message
    assert sent(message, by=None).header.tag == b""
    assert states(sent(message, by=None), by=None) == [E2EState.OK]


def altered_fields(message: Any) -> Iterator[Any]:
    """One bit, or one step, of every field changed, header apart."""
    for one in dataclasses.fields(message):
        value = getattr(message, one.name)
        if one.name == "header":
            continue
        if isinstance(value, bool):
            changed: list[Any] = [not value]
        elif isinstance(value, ArbiterState):
            changed = [state for state in ArbiterState if state is not value]
        elif isinstance(value, int):
            changed = [value ^ (1 << bit) for bit in range(63)]
        elif isinstance(value, float):
            changed = [-value, value * 2, value + 2**-40]
        elif isinstance(value, str):
            changed = [value[:k] + chr(ord(value[k]) ^ 1) + value[k + 1 :] for k in range(len(value))] + [value + " "]
        elif dataclasses.is_dataclass(value):
            changed = list(altered_fields(value))
        else:
            changed = [(*value, *value)] if value else [("x",)]
        yield from (dataclasses.replace(message, **{one.name: other}) for other in changed)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: type(one).__name__)
def test_every_altered_bit_of_any_field_is_an_error_even_with_a_checksum_that_fits(message: Any) -> None:
    good = sent(message)
    count = 0
    for altered in altered_fields(good):
        forged = crc_is_made_to_fit(altered)
        bare = dataclasses.replace(forged, header=dataclasses.replace(forged.header, tag=b""))
        assert states(bare, by=None) == [E2EState.OK], "the checksum alone finds nothing"
        assert states(altered) == [E2EState.ERROR], altered
        assert states(forged) == [E2EState.ERROR], forged
        count += 1
    assert count > 60


def test_every_altered_bit_of_the_header_is_an_error() -> None:
    good = sent()
    header: E2EHeader = good.header
    for name, bits in (("data_id", 32), ("counter", 32), ("length", 32), ("stamp_ns", 63), ("crc", 64)):
        for bit in range(bits):
            other = dataclasses.replace(header, **{name: getattr(header, name) ^ (1 << bit)})
            assert states(dataclasses.replace(good, header=other)) == [E2EState.ERROR], (name, bit)
    for bit in range(256):
        tag = bytearray(header.tag)
        tag[bit // 8] ^= 1 << bit % 8
        assert states(dataclasses.replace(good, header=dataclasses.replace(header, tag=bytes(tag)))) == [E2EState.ERROR]
    # A counter or a stamp of another message, with a checksum that fits.
    for other in (sent(counter=8, by=None), sent(stamp_ns=71, by=None)):
        stolen = dataclasses.replace(other, header=dataclasses.replace(other.header, tag=header.tag))
        assert states(stolen) == [E2EState.ERROR]


@pytest.mark.parametrize("tag", [b"", b"x", bytes(32), bytes(16), bytes(33), None, "tag", 5])
def test_what_is_no_tag_of_it_is_an_error_and_raises_nothing(tag: Any) -> None:
    good = sent()
    assert states(dataclasses.replace(good, header=dataclasses.replace(good.header, tag=tag))) == [E2EState.ERROR]


def test_a_truncated_tag_is_no_tag() -> None:
    good = sent()
    for length in range(32):
        cut = dataclasses.replace(good.header, tag=good.header.tag[:length])
        assert intact_header(dataclasses.replace(good, header=cut), SOURCE, KEYED) is None


@given(st.binary(min_size=32, max_size=80))
def test_another_key_never_fits(key: bytes) -> None:
    other = Authenticator(key, TYPES)
    assert (states(sent(by=other)) == [E2EState.OK]) == (key.rstrip(b"\0") == KEY.rstrip(b"\0"))


def test_another_source_is_an_error_whoever_made_it() -> None:
    foreign = protect(COMMAND, source="backup.command", counter=7, stamp_ns=70, authenticator=KEYED)
    assert states(foreign) == [E2EState.ERROR]
    assert states(dataclasses.replace(foreign, header=dataclasses.replace(foreign.header, source=SOURCE))) == [
        E2EState.ERROR
    ]


def test_a_message_of_another_type_with_the_same_tag_is_an_error() -> None:
    release = sent(ReleaseRequest(3, "panel"))
    moved = dataclasses.replace(COMMAND, header=release.header)
    assert states(moved) == [E2EState.ERROR]


def test_what_comes_again_or_out_of_order_is_an_error_and_what_is_lost_is_not() -> None:
    one, two, three, later = (sent(counter=number, stamp_ns=10 * number) for number in (1, 2, 3, 90))
    assert states(one, two, two, one, three) == [
        E2EState.OK,
        E2EState.OK,
        E2EState.NO_NEW_DATA,
        E2EState.ERROR,
        E2EState.OK,
    ]
    assert states(three, one, two) == [E2EState.OK, E2EState.ERROR, E2EState.ERROR]
    assert states(one, three) == [E2EState.OK, E2EState.OK]
    assert states(one, later) == [E2EState.OK, E2EState.WRONG_SEQUENCE]
    # Without a key the same is no more than a wrong sequence, as before.
    bare = [sent(counter=number, stamp_ns=10 * number, by=None) for number in (3, 1)]
    assert states(*bare, by=None) == [E2EState.OK, E2EState.WRONG_SEQUENCE]


def test_the_same_counter_or_an_older_stamp_is_an_error() -> None:
    assert states(sent(counter=4, stamp_ns=40), sent(counter=4, stamp_ns=41))[1] is E2EState.ERROR
    assert states(sent(counter=4, stamp_ns=40), sent(counter=5, stamp_ns=39))[1] is E2EState.ERROR
    assert states(sent(counter=4, stamp_ns=40), sent(counter=5, stamp_ns=40))[1] is E2EState.OK


def test_the_counter_may_begin_anew() -> None:
    assert states(sent(counter=COUNTER_MODULUS - 1), sent(counter=0)) == [E2EState.OK, E2EState.OK]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_a_replayed_message_is_never_good(order: list[int]) -> None:
    """Of messages in any order, each is good only where it is newer than every good one before it."""
    messages = [sent(counter=number, stamp_ns=10 * number) for number in range(13)]
    newest, wanted = -1, []
    for number in order:
        wanted.append(number > newest)
        newest = max(newest, number)
    good = [state in (E2EState.OK, E2EState.WRONG_SEQUENCE) for state in states(*[messages[k] for k in order])]
    assert good == wanted


def test_types_that_are_not_covered_need_no_tag() -> None:
    only = Authenticator(KEY, frozenset({"ReleaseRequest"}))
    assert sent(by=only).header.tag == b""
    assert states(sent(by=None), by=only) == [E2EState.OK]
    assert states(sent(ReleaseRequest(3, "panel"), by=None), by=only) == [E2EState.ERROR]


def test_a_tag_that_nobody_asked_for_is_an_error() -> None:
    assert states(sent(), by=None) == [E2EState.ERROR]


def test_the_key_is_not_shown() -> None:
    assert KEY.hex() not in repr(KEYED)
    assert str(KEY) not in repr(KEYED)
