"""(m, k) accounting over the jobs of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import run, system, task

from rt_sched.lowering.machine_input import DeadlineAction
from rt_sched.trace import Trace
from rt_sched.trace.setup import FaultRow, FaultTarget, ModeChangeRow
from rt_sched.trace.weakly_hard import measure_weakly_hard


def missing(*which: int, jobs: int = 8, weakly_hard: tuple[int, int] = (2, 3), **more: object) -> Trace:
    """A task with `jobs` jobs, of which these miss."""
    demands = tuple(7 if job in which else 1 for job in range(jobs))
    arrivals = tuple(10 * job for job in range(jobs))
    one = task("job", 1, *arrivals, deadline_ns=5, explicit_demands_ns=demands, weakly_hard=weakly_hard, **more)
    return run(system((one,), horizon_ns=10 * jobs))


def test_windows_are_counted() -> None:
    (result,) = measure_weakly_hard(missing(1, 3, 7))
    assert (result.task, result.m, result.k) == ("job", 2, 3)
    assert result.least_met == 1
    assert result.violations == (3,)
    assert not result.kept


@pytest.mark.parametrize(("which", "kept"), [((), True), ((1, 4, 7), True), ((1, 2), False), ((6, 7), False)])
def test_whether_it_is_kept(which: tuple[int, ...], kept: bool) -> None:
    (result,) = measure_weakly_hard(missing(*which))
    assert result.kept == kept


def test_suppressed_jobs_have_not_met() -> None:
    trace = missing(1, weakly_hard=(3, 4), deadline_action=DeadlineAction.SKIP_NEXT)
    (result,) = measure_weakly_hard(trace)
    assert result.least_met == 2
    assert result.violations == (2, 3, 4)


def test_a_job_that_is_still_open_is_not_judged() -> None:
    one = task("job", 9, 0, 10, 18, deadline_ns=9, weakly_hard=(2, 2))
    (result,) = measure_weakly_hard(run(system((one,), horizon_ns=20)))
    assert (result.least_met, result.violations) == (2, ())


def test_too_many_misses_of_the_first_jobs_need_no_whole_window() -> None:
    (result,) = measure_weakly_hard(missing(0, 1, jobs=2))
    assert (result.least_met, result.most_missed, result.violations) == (None, 2, (1,))


def test_jobs_that_no_scheduling_could_help_are_left_out() -> None:
    one = task("job", 4, *range(0, 60, 10), deadline_ns=8, weakly_hard=(1, 1))
    removed = system(
        (one,), horizon_ns=60, mode_changes=(ModeChangeRow(12, removed=(0,)), ModeChangeRow(35, added=(0,)))
    )
    (result,) = measure_weakly_hard(run(removed))
    assert (result.least_met, result.violations) == (1, ())
    lost = system((one,), horizon_ns=60, faults=(FaultRow(12, FaultTarget.PROCESSOR, 0),))
    (result,) = measure_weakly_hard(run(lost))
    assert (result.least_met, result.violations) == (1, ())


def test_fewer_jobs_than_a_window_and_tasks_without_one() -> None:
    (result,) = measure_weakly_hard(missing(0, jobs=2))
    assert (result.least_met, result.violations) == (None, ())
    assert measure_weakly_hard(run(system((task("job", 1, 0),)))) == ()
    assert measure_weakly_hard(replace(missing(), setup=None)) == ()
