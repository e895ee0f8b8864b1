"""Numbers and names the way the report prints them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from rt_sched.units import NS_PER_MS, NS_PER_S, NS_PER_US

NO_VALUE = "–"

#: C0 and C1 controls other than tab, line feed and carriage return, lone surrogates, and two that are no characters:
#: HTML or XML forbids or mangles them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """`text` with every character that HTML or XML cannot carry replaced by U+FFFD."""
    return _FORBIDDEN.sub("\ufffd", text)


def clipped(text: str, length: int) -> str:
    """`text` cut in its middle to at most `length` characters, so that both ends stay recognisable."""
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    tail = length - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"


def time_ms(value_ns: int | None) -> str:
    """Milliseconds with two decimals for a column headed "ms"; below 10 µs microseconds, with their unit."""
    if value_ns is None:
        return NO_VALUE
    if value_ns and abs(value_ns) < 10 * NS_PER_US:
        return f"{value_ns / NS_PER_US:.2f} µs"
    return f"{value_ns / NS_PER_MS:,.2f}".replace(",", "\u202f")


def time_with_unit(value_ns: int | None) -> str:
    """Three to four significant digits with the unit that suits the size: 850 ns, 12.4 µs, 33.33 ms, 4.000 s."""
    if value_ns is None:
        return NO_VALUE
    magnitude = abs(value_ns)
    for unit, size in (("s", NS_PER_S), ("ms", NS_PER_MS), ("µs", NS_PER_US)):
        if magnitude >= size:
            value = value_ns / size
            digits = 2 if abs(value) < 100 else 1
            return f"{value:,.{digits}f}".replace(",", "\u202f") + f"\u00a0{unit}"
    return f"{value_ns}\u00a0ns"


def count(value: int | None) -> str:
    """A whole number with thin spaces between thousands."""
    return NO_VALUE if value is None else f"{value:,}".replace(",", "\u202f")


def percent(ratio: float | None, digits: int = 1) -> str:
    """A ratio such as 0.125 as 12.5 %. Never rounds a ratio above 1 down to 100 %, nor one below it up."""
    if ratio is None or not math.isfinite(ratio):
        return NO_VALUE
    value = ratio * 100
    rounded = round(value, digits)
    step = 10.0**-digits
    if rounded <= 100 < value:
        rounded = 100 + step
    elif rounded >= 100 > value:
        rounded = 100 - step
    return f"{rounded:.{digits}f}\u00a0%"


def of_limit(value_ns: int, limit_ns: int) -> str:
    """A time against its limit in words: 62 % of 200.0 ms, or 17.0 times 150.0 ms."""
    share = value_ns / max(limit_ns, 1)
    if share >= 5:
        return f"{share:,.1f} times {time_with_unit(limit_ns)}"
    return f"{percent(share, 0)} of {time_with_unit(limit_ns)}"


def plural(number: int, singular: str, several: str | None = None) -> str:
    """A count and its noun: 1 job, 2 jobs."""
    return f"{count(number)} {singular if number == 1 else several or singular + 's'}"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: a, b and c."""
    items = list(names)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + (" and " + items[-1] if items else "")


def step_of_axis(span: float, ticks: int) -> float:
    """The step out of 1, 2, 5 x 10^n that gives at most `ticks` intervals over `span` (> 0)."""
    raw = span / max(ticks, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1, 2, 5, 10):
        if power * factor >= raw * (1 - 1e-9):
            return power * factor
    return power * 10


def axis_values_ns(start_ns: int, end_ns: int, ticks: int) -> list[int]:
    """Round instants in [start_ns, end_ns], at a step of at least 1 ns."""
    if end_ns <= start_ns:
        return [start_ns]
    step = max(1, round(step_of_axis(end_ns - start_ns, ticks)))
    first = -(-start_ns // step) * step
    return list(range(first, end_ns + 1, step))


def axis_labels(values_ns: Sequence[int], span_ns: int) -> list[str]:
    """Ticks with just the decimals that their step needs, the last one with the unit: ms, or s from two seconds on."""
    unit, size = ("s", NS_PER_S) if span_ns >= 2 * NS_PER_S else ("ms", NS_PER_MS)
    step = values_ns[1] - values_ns[0] if len(values_ns) > 1 else max(span_ns, 1)
    digits = max(0, -math.floor(math.log10(step / size) + 1e-9))
    labels = [f"{value / size:.{digits}f}" for value in values_ns]
    return [*labels[:-1], f"{labels[-1]}\u00a0{unit}"] if labels else []
