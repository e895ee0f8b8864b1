"""End-to-end protection of safety-relevant messages: a header that the sender adds and the receiver checks.

After AUTOSAR FO "E2E Protocol Specification", profile 7: data id, counter and length of 32 bits and a CRC-64, which
is good for messages of up to 4 MB. In addition the header names its source and the instant of sending. The checksum
is over the header's other fields and the canonical bytes of the message without its header.

What it finds: corruption (CRC), insertion and masquerade (data id, source), loss, repetition and wrong order
(counter), delay (stamp, judged by the receiver's age limits). It does not authenticate: who can compute a CRC can
send anything. For that an `Authenticator` adds a tag, where a system asks for it; then a message that is not newer than
the last one by counter and by stamp is an error too, as it may have been sent again by anybody.
"""

from __future__ import annotations

import dataclasses
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import numpy as np

from rt_sched.messages.authentication import Authenticator
from rt_sched.messages.canonical import canonical_bytes

#: The counter runs from 0 to one less and then begins again.
COUNTER_MODULUS = 1 << 32

#: By how much the counter may grow from one received message to the next, unless a receiver knows better.
MAX_COUNTER_STEP = 10

#: The field of a message type that carries the header.
HEADER_FIELD = "header"

_pack = struct.Struct("<IIIqI").pack
_pack_crc = struct.Struct("<Q").pack

Message = TypeVar("Message")


class E2EState(str, Enum):
    """What a receiver knows of the message that it has just looked at.

    OK: intact and next in sequence (some may have been lost in between, as many as the receiver allows).
    REPEATED: intact, but its counter is that of the last one. WRONG_SEQUENCE: intact, but its counter stepped back or
    too far ahead. ERROR: no header, or header and content do not belong together, or the tag is not theirs, or what
    must carry a tag is not newer than the last one. NO_NEW_DATA: none has come since.
    """

    OK = "OK"
    REPEATED = "REPEATED"
    WRONG_SEQUENCE = "WRONG_SEQUENCE"
    ERROR = "ERROR"
    NO_NEW_DATA = "NO_NEW_DATA"


@dataclass(frozen=True, slots=True)
class E2EHeader:
    """`data_id`: of the connection, from its `source`. `length`: protected bytes. `stamp_ns`: when it was sent.

    `tag`: what authenticates all of it, empty where nothing does.
    """

    data_id: int
    source: str
    counter: int
    length: int
    stamp_ns: int
    crc: int
    tag: bytes = b""


@dataclass(frozen=True, slots=True)
class E2EMemory:
    """What a receiver remembers: the header of the last intact message."""

    last: E2EHeader | None = None


def data_id_of(source: str) -> int:
    """The 32-bit data id of the connection that begins at `source` ("task.port")."""
    return zlib.crc32(source.encode("utf-8", "surrogatepass"))


def is_protectable(message: object) -> bool:
    """Whether messages of this type carry a header."""
    kind: Any = type(message)
    return _has_header(kind)


def protect(
    message: Message, *, source: str, counter: int, stamp_ns: int, authenticator: Authenticator | None = None
) -> Message:
    """`message` with a header, and a tag where `authenticator` covers its type.

    Raises TypeError for a type that carries no header or has no canonical form.
    """
    if not is_protectable(message):
        raise TypeError(f"{type(message).__name__} carries no E2E header")
    body = canonical_bytes(_bare(message))
    header = E2EHeader(
        data_id=data_id_of(source),
        source=source,
        counter=counter % COUNTER_MODULUS,
        length=len(body),
        stamp_ns=stamp_ns,
        crc=0,
    )
    sealed = dataclasses.replace(header, crc=_checksum(header, body))
    if authenticator is not None and authenticator.covers(message):
        sealed = dataclasses.replace(sealed, tag=authenticator.tag(_told(sealed), _pack_crc(sealed.crc), body))
    protected: Message = _with_header(message, sealed)
    return protected


def without_header(message: Message) -> Message:
    """`message` as it was before `protect`; anything that carries no header as it is."""
    bare: Message = _bare(message) if is_protectable(message) else message
    return bare


def check(
    message: object,
    source: str,
    memory: E2EMemory,
    *,
    is_register: bool,
    max_step: int = MAX_COUNTER_STEP,
    authenticator: Authenticator | None = None,
) -> tuple[E2EState, E2EMemory]:
    """The state of `message` (None: none is there) and the receiver's next memory. Never raises.

    `source`: from where it must come. `is_register`: the message stays readable until the next one replaces it, so
    that the same header once more is no repetition but no new data. `max_step`: largest growth of the counter.
    `authenticator`: for types that must carry a tag.
    """
    if message is None:
        return E2EState.NO_NEW_DATA, memory
    header = intact_header(message, source, authenticator)
    if header is None:
        return E2EState.ERROR, memory
    last = memory.last
    if last is None:
        return E2EState.OK, E2EMemory(header)
    if is_register and header == last:
        return E2EState.NO_NEW_DATA, memory
    step = (header.counter - last.counter) % COUNTER_MODULUS
    is_newer = 0 < step < COUNTER_MODULUS // 2 and header.stamp_ns >= last.stamp_ns
    if not is_newer and authenticator is not None and authenticator.covers(message):
        return E2EState.ERROR, memory  # what was sent before may have been kept and sent again
    if step == 0:
        return E2EState.REPEATED, E2EMemory(header)
    return E2EState.OK if step <= max_step else E2EState.WRONG_SEQUENCE, E2EMemory(header)


def intact_header(message: object, source: str, authenticator: Authenticator | None = None) -> E2EHeader | None:
    """The header of `message` if it belongs to this content and comes from `source`, else None. Never raises.

    Where `authenticator` covers the type, its tag must fit as well; elsewhere there must be none.
    """
    header = getattr(message, HEADER_FIELD, None)
    if not is_protectable(message) or not isinstance(header, E2EHeader):
        return None
    try:
        if header.source != source or header.data_id != data_id_of(source):
            return None
        body = canonical_bytes(_bare(message))
        intact = bool(header.length == len(body) and header.crc == _checksum(header, body))
        if authenticator is not None and authenticator.covers(message):
            intact &= authenticator.fits(header.tag, _told(header), _pack_crc(header.crc), body)
        else:
            intact &= isinstance(header.tag, bytes) and not header.tag
    except Exception:  # whatever a damaged value does to comparison or encoding, it is not what was sent
        return None
    return header if intact else None


def _checksum(header: E2EHeader, body: bytes) -> int:
    from rt_sched.kernels.crc import crc64

    return int(crc64(np.frombuffer(_told(header) + body, np.uint8)))


def _told(header: E2EHeader) -> bytes:
    """What a header says, but for what protects it."""
    source = header.source.encode()
    return _pack(header.data_id, header.counter, header.length, header.stamp_ns, len(source)) + source


def _bare(message: Any) -> Any:
    return _with_header(message, None)


def _with_header(message: Any, header: E2EHeader | None) -> Any:
    replaced: Callable[..., Any] = dataclasses.replace
    return replaced(message, **{HEADER_FIELD: header})


@cache
def _has_header(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) and any(field.name == HEADER_FIELD for field in dataclasses.fields(kind))
