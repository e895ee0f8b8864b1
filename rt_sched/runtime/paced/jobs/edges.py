"""The edges of a system as channels of a transport: who publishes where, and what stands in which input."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rt_sched.errors import DataError
from rt_sched.model import Edge, EdgeKind, Overflow, System
from rt_sched.ports import Message, Port, Reader, Writer
from rt_sched.runtime.paced.jobs.codec import Encoded, decoded
from rt_sched.runtime.paced.jobs.dated import DatedInlet, Sight
from rt_sched.runtime.paced.jobs.inbox import Head, Inlet
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.trace import setup as rows
from rt_sched.transport import Channel, ChannelReader
from rt_sched.units import NS_PER_S, floor_int

#: An activating message makes a job at once, however deep its queue; so many may wait for a job that runs too long.
_BACKLOG = 32
#: Arrays of messages up to this size are copied when they are read, so that nobody holds a place for their sake.
_SMALL_BYTES = 1 << 16
#: Room beyond the largest message of the rehearsal: messages of one kind differ.
_GROWTH, _LEAST_BYTES = 3, 1 << 16
#: Of the messages of a register that do not count yet.
_LONGEST_HISTORY = 64
#: Messages that wait until the process of a link takes them, which it does as soon as it runs.
_ON_LINK = 16
#: Messages in hand at once: what a job reads, and what waits for its partner.
_HOLDS = 3

#: Hands on what a job has packed, by port, with its number and stamp; the last says from when on it counts, if at all.
Publish = Callable[[Mapping[str, Encoded], int, int, Callable[[], int | None]], None]


def channel_name(source: str, port: str | None) -> str:
    """The channel of an output port of a task, or of a sensor."""
    return source if port is None else f"{source}.{port}"


def channels_of(
    system: System,
    setup: rows.Setup,
    bytes_of: Mapping[tuple[str, str | None], int],
    kept: Collection[int] = (),
) -> tuple[Channel, ...]:
    """One for every sensor and output port that something reads. `bytes_of`: sizes of their messages so far.

    `kept`: tasks, by index, that may process once more what they took in last.
    """
    readers: dict[tuple[str, str | None], list[ChannelReader]] = {}
    delivered: list[tuple[str, tuple[str, str | None], list[ChannelReader]]] = []
    edges = iter(setup.edges)
    for task in system.tasks:
        for given in task.inputs:
            source, edge = (given.source, given.port), next(edges)
            mine = _readers(task.name, edge, given.edge, kept, _history_of(system, setup, edge))
            if edge.link is not None:
                delivered.append((delivered_channel(system, edge), source, mine))
                queue = Edge(EdgeKind.QUEUE, _ON_LINK, Overflow.DROP_OLDEST)
                mine = [ChannelReader(link_reader(edge), queue, _HOLDS, link_bell(setup.links[edge.link].name))]
            readers.setdefault(source, []).extend(mine)
    named = [(channel_name(*source), source, mine) for source, mine in readers.items()]
    return tuple(
        Channel(name, _room_for(source[1] is None, bytes_of.get(source, 0)), tuple(mine))
        for name, source, mine in [*named, *delivered]
    )


def delivered_channel(system: System, edge: rows.EdgeRow) -> str:
    """Where the messages of an edge lie that a link has delivered; no sensor, task or port has a blank in its name."""
    return f"{system.tasks[edge.target].name}.{edge.input} delivered"


def link_reader(edge: rows.EdgeRow) -> str:
    """As which a link takes what is sent along an edge."""
    return f"link to {edge.target}.{edge.input}"


def link_bell(link: str) -> str:
    """What wakes the process of a link."""
    return f"link {link}"


def source_of(system: System, edge: int) -> tuple[str, str | None]:
    """Sensor or task, and its port, at the beginning of an edge by its index."""
    sources = [(given.source, given.port) for task in system.tasks for given in task.inputs]
    return sources[edge]


def inlet_channels(system: System, setup: rows.Setup, task_index: int) -> list[str]:
    """Where the messages lie that a task reads, slot by slot."""
    edges = [edge for edge in setup.edges if edge.target == task_index]
    return [
        channel_name(given.source, given.port) if edge.link is None else delivered_channel(system, edge)
        for given, edge in zip(system.tasks[task_index].inputs, edges, strict=True)
    ]


def _room_for(is_sensor: bool, seen_bytes: int) -> int:
    """Frames and sweeps of a sensor are of much the same size; what stages publish may vary."""
    return max(_LEAST_BYTES, seen_bytes * 3 // 2) if is_sensor else max(_LEAST_BYTES, _GROWTH * seen_bytes)


def _readers(
    task: str, edge: rows.EdgeRow, declared: Edge, kept: Collection[int], history: int | None
) -> list[ChannelReader]:
    """`history`: how many messages a register keeps some of which do not count yet, None where all do.

    What activates rings the bell of the task, and nothing else does: to be woken would use up some of a reservation.
    """
    name = f"{task}.{edge.input}"
    register = Edge(EdgeKind.LATEST, 1, Overflow.DROP_OLDEST)
    if history is not None:
        register = Edge(EdgeKind.QUEUE, history, Overflow.DROP_OLDEST)
    if edge.role is rows.Role.READ:
        return [ChannelReader(name, register if edge.kind is rows.EdgeKind.LATEST else declared, _HOLDS)]
    depth = max(declared.depth, _BACKLOG) if edge.role is rows.Role.EACH else declared.depth
    found = [ChannelReader(name, Edge(EdgeKind.QUEUE, depth, declared.overflow), _HOLDS, task)]
    if _needs_newest(edge, kept):
        found.append(ChannelReader(f"{name}/newest", register, _HOLDS))
    return found


def is_dated(setup: rows.Setup, edge: rows.EdgeRow) -> bool:
    """Whether not all that lies at the end of an edge counts: by LET of its source or of its target."""
    source_let = edge.task is not None and edge.link is None and setup.tasks[edge.task].let
    return source_let or setup.tasks[edge.target].let


def _history_of(system: System, setup: rows.Setup, edge: rows.EdgeRow) -> int | None:
    """Messages that may come until those count that lie there, or until a job reads that has arrived: of both twice
    what the least distance of messages allows, as those of a delayed source may be closer together.
    """
    if not is_dated(setup, edge):
        return None
    ends = [setup.tasks[edge.target]]
    ends += [setup.tasks[edge.task]] if edge.task is not None and edge.link is None else []
    span_ns = sum(row.deadline_ns for row in ends if row.let)
    return min(_LONGEST_HISTORY, 2 * -(-span_ns // apart_ns(system, edge)) + 2)


def apart_ns(system: System, edge: rows.EdgeRow) -> int:
    """The least distance of two messages at the beginning of an edge, without all jitter."""
    if edge.task is not None:
        return max(1, system.tasks[edge.task].separation_ns)
    return floor_int(NS_PER_S / system.sensors[edge.sensor or 0].rate_hz)


def _needs_newest(edge: rows.EdgeRow, kept: Collection[int]) -> bool:
    """Whether a job that this input did not activate reads its newest message, or any job does, or one once more."""
    return edge.role is rows.Role.EACH or (edge.role is rows.Role.PAIRED and edge.target in kept)


class PortLetter:
    """A message in hand. `copy`: its arrays outlive it."""

    def __init__(self, message: Message, *, copy: bool) -> None:
        self._message = message
        self._copy = copy or len(message.data) <= _SMALL_BYTES
        self._value: Any = None
        self.head = Head(message.tag, message.stamp_ns, message.published_ns)

    @property
    def data(self) -> memoryview:
        """The message as bytes."""
        return self._message.data

    def value(self) -> Outputs | NoData:
        """The message; the same object each time."""
        if self._value is None:
            self._value = decoded(self._message.data, copy=self._copy)
        return self._value  # type: ignore[no-any-return]

    def release(self) -> None:
        """Gives the place back."""
        self._value = None
        self._message.release()


class PortInlet:
    """The reading ends of one edge. `copy`: the stage keeps what it is given."""

    def __init__(self, reader: Reader, newest: Reader | None, *, is_register: bool, copy: bool) -> None:
        self._reader = reader
        self._newest = reader if is_register else newest
        self._copy = copy
        self._waiting: PortLetter | None = None

    def newest(self) -> PortLetter | None:
        """The newest message, taken before or not."""
        return None if self._newest is None else self._letter(self._newest)

    def oldest(self) -> Head | None:
        """What is known of the message that waits longest."""
        if self._waiting is None:
            self._waiting = self._letter(self._reader)
        return None if self._waiting is None else self._waiting.head

    def take(self) -> PortLetter | None:
        """The message that waits longest."""
        letter, self._waiting = self._waiting or self._letter(self._reader), None
        return letter

    def due_ns(self) -> int | None:
        """When the message was published that waits longest."""
        head = self.oldest()
        return None if head is None else head.published_ns

    def _letter(self, reader: Reader) -> PortLetter | None:
        message = reader.take()
        return None if message is None else PortLetter(message, copy=self._copy)


def packed(result: Outputs | NoData, ports: Sequence[str]) -> dict[str, Encoded]:
    """What a job hands on, by port, ready to be written; every port tells why where there is nothing."""
    if isinstance(result, NoData):
        return dict.fromkeys(ports, Encoded(NoData(result.source, result.reason)))
    return {port: Encoded(Outputs({port: result.ports[port]})) for port in ports}


@dataclass(frozen=True, slots=True)
class Outlets:
    """The writing ends of a task, by those of its ports that something reads."""

    writers: Mapping[str, Writer]

    def publish(
        self, parcels: Mapping[str, Encoded], number: int, capture_ns: int, finished_ns: Callable[[], int | None]
    ) -> None:
        """Publishes every port at one instant; `finished_ns` says which, and is asked before anybody can read.

        Where it says none, nothing is published. A message that is larger than its channel takes is replaced by the
        reason.
        """
        loans = []
        for port, writer in self.writers.items():
            parcel = parcels[port]
            try:
                loan = writer.loan(parcel.size)
            except DataError as error:
                parcel = Encoded(NoData("stage", str(error)))
                loan = writer.loan(parcel.size)
            parcel.write(loan.data)
            loans.append((writer, loan, parcel.size))
        published_ns = finished_ns()
        for writer, loan, size in loans:
            if published_ns is None:
                writer.give_back(loan)
                continue
            writer.publish(loan, capture_ns, published_ns, size=size, tag=number)


def outlets_of(port: Port, task: str, channels: Mapping[str, Channel], ports: Sequence[str]) -> Outlets:
    """Claims the writing ends of those ports that something reads."""
    return Outlets({one: port.writer(name) for one in ports if (name := channel_name(task, one)) in channels})


def inlets_of(
    port: Port,
    system: System,
    setup: rows.Setup,
    task_index: int,
    sight: Sight,
    *,
    copy: bool,
    kept: Collection[int] = (),
) -> list[Inlet]:
    """Claims the reading ends of a task, slot by slot. `sight`: of the process. `kept`: as for `channels_of`."""
    task = system.tasks[task_index]
    edges = [edge for edge in setup.edges if edge.target == task_index]
    found: list[Inlet] = []
    for channel, edge in zip(inlet_channels(system, setup, task_index), edges, strict=True):
        name = f"{task.name}.{edge.input}"
        reader = port.reader(channel, name)
        newest = port.reader(channel, f"{name}/newest") if _needs_newest(edge, kept) else None
        is_register = edge.role is rows.Role.READ and edge.kind is rows.EdgeKind.LATEST
        if is_dated(setup, edge):
            messages = PortInlet(reader, None, is_register=False, copy=copy)
            past = None if newest is None else PortInlet(newest, None, is_register=False, copy=copy)
            found.append(DatedInlet(None, messages, sight) if is_register else DatedInlet(messages, past, sight))
        else:
            found.append(PortInlet(reader, newest, is_register=is_register, copy=copy))
    return found
