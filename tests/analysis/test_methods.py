"""Analyses of one set against plain definitions, and what they refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest
import textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import task_sets

from rt_sched.analysis.theory.blocking import (
    Section,
    ceiling_blocking_ns,
    inheritance_blocking_ns,
    msrp_terms,
    region_blocking_ns,
    srp_blocking_ns,
)
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing, least_fixed_point
from rt_sched.analysis.theory.global_tests import global_edf_response_times, global_fp_response_times
from rt_sched.analysis.theory.mixed_criticality import DualTiming, amc_max, amc_rtb
from rt_sched.analysis.theory.slices import Supply, sliced_response_times
from rt_sched.analysis.theory.suspension import suspending_response_times, suspension_as_blocking
from rt_sched.analysis.theory.utilisation import edf_load, hyperbolic, liu_layland
from rt_sched.errors import AnalysisNotApplicable

EXAMPLES = settings(max_examples=80, deadline=None)


def timings(tasks: list[textbook.Task]) -> list[Timing]:
    return [Timing(t.C, t.T, t.D, t.J, t.B) for t in tasks]


@EXAMPLES
@given(tasks=task_sets(blocking=False))
def test_fifo_looks_at_every_release(tasks: list[textbook.Task]) -> None:
    assume(textbook.load(tasks) < 1)
    length = textbook.busy_period(tasks)
    assume(length is not None and length <= 2000)
    expected = []
    for own in tasks:
        worst = 0
        for r in range(length):
            others = sum(((r + t.J) // t.T + 1) * t.C for t in tasks if t is not own)
            worst = max(worst, (r // own.T + 1) * own.C + others - r + own.J)
        expected.append(worst)
    assert fifo_response_times(timings(tasks)) == expected


@st.composite
def supplies(draw) -> Supply:  # type: ignore[no-untyped-def]
    marks = sorted(draw(st.sets(st.integers(0, 20), min_size=2, max_size=6)))
    windows = tuple(zip(marks[::2], marks[1::2], strict=False))
    return Supply(draw(st.integers(marks[-1], 24)), windows)


@EXAMPLES
@given(supply=supplies())
def test_supply_is_the_least_over_all_phases(supply: Supply) -> None:
    served = [any(a <= t % supply.cycle_ns < b for a, b in supply.windows_ns) for t in range(6 * supply.cycle_ns)]
    for length in range(3 * supply.cycle_ns):
        least = min(sum(served[begin : begin + length]) for begin in range(supply.cycle_ns))
        assert supply.bound_ns(length) == least
    for work in range(1, 2 * supply.per_cycle_ns):
        length = supply.time_for_ns(work)
        assert supply.bound_ns(length) >= work > supply.bound_ns(length - 1)


@EXAMPLES
@given(tasks=task_sets())
def test_a_whole_cycle_is_a_plain_processor(tasks: list[textbook.Task]) -> None:
    assume(textbook.load(tasks) < 1)
    lengths = [textbook.busy_period(tasks[: i + 1], t.B) for i, t in enumerate(tasks)]
    assume(all(length is not None and length <= 2000 for length in lengths))
    whole = Supply(1, ((0, 1),))
    expected = [textbook.fp_preemptive(i, tasks) for i in range(len(tasks))]
    assert sliced_response_times(timings(tasks), whole) == expected


@EXAMPLES
@given(tasks=task_sets(jitter=False, blocking=False, constrained=True), data=st.data())
def test_amc_looks_at_every_switch(tasks: list[textbook.Task], data: st.DataObject) -> None:
    dual = []
    for t in tasks:
        most = data.draw(st.one_of(st.none(), st.integers(t.C, max(t.C, min(t.T, 2 * t.C)))))
        dual.append(DualTiming(t.C, max(t.T, t.C), max(t.C, min(t.D, t.T)), most))
    assume(sum(Fraction(t.highest_ns, t.period_ns) for t in dual) < 1)
    for own, (rtb, exact) in enumerate(zip(amc_rtb(dual), amc_max(dual), strict=True)):
        mine, higher = dual[own], dual[:own]
        assert (rtb.low_ns, rtb.high_ns) == (exact.low_ns, exact.high_ns)
        if not mine.high:
            assert rtb.switch_ns is exact.switch_ns is None
            continue
        if any(t.high and amc_rtb(dual)[i].low_ns is None for i, t in enumerate(higher)):
            assert exact.switch_ns is None
            continue
        worst = 0
        for s in range(rtb.low_ns or 0):

            def right(w: int, s: int = s, mine: DualTiming = mine, higher: list[DualTiming] = higher) -> int:
                total = mine.highest_ns
                for t in higher:
                    if not t.high:
                        total += (s // t.period_ns + 1) * t.wcet_lo_ns
                        continue
                    jobs = -(-w // t.period_ns)
                    late = min(jobs, max(0, -(-(w - s - t.period_ns + t.deadline_ns) // t.period_ns) + 1))
                    total += late * t.highest_ns + (jobs - late) * t.wcet_lo_ns
                return total

            worst = max(worst, textbook.least_fixed_point(right, mine.highest_ns))
        assert exact.switch_ns == (worst if worst <= mine.deadline_ns and rtb.low_ns is not None else None)
        assert rtb.switch_ns is None or rtb.switch_ns >= worst


@EXAMPLES
@given(tasks=task_sets(jitter=False, blocking=False, constrained=True), data=st.data())
def test_suspension_bounds_are_ordered(tasks: list[textbook.Task], data: st.DataObject) -> None:
    assume(all(t.D <= t.T for t in tasks))
    waits = [data.draw(st.integers(0, t.T // 2)) for t in tasks]
    least, simple = suspending_response_times(timings(tasks), waits), suspension_as_blocking(timings(tasks), waits)
    plain = [textbook.fp_preemptive(i, tasks) for i in range(len(tasks))]
    for i, (a, b) in enumerate(zip(least, simple, strict=True)):
        if a is not None:
            assert a >= plain[i] + waits[i]
        if b is not None:
            assert a is not None
            assert a <= b


SHARED = [[Section(0, 3)], [Section(1, 5)], [Section(0, 4), Section(1, 2)], [Section(1, 9), Section(0, 1)]]


def test_one_section_blocks_under_a_ceiling() -> None:
    assert ceiling_blocking_ns(SHARED) == [4, 9, 9, 0]
    assert srp_blocking_ns(SHARED, [10, 20, 30, 40]) == [4, 9, 9, 0]
    assert srp_blocking_ns([SHARED[3], SHARED[0]], [40, 10]) == [0, 1]


def test_inheritance_blocks_once_a_task_or_once_a_resource() -> None:
    assert inheritance_blocking_ns(SHARED) == [4, 13, 9, 0]
    chained = [[Section(0, 3)], [Section(0, 4, inside=(1,))], [Section(1, 7)]]
    assert inheritance_blocking_ns(chained) == [11, 7, 0]
    assert ceiling_blocking_ns(chained) == [4, 7, 0]


def test_a_lower_region_blocks_for_one_less() -> None:
    assert region_blocking_ns([9, 4, 7, 1]) == [6, 6, 0, 0]
    assert region_blocking_ns([]) == []


def test_two_cores_run_two_tasks_at_once() -> None:
    tasks = [Timing(2, 4, 4), Timing(3, 5, 5), Timing(2, 10, 10)]
    assert global_fp_response_times(tasks[:2], 2) == [2, 3]
    assert global_edf_response_times(tasks[:2], 2) == [2, 3]
    assert global_fp_response_times(tasks, 2)[2] == global_fp_response_times([*tasks, Timing(9, 9, 9)], 2)[2]
    assert global_fp_response_times([*tasks, Timing(9, 9, 9), Timing(1, 90, 90)], 2)[3:] == [None, None]


def test_msrp_spins_once_a_processor() -> None:
    tasks = [[Section(0, 3)], [Section(0, 4)], [Section(0, 5), Section(1, 6)], [Section(1, 8)], [Section(0, 2)]]
    terms = msrp_terms(tasks, [0, 1, 0, 0, 2], [{0: 2}, {0: 1}, {0: 1, 1: 1}, {1: 1}, {0: 1}], frozenset({0}))
    assert [term.spin_ns for term in terms] == [2 * (4 + 2), 5 + 2, 4 + 2, 0, 5 + 4]
    assert [term.blocking_ns for term in terms] == [4 + 2 + 5, 0, 8, 0, 0]


def test_refusals_name_assumption_and_way_out() -> None:
    late = [Timing(1, 5, 9)]
    with pytest.raises(AnalysisNotApplicable, match="deadline 9 ns exceeds the period 5 ns"):
        suspending_response_times(late, [0])
    with pytest.raises(AnalysisNotApplicable, match="Use the processor demand test"):
        edf_load([Timing(1, 5, 4)])
    for test in (liu_layland, hyperbolic):
        with pytest.raises(AnalysisNotApplicable, match="Use the response time analysis"):
            test([Timing(1, 5, 5), Timing(1, 4, 4)])
    with pytest.raises(AnalysisNotApplicable, match="Split the task"):
        ceiling_blocking_ns(SHARED, suspends=[False, True, False, False])
    with pytest.raises(AnalysisNotApplicable, match="nested"):
        msrp_terms([[Section(0, 3, inside=(1,))]], [0], [{0: 1}], frozenset({1}))
    with pytest.raises(AnalysisNotApplicable, match="at least 1 ns"):
        Timing(0, 5, 5)
    with pytest.raises(AnalysisNotApplicable, match="AMC needs"):
        amc_rtb([DualTiming(3, 5, 5, 2)])
    with pytest.raises(AnalysisNotApplicable, match="nothing is supplied"):
        Supply(10, ())


def test_a_recurrence_above_the_deadline_bounds_nothing() -> None:
    second = amc_rtb([DualTiming(3, 5, 5), DualTiming(3, 5, 5)])[1]
    assert (second.low_ns, second.worst_ns) == (None, None)
    high = amc_max([DualTiming(3, 10, 10, 5), DualTiming(3, 10, 10, 6)])[1]
    assert (high.low_ns, high.high_ns, high.switch_ns, high.worst_ns) == (6, None, None, None)


def test_what_does_not_converge_says_so() -> None:
    with pytest.raises(NotConverged):
        fifo_response_times([Timing(3, 5, 5), Timing(3, 5, 5)])
    with pytest.raises(NotConverged):
        sliced_response_times([Timing(2, 4, 4)], Supply(10, ((0, 4),)))
    with pytest.raises(NotConverged):
        least_fixed_point(lambda window: window + 1, 1)


@EXAMPLES
@given(tasks=task_sets(jitter=False, blocking=False))
def test_utilisation_tests_accept_only_what_responses_accept(tasks: list[textbook.Task]) -> None:
    ordered = sorted((textbook.Task(t.C, t.T, t.T) for t in tasks), key=lambda t: t.T)
    lenient = hyperbolic(timings(ordered))
    assert lenient or not liu_layland(timings(ordered))
    if lenient:
        assert all(textbook.fp_preemptive(i, ordered) <= t.T for i, t in enumerate(ordered))
    assert edf_load(timings(ordered)) == (textbook.load(ordered) <= 1)


def test_the_bounds_themselves() -> None:
    half = [Timing(1, 2, 2), Timing(1, 3, 3)]
    assert not liu_layland(half)
    assert hyperbolic(half)
    assert not hyperbolic([*half, Timing(1, 10**9, 10**9)])
