"""What is said of a paced run: a miss first, then losses and late samples, and never a yes without bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rt_sched.app.paced.verdict import paced_status
from rt_sched.runtime.host.tiers import Tier

STATUSES = ("ok", "deadline_miss", "assumption_violated", "bound_violated", "incomplete", "failed")


@given(
    st.sampled_from(STATUSES), st.sampled_from(Tier), st.integers(0, 3), st.sampled_from([None, "2 samples were late"])
)
def test_the_worst_that_can_be_said_is_said(status: str, tier: Tier, lost: int, late: str | None) -> None:
    found, reason = paced_status(status, "because", tier=tier, lost=lost, late=late)
    assert (found == "ok") == (status == "ok" and tier is not Tier.USER and not lost and late is None)
    if status in ("deadline_miss", "failed"):
        assert (found, reason) == (status, "because")
    if lost:
        assert found not in ("ok", "bound_violated")
    if found == "bound_violated":
        assert status == "bound_violated"


def test_what_was_lacking_is_named() -> None:
    assert "no bounds" in paced_status("ok", "all met", tier=Tier.USER, lost=0, late=None)[1]
    assert "1 worker was" in paced_status("ok", "all met", tier=Tier.FIFO, lost=1, late=None)[1]
    assert "no bound covers" in paced_status("bound_violated", "x over y", tier=Tier.FIFO, lost=2, late=None)[1]
    assert paced_status("ok", "all met", tier=Tier.FIFO, lost=0, late="2 late")[1] == "2 late"


def test_sensors_that_nobody_watched_for_too_long_leave_a_run_incomplete() -> None:
    found = paced_status("ok", "all met", tier=Tier.FIFO, lost=0, late=None, unwatched="nobody watched")
    assert found == ("incomplete", "nobody watched")
    missed = paced_status("deadline_miss", "late", tier=Tier.FIFO, lost=0, late=None, unwatched="nobody watched")
    assert missed == ("deadline_miss", "late")


def test_samples_that_never_came_are_told_and_no_bound_covers_them() -> None:
    for status in ("ok", "incomplete"):
        found = paced_status(status, "because", tier=Tier.FIFO, lost=0, late=None, missing=3)
        assert found == ("incomplete", "3 samples were due and not published")
    status, reason = paced_status("bound_violated", "x over y", tier=Tier.FIFO, lost=0, late=None, missing=3)
    assert status == "assumption_violated" and reason.startswith("3 samples were due and not published")
