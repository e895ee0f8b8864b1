"""The checks of an IMU as subjects of the exploration, and all monitors of whole sensors in health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from monitor_exploration import EPOCH_NS, History, Next, Seen, Subject
from monitor_subjects import spread, with_dots

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.faults import watching
from rt_sched.messages import ImuSample
from rt_sched.model import Sensor, SensorKind, System
from rt_sched.units import NS_PER_MS, NS_PER_S
from safety.monitors.delivery import Delivery, Monitor

ROOT = Path(__file__).resolve().parents[2]
#: 2000 degrees/s and 16 g, of which 99.5 % count as the end.
RATE_END, FORCE_END = np.radians(2000.0), 16 * 9.80665


@cache
def quad_orin() -> System:
    return load_system(ROOT / "examples" / "quad_orin.yaml", stages=ImportedStages())


def sensor_of(kind: SensorKind) -> Sensor:
    return next(one for one in quad_orin().sensors if one.kind is kind)


# An IMU ------------------------------------------------------------------------------------------------------------


def _sample(period_ns: int, number: int, holds: str, late_ns: int) -> Seen:
    """`holds`: the values of both vectors, such as "a b"."""
    values = {"a": 0.1, "b": 0.2, "rate end": 0.995 * RATE_END, "rate inside": 0.994 * RATE_END}
    values |= {"force end": 0.995 * FORCE_END, "force inside": 0.994 * FORCE_END}
    capture_ns = EPOCH_NS + number * period_ns
    first, second = (np.array([0.0, values[one], -0.01]) for one in holds.split("/"))
    return Seen(Delivery(capture_ns + late_ns, capture_ns, ImuSample(0, "imu", first, second)), holds)


def _other(last: str) -> str:
    return "b" if last == "a" else "a"


def _stuck(rate_hz: int, repeats: int) -> Subject:
    """`repeats`: so many make it stuck, the fifth or the first that is 200 ms behind what it repeats.

    All but three of them have come before.
    """
    sensor = replace(sensor_of(SensorKind.IMU), rate_hz=Fraction(rate_hz))
    period_ns = NS_PER_S // rate_hz

    def come(which: str, late_ns: int = 0) -> Next:
        def next_of(number: int, seen: History) -> Seen:
            first, second = seen[-1].holds.split("/") if seen else ("b", "b")
            if which in ("new", "force stuck"):
                first = _other(first)
            if which in ("new", "rate stuck"):
                second = _other(second)
            return _sample(period_ns, number, f"{first}/{second}", late_ns)

        return next_of

    def finds(seen: History) -> bool:
        pairs = [one.holds.split("/") for one in seen[-1 - repeats :]]
        return len(pairs) > repeats and any(len({pair[k] for pair in pairs}) == 1 for k in (0, 1))

    messages = repeats + 1
    return Subject(
        f"imu_stuck at {rate_hz} Hz",
        lambda: _named(sensor, "imu_stuck"),
        {which: come(which) for which in ("new", "all stuck", "rate stuck", "force stuck")},
        finds,
        window=messages,
        depth=4,
        deeper=7,
        declared_ns=messages * period_ns + 2 * sensor.jitter_ns,
        fault=[come("all stuck", sensor.jitter_ns)],
        before=[come("new"), *[come("all stuck")] * (repeats - 3)],
        earlier_ns=sensor.jitter_ns,
        period_ns=period_ns,
    )


def _range() -> Subject:
    sensor = sensor_of(SensorKind.IMU)
    period_ns = NS_PER_S // 200
    values = ("a/a", "rate end/a", "rate inside/a", "a/force end", "a/force inside", "rate end/force end")

    def come(holds: str, late_ns: int = 0) -> Next:
        return lambda number, _: _sample(period_ns, number, holds, late_ns)

    return Subject(
        "imu_range",
        lambda: _named(sensor, "imu_range"),
        {one: come(one) for one in values},
        lambda seen: "end" in seen[-1].holds,
        window=1,
        depth=3,
        deeper=5,
        declared_ns=period_ns + 2 * sensor.jitter_ns,
        fault=[come("a/force end", sensor.jitter_ns)],
        earlier_ns=sensor.jitter_ns,
        period_ns=period_ns,
    )


def _named(sensor: Sensor, name: str) -> Monitor:
    return next(one for one in watching.monitors_of(quad_orin(), sensor) if one.name == name)


# Health ------------------------------------------------------------------------------------------------------------


class Everything:
    """All monitors of a sensor as one."""

    name = "everything"
    worst_case_ns = 0

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self._monitors = list(monitors)

    def see(self, delivery: Delivery) -> str | None:
        found = [f"{one.name}: {reason}" for one in self._monitors if (reason := one.see(delivery))]
        return "; ".join(found) or None


def _health(kind: SensorKind, capture_jitter_ns: int, depth: int) -> Subject:
    """Captured and delivered as early or late as is declared, in every sequence; no two messages are equal."""
    sensor = replace(sensor_of(kind), capture_jitter_ns=capture_jitter_ns)
    period_ns = int(NS_PER_S / sensor.rate_hz)
    contents = {
        SensorKind.CAMERA: [with_dots(dots) for dots in (40, 41, 42)],
        SensorKind.LIDAR: [spread(100, 60, count) for count in (55, 56, 57)],
        SensorKind.IMU: [ImuSample(0, "imu", np.full(3, value), np.full(3, value)) for value in (0.1, 0.2, 0.3)],
    }[kind]

    def come(captured_ns: int, late_ns: int) -> Next:
        def next_of(number: int, _: History) -> Seen:
            capture_ns = EPOCH_NS + number * period_ns + captured_ns
            arrival_ns = capture_ns + sensor.latency_ns + late_ns
            return Seen(Delivery(arrival_ns, capture_ns, contents[number % 3]), str(number % 3))

        return next_of

    shifts = sorted({-capture_jitter_ns, 0, capture_jitter_ns})
    return Subject(
        f"health of a {kind.value}, captures within {capture_jitter_ns / NS_PER_MS:g} ms",
        lambda: Everything(watching.monitors_of(quad_orin(), sensor)),
        {
            f"captured {shift:+} ns, {late:+} ns late": come(shift, late)
            for shift in shifts
            for late in (-sensor.jitter_ns, 0, sensor.jitter_ns)
        },
        lambda _: False,
        window=1,
        depth=depth,
        deeper=depth + 4 if capture_jitter_ns == 0 else depth + 2,
        period_ns=period_ns,
    )


def sensor_subjects() -> tuple[Subject, ...]:
    """Read from the example; with them all monitors of messages are there."""
    return (
        _stuck(20, 5),
        _stuck(40, 8),
        _range(),
        *(_health(kind, 0, 4) for kind in SensorKind),
        *(_health(kind, NS_PER_MS // 2, 3) for kind in SensorKind),
    )
