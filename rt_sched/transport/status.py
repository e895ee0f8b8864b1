"""The counters of a channel in shared memory, for supervisors and reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rt_sched.kernels.ring import words
from rt_sched.transport.placement import Place


@dataclass(frozen=True, slots=True)
class ReaderStatus:
    """`offered` = `taken` + `unread` + `lost` messages; `held`: how many of those taken are in hand."""

    name: str
    offered: int
    taken: int
    unread: int
    lost: int
    held: int


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """`published`: messages so far; `epoch`: writers so far; `slots`: places for messages."""

    name: str
    published: int
    epoch: int
    slots: int
    readers: tuple[ReaderStatus, ...]


def channel_status(at: Place, memory: np.ndarray) -> ChannelStatus:
    """Reads `memory`, int64, the control part of the segment."""

    def word(offset: int) -> int:
        return int(memory[(at.ring + offset) // words.WORD])

    readers = []
    for reader, begin in zip(at.channel.readers, at.layout.readers, strict=True):
        taken = word(begin + words.TAKEN)
        position = word(begin + words.POSITION + taken % 2 * words.WORD)
        offered = word(begin + words.OFFERED)
        unread = min(word(begin + words.PUSHED) - position, word(begin + words.DEPTH))
        pins = [word(begin + words.PINNED + pin * words.WORD) for pin in range(reader.holds)]
        held = sum(1 for pin in pins if pin)
        readers.append(ReaderStatus(reader.name, offered, taken, unread, offered - taken - unread, held))
    published = word(words.COMMIT) >> words.SLOT_BITS
    return ChannelStatus(at.channel.name, published, word(words.EPOCH), at.slots, tuple(readers))
