"""Where everything lies in a segment.

a page      mark, version and length, then the channels as JSON (more pages where it is long)
control     the bells, then the ring of each channel; every process writes here
payload     the slots of each channel, from a page of their own on; only the writer's process can write there
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from rt_sched.errors import DataError, DeploymentError
from rt_sched.kernels.ring.layout import ReaderWords, RingLayout, lay_out, slots_needed, up
from rt_sched.kernels.ring.words import APART, MOST_SLOTS
from rt_sched.model.task import EdgeKind, Overflow
from rt_sched.transport.channels import Channel, ChannelReader, as_document, from_document

_MARK = b"rt-sched segment"
_VERSION = 1
_HEAD = struct.Struct("<16sII")
PAGE = mmap.ALLOCATIONGRANULARITY


@dataclass(frozen=True, slots=True)
class Place:
    """One channel in a segment: `ring` and `payload` are offsets from its beginning, `stride` is from slot to slot.

    `lock`: number of the lock that its writer holds; those of its readers follow.
    """

    channel: Channel
    ring: int
    layout: RingLayout
    words: tuple[ReaderWords, ...]
    slots: int
    payload: int
    stride: int
    lock: int

    @property
    def payload_bytes(self) -> int:
        return up(self.slots * self.stride, PAGE)


@dataclass(frozen=True, slots=True)
class Placement:
    """All of a segment. `control`: where the description ends; `bells`: name -> offset; `size`: bytes in all."""

    description: bytes
    control: int
    bells: dict[str, int]
    places: dict[str, Place]
    payload: int
    size: int


def place(channels: Sequence[Channel]) -> Placement:
    """The same for the same channels in every process."""
    document = json.dumps(as_document(channels)).encode()
    description = _HEAD.pack(_MARK, _VERSION, len(document)) + document
    control = at = up(len(description), PAGE)
    bells: dict[str, int] = {}
    for channel in channels:
        for reader in channel.readers:
            if bell_name(channel, reader) not in bells:
                bells[bell_name(channel, reader)] = at
                at += APART
    rings: list[tuple[Channel, int, RingLayout, tuple[ReaderWords, ...], int]] = []
    for channel in channels:
        words = tuple(_words(reader, bells[bell_name(channel, reader)] - at) for reader in channel.readers)
        slots = slots_needed(channel.loans, words)
        if slots > MOST_SLOTS:
            raise DeploymentError(f"channel {channel.name}: its readers need {slots} slots; at most {MOST_SLOTS}")
        layout = lay_out(slots, channel.loans, [(reader.depth, reader.pins) for reader in words])
        rings.append((channel, at, layout, words, slots))
        at += layout.size
    payload = at = up(at, PAGE)
    places: dict[str, Place] = {}
    lock = 0
    for channel, ring, layout, words, slots in rings:
        stride = up(channel.message_bytes, PAGE if channel.message_bytes >= PAGE else 64)
        places[channel.name] = Place(channel, ring, layout, words, slots, at, stride, lock)
        at += places[channel.name].payload_bytes
        lock += 1 + len(channel.readers)
    return Placement(description, control, bells, places, payload, at)


def read_description(fd: int) -> tuple[Channel, ...]:
    """The channels of the segment that is open as `fd`; DataError where it is none of ours."""
    head = os.pread(fd, _HEAD.size, 0)
    if len(head) < _HEAD.size or not head.startswith(_MARK):
        raise DataError("this memory is not a segment of rt-sched")
    _, version, length = _HEAD.unpack(head)
    if version != _VERSION:
        raise DataError(f"this segment has version {version} of its layout; this rt-sched knows version {_VERSION}")
    return from_document(json.loads(os.pread(fd, length, _HEAD.size)))


def bell_name(channel: Channel, reader: ChannelReader) -> str:
    """The bell that wakes a reader; a `/` cannot stand in the name of a task."""
    return reader.bell if reader.bell is not None else f"{channel.name}/{reader.name}"


def _words(reader: ChannelReader, bell: int) -> ReaderWords:
    register = reader.edge.kind is EdgeKind.LATEST
    return ReaderWords(
        depth=1 if register else reader.edge.depth,
        keeps=register,
        refuses=not register and reader.edge.overflow is Overflow.DROP_NEWEST,
        pins=reader.holds,
        bell=bell,
    )
