"""How large a ring is, and how its unchanging words are filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.kernels.ring import words


@dataclass(frozen=True, slots=True)
class ReaderWords:
    """What the words of a reader say: the length of its list, what a full one does, how many messages it may hold.

    `bell`: offset of its bell from the ring, in bytes.
    """

    depth: int
    keeps: bool
    refuses: bool
    pins: int
    bell: int


@dataclass(frozen=True, slots=True)
class RingLayout:
    """Offsets from the ring, in bytes."""

    readers: tuple[int, ...]
    headers: int
    size: int


def up(size: int, multiple: int) -> int:
    """`size` rounded up to a multiple of `multiple`."""
    return -(-size // multiple) * multiple


def lay_out(slots: int, loans: int, depths_and_pins: Sequence[tuple[int, int]]) -> RingLayout:
    """A ring with a reader for each pair of list length and pins."""
    at = up(words.LOANED + loans * words.WORD, words.APART)
    readers = []
    for depth, pins in depths_and_pins:
        readers.append(at)
        at += _list_offset(pins) + up((depth + 1) * words.WORD, words.APART)
    return RingLayout(tuple(readers), at, up(at + slots * words.HEADER, words.APART))


def fill_in(memory: np.ndarray, slots: int, loans: int, readers: Sequence[ReaderWords]) -> RingLayout:
    """Writes the unchanging words into `memory`, int64[size / 8] from the ring on, all zero so far."""
    layout = lay_out(slots, loans, [(reader.depth, reader.pins) for reader in readers])

    def put(at: int, value: int) -> None:
        memory[at // words.WORD] = value

    put(words.SLOTS, slots)
    put(words.LOANS, loans)
    put(words.HEADERS, layout.headers)
    first, *others = (*layout.readers, 0)
    put(words.FIRST_READER, first)
    for reader, at, following in zip(readers, layout.readers, others, strict=True):
        put(at + words.DEPTH, reader.depth)
        put(at + words.KEEPS, reader.keeps)
        put(at + words.REFUSES, reader.refuses)
        put(at + words.PINS, reader.pins)
        put(at + words.BELL, reader.bell)
        put(at + words.NEXT_READER, following)
        put(at + words.LIST, _list_offset(reader.pins))
    return layout


def slots_needed(loans: int, readers: Sequence[ReaderWords]) -> int:
    """With so many slots the writer always finds a free one, whatever readers do and where they die.

    Lists that forget their oldest messages name the same newest ones; a list that refuses may name others.
    """
    listed = max((reader.depth for reader in readers if not reader.refuses), default=0)
    return loans + listed + sum(reader.pins + reader.depth * reader.refuses for reader in readers)


def _list_offset(pins: int) -> int:
    return up(words.PINNED + pins * words.WORD, words.APART)
