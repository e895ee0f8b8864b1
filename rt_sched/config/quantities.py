"""Readers of numbers with a unit: times, rates, sizes, bandwidths, frequencies.

Rounding is named by direction: `time_up_or_zero` for jitters and latencies, `time_down` for deadlines and budgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from rt_sched import units
from rt_sched.config.problems import Problems, closest
from rt_sched.config.value import Schema, value
from rt_sched.config.yaml_nodes import Node

#: No time in a system file is longer: sums over every task of a large system stay far inside int64 nanoseconds.
MAX_TIME_NS = 3600 * units.NS_PER_S
MIN_RATE_HZ = Fraction(1, 1000)
MAX_RATE_HZ = Fraction(10**6)
MIN_FREQUENCY_HZ, MAX_FREQUENCY_HZ = 10**6, 10**10
MAX_SIZE_BYTES = 2**40
MIN_BANDWIDTH_BYTES_PER_S, MAX_BANDWIDTH_BYTES_PER_S = Fraction(1), Fraction(10**13)
MAX_DRIFT_PPM = 10_000
#: Far beyond any road vehicle, and what its sensors see.
MAX_SPEED_M_S, MAX_LENGTH_M, MAX_ACCELERATION_M_S2 = 200, 10_000, 100
MAX_QUANTITY_CHARACTERS = 64
#: A longer number without a unit is hardly meant in the unit of the example.
MAX_DIGITS_SUGGESTED = 7

#: Files repeat their quantities: a rate or a time limit stands at many tasks.
_parse_time = lru_cache(maxsize=4096)(units.parse_time)
_parse_rate_hz = lru_cache(maxsize=4096)(units.parse_rate_hz)


def _schema(units_of: Iterable[str], sign: str) -> Schema:
    number = r"[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?(/[0-9]+)?"
    return {"type": "string", "pattern": rf"^\s*{sign}{number}\s*({'|'.join(units_of)})\s*$"}


_MORE_THAN_ZERO = r"\+?(?=[0-9_.]*[1-9])"
TIME = _schema(units.TIME_UNITS, "[+-]?")
NON_NEGATIVE_TIME = _schema(units.TIME_UNITS, r"\+?")
POSITIVE_TIME = _schema(units.TIME_UNITS, _MORE_THAN_ZERO)
RATE = _schema(units.RATE_UNITS, _MORE_THAN_ZERO)
SIZE = _schema(units.SIZE_UNITS, _MORE_THAN_ZERO)
BANDWIDTH = _schema(units.BANDWIDTH_UNITS, _MORE_THAN_ZERO)
DRIFT = _schema(units.DRIFT_UNITS, "[+-]?")
VOLTAGE = _schema(units.VOLTAGE_UNITS, _MORE_THAN_ZERO)
POWER = _schema(units.POWER_UNITS, r"\+?")
SPEED = _schema(units.SPEED_UNITS, _MORE_THAN_ZERO)
LENGTH = _schema(units.LENGTH_UNITS, _MORE_THAN_ZERO)
ACCELERATION = _schema(units.ACCELERATION_UNITS, _MORE_THAN_ZERO)


@value(TIME)
def exact_time(node: Node, problems: Problems) -> Fraction | None:
    """An exact time in nanoseconds, not above the limit; it may be zero or negative."""
    found = _quantity(node, "time", "33ms", _parse_time, problems)
    if found is not None and abs(found) > MAX_TIME_NS:
        problems.add(node, f"{node.shown} is longer than the limit of 60min")
        return None
    return found


@value(POSITIVE_TIME)
def positive_time(node: Node, problems: Problems) -> Fraction | None:
    """An exact time of at least 1 ns."""
    found = exact_time(node, problems)
    if found is None or found >= 1:
        return found
    problems.add(node, f"{node.shown} must be at least 1ns")
    return None


@value(POSITIVE_TIME)
def time_down(node: Node, problems: Problems) -> int | None:
    """A positive time in whole nanoseconds, rounded down: for deadlines, budgets and limits."""
    found = positive_time(node, problems)
    return None if found is None else units.floor_int(found)


@value(NON_NEGATIVE_TIME)
def time_up_or_zero(node: Node, problems: Problems) -> int | None:
    """A time of zero or more in whole nanoseconds, rounded up: for jitters, latencies and offsets."""
    found = exact_time(node, problems)
    if found is None or found >= 0:
        return None if found is None else units.ceil_int(found)
    problems.add(node, f"{node.shown} must not be negative")
    return None


@value(RATE)
def rate(node: Node, problems: Problems) -> Fraction | None:
    """An exact rate in hertz, from 1 mHz to 1 MHz."""
    found = _quantity(node, "rate", "30Hz", _parse_rate_hz, problems)
    if found is None or MIN_RATE_HZ <= found <= MAX_RATE_HZ:
        return found
    if found <= 0:
        problems.add(node, f"{node.shown} must be more than zero")
    else:
        problems.add(node, f"{node.shown} is outside the valid rates, 1mHz to 1MHz")
    return None


@value(POSITIVE_TIME)
def period_as_rate(node: Node, problems: Problems) -> Fraction | None:
    """The exact rate in hertz of a period such as 33ms."""
    found = positive_time(node, problems)
    if found is None or MIN_RATE_HZ <= units.NS_PER_S / found <= MAX_RATE_HZ:
        return None if found is None else units.NS_PER_S / found
    problems.add(node, f"{node.shown} is outside the valid periods, 1us to 1000s")
    return None


@value(RATE)
def frequency(node: Node, problems: Problems) -> int | None:
    """The frequency of a processing element in whole kilohertz, given in hertz, from 1 MHz to 10 GHz."""
    found = _quantity(node, "frequency", "1.2GHz", _parse_rate_hz, problems)
    if found is None or (MIN_FREQUENCY_HZ <= found <= MAX_FREQUENCY_HZ and found % 1000 == 0):
        return None if found is None else int(found)
    problems.add(node, f"{node.shown} is no frequency from 1MHz to 10GHz in whole kilohertz")
    return None


@value(SIZE)
def size_bytes(node: Node, problems: Problems) -> int | None:
    """A size of at least one byte, rounded up."""
    found = _quantity(node, "size", "6.2MB", units.parse_size, problems)
    if found is None or 0 < found <= MAX_SIZE_BYTES:
        return None if found is None else units.ceil_int(found)
    problems.add(node, f"{node.shown} is outside the valid sizes, 1B to 1024GiB")
    return None


@value(BANDWIDTH)
def bandwidth_bytes_per_s(node: Node, problems: Problems) -> Fraction | None:
    """An exact bandwidth in bytes a second."""
    found = _quantity(node, "bandwidth", "10Gbit/s", units.parse_bandwidth_bytes_per_s, problems)
    if found is None or MIN_BANDWIDTH_BYTES_PER_S <= found <= MAX_BANDWIDTH_BYTES_PER_S:
        return found
    problems.add(node, f"{node.shown} is outside the valid bandwidths, 1B/s to 10000GB/s")
    return None


@value(DRIFT)
def drift_ppm(node: Node, problems: Problems) -> Fraction | None:
    """How fast a clock runs, in parts per million; negative when it is slow."""
    found = _quantity(node, "drift", "20ppm", units.parse_drift_ppm, problems)
    if found is None or abs(found) <= MAX_DRIFT_PPM:
        return found
    problems.add(node, f"{node.shown} is outside the valid drifts, -10000ppm to 10000ppm")
    return None


@value(VOLTAGE)
def voltage_uv(node: Node, problems: Problems) -> int | None:
    """A voltage from 1 uV to 100 V in microvolts, rounded up."""
    found = _quantity(node, "voltage", "0.8V", units.parse_voltage_uv, problems)
    if found is None or 1 <= found <= 10**8:
        return None if found is None else units.ceil_int(found)
    problems.add(node, f"{node.shown} is outside the valid voltages, up to 100V")
    return None


@value(POWER)
def power_mw(node: Node, problems: Problems) -> int | None:
    """A power from 0 W to 100 kW in milliwatts, rounded up."""
    found = _quantity(node, "power", "15W", units.parse_power_mw, problems)
    if found is None or 0 <= found <= 10**8:
        return None if found is None else units.ceil_int(found)
    problems.add(node, f"{node.shown} is outside the valid powers, 0W to 100000W")
    return None


@value(SPEED)
def speed_m_s(node: Node, problems: Problems) -> Fraction | None:
    """An exact speed in metres a second, up to 200."""
    found = _quantity(node, "speed", "50km/h", units.parse_speed_m_s, problems)
    return _up_to(MAX_SPEED_M_S, "m/s", "speeds", found, node, problems)


@value(LENGTH)
def length_m(node: Node, problems: Problems) -> Fraction | None:
    """An exact length in metres, up to 10 km."""
    found = _quantity(node, "length", "40m", units.parse_length_m, problems)
    return _up_to(MAX_LENGTH_M, "m", "lengths", found, node, problems)


@value(ACCELERATION)
def acceleration_m_s2(node: Node, problems: Problems) -> Fraction | None:
    """An exact acceleration in metres a second squared, up to 100."""
    found = _quantity(node, "acceleration", "6m/s2", units.parse_acceleration_m_s2, problems)
    return _up_to(MAX_ACCELERATION_M_S2, "m/s2", "accelerations", found, node, problems)


def _up_to(most: int, unit: str, what: str, found: Fraction | None, node: Node, problems: Problems) -> Fraction | None:
    """`found` where it is more than zero and at most `most`."""
    if found is None or 0 < found <= most:
        return found
    problems.add(node, f"{node.shown} is outside the valid {what}, more than 0 up to {most}{unit}")
    return None


def _quantity(
    node: Node, kind: str, example: str, parser: Callable[[str], Fraction], problems: Problems
) -> Fraction | None:
    if not node.is_scalar or node.is_null or not node.text.strip():
        problems.add(node, f"expected a {kind} such as {example}, found {node.shown}")
        return None
    if len(node.text) > MAX_QUANTITY_CHARACTERS:
        problems.add(node, f"{node.shown} is too long for a {kind}; write one such as {example}")
        return None
    try:
        return parser(node.text)
    except ValueError as error:
        problems.add(node, f"{error}; for example {_likely_meant(node, example)}")
        return None


def _likely_meant(node: Node, example: str) -> str:
    """The number as written with the example's unit where only the unit is at fault, else the example."""
    written = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]*)", node.text.strip())
    if written is None:
        return example
    number, unit = written.groups()
    example_unit = example.lstrip("0123456789.")
    if len(number) > MAX_DIGITS_SUGGESTED:
        return example
    return number + example_unit if not unit or closest(unit, [example_unit]) else example
