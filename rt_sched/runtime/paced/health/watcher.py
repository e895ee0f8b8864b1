"""The process `rt-health`: sees every sample as it is published, and reports cycle by cycle which sensors to trust."""

from __future__ import annotations

import gc
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from rt_sched.messages import SensorHealth
from rt_sched.messages.e2e import protect
from rt_sched.model import Edge, EdgeKind, Overflow
from rt_sched.ports import Message, Port, Reader
from rt_sched.runtime.health_order import HEALTH_SOURCE, HealthOrder, Noticed, WatchedSensor
from rt_sched.runtime.host.affinity import pin
from rt_sched.runtime.host.child import name_process
from rt_sched.runtime.host.memory import keep_freed_memory, lock_memory
from rt_sched.runtime.host.refusal import Refused
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.sleeping import set_timer_slack_ns
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.health.feed import HealthFeed
from rt_sched.runtime.paced.health.notes import HealthNotes
from rt_sched.runtime.paced.jobs.codec import decoded
from rt_sched.runtime.stage_graph import NoData, Outputs
from rt_sched.transport import Channel, ChannelReader
from safety.monitors.delivery import Delivery
from safety.sensor_watch import SensorWatch, Told

#: Below all tasks, before ordinary processes.
HEALTH_PRIORITY = 1
_READER = "rt-health"
#: Samples that may wait for a cycle.
_BACKLOG = 32


@dataclass(frozen=True, slots=True)
class HealthSeat:
    """Where the process runs, and how. `cores`: empty for where its supervisor does."""

    cores: tuple[int, ...]
    scheduling: Scheduling


def watched_channel(channel: Channel) -> Channel:
    """The channel of a sensor with one more reader."""
    edge = Edge(EdgeKind.QUEUE, _BACKLOG, Overflow.DROP_OLDEST)
    readers = (*channel.readers, ChannelReader(_READER, edge, 1))
    return Channel(channel.name, channel.message_bytes, readers, channel.loans)


class HealthWatcher:
    """Made before forks; `run` is the whole life of the process, and of one that comes in its place."""

    def __init__(self, order: HealthOrder, port: Port, feed: HealthFeed, notes: HealthNotes, clock: PacedClock) -> None:
        self._order, self._port, self._feed, self._notes, self._clock = order, port, feed, notes, clock
        self._watches: list[SensorWatch] = []
        self._lost: list[int] = []

    def run(self, seat: HealthSeat) -> None:
        """Cycle after cycle until the run ends. A cycle that comes too late takes those before it."""
        name_process("rt-health")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        set_timer_slack_ns(1)
        if seat.cores:
            pin(seat.cores)
        set_scheduling(seat.scheduling)
        keep_freed_memory()
        readers = [self._port.reader(one.name, _READER) for one in self._order.sensors]
        self._feed.open_to_write()
        _warm_up()
        gc.collect()
        gc.freeze()
        gc.disable()
        with suppress(Refused):  # the launcher says so once
            lock_memory(as_used=True)
        self._notes.life["ready"] = 1
        if not self._clock.wait_until_begun():
            return
        now_ns = max(self._clock.now_ns(), 0)
        self._watches = [self._watch(one, now_ns) for one in self._order.sensors]
        self._lost = [0] * len(readers)
        due_ns, period_ns = self._after(now_ns), self._order.period_ns
        while self._clock.sleep_until(due_ns):
            self._cycle(readers, due_ns)
            due_ns = max(self._after(self._clock.now_ns()), due_ns + period_ns)

    def _after(self, now_ns: int) -> int:
        """The instant of the next cycle."""
        return (now_ns // self._order.period_ns + 1) * self._order.period_ns

    def _watch(self, sensor: WatchedSensor, now_ns: int) -> SensorWatch:
        return SensorWatch(sensor.name, sensor.monitors(), sensor.silence(now_ns), self._order.good_samples)

    def _cycle(self, readers: list[Reader], due_ns: int) -> None:
        began_ns, cpu_ns, samples = self._clock.now_ns(), time.thread_time_ns(), 0
        for index, reader in enumerate(readers):
            while (message := reader.take()) is not None:
                self._see(index, message)
                samples += 1
            self._tell(index, self._watches[index].look(began_ns), began_ns)
        health = SensorHealth(began_ns, tuple(watch.trust for watch in self._watches))
        self._feed.report(protect(health, source=HEALTH_SOURCE, counter=self._notes.cycles, stamp_ns=began_ns))
        now_ns = self._clock.now_ns()
        self._notes.back(now_ns)
        self._notes.cycle(samples, time.thread_time_ns() - cpu_ns, now_ns - due_ns, host_ns=time.monotonic_ns())

    def _see(self, index: int, message: Message) -> None:
        """One sample. Where others were lost before it, the monitors of its sensor begin anew."""
        with message:
            arrival_ns, capture_ns, lost = message.published_ns, message.stamp_ns, message.lost
            content: Outputs | NoData = decoded(message.data, copy=True)
        if lost > self._lost[index]:
            self._notes.missed(lost - self._lost[index])
            self._lost[index] = lost
            self._watches[index] = self._watch(self._order.sensors[index], arrival_ns)
        if isinstance(content, NoData):
            delivery = Delivery(arrival_ns, capture_ns, None, content.reason)
        else:
            delivery = Delivery(arrival_ns, capture_ns, content.ports[None])
        self._tell(index, self._watches[index].see(delivery), arrival_ns)

    def _tell(self, index: int, begun: list[Told], arrival_ns: int) -> None:
        """Writes down what was found, and whether the trust in the sensor is another one for it."""
        trust, now_ns = self._watches[index].trust, self._clock.now_ns()
        for one in begun:
            noticed = Noticed(now_ns, arrival_ns, trust.sensor, one.monitor, one.worst_case_ns, one.reason)
            self._notes.found(index, noticed)
        self._notes.stands(index, trust.state, trust.monitor, now_ns)


def _warm_up() -> None:
    """Loads what protects a report, before somebody waits for it."""
    protect(SensorHealth(0, ()), source=HEALTH_SOURCE, counter=0, stamp_ns=0)
