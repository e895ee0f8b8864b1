"""Integer nanoseconds, exact rates, and the text forms of both.

Rounding is named by direction: a worst-case execution time rounds up, a deadline rounds down.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

#: Largest time that any input may state: 2**62 - 1 ns, about 146 years. Sums of two stay inside int64.
MAX_TIME_NS = 2**62 - 1

TIME_UNITS = {"ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S, "min": 60 * NS_PER_S}
RATE_UNITS = {
    "mHz": Fraction(1, 1000),
    "Hz": Fraction(1),
    "kHz": Fraction(1000),
    "MHz": Fraction(10**6),
    "GHz": Fraction(10**9),
}
SIZE_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
BANDWIDTH_UNITS: Mapping[str, Fraction] = {
    **{f"{prefix}bit/s": Fraction(size, 8) for prefix, size in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9))},
    **{f"{prefix}B/s": Fraction(size) for prefix, size in (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9))},
}
DRIFT_UNITS: Mapping[str, int | Fraction] = {"ppm": 1, "ppb": Fraction(1, 1000)}
VOLTAGE_UNITS = {"V": 10**6, "mV": 10**3}
POWER_UNITS = {"W": 10**3, "mW": 1}
SPEED_UNITS: Mapping[str, int | Fraction] = {"m/s": 1, "km/h": Fraction(1000, 3600)}
LENGTH_UNITS = {"m": 1, "km": 1000}
ACCELERATION_UNITS = {"m/s2": 1}

_QUANTITY = re.compile(
    r"\s*([+-]?(?:\d+(?:_\d+)*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?:/\d+)?)\s*((?:[A-Za-zµ]+(?:/[A-Za-z]+2?)?)?)\s*"
)


def parse_quantity(text: str, units: Mapping[str, int | Fraction], kind: str) -> Fraction:
    """The exact value of `text`, such as "2.5us" or "30000/1001 Hz", in the base unit of `units`.

    Raises ValueError with the valid units when the text has no unit, an unknown one or no number.
    """
    match = _QUANTITY.fullmatch(text)
    names = ", ".join(units)
    if match is None:
        raise ValueError(f"{text!r} is not a {kind}; write a number and a unit ({names})")
    number, unit = match.groups()
    if not unit:
        raise ValueError(f"{text!r} has no unit; write one of {names}")
    if unit not in units:
        raise ValueError(f"{text!r} has the unknown unit {unit!r}; valid: {names}")
    head, _, denominator = number.replace("_", "").partition("/")
    if denominator and int(denominator) == 0:
        raise ValueError(f"{text!r} divides by zero")
    value = Fraction(head) / Fraction(denominator or "1")
    return value * units[unit]


def parse_time(text: str) -> Fraction:
    """An exact time in nanoseconds (may have a fraction of one); raises ValueError."""
    return parse_quantity(text, TIME_UNITS, "time")


def parse_rate_hz(text: str) -> Fraction:
    """An exact rate in hertz, such as 30, 30000/1001; raises ValueError."""
    return parse_quantity(text, RATE_UNITS, "rate")


def parse_size(text: str) -> Fraction:
    """An exact size in bytes (may have a fraction of one); raises ValueError."""
    return parse_quantity(text, SIZE_UNITS, "size")


def parse_bandwidth_bytes_per_s(text: str) -> Fraction:
    """An exact bandwidth in bytes a second; raises ValueError."""
    return parse_quantity(text, BANDWIDTH_UNITS, "bandwidth")


def parse_drift_ppm(text: str) -> Fraction:
    """An exact clock drift in parts per million; raises ValueError."""
    return parse_quantity(text, DRIFT_UNITS, "drift")


def parse_voltage_uv(text: str) -> Fraction:
    """An exact voltage in microvolts; raises ValueError."""
    return parse_quantity(text, VOLTAGE_UNITS, "voltage")


def parse_speed_m_s(text: str) -> Fraction:
    """An exact speed in metres a second; raises ValueError."""
    return parse_quantity(text, SPEED_UNITS, "speed")


def parse_length_m(text: str) -> Fraction:
    """An exact length in metres; raises ValueError."""
    return parse_quantity(text, LENGTH_UNITS, "length")


def parse_acceleration_m_s2(text: str) -> Fraction:
    """An exact acceleration in metres a second squared; raises ValueError."""
    return parse_quantity(text, ACCELERATION_UNITS, "acceleration")


def parse_power_mw(text: str) -> Fraction:
    """An exact power in milliwatts; raises ValueError."""
    return parse_quantity(text, POWER_UNITS, "power")


def floor_int(value: Fraction) -> int:
    """Largest integer <= value."""
    return value.numerator // value.denominator


def ceil_int(value: Fraction) -> int:
    """Smallest integer >= value."""
    return -(-value.numerator // value.denominator)


def format_ns(value_ns: int) -> str:
    """The shortest exact text that `parse_time` reads back as the same number, in the largest fitting unit."""
    magnitude = abs(value_ns)
    for unit, size in (("s", NS_PER_S), ("ms", NS_PER_MS), ("us", NS_PER_US)):
        if magnitude >= size:
            whole, rest = divmod(magnitude, size)
            digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0")
            sign = "-" if value_ns < 0 else ""
            return f"{sign}{whole}{'.' + digits if digits else ''}{unit}"
    return f"{value_ns}ns"


def format_ms(value_ns: int | None, digits: int = 3) -> str:
    """Milliseconds for a table that a person reads; an en dash where there is no value."""
    return "–" if value_ns is None else f"{value_ns / NS_PER_MS:.{digits}f}"


def format_rate(rate_hz: Fraction) -> str:
    """A rate that `parse_rate_hz` reads back exactly."""
    return f"{rate_hz.numerator}Hz" if rate_hz.denominator == 1 else f"{rate_hz.numerator}/{rate_hz.denominator}Hz"
