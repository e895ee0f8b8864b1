"""What a transport is to carry: the channels of one host, each from one producer to its readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rt_sched.errors import DeploymentError
from rt_sched.model.task import Edge, EdgeKind, Overflow

#: A list of waiting messages is looked through for every loan, so it is to stay short.
LONGEST_QUEUE = 4096


@dataclass(frozen=True, slots=True)
class ChannelReader:
    """One reader of a channel, by a name that is unique in it.

    `edge`: how messages wait for it. `holds`: how many messages it may have in hand at once. `bell`: what wakes it;
    readers of one process that name the same bell can be waited for together. None: a bell of its own.
    """

    name: str
    edge: Edge
    holds: int = 1
    bell: str | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """What one producer says. `message_bytes`: size of its largest message. `loans`: how many it may write at once."""

    name: str
    message_bytes: int
    readers: tuple[ChannelReader, ...]
    loans: int = 1


def check_channels(channels: Sequence[Channel]) -> None:
    """Raises DeploymentError with everything that is wrong with the channels."""
    problems = [f"two channels are named {name}" for name in _repeated(channel.name for channel in channels)]
    for channel in channels:
        at = f"channel {channel.name}"
        if channel.message_bytes < 1:
            problems.append(f"{at}: message_bytes is {channel.message_bytes}; at least 1")
        if channel.loans < 1:
            problems.append(f"{at}: loans is {channel.loans}; at least 1")
        problems += [f"{at}: two readers are named {name}" for name in _repeated(r.name for r in channel.readers)]
        for reader in channel.readers:
            depth = reader.edge.depth
            if not 1 <= depth <= LONGEST_QUEUE:
                problems.append(f"{at}, reader {reader.name}: a queue of {depth} messages; from 1 to {LONGEST_QUEUE}")
            if reader.holds < 1:
                problems.append(f"{at}, reader {reader.name}: holds is {reader.holds}; at least 1")
    if problems:
        raise DeploymentError("\n".join(problems))


def as_document(channels: Sequence[Channel]) -> list[dict[str, Any]]:
    """The channels as plain data, for JSON."""
    return [asdict(channel) for channel in channels]


def from_document(document: Sequence[Mapping[str, Any]]) -> tuple[Channel, ...]:
    """The channels that `as_document` wrote."""
    return tuple(
        Channel(
            name=channel["name"],
            message_bytes=channel["message_bytes"],
            readers=tuple(_reader(reader) for reader in channel["readers"]),
            loans=channel["loans"],
        )
        for channel in document
    )


def _reader(document: Mapping[str, Any]) -> ChannelReader:
    edge = document["edge"]
    return ChannelReader(
        name=document["name"],
        edge=Edge(EdgeKind(edge["kind"]), edge["depth"], Overflow(edge["overflow"])),
        holds=document["holds"],
        bell=document["bell"],
    )


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
