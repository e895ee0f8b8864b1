"""The posts of a paced run: what the processes of its tasks work with, and how one of them takes a post."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import cast

from rt_sched.ports import Port, Stage
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.actuator import ActuatorSide
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import NOMINAL
from rt_sched.runtime.paced.devices.ownership import Ownership, Tenure
from rt_sched.runtime.paced.faults.marks import Marks
from rt_sched.runtime.paced.feed.line import ReadyLine, line_channels
from rt_sched.runtime.paced.health.side import HealthSide
from rt_sched.runtime.paced.jobs.arrivals import MessageArrivals, TimedArrivals
from rt_sched.runtime.paced.jobs.dated import Sight
from rt_sched.runtime.paced.jobs.edges import (
    Publish,
    apart_ns,
    channel_name,
    channels_of,
    delivered_channel,
    inlet_channels,
    inlets_of,
    link_bell,
    link_reader,
    outlets_of,
    source_of,
)
from rt_sched.runtime.paced.jobs.inbox import Inbox
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.jobs.process import Employment
from rt_sched.runtime.paced.jobs.spool import Spool
from rt_sched.runtime.paced.jobs.worker import Post
from rt_sched.runtime.paced.links.carrier import LinkEnd
from rt_sched.runtime.paced.order import PacedOrder
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.seats.lane import Lane
from rt_sched.runtime.paced.seats.ranking import Ranking
from rt_sched.runtime.paced.seats.tier import HIGHEST_TASK_PRIORITY, seats
from rt_sched.runtime.paced.seats.turns import Turns
from rt_sched.runtime.paced.sections.holding import Holding
from rt_sched.runtime.paced.sections.locks import Locks
from rt_sched.runtime.paced.supervisor import Charge
from rt_sched.runtime.spares import keeps_spare
from rt_sched.trace.setup import TaskRow
from rt_sched.transport import Channel, Segment
from rt_sched.transport.bell import Bell
from rt_sched.units import NS_PER_S, ceil_int


class Posts:
    """One post per task, then one per standby: edges, journal, turns and seat of each. Made before any fork.

    `cores`: of the host, by processor. `reserved`: reservations by task, in the tier that has them. `go_to_core`:
    confines the process that calls it to a core. `health`: the watch over sensors, None for none.
    """

    def __init__(
        self,
        order: PacedOrder,
        cores: Sequence[int],
        reserved: dict[int, Scheduling],
        clock: PacedClock,
        go_to_core: Callable[[int], None],
        health: HealthSide | None = None,
    ) -> None:
        self._health = health
        setup, failover = order.setup, order.failover
        self._order, self._cores, self._clock, self._go_to_core = order, cores, clock, go_to_core
        self._authenticator = authenticator_of(order.system)
        self.standbys = failover.standbys if failover is not None else ()
        self._kept = failover.kept if failover is not None else frozenset()
        self.rows: list[TaskRow] = [*setup.tasks, *(one.row for one in self.standbys)]
        self.seats = seats(setup, order.tier, reserved, self.rows[len(setup.tasks) :])
        channels = channels_of(order.system, setup, order.rehearsal.bytes_of, self._kept)
        if health is not None:
            channels = tuple(map(health.channel, channels))
        self._channels: dict[str, Channel] = {channel.name: channel for channel in channels}
        ahead = line_channels(order.system, {name: self._channels[name].message_bytes for name in self.sensors_read})
        self._segment = Segment.create([*channels, *ahead])
        self.port = cast(Port, self._segment)  # its loans are of its own kind, which the protocol cannot say
        lines = iter([ReadyLine(self.port, channel, clock) for channel in ahead])
        self.lines = tuple(next(lines) if sensor.name in self._channels else None for sensor in order.system.sensors)
        self.roster = Roster(len(setup.tasks), len(self.standbys))
        self.marks = Marks(len(setup.tasks))
        self.journals = [self._journal(index) for index in range(len(setup.tasks))]
        self.spools = [Spool() for _ in setup.tasks]
        self._turns = self._make_turns()
        self.locks = Locks(setup, self.rows, self.seats)

    @property
    def sensors_read(self) -> list[str]:
        """Those that a task reads, in the order of the system."""
        return [sensor.name for sensor in self._order.system.sensors if sensor.name in self._channels]

    def core_of(self, place: int) -> int:
        """Of the host."""
        return self._cores[self.rows[place].processor]

    def journals_of(self, device: str) -> tuple[Journal, ...]:
        """The journals of the tasks that are on a device nominally."""
        return tuple(
            self.journals[index]
            for index, row in enumerate(self._order.setup.tasks)
            if self._order.plan.processors[row.processor].device == device
        )

    def ring_all(self) -> None:
        """Whoever waits for a message looks whether the run has ended."""
        for row in self._order.setup.tasks:
            if not row.timed:
                self.bell(row.name).ring()
        for link in {edge.link for edge in self._order.setup.edges if edge.link is not None}:
            self.bell(link_bell(self._order.setup.links[link].name)).ring()

    def bell(self, name: str) -> Bell:
        """In the process that asks."""
        return self._segment.bell(name)

    def link_ends(self) -> list[list[LinkEnd]]:
        """What goes over every link, by its index."""
        system, setup = self._order.system, self._order.setup
        found: list[list[LinkEnd]] = [[] for _ in setup.links]
        for index, edge in enumerate(setup.edges):
            if edge.link is not None:
                channel = channel_name(*source_of(system, index))
                per_byte_ns = NS_PER_S / setup.links[edge.link].bytes_per_s
                end = LinkEnd(
                    edge=index,
                    channel=channel,
                    reader=link_reader(edge),
                    delivered=delivered_channel(system, edge),
                    transfer_ns=ceil_int(edge.size_bytes * per_byte_ns),
                    apart_ns=apart_ns(system, edge),
                )
                found[edge.link].append(end)
        return found

    def charges(
        self, ownership: Ownership, actuator: ActuatorSide | None, devices: Sequence[str]
    ) -> dict[str, list[Charge]]:
        """The tasks of each device, then those that stand by there; also of `devices` on which nothing runs."""
        tasks = range(len(self._order.setup.tasks))
        places = [(index, NOMINAL) for index in tasks] + [(one.task, n) for n, one in enumerate(self.standbys)]
        found: dict[str, list[Charge]] = {device: [] for device in devices}
        for place, (index, owner) in enumerate(places):
            row = self.rows[place]
            charge = Charge(
                self._employment(place, index, owner, ownership, actuator),
                self.journals[index],
                self._turns[place],
                keeps_spare=keeps_spare(self._order.system.tasks[index]) and owner == NOMINAL,
            )
            device = self._order.plan.processors[row.processor].device
            found.setdefault(device, []).append(charge)
        return found

    def _employment(
        self, place: int, index: int, owner: int, ownership: Ownership, actuator: ActuatorSide | None
    ) -> Employment:
        """What a process at a place needs: those of the tasks come first, then those of standbys."""
        edges = self._order.setup.edges
        tenure = Tenure(ownership, index, owner, tuple(edge.target for edge in edges if edge.task == index))
        return Employment(
            index=index,
            task=self._order.system.tasks[index],
            row=self.rows[place],
            edges=tuple(edge for edge in edges if edge.target == index),
            turns=self._turns[place],
            seat=self.seats[place],
            core=self.core_of(place),
            go_to_core=lambda: self._go_to_core(self.core_of(place)),
            make_stage=lambda: self._make_stage(index),
            as_struck=lambda stage: self._order.struck_stage(index, stage),
            example=self._order.rehearsal.example(self._order.system.tasks[index].name),
            open_post=lambda stateful: self._open_post(place, tenure, actuator, stateful),
            prepare_post=lambda: self._prepare_post(index),
            clock=self._clock,
            roster=self.roster,
            marks=self.marks,
            journal=self.journals[index],
            tenure=tenure,
        )

    def _make_stage(self, index: int) -> Stage:
        stage = self._order.make_stage(index)
        return stage if self._health is None else self._health.fed(self._order.system.tasks[index].name, stage)

    def _prepare_post(self, index: int) -> None:
        """In a process that may have to open the post in a hurry: what takes long of that."""
        task = self._order.system.tasks[index]
        for channel in inlet_channels(self._order.system, self._order.setup, index):
            self._segment.prepare(channel, writable=False)
        for port in self._order.output_ports[index]:
            if channel_name(task.name, port) in self._channels:
                self._segment.prepare(channel_name(task.name, port), writable=True)

    def _open_post(self, place: int, tenure: Tenure, actuator: ActuatorSide | None, stateful: bool) -> Post:
        """In the worker: claims its ends of the edges."""
        order, index = self._order, tenure.task
        task, row = order.system.tasks[index], self.rows[place]
        edges = tuple(edge for edge in order.setup.edges if edge.target == index)
        sight = Sight(self._clock)
        inlets = inlets_of(self.port, order.system, order.setup, index, sight, copy=stateful, kept=self._kept)
        inbox = Inbox(edges, inlets, row.tolerance_ns)
        outlets = outlets_of(self.port, task.name, self._channels, order.output_ports[index])
        publish: Publish = outlets.publish
        if actuator is not None:
            publish = actuator.published_too(publish, task.name)
        if self._health is not None:
            self._health.open_post(task.name)
        journal = self.journals[index]
        if row.timed:
            arrivals: TimedArrivals | MessageArrivals = TimedArrivals(
                row, self._clock, journal, order.horizon_ns, os.getpid(), tenure
            )
        else:
            bell = self._segment.bell(task.name)
            arrivals = MessageArrivals(row, inbox, bell, self._clock, journal, os.getpid())
        return Post(
            task=task,
            row=row,
            edges=edges,
            clock=self._clock,
            arrivals=arrivals,
            inbox=inbox,
            sight=sight,
            journal=journal,
            turns=self._turns[place],
            publish=publish,
            keep=self.spools[index].keep,
            tenure=tenure,
            authenticator=self._authenticator,
            holding=Holding(self.locks, index, row, self.seats[place], self._clock) if row.sections else None,
        )

    def _journal(self, index: int) -> Journal:
        """With room for twice the jobs that the plan expects."""
        order = self._order
        slots = sum(edge.target == index for edge in order.setup.edges)
        apart_ns = max(1, order.system.tasks[index].separation_ns)
        return Journal(slots, 2 * (order.horizon_ns // apart_ns) + 256)

    def _make_turns(self) -> list[Turns]:
        setup = self._order.setup
        members = [[i for i, row in enumerate(self.rows) if row.processor == p] for p in range(len(setup.processors))]
        lanes = [Lane(len(mine)) if any(self.seats[index].lane for index in mine) else None for mine in members]
        rankings = [
            Ranking(len(mine), HIGHEST_TASK_PRIORITY) if any(self.seats[index].ranked for index in mine) else None
            for mine in members
        ]
        return [
            Turns(
                policy=setup.processors[task.processor].policy,
                level=task.level,
                place=members[task.processor].index(index),
                lane=lanes[task.processor],
                ranking=rankings[task.processor],
            )
            for index, task in enumerate(self.rows)
        ]
