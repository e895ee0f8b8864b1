"""Requirements: the time that a braking case leaves, and the table both ways."""

from __future__ import annotations

import csv
import io
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.analysis.braking import time_to_command_ns
from rt_sched.app.report.requirements import requirement_csv
from rt_sched.model import BrakingCase

MS = 1_000_000


@pytest.mark.parametrize(
    ("speed", "distance", "deceleration", "actuation_ms", "left_ns"),
    [
        (10, 20, 5, 0, 1_000 * MS),  # 10 m to stop, 10 m left at 10 m/s
        (10, 20, 5, 200, 800 * MS),
        (20, 40, 5, 0, 0),  # braking alone takes the range
        (20, 40, 5, 1, -1 * MS),
        (3, 10, 9, 0, 3_166_666_666),  # 9.5 m at 3 m/s, rounded down
    ],
)
def test_the_time_to_the_command_by_hand(speed, distance, deceleration, actuation_ms, left_ns) -> None:
    case = BrakingCase(Fraction(speed), Fraction(distance), Fraction(deceleration), actuation_ms * MS)
    assert time_to_command_ns(case) == left_ns


@given(st.integers(1, 60), st.integers(1, 200), st.integers(1, 12), st.integers(0, 10**9))
def test_who_commands_in_that_time_stops_in_range_and_a_nanosecond_later_does_not(
    speed: int, distance: int, deceleration: int, actuation_ns: int
) -> None:
    case = BrakingCase(Fraction(speed), Fraction(distance), Fraction(deceleration), actuation_ns)
    left_ns = time_to_command_ns(case)

    def travelled(command_ns: int) -> Fraction:
        return Fraction(speed * (command_ns + actuation_ns), 10**9) + Fraction(speed**2, 2 * deceleration)

    assert travelled(left_ns) <= distance < travelled(left_ns + 1)


def test_requirements_meet_limits_bounds_and_evidence(reviewed) -> None:
    section = reviewed["requirements"]
    first, second = section["requirements"]
    assert (first["requirement"], first["asil"], second["limits"]) == ("REQ-1", "B(D)", [])
    reaction, recovery = first["limits"]
    (chain,) = [one for one in reviewed["chains"] if one["name"] == "see"]
    assert (reaction["limit_ns"], reaction["bound_ns"]) == (150 * MS, chain["reaction_bound_ns"])
    # 50 km/h over 20 m at 6 m/s2: 16.075 m to stop, 3.925 m left, 282.6 ms, less 100 ms.
    assert reaction["derived_limit_ns"] == 182_592_592
    assert reaction["covered"]
    assert (recovery["limit"], recovery["bound_ns"], recovery["verdict"]) == (
        "safety.recovery_limit",
        80 * MS,
        "schedulable",
    )
    assert section["requirements_without_limit"] == ["REQ-2"]
    assert "chains.feel.max_reaction" in section["limits_without_requirement"]
    assert "chains.see.max_reaction" not in section["limits_without_requirement"]


def test_a_limit_that_is_longer_than_braking_allows_is_told(report_on, reviewed_text) -> None:
    document = report_on(reviewed_text.replace("range: 20m", "range: 18m"))
    (reaction, _) = document["requirements"]["requirements"][0]["limits"]
    assert reaction["derived_limit_ns"] < reaction["limit_ns"]
    assert not reaction["covered"]
    (finding,) = document["summary"]["findings"]
    assert (finding["kind"], finding["name"]) == ("requirement", "REQ-1")
    assert document["verdict"] == "inconclusive"


def test_the_table_as_csv(reviewed) -> None:
    rows = list(csv.DictReader(io.StringIO(requirement_csv(reviewed["requirements"]))))
    named = [(row["requirement"], row["limit"]) for row in rows]
    assert named[:3] == [("REQ-1", "chains.see.max_reaction"), ("REQ-1", "safety.recovery_limit"), ("REQ-2", "")]
    assert ("", "tasks.log.deadline") in named
    assert rows[0]["source"] == "<i>item</i>"
    assert int(rows[0]["limit_ns"]) == 150 * MS
