"""Tables by list scheduling and CP-SAT: legal, never worse than each other the wrong way round, optimal where small."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from table_problems import least_latency, problems

from rt_sched.planner.tables.cp_schedule import cp_schedule
from rt_sched.planner.tables.critical_path import critical_path, longest_to_sink_ns
from rt_sched.planner.tables.figures import table_figures
from rt_sched.planner.tables.list_schedule import Stuck, list_schedule
from rt_sched.planner.tables.problem import Lag, Limit, TableJob, TableProblem, violations

S = 10**9


def legal_by_the_tick(problem: TableProblem, starts: tuple[int, ...]) -> bool:
    """Every nanosecond of the cycle is looked at, and every order."""
    used: set[tuple[int, int]] = set()
    for job, start in zip(problem.jobs, starts, strict=True):
        ticks = {(job.lane, start % problem.cycle_ns + tick) for tick in range(job.length_ns)}
        if used & ticks or max(tick for _, tick in ticks) >= problem.cycle_ns or start < job.earliest_ns:
            return False
        used |= ticks
    orders = all(starts[lag.after] - starts[lag.before] >= lag.ns for lag in problem.lags)
    return orders and all(starts[limit.job] <= limit.latest_ns(starts) for limit in problem.limits)


@settings(max_examples=150, deadline=None)
@given(problem=problems(most_jobs=9, longest_cycle=24))
def test_what_list_scheduling_gives_is_legal(problem: TableProblem) -> None:
    starts = list_schedule(problem)
    if not isinstance(starts, Stuck):
        assert legal_by_the_tick(problem, starts)


@settings(max_examples=150, deadline=None)
@given(problem=problems(), data=st.data())
def test_violations_are_those_of_every_tick(problem: TableProblem, data: st.DataObject) -> None:
    starts = tuple(data.draw(st.integers(0, 2 * problem.cycle_ns)) for _ in problem.jobs)
    assert (not violations(problem, starts)) == legal_by_the_tick(problem, starts)


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_small_tables_are_proved_and_no_start_does_better(problem: TableProblem) -> None:
    most = 2 * problem.cycle_ns
    least = least_latency(problem, most)
    solved = cp_schedule(problem, 20 * S)
    if solved.starts is None:
        assert solved.infeasible and least is None
        return
    assert legal_by_the_tick(problem, solved.starts)
    latency = problem.latency_ns(solved.starts)
    assert solved.bound_ns == latency, "proved"
    assert latency == least if least is not None else latency > most
    listed = list_schedule(problem)
    assert isinstance(listed, Stuck) or latency <= problem.latency_ns(listed)


@settings(max_examples=15, deadline=None)
@given(problem=problems(most_jobs=12, longest_cycle=40))
def test_cp_sat_is_never_worse_than_the_list(problem: TableProblem) -> None:
    listed = list_schedule(problem)
    solved = cp_schedule(problem, S // 2, None if isinstance(listed, Stuck) else listed)
    if not isinstance(listed, Stuck):
        assert solved.starts is not None
        assert problem.latency_ns(solved.starts) <= problem.latency_ns(listed)
    if solved.starts is not None:
        assert legal_by_the_tick(problem, solved.starts)
        assert solved.bound_ns <= problem.latency_ns(solved.starts)


def _fork() -> TableProblem:
    """a (2), then b (6) and c (1) on the other core, then d (3): b is on the way that counts."""
    jobs = (TableJob("a", 0, 0, 2), TableJob("c", 0, 1, 1), TableJob("b", 0, 1, 6), TableJob("d", 0, 0, 3))
    lags = (Lag(0, 1, 2), Lag(0, 2, 2), Lag(1, 3, 1), Lag(2, 3, 6))
    return TableProblem(20, ("x", "y"), jobs, lags)


def test_the_longest_path_goes_first() -> None:
    problem = _fork()
    assert longest_to_sink_ns(problem) == [11, 4, 9, 3]
    assert [problem.jobs[job].task for job in critical_path(problem)] == ["a", "b", "d"]
    assert list_schedule(problem) == (0, 8, 2, 9)
    figures = table_figures(problem, (0, 8, 2, 9))
    assert (figures.work_ns, figures.latency_ns, figures.critical_path_ns) == (12, 12, 11)
    assert figures.speed_up == Fraction(12, 12) and figures.efficiency == Fraction(1, 2)
    assert figures.imbalance == Fraction(7, 6) - 1
    assert [lane.bubbles for lane in figures.lanes] == [((2, 9), (12, 20)), ((0, 2), (9, 20))]
    (pipeline,) = figures.pipelines
    assert (pipeline.sink, pipeline.interval_ns, pipeline.latency_ns, pipeline.frames_in_flight) == ("d", 20, 12, 1)


def test_frames_overlap_where_the_work_of_one_is_longer_than_a_cycle() -> None:
    jobs = tuple(TableJob(name, 0, lane, 7) for lane, name in enumerate("abc"))
    problem = TableProblem(8, ("x", "y", "z"), jobs, (Lag(0, 1, 7), Lag(1, 2, 7)))
    starts = list_schedule(problem)
    assert starts == (0, 8, 16)
    figures = table_figures(problem, starts)
    assert figures.pipelines[0].frames_in_flight == 3
    assert figures.speed_up == 3 and figures.efficiency == 1 and figures.imbalance == 0


def test_what_cannot_be_is_proved() -> None:
    late = TableProblem(10, ("x",), (TableJob("a", 0, 0, 4, 3),), (), (Limit(0, ((None, 2),), "its deadline"),))
    assert cp_schedule(late, S).infeasible
    stuck = list_schedule(late)
    assert isinstance(stuck, Stuck) and stuck.reason == "a[0] starts 1ns too late: its deadline"
    full = TableProblem(10, ("x",), (TableJob("a", 0, 0, 6), TableJob("b", 0, 0, 5)))
    assert cp_schedule(full, S).infeasible
    assert isinstance(list_schedule(full), Stuck)
