"""Arrival curves against plain definitions, the batch functions where a curve is periodic, and a peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import textbook
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import arrays, task_sets

from rt_sched.analysis.batch import Status, edf_response_times, fp_response_times
from rt_sched.analysis.loads.load import Stream
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.task_sets import task_set_load
from rt_sched.analysis.theory.curves import (
    Curves,
    CurveTask,
    arrivals_within,
    earliest_arrival_ns,
    is_subadditive,
    sporadic_curve,
)
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing
from rt_sched.model import ArrivalCurve, Policy, SetTask, TaskSet

EXAMPLES = settings(max_examples=50, deadline=None)
FAR = 150
POLICIES = {Policy.FIXED_PRIORITY: "fp", Policy.EDF: "edf", Policy.FIFO: "fifo"}


@st.composite
def curves(draw) -> ArrivalCurve:  # type: ignore[no-untyped-def]
    lengths = sorted({1, *draw(st.sets(st.integers(2, 24), max_size=3))})
    jobs = np.cumsum([draw(st.integers(1, 3)) for _ in lengths]).tolist()
    return ArrivalCurve(draw(st.integers(lengths[-1] + 1, lengths[-1] + 15)), tuple(zip(lengths, jobs, strict=True)))


@st.composite
def curve_tasks(draw) -> list[CurveTask]:  # type: ignore[no-untyped-def]
    """By level; the load is at most 1."""
    tasks = []
    left = draw(st.sampled_from([0.6, 0.8, 0.95]))
    for level in range(draw(st.integers(1, 4))):
        curve = draw(curves())
        rate = curve.steps[-1][1] / curve.horizon_ns
        cost = draw(st.integers(1, 8))
        if cost * rate > left:
            stretch = int(np.ceil(cost * rate / left)) if left > 0.05 else 100
            curve = ArrivalCurve(curve.horizon_ns * stretch, curve.steps)
        left -= cost * curve.steps[-1][1] / curve.horizon_ns
        jitter = draw(st.integers(0, 20)) if draw(st.booleans()) else 0
        tasks.append(CurveTask(curve, cost, draw(st.integers(1, 60)), draw(st.integers(0, level)), jitter, jitter))
    return sorted(tasks, key=lambda task: task.level)


def eta(curve: ArrivalCurve, window: int) -> int:
    """The curve as its definition says it, step by step."""
    total = 0
    while window >= curve.horizon_ns:
        total, window = total + curve.steps[-1][1], window - curve.horizon_ns
    return total + max((jobs for length, jobs in curve.steps if length <= window), default=0)


def busy(tasks: list[CurveTask], blocking: int) -> int:
    return least(lambda w: max(1, blocking + work(tasks, w)))


def work(tasks: list[CurveTask], window: int) -> int:
    return sum(eta(t.curve, window + t.jitter_ns) * t.cost_ns for t in tasks)


def least(right: Callable[[int], int]) -> int:
    """Least fixed point from 0, when it is not far away."""
    found = 0
    while right(found) > found:
        found = right(found)
        assume(found < FAR)
    return found


def fp_oracle(own: CurveTask, tasks: list[CurveTask], blocking: int, region: int) -> int:
    """Every instant at which the job may arrive, not only those at which the curve grows."""
    others = [t for t in tasks if t is not own and t.level <= own.level]
    length = busy([own, *others], blocking)
    worst = 0
    for arrival in range(-own.jitter_ns, length):
        jobs = eta(own.curve, arrival + own.jitter_ns + 1)
        mine = blocking + jobs * own.cost_ns - region
        s = least(lambda s, mine=mine: mine + work(others, s + 1))
        worst = max(worst, s + region - arrival)
    return worst


def edf_oracle(own: CurveTask, tasks: list[CurveTask], preemptive: bool) -> int:
    others = [t for t in tasks if t is not own]
    length = busy(tasks, 0)
    region = 1 if preemptive else own.cost_ns
    worst = 0
    for arrival in range(-own.jitter_ns, length):
        due = arrival + own.deadline_ns
        block = 0 if preemptive else max([0, *(t.cost_ns - 1 for t in tasks if t.deadline_ns > due)])
        mine = block + eta(own.curve, arrival + own.jitter_ns + 1) * own.cost_ns - region

        def right(s: int, due: int = due, mine: int = mine) -> int:
            total = mine
            for t in others:
                window = min(s + 1, due - t.deadline_ns + 1) + t.jitter_ns
                total += eta(t.curve, window) * t.cost_ns if window > 0 else 0
            return total

        worst = max(worst, least(right) + region - arrival)
    return worst


@EXAMPLES
@given(curve=curves())
def test_a_curve_counts_as_it_is_written(curve: ArrivalCurve) -> None:
    counts = [arrivals_within(curve, window) for window in range(-2, 4 * curve.horizon_ns)]
    assert counts == [eta(curve, max(window, 0)) for window in range(-2, 4 * curve.horizon_ns)]
    for job in range(3 * curve.steps[-1][1]):
        gap = earliest_arrival_ns(curve, job)
        assert eta(curve, gap + 1) > job >= eta(curve, gap)


@EXAMPLES
@given(curve=curves())
def test_subadditive_is_looked_at_in_every_pair_of_windows(curve: ArrivalCurve) -> None:
    within = range(1, 2 * curve.horizon_ns)
    assert is_subadditive(curve) == all(
        eta(curve, a + b) <= eta(curve, a) + eta(curve, b) for a in within for b in within
    )


@EXAMPLES
@given(tasks=curve_tasks(), blocking=st.integers(0, 9), preemptive=st.booleans())
def test_fixed_priority_looks_at_every_arrival(tasks: list[CurveTask], blocking: int, preemptive: bool) -> None:
    assume(Curves(tasks).load < 1)
    regions = [1 if preemptive else task.cost_ns for task in tasks]
    tasks = [with_region(task, region) for task, region in zip(tasks, regions, strict=True)]
    for own, task in enumerate(tasks):
        worst = Curves(tasks).fixed_priority(own, blocking)
        assert worst is not None
        assert worst.response_ns == fp_oracle(task, tasks, blocking, regions[own])


@EXAMPLES
@given(tasks=curve_tasks(), preemptive=st.booleans())
def test_edf_looks_at_every_arrival(tasks: list[CurveTask], preemptive: bool) -> None:
    assume(Curves(tasks).load < 1)
    tasks = [with_region(task, 1 if preemptive else task.cost_ns) for task in tasks]
    blocks = [0 if preemptive else task.cost_ns - 1 for task in tasks]
    for own, task in enumerate(tasks):
        worst = Curves(tasks).edf(own, blocks)
        assert worst is not None
        assert worst.response_ns == edf_oracle(task, tasks, preemptive)


@EXAMPLES
@given(tasks=curve_tasks())
def test_fifo_looks_at_every_release(tasks: list[CurveTask]) -> None:
    assume(Curves(tasks).load < 1)
    length = busy(tasks, 0)
    for own, task in enumerate(tasks):
        others = [t for t in tasks if t is not task]
        expected = max(
            eta(task.curve, r + 1) * task.cost_ns + work(others, r + 1) - r + task.jitter_ns for r in range(length)
        )
        worst = Curves(tasks).fifo(own)
        assert worst is not None
        assert worst.response_ns == expected


def with_region(task: CurveTask, region_ns: int) -> CurveTask:
    return CurveTask(
        task.curve, task.cost_ns, task.deadline_ns, task.level, task.jitter_ns, task.release_jitter_ns, region_ns
    )


@EXAMPLES
@given(tasks=task_sets(blocking=False), scale=st.sampled_from([1, 7919]), preemptive=st.booleans())
def test_periodic_curves_give_what_the_batch_functions_give(
    tasks: list[textbook.Task], scale: int, preemptive: bool
) -> None:
    assume(textbook.load(tasks) < 1)
    sources = [
        CurveTask(
            sporadic_curve(t.T * scale),
            t.C * scale,
            t.D * scale,
            level,
            t.J * scale,
            t.J * scale,
            1 if preemptive else t.C * scale,
        )
        for level, t in enumerate(tasks)
    ]
    columns = arrays(tasks, scale)
    del columns["blocking_ns"]
    fixed = fp_response_times(**columns, preemptive=preemptive)
    edf = edf_response_times(**columns, preemptive=preemptive)
    blocks = [0 if preemptive else source.cost_ns - 1 for source in sources]
    for own, source in enumerate(sources):
        lower = max((blocks[k] for k in range(own + 1, len(tasks))), default=0)
        for result, worst in (
            (fixed, Curves(sources).fixed_priority(own, lower)),
            (edf, Curves(sources).edf(own, blocks)),
        ):
            assert result.status[0, own] == Status.OK
            assert worst is not None
            assert worst.response_ns == result.response_ns[0, own], source
    fifo = fifo_response_times([Timing(t.C, t.T, t.D, t.J) for t in tasks])
    plain = [CurveTask(sporadic_curve(t.T), t.C, t.D, 0, t.J, t.J) for t in tasks]
    assert [getattr(Curves(plain).fifo(own), "response_ns", None) for own in range(len(tasks))] == fifo


@EXAMPLES
@given(tasks=curve_tasks(), preemptive=st.booleans())
def test_bounds_equal_those_of_the_peer(tasks: list[CurveTask], preemptive: bool) -> None:
    peer = pytest.importorskip("response_time_analysis")
    model = peer.model
    assume(Curves(tasks).load < 1)
    tasks = [CurveTask(t.curve, t.cost_ns, t.deadline_ns, t.level) for t in tasks]
    tasks = [with_region(task, 1 if preemptive else task.cost_ns) for task in tasks]
    execution = model.FullyPreemptive if preemptive else model.FullyNonPreemptive
    theirs = [
        model.Task(
            model.ArrivalCurvePrefix(horizon=t.curve.horizon_ns, ac_steps=list(t.curve.steps)),
            execution(model.WCET(t.cost_ns)),
            deadline=model.Deadline(t.deadline_ns),
            priority=model.Priority(100 - t.level),
        )
        for t in tasks
    ]
    assume(all(a != b for a, b in combinations(theirs, 2)))  # the peer takes equal tasks for one
    sets = model.taskset(theirs)
    blocks = [0 if preemptive else task.cost_ns - 1 for task in tasks]
    for own, (task, other) in enumerate(zip(tasks, theirs, strict=True)):
        lower = max((b for b, t in zip(blocks, tasks, strict=True) if t.level > task.level), default=0)
        pairs = (
            (peer.fp, Curves(tasks).fixed_priority(own, lower)),
            (peer.edf, Curves(tasks).edf(own, blocks)),
        )
        for analysis, worst in pairs:
            wanted = analysis.rta(sets, other, model.IdealProcessor()).response_time_bound
            assert worst is not None
            assert worst.response_ns == wanted


def test_a_burst_at_once_is_looked_at_to_its_last_job() -> None:
    burst = CurveTask(ArrivalCurve(20, ((1, 3), (5, 4))), 2, 10)
    worst = Curves([burst]).fixed_priority(0, 0)
    assert worst is not None
    assert (worst.response_ns, worst.job, worst.arrival_ns) == (6, 2, 0)


def test_more_than_there_is_has_no_bound() -> None:
    tasks = [CurveTask(ArrivalCurve(10, ((1, 3),)), 3, 10), CurveTask(ArrivalCurve(10, ((1, 2),)), 1, 10, 1)]
    curves_ = Curves(tasks)
    assert curves_.fixed_priority(0, 0) is not None
    assert (curves_.fixed_priority(1, 0), curves_.edf(0, [0, 0]), curves_.fifo(1)) == (None, None, None)


@pytest.mark.parametrize(
    "task",
    [
        CurveTask(ArrivalCurve(2**61, ((1, 1),)), 1, 10),
        CurveTask(ArrivalCurve(2**60, ((1, 2**40),)), 2**30, 10),
        CurveTask(sporadic_curve(10), 1, 10, jitter_ns=2**60),
    ],
)
def test_what_could_overflow_is_refused(task: CurveTask) -> None:
    with pytest.raises(NotConverged, match="outside of what analyses take"):
        Curves([task])


def test_a_window_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rt_sched.analysis.theory.curves.MOST_PIECES", 20_000)
    tasks = [CurveTask(sporadic_curve(10**6), 10**6 - 1, 10**6), CurveTask(sporadic_curve(10**9), 1000, 10**9, 1)]
    with pytest.raises(NotConverged, match="did not end within the limits"):
        Curves(tasks).fixed_priority(1, 0)


@EXAMPLES
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 6), st.integers(8, 30), st.integers(0, 40), st.integers(0, 20)), min_size=1, max_size=3
    ),
    policy=st.sampled_from(list(POLICIES)),
    preemptive=st.booleans(),
)
def test_late_arrivals_count_alike_in_all_methods(
    rows: list[tuple[int, int, int, int]], policy: Policy, preemptive: bool
) -> None:
    """Arrivals that messages delay, with jitter of the release on top: responses count from the arrival as it was."""
    assume(sum(Fraction(c, t) for c, t, _, _ in rows) < 1)
    tasks = tuple(
        SetTask(f"t{i}", c, 50 + 7 * i, c, level=i, separation_ns=t, jitter_ns=j) for i, (c, t, _, j) in enumerate(rows)
    )
    load = task_set_load(TaskSet("late", policy, preemptive, tasks))
    plain, curved = (
        replace(
            load,
            tasks=tuple(
                replace(task, streams=(Stream(t, late, curve(t)),))
                for task, (_, t, late, _) in zip(load.tasks, rows, strict=True)
            ),
        )
        for curve in (lambda t: None, sporadic_curve)
    )
    methods = {method.name: method for method in METHODS}
    prefix = POLICIES[policy]
    first = methods[f"{prefix}_response_time"].respond(plain)
    second = methods[f"{prefix}_curve_response_time"].respond(curved)
    for one, other in zip(first, second, strict=True):
        assert one.bound is not None
        assert other.bound is not None
        assert one.bound.value_ns == other.bound.value_ns
