"""Numbers of the report as text that tells its exact value, so that each can be found in the document.

Every number stands in a `data` element whose `value` is that of the document; text around it comes from the document
or holds no digit.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from rt_sched.report.text import NO_VALUE, count
from rt_sched.units import NS_PER_MS

_MILLION = 1_000_000
_NONE = escape(NO_VALUE)


def exact_ms(value_ns: int) -> tuple[str, str]:
    """Milliseconds with three decimals, and the rest of the digits that a nanosecond needs, "" where it is zero."""
    whole, rest = divmod(abs(value_ns), NS_PER_MS)
    digits = f"{rest:06d}"
    sign = "\u2212" if value_ns < 0 else ""
    return f"{sign}{whole:,}.{digits[:3]}".replace(",", "\u202f"), digits[3:] if digits[3:] != "000" else ""


def ms(value_ns: int | None) -> Markup:
    """An exact time for a column headed ms."""
    if value_ns is None:
        return _NONE
    shown, rest = exact_ms(value_ns)
    fine = Markup("<small>{}</small>").format(rest) if rest else ""
    return Markup('<data value="{}">{}{}</data>').format(value_ns, shown, fine)


def time(value_ns: int | None) -> Markup:
    """An exact time with its unit."""
    return ms(value_ns) if value_ns is None else ms(value_ns) + Markup("&nbsp;ms")


def whole(value: int | None) -> Markup:
    """A count."""
    return _NONE if value is None else Markup('<data value="{}">{}</data>').format(value, count(value))


def plain(value: float | int | None) -> Markup:
    """A number as the document writes it."""
    return _NONE if value is None else Markup('<data value="{0}">{0}</data>').format(value)


def ppm(value: int | None) -> Markup:
    """Millionths as a percentage with one decimal, rounded up, so that nothing above a limit looks like the limit."""
    return _NONE if value is None else _percentage(value, -(-value // 1000))


def ppm_down(value: int | None) -> Markup:
    """Millionths of what should be large (a margin, a tightness) as a percentage with one decimal, rounded down."""
    return _NONE if value is None else _percentage(value, value // 1000)


def _percentage(value: int, tenths: int) -> Markup:
    sign = "\u2212" if tenths < 0 else ""
    shown = f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10}"
    return Markup('<data value="{}">{}</data>&nbsp;%').format(value, shown)


def factor(value: int | None) -> Markup:
    """Millionths as a factor with six decimals."""
    if value is None:
        return _NONE
    return Markup('<data value="{}">{}</data>').format(value, f"{value // _MILLION}.{value % _MILLION:06d}")


def svg_ms(value_ns: int) -> tuple[str, dict[str, str | int | float | None]]:
    """Text and attributes of a time in a chart, so that its exact value can be found, too."""
    shown, rest = exact_ms(value_ns)
    return f"{shown}{rest}\u00a0ms", {"data_value": value_ns}


def share(value: int | float, whole_value: int | float) -> float:
    """A place between 0 and 1 on an axis that ends at `whole_value`."""
    return 0.0 if whole_value <= 0 else min(max(value / whole_value, 0.0), 1.0)


def words(value: str) -> Markup:
    """Words of the document."""
    return escape(value.replace("_", " "))
