"""The monitors of every sensor over what a run's sensors deliver, and what they find."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.imu_health import FORCE_SATURATED, GYRO_SATURATED, STUCK, SampleChecks
from rt_sched.analysis.faults.takeover_detection import silence_timeout_ns
from rt_sched.analysis.system.propagation import sensor_gap_ns
from rt_sched.errors import DataError
from rt_sched.faults.contents import IMU_RANGE_M_S2, IMU_RANGE_RAD_S
from rt_sched.messages import ImuSample
from rt_sched.model import Sensor, SensorKind, System
from rt_sched.ports import RecordedMessage
from rt_sched.units import NS_PER_MS, NS_PER_S, ceil_int, floor_int
from safety.monitors.delivery import Delivery, Monitor, Pace
from safety.monitors.payload import Payload
from safety.monitors.pictures import LookAt, Looks, Pictures, look_at
from safety.monitors.rate import Rate
from safety.monitors.repeats import Frozen
from safety.monitors.sectors import Sectors
from safety.monitors.stamps import StampAge, StampOrder
from safety.monitors.telling import Telling

#: For how long the values of an IMU may repeat, as `pipelines.imu:Integrate` takes it unless told otherwise.
IMU_STUCK_NS = 200 * NS_PER_MS
#: By how much the time from stamp to arrival may be off, beyond the declared jitter.
AGE_TOLERANCE_NS = 2 * NS_PER_MS


@dataclass(frozen=True, slots=True)
class Finding:
    """A monitor begins to find something wrong with `what`, such as "front_wide"; `worst_case_ns`: as it declares.

    `job`: the number of the job that shows it, of a task; None where no single one does.
    """

    time_ns: int
    monitor: str
    what: str
    worst_case_ns: int
    reason: str
    job: int | None = None


class Deliveries(Protocol):
    """What reaches the devices: messages, and when each does, on the run's time line."""

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[RecordedMessage]: ...
    def decode(self, message: RecordedMessage) -> Any: ...
    def arrival_ns(self, message: RecordedMessage) -> int: ...
    def capture_ns(self, message: RecordedMessage) -> int | None: ...


class _Inertial:
    """The checks of an IMU's stage, one flag or two of theirs as a monitor."""

    def __init__(self, name: str, flags: frozenset[str], worst_case_ns: int) -> None:
        self.name = name
        self.worst_case_ns = worst_case_ns
        self._flags = flags
        self._checks = SampleChecks(IMU_RANGE_RAD_S, IMU_RANGE_M_S2, IMU_STUCK_NS)

    def see(self, delivery: Delivery) -> str | None:
        """The flags that the sample gets."""
        sample = delivery.message
        if not isinstance(sample, ImuSample) or delivery.capture_ns is None:
            return None
        values = sample.angular_velocity_rad_s, sample.linear_acceleration_m_s2
        found = [flag for flag in self._checks.flags(delivery.capture_ns, *values) if flag in self._flags]
        return "; ".join(found) or None


def pace_of(system: System, sensor: Sensor) -> Pace:
    """What the system file declares of a sensor's messages."""
    return Pace(sensor_gap_ns(sensor), sensor.latency_ns, sensor.jitter_ns, silence_timeout_ns(system, sensor))


def monitors_of(system: System, sensor: Sensor, look: LookAt = look_at) -> list[Monitor]:
    """All monitors of one sensor but the timer for its silence. `look`: how a picture is looked at."""
    pace = pace_of(system, sensor)
    found: list[Monitor] = [
        StampOrder(pace),
        StampAge(pace, AGE_TOLERANCE_NS),
        Rate(pace, floor_int(NS_PER_S / sensor.rate_hz)),
        Payload(pace),
    ]
    if sensor.kind is SensorKind.CAMERA:
        looks = Looks(look)
        return [*found, Frozen(pace), *(Pictures(name, pace, looks) for name in ("black", "saturated", "blurred"))]
    if sensor.kind is SensorKind.LIDAR:
        return [*found, Frozen(pace), Sectors(pace)]
    repeats = max(ceil_int(IMU_STUCK_NS * sensor.rate_hz / NS_PER_S), 5) + 1
    return [
        *found,
        _Inertial("imu_stuck", frozenset({STUCK}), pace.within_ns(repeats)),
        _Inertial("imu_range", frozenset({GYRO_SATURATED, FORCE_SATURATED}), pace.within_ns(1)),
    ]


def sensor_findings(
    system: System,
    recording: Deliveries,
    topics_of: Mapping[str, str],
    sensors: Collection[str],
    look: LookAt = look_at,
) -> Iterator[Finding]:
    """What the monitors of `sensors` find in the recording, in order of arrival; each finding once, when it begins."""
    watched = {topics_of[one.name]: one.name for one in system.sensors if one.name in sensors and one.name in topics_of}
    telling = {
        topics_of[one.name]: [Telling(monitor) for monitor in monitors_of(system, one, look)]
        for one in system.sensors
        if topics_of.get(one.name) in watched
    }
    for message in recording.messages(list(watched)) if watched else ():
        delivery = _delivery(recording, message)
        for one in telling[message.topic]:
            if (reason := one.see(delivery)) is not None:
                monitor, what = one.monitor, watched[message.topic]
                yield Finding(delivery.arrival_ns, monitor.name, what, monitor.worst_case_ns, reason)


def _delivery(recording: Deliveries, message: RecordedMessage) -> Delivery:
    decoded, problem = None, message.problem
    if problem is None:
        try:
            decoded = recording.decode(message)
        except DataError as error:
            problem = str(error)
    return Delivery(recording.arrival_ns(message), recording.capture_ns(message), decoded, problem)
