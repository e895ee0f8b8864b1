"""Readers of quantities and names, over generated values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched import units
from rt_sched.config import fields, quantities
from rt_sched.config.problems import MAX_CHOICES_SHOWN, Problems, closest, listed, quoted, unknown
from rt_sched.config.yaml_nodes import Node, parse
from rt_sched.errors import ConfigError

NO_TIME = "is not a time; write a number and a unit (ns, us, µs, ms, s, min); for example 33ms"


def _read(reader, written: str):
    """The value that `reader` gives for a YAML value, or the only message."""
    problems = Problems("f")
    root = parse(f"v: {written}".encode(), problems)
    problems.raise_if_any()
    assert isinstance(root, Node)
    value = reader(root.entries["v"].value, problems)
    try:
        problems.raise_if_any()
    except ConfigError as error:
        assert value is None, "a reader that complains gives no value"
        (problem,) = error.problems
        assert (problem.line, problem.path) == (1, "v")
        return problem.message
    return value


@given(st.integers(1, quantities.MAX_TIME_NS))
def test_formatted_times_read_back(time_ns: int) -> None:
    written = units.format_ns(time_ns)
    assert _read(quantities.time_down, written) == time_ns
    assert _read(quantities.time_up_or_zero, written) == time_ns


@given(st.fractions(min_value=1, max_value=10**6, max_denominator=10**4))
def test_rounding_directions(time_us: Fraction) -> None:
    written = f"{time_us.numerator}/{time_us.denominator}us"
    exact_ns = time_us * 1000
    down, up = _read(quantities.time_down, written), _read(quantities.time_up_or_zero, written)
    assert down <= exact_ns <= up
    assert up - down == (0 if exact_ns.denominator == 1 else 1)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**6))
def test_rates_are_exact(rate_hz: Fraction) -> None:
    assert _read(quantities.rate, units.format_rate(rate_hz)) == rate_hz
    period_ns = units.NS_PER_S / rate_hz
    if rate_hz >= 1:
        written = f"{period_ns.numerator}/{period_ns.denominator}ns"
        assert _read(quantities.period_as_rate, written) == rate_hz


@pytest.mark.parametrize(
    ("reader", "written", "value"),
    [
        (quantities.time_down, "2.5us", 2500),
        (quantities.time_down, "1_000 ns", 1000),
        (quantities.time_down, "'33 ms'", 33_000_000),
        (quantities.time_down, "1e1ms", 10_000_000),
        (quantities.time_down, "60min", 3600 * 10**9),
        (quantities.time_down, "1.9ns", 1),
        (quantities.time_up_or_zero, "0s", 0),
        (quantities.time_up_or_zero, "1.1ns", 2),
        (quantities.rate, "1mHz", Fraction(1, 1000)),
        (quantities.rate, "1MHz", 10**6),
        (fields.boolean, "true", True),
        (fields.boolean, "False", False),
        (fields.integer(0, 9), "0", 0),
        (fields.integer(0, 99), "0x10", 16),
        (fields.number, "1e-3", 0.001),
        (fields.texts, "a", ("a",)),
        (fields.texts, "[b, a]", ("b", "a")),
        (fields.name, "orin-1_a", "orin-1_a"),
    ],
)
def test_values(reader, written: str, value) -> None:
    assert _read(reader, written) == value


@pytest.mark.parametrize(
    ("reader", "written", "message"),
    [
        (quantities.time_down, "0.9ns", "'0.9ns' must be at least 1ns"),
        (quantities.time_down, "true", f"'true' {NO_TIME}"),
        (quantities.time_down, "1,5ms", f"'1,5ms' {NO_TIME}"),
        (quantities.time_down, "5MS", "'5MS' has the unknown unit 'MS'; valid: ns, us, µs, ms, s, min; for example 5ms"),  # noqa: E501
        (quantities.time_down, "9" * 65 + "ms", f"'{'9' * 57}...' is too long for a time; write one such as 33ms"),
        (quantities.time_up_or_zero, "61min", "'61min' is longer than the limit of 60min"),
        (quantities.rate, "0.9mHz", "'0.9mHz' is outside the valid rates, 1mHz to 1MHz"),
        (quantities.period_as_rate, "0.9us", "'0.9us' is outside the valid periods, 1us to 1000s"),
        (quantities.rate, "1/0Hz", "'1/0Hz' divides by zero; for example 30Hz"),
        (fields.boolean, "1", "expected true or false, found '1'"),
        (fields.integer(0, 9), "1.0", "expected a whole number from 0 to 9, found '1.0'"),
        (fields.integer(0, 9), "'1'", "expected a whole number from 0 to 9, found '1'"),
        (fields.number, ".inf", "expected a number, found '.inf'"),
        (fields.number, "1" * 65, f"expected a number, found '{'1' * 57}...'"),
        (fields.text, "''", "expected a word, found ''"),
        (fields.text, "", "expected a word, found nothing"),
        (fields.text, "{}", "expected a word, found a mapping"),
        (fields.texts, "[]", "the list is empty; write at least one word"),
        (fields.name, "a b", "the name 'a b' is not valid; use letters, digits, _ and -"),
        (fields.name, "größe", "the name 'größe' is not valid; use letters, digits, _ and -"),
    ],
)  # fmt: skip
def test_messages(reader, written: str, message: str) -> None:
    assert _read(reader, written) == message


def test_repeated_word_is_reported_at_the_repetition() -> None:
    problems = Problems("f")
    root = parse(b"v: [a, a]", problems)
    assert root is not None
    fields.texts(root.entries["v"].value, problems)
    with pytest.raises(ConfigError, match=r"^f:1:8  v\[1\]: 'a' stands twice in this list$"):
        problems.raise_if_any()


def test_suggestions_ignore_case_and_prefer_the_closest() -> None:
    assert closest("maxn", ["MAXN", "50W"]) == "MAXN"
    assert closest("front_wde", ["front_wide", "front_tele"]) == "front_wide"
    assert closest("zzz", ["front_wide"]) is None
    assert unknown("device", "x", []) == "unknown device 'x'; valid: none"


def test_long_lists_and_values_are_cut() -> None:
    names = [f"n{i}" for i in range(MAX_CHOICES_SHOWN + 6)]
    assert listed(names).endswith(f"n{MAX_CHOICES_SHOWN - 1}, ... ({MAX_CHOICES_SHOWN + 6} in all)")
    assert len(quoted("y" * 500)) == 62
    assert "\n" not in quoted("a\nb")
