"""Where the messages of a recording lie: its blocks, and an index of all messages in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


@dataclass(slots=True)
class Block:
    """One compressed chunk, or a run of loose message records.

    `offset`, `end`: file positions of the record or run. `data_offset`, `data_size`: the stored bytes.
    `uncompressed_size`, `crc`: as the file states, 0 where it does not. `index_end`: end of the index records that
    follow, which tell how many messages a damaged chunk had. `truncated`: the file ends inside it.
    """

    offset: int
    end: int
    data_offset: int
    data_size: int
    compression: str = ""
    uncompressed_size: int = 0
    crc: int = 0
    index_end: int = 0
    truncated: bool = False


class BlockDamage(Exception):
    """A part of the file cannot be read: why, and the file position."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


class RawMessage(NamedTuple):
    """Where a message lies: its channel, log time, and the bounds of its data inside the block."""

    channel_id: int
    log_time_ns: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Messages in file order, int64[n] each; `order` lists them by (log time, file order)."""

    log_time_ns: npt.NDArray[np.int64]
    channel_id: npt.NDArray[np.int64]
    block: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]


@dataclass(slots=True)
class IndexBuilder:
    """Takes the messages of a file block by block."""

    log_time_ns: list[npt.NDArray[np.int64]] = field(default_factory=list)
    channel_id: list[npt.NDArray[np.int64]] = field(default_factory=list)
    block: list[npt.NDArray[np.int64]] = field(default_factory=list)
    start: list[npt.NDArray[np.int64]] = field(default_factory=list)
    end: list[npt.NDArray[np.int64]] = field(default_factory=list)

    def add(self, block: int, messages: Sequence[RawMessage]) -> None:
        """All of one block, by its number, in file order."""
        count = len(messages)
        self.log_time_ns.append(np.fromiter((m.log_time_ns for m in messages), np.int64, count))
        self.channel_id.append(np.fromiter((m.channel_id for m in messages), np.int64, count))
        self.start.append(np.fromiter((m.start for m in messages), np.int64, count))
        self.end.append(np.fromiter((m.end for m in messages), np.int64, count))
        self.block.append(np.full(count, block, np.int64))

    def build(self) -> Index:
        """Of everything that was added."""

        def joined(parts: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
            return np.concatenate(parts) if parts else np.zeros(0, np.int64)

        times = joined(self.log_time_ns)
        return Index(
            times,
            joined(self.channel_id),
            joined(self.block),
            joined(self.start),
            joined(self.end),
            np.argsort(times, kind="stable"),
        )
