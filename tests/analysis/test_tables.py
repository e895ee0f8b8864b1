"""Responses of tasks that a table serves: with the phase of their arrivals where it is known, for every phase else."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hand_made import bound, element, jobs_of, planned, task, worst
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.theory.tables import Entries, worst_of_known_phase
from rt_sched.model import DeviceClock, Periodic, Plan, Policy, System, TableEntry

EXAMPLES = settings(max_examples=120, deadline=None)


@st.composite
def entries(draw) -> Entries:  # type: ignore[no-untyped-def]
    starts, lengths, at = [], [], draw(st.integers(0, 4))
    for _ in range(draw(st.integers(1, 3))):
        length = draw(st.integers(1, 6))
        starts.append(at)
        lengths.append(length)
        at += length + draw(st.integers(0, 4))
    return Entries(at + draw(st.integers(0, 3)), tuple(starts), tuple(lengths))


def _by_the_tick(served: Entries, work: int, rate: Fraction, offset: int, jitter: int, jobs: int) -> int:
    """Largest response of the first `jobs` jobs: every nanosecond is looked at."""
    arrivals = [offset + int(k * 10**9 / rate) for k in range(jobs)]
    job, left, serving, worst, now = 0, work, False, 0, 0
    while job < jobs:
        rest = now % served.cycle_ns
        spans = zip(served.starts_ns, served.usable_ns, strict=True)
        begun = next((start for start, length in spans if start <= rest < start + length), None)
        if begun is None:
            serving = False
        elif rest == begun:
            serving = arrivals[job] + jitter <= now
        if serving:
            left -= 1
            if left == 0:
                worst = max(worst, now + 1 - arrivals[job])
                job, left, serving = job + 1, work, False
        now += 1
    return worst


@EXAMPLES
@given(
    served=entries(),
    work=st.integers(1, 8),
    times=st.fractions(Fraction(1, 2), 6, max_denominator=4),
    offset=st.integers(0, 30),
    jitter=st.integers(0, 20),
)
def test_a_known_phase_is_followed_job_by_job(
    served: Entries, work: int, times: Fraction, offset: int, jitter: int
) -> None:
    period = times * served.cycle_ns
    assume(period >= 1 and 1 / period <= served.jobs_per_ns(work))
    found = worst_of_known_phase(served, work, 0, 10**9 / period, offset, jitter)
    assert found is not None
    assert found.response_ns == _by_the_tick(served, work, 10**9 / period, offset, jitter, max(40, found.job + 1))


def _on_a_table(period: Fraction, offset: int, wcet: int, jitter: int = 0, deadline: int = 40) -> tuple[System, Plan]:
    """One task with the entries [2, 6) and [9, 12) of a cycle of 20."""
    cpu = element(policy=Policy.TABLE, table=(TableEntry(2, 4, "x"), TableEntry(9, 3, "x")), table_cycle_ns=20)
    timed = Periodic(10**9 / period, offset, jitter)
    return planned([cpu], [task("x", wcet, int(period), deadline, activation=timed)])


@pytest.mark.parametrize(
    ("period", "offset", "wcet", "expected"),
    [(20, 2, 4, 4), (20, 3, 3, 9), (20, 13, 4, 13), (40, 2, 5, 8), (10, 2, 3, 13), (10, 0, 3, 15), (30, 1, 3, 14)],
)
def test_the_phase_of_a_period_that_fits_the_cycle(period: int, offset: int, wcet: int, expected: int) -> None:
    system, plan = _on_a_table(Fraction(period), offset, wcet)
    found = analyze(system, plan).task("x").bound
    assert found is not None
    assert (found.value_ns, found.exact) == (expected, True)
    assert worst(jobs_of(system, plan, 400), "x") == expected


def test_without_a_known_phase_the_bound_holds_for_all() -> None:
    system, plan = _on_a_table(Fraction(20), 2, 3)
    everywhere = bound(replace(system, tasks=(task("x", 3, 20, 40),)), plan, "x")
    seen = [worst(jobs_of(*_on_a_table(Fraction(20), offset, 3), 400), "x") for offset in range(20)]
    assert everywhere == max(seen) == 15
    assert min(seen) == 3


@pytest.mark.parametrize(("offset", "jitter"), [(2, 0), (1, 1), (2, 5), (0, 30)])
def test_one_nanosecond_less_than_the_bound_is_missed(offset: int, jitter: int) -> None:
    for deadline, wanted in ((0, Verdict.SCHEDULABLE), (-1, Verdict.UNSCHEDULABLE)):
        system, plan = _on_a_table(Fraction(30), offset, 3, jitter)
        least = bound(system, plan, "x") or 0
        tight = replace(system, tasks=(replace(system.tasks[0], deadline_ns=least + deadline),))
        assert analyze(tight, plan).task("x").verdict is wanted


def test_jobs_that_entries_just_keep_up_with_have_a_bound_although_they_never_catch_up() -> None:
    cpu = element(policy=Policy.TABLE, table=(TableEntry(2, 4, "x"),), table_cycle_ns=10)
    system, plan = planned([cpu], [task("x", 4, 10, activation=Periodic(Fraction(10**8), 0, 25))])
    assert bound(system, plan, "x") == 26 + 10
    faster, plan = planned([cpu], [task("x", 4, 9, 10**6)])
    result = analyze(faster, plan).task("x")
    assert result.bound is None
    assert "jobs of x arrive faster than its entries serve them" in result.reason


def _with_drift(system: System, drift_ppm: int) -> System:
    (device,) = system.devices
    return replace(system, devices=(replace(device, clock=DeviceClock(drift_ppm=Fraction(drift_ppm))),))


def test_a_clock_that_drifts_passes_through_all_phases_of_a_table() -> None:
    system, plan = _on_a_table(Fraction(40), 2, 3)
    assert bound(system, plan, "x") == 3
    # Too slow by a thousandth the task meets all phases of the cycle within 1001 jobs, which are followed.
    slow = _with_drift(system, -1000)
    seen = worst(jobs_of(slow, plan, 50_000), "x")
    assert (bound(slow, plan, "x"), seen) == (15, 15)
    # By a millionth no run of this length shows more than a little, yet the bound is that of any phase.
    crawling = _with_drift(system, -1)
    assert bound(crawling, plan, "x") == 15
    assert worst(jobs_of(crawling, plan, 50_000), "x") < 15


def test_a_fast_clock_asks_for_more_than_a_full_table_has() -> None:
    cpu = element(policy=Policy.TABLE, table=(TableEntry(2, 4, "x"),), table_cycle_ns=10)
    system, plan = planned([cpu], [task("x", 4, 10, activation=Periodic(Fraction(10**8)))])
    assert bound(system, plan, "x") == 6
    result = analyze(_with_drift(system, 100_000), plan).task("x")
    assert (result.bound, result.verdict) == (None, Verdict.UNSCHEDULABLE)
    result = analyze(_with_drift(system, 1), plan).task("x")
    assert (result.bound, result.verdict) == (None, Verdict.INCONCLUSIVE)
    assert "jobs of x arrive faster than its entries serve them" in result.reason


@settings(max_examples=25, deadline=None)
@given(
    drift=st.sampled_from([-30_000, -7000, -1, 1, 333, 25_000]),
    period=st.sampled_from([20, 30, 40, 50]),
    offset=st.integers(0, 20),
    wcet=st.integers(1, 5),
    jitter=st.integers(0, 12),
)
def test_no_run_on_a_drifting_clock_exceeds_its_bound(
    drift: int, period: int, offset: int, wcet: int, jitter: int
) -> None:
    system, plan = _on_a_table(Fraction(period), offset, wcet, jitter, 1000)
    system = _with_drift(system, drift)
    found = bound(system, plan, "x")
    seen = worst(jobs_of(system, plan, 20_000, jitters={"x": [jitter] * 1200}), "x")
    assert found is None or seen <= found
    assert found is not None or drift > 0 or wcet == 5
