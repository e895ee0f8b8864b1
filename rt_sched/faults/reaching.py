"""What of a recording reaches the devices while sensors and devices are lost, and so what faults find to strike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rt_sched.faults.schedule import losses
from rt_sched.faults.script import Strike
from rt_sched.faults.watching import Deliveries
from rt_sched.lowering.outages import Outages, sensor_outages, united
from rt_sched.model import System
from rt_sched.ports import RecordedMessage
from rt_sched.trace.records import SampleTable


class Reaching:
    """`sent` without what arrives in an outage. `silent`: topic -> when nothing of it reaches anybody."""

    def __init__(self, sent: Deliveries, silent: Mapping[str, Outages]) -> None:
        self._sent, self._silent = sent, silent

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]:
        """Those that arrive where they are sent."""
        return (one for one in self._sent.messages(topics) if not self._is_lost(one))

    def _is_lost(self, message: RecordedMessage) -> bool:
        outages = self._silent.get(message.topic, ())
        return bool(outages) and _within(self.arrival_ns(message), outages)

    def decode(self, message: RecordedMessage) -> Any:
        """As it is sent."""
        return self._sent.decode(message)

    def arrival_ns(self, message: RecordedMessage) -> int:
        """As it is sent."""
        return self._sent.arrival_ns(message)

    def capture_ns(self, message: RecordedMessage) -> int | None:
        """Its stamp."""
        return self._sent.capture_ns(message)


def unfelt_strikes(system: System, strikes: Sequence[Strike], samples: SampleTable) -> frozenset[str]:
    """The names of faults of sensors that strike no message, as none comes meanwhile or others have taken it away.

    `samples`: what arrives without any fault.
    """
    found = set()
    for number, strike in enumerate(strikes):
        sensor = next((index for index, one in enumerate(system.sensors) if one.name == strike.fault.target), None)
        if sensor is None:
            continue
        others = [one for place, one in enumerate(strikes) if place != number]
        taken = _taken(system, strike.fault.target, strikes[:number] if _takes(strike) else others)
        arrivals_ns = samples.arrival_ns[np.equal(samples.sensor, sensor)].tolist()
        if not any(strike.holds(at_ns) and not _within(at_ns, taken) for at_ns in arrivals_ns):
            found.add(strike.fault.name)
    return frozenset(found)


def _takes(strike: Strike) -> bool:
    """Whether it takes all messages of its target away."""
    dropped = strike.fault.kind_name == "message.drop" and strike.fault.strikes_all
    return dropped or bool(losses([strike]))


def _taken(system: System, sensor: str, strikes: Sequence[Strike]) -> Outages:
    """When nothing of a sensor reaches anybody."""
    drops = [
        (one.begin_ns, one.end_ns)
        for one in strikes
        if one.fault.target == sensor and one.fault.kind_name == "message.drop" and _takes(one)
    ]
    return united([*sensor_outages(system, losses(strikes)).get(sensor, ()), *drops])


def _within(time_ns: int, outages: Outages) -> bool:
    return any(begin_ns <= time_ns and (end_ns is None or time_ns < end_ns) for begin_ns, end_ns in outages)
