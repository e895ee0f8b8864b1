"""Sensors watched in lockstep: what their monitors report, and when the arbiter knows it.

Messages do not depend on what stages compute, so all reports are made before the run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rt_sched.app.health.order import asks_for_reports, health_order
from rt_sched.app.inputs.decoding import decoder, largest_messages
from rt_sched.app.inputs.log_inputs import pixels_needed
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.errors import DataError
from rt_sched.faults.clocks import arriving_at, sensor_clocks
from rt_sched.lowering.outages import sensor_outages
from rt_sched.messages import SensorHealth
from rt_sched.messages.e2e import protect
from rt_sched.messages.health import TrustState
from rt_sched.model import Fault, Plan, System
from rt_sched.ports import JobContext, RecordedMessage, Recording
from rt_sched.runtime.feed import SampleFeed
from rt_sched.runtime.health_order import HEALTH_SOURCE, Change, HealthOrder, HealthRecord, Noticed
from rt_sched.runtime.timeline import Timeline
from safety.monitors.delivery import Delivery
from safety.sensor_watch import SensorWatch
from sensors.mapping import TopicMapping


@dataclass(frozen=True, slots=True)
class HealthReports:
    """`reports`: in order, each with the instant in ns from which on jobs find it. `record`: as of a paced run."""

    reports: Sequence[tuple[int, SensorHealth]]
    record: HealthRecord

    def newest(self, job: JobContext) -> SensorHealth | None:
        """The last one that is there when the job starts, None before the first."""
        found = bisect_right(self.reports, job.start_ns, key=lambda one: one[0])
        return self.reports[found - 1][1] if found else None


def health_reports(
    system: System,
    plan: Plan,
    usual: Recording,
    recording: Recording,
    mapping: TopicMapping,
    timeline: Timeline,
    faults: Sequence[Fault],
    until_ns: int,
    horizon_ns: int,
) -> HealthReports | None:
    """None where the arbiter does not ask for any. Raises DeploymentError for an age limit that they cannot keep.

    `usual`: as it was recorded; `recording`, `timeline`: with what sensors send instead; `faults`: losses, of which
    nothing arrives; `until_ns`: when the last message would come without any of it.
    """
    if not asks_for_reports(system):
        return None
    recorded, sizes = mapping.sensor_to_topic.keys(), _largest_bytes(system, usual, mapping)
    order = health_order(system, plan, recorded, sizes, until_ns, always=False)
    if order is None:
        return None
    return _Cycles(order).all(_Deliveries(system, recording, mapping, timeline, faults), horizon_ns)


def watch_delay_ns(
    system: System, plan: Plan, recording: Recording, mapping: TopicMapping, timeline: Timeline
) -> int | None:
    """By how much the watch over sensors may notice later than a monitor declares; None where it has none to watch."""
    sizes, until_ns = _largest_bytes(system, recording, mapping), timeline.last_arrival_ns
    order = health_order(system, plan, mapping.sensor_to_topic.keys(), sizes, until_ns, always=True)
    return None if order is None else order.delay_ns


def _largest_bytes(system: System, recording: Recording, mapping: TopicMapping) -> dict[tuple[str, str | None], int]:
    """Of each sensor, port None, as a paced run takes it."""
    needs = pixels_needed(system, [ImportedStages().create(task) for task in system.tasks], mapping)
    decode = decoder(recording, needs)
    sensors = {topic: sensor for sensor, topic in mapping.sensor_to_topic.items()}
    return {(sensor, None): size for sensor, size in largest_messages(recording, sensors, decode).items()}


class _Deliveries:
    """What reaches the devices, sensor by sensor, in order of arrival."""

    def __init__(
        self,
        system: System,
        recording: Recording,
        mapping: TopicMapping,
        timeline: Timeline,
        faults: Sequence[Fault],
    ) -> None:
        self._names = [sensor.name for sensor in system.sensors]
        self._recording = recording
        self._topics = list(mapping.sensor_to_topic.values())
        clocks = sensor_clocks(recording, timeline, system.sensors, mapping.sensor_to_topic)
        sent_ns = {one.index: clocks[one.topic].arrival_ns(one) for one in recording.messages(self._topics)}
        self._timeline = arriving_at(timeline, sent_ns)
        self._silent = sensor_outages(system, faults)

    def __iter__(self) -> Iterator[tuple[str, Delivery]]:
        for name, arrival_ns, capture_ns, message in self._accepted():
            lost = self._silent.get(name, ())
            if any(begin_ns <= arrival_ns and (end_ns is None or arrival_ns < end_ns) for begin_ns, end_ns in lost):
                continue
            try:
                delivery = Delivery(arrival_ns, capture_ns, self._recording.decode(message))
            except DataError as error:
                delivery = Delivery(arrival_ns, capture_ns, None, str(error))
            yield name, delivery

    def _accepted(self) -> Iterator[tuple[str, int, int, RecordedMessage]]:
        samples = self._timeline.samples
        feed = SampleFeed(self._recording, self._topics, self._timeline)
        columns = (samples.sensor, samples.arrival_ns, samples.capture_ns)
        for sensor, arrival_ns, capture_ns in np.stack([column.astype(np.int64) for column in columns], 1).tolist():
            yield self._names[sensor], arrival_ns, capture_ns, feed.next()


class _Cycles:
    """Looks at every multiple of the period. A report is known one period after its look, which is what the look may
    take at most.
    """

    def __init__(self, order: HealthOrder) -> None:
        self._order = order
        self._watches = {
            one.name: SensorWatch(one.name, one.monitors(), one.silence(0), order.good_samples) for one in order.sensors
        }
        self._trust = {name: watch.trust for name, watch in self._watches.items()}
        self._noticed: list[Noticed] = []
        self._changes: list[Change] = []
        self._reports: list[tuple[int, SensorHealth]] = []

    def all(self, deliveries: _Deliveries, horizon_ns: int) -> HealthReports:
        """Those of a whole run."""
        period_ns, samples = self._order.period_ns, 0
        due_ns = period_ns
        for sensor, delivery in deliveries:
            while due_ns < min(delivery.arrival_ns, horizon_ns):
                self._report(due_ns)
                due_ns += period_ns
            if sensor in self._watches and delivery.arrival_ns < horizon_ns:
                samples += 1
                self._see(sensor, delivery, due_ns + period_ns)
        while due_ns < horizon_ns:
            self._report(due_ns)
            due_ns += period_ns
        cycles, wcet_ns = len(self._reports), self._order.cycle_wcet_ns
        record = HealthRecord(
            self._order,
            tuple(one for one in self._noticed if one.time_ns < horizon_ns),
            tuple(one for one in self._changes if one.time_ns < horizon_ns),
            (),
            cycles=cycles,
            late=0,
            samples=samples,
            missed=0,
            cpu_ns=cycles * wcet_ns,
            cycle_cpu_max_ns=wcet_ns,
            cycle_max_ns=period_ns,
        )
        return HealthReports(self._reports, record)

    def _see(self, sensor: str, delivery: Delivery, known_ns: int) -> None:
        watch = self._watches[sensor]
        for one in watch.see(delivery):
            self._noticed.append(
                Noticed(known_ns, delivery.arrival_ns, sensor, one.monitor, one.worst_case_ns, one.reason)
            )
        self._compare(sensor, known_ns)

    def _report(self, due_ns: int) -> None:
        known_ns = due_ns + self._order.period_ns
        for sensor, watch in self._watches.items():
            for one in watch.look(due_ns):
                self._noticed.append(Noticed(known_ns, due_ns, sensor, one.monitor, one.worst_case_ns, one.reason))
            self._compare(sensor, known_ns)
        health = SensorHealth(due_ns, tuple(watch.trust for watch in self._watches.values()))
        report = protect(health, source=HEALTH_SOURCE, counter=len(self._reports), stamp_ns=due_ns)
        self._reports.append((known_ns, report))

    def _compare(self, sensor: str, known_ns: int) -> None:
        trust = self._watches[sensor].trust
        if trust.state is not self._trust[sensor].state:
            self._trust[sensor] = trust
            self._changes.append(Change(known_ns, sensor, trust.state is TrustState.TRUSTED, trust.monitor))
