"""The panel of a bench asks for a release once at each declared time, and not again after it was replaced."""

from __future__ import annotations

import pytest

from pipelines.release_panel import ReleasePanel
from rt_sched.ports import JobContext, Rejected
from rt_sched.units import NS_PER_MS

PERIOD_NS = 20 * NS_PER_MS


def asked(panel: ReleasePanel, numbers: range) -> dict[int, int]:
    """By job, the time in ms that its request carries; jobs without one are left out."""
    found = {}
    for number in numbers:
        at_ns = number * PERIOD_NS
        job = JobContext("panel", number, at_ns, at_ns, at_ns, at_ns + PERIOD_NS)
        try:
            found[number] = panel.process(job, {})["release"].capture_time_ns // NS_PER_MS
        except Rejected:
            continue
    return found


def test_every_time_is_asked_for_once_and_the_last_of_several() -> None:
    assert asked(ReleasePanel(at_ms=[0, 40, 65, 70, 111]), range(10)) == {0: 0, 2: 40, 4: 70, 6: 111}


def test_one_that_begins_later_leaves_out_what_was_due_before() -> None:
    assert asked(ReleasePanel(at_ms=[0, 40, 60, 90]), range(3, 10)) == {3: 60, 5: 90}


@pytest.mark.parametrize("wrong", ["700", 700, [True], [5, 3], [-1], [float("nan")]])
def test_times_are_ascending_numbers(wrong: object) -> None:
    with pytest.raises(ValueError, match="at_ms"):
        ReleasePanel(at_ms=wrong)  # type: ignore[arg-type]
