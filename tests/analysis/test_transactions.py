"""Known offsets with jitter: bounds that runs do not exceed, and that are near to the exact ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hand_made import bound, element, jobs_of, planned, section, task, worst

from rt_sched.analysis.theory import fifo, transactions
from rt_sched.analysis.theory.fifo import fifo_response_times
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing
from rt_sched.analysis.theory.transactions import OffsetTask, offset_worst_case, transactions_of
from rt_sched.model import Periodic, Protocol, Task

NAME = "offset_response_time"


def _periodic(name: str, wcet: int, period: Fraction, offset: int, jitter: int = 0, **more: object) -> Task:
    activation = Periodic(10**9 / period, offset, jitter)
    return replace(task(name, wcet, int(period)), activation=activation, **more)  # type: ignore[arg-type]


def test_tasks_that_never_meet_do_not_delay_each_other() -> None:
    tasks = [_periodic("a", 3, Fraction(10), 0), _periodic("b", 3, Fraction(10), 5, 1)]
    system, plan = planned([element()], tasks)
    assert bound(system, plan, "b", "fp_response_time") == 1 + 3 + 3
    assert bound(system, plan, "b", NAME) == 1 + 3
    assert bound(system, plan, "a", NAME) == 3


def test_jitter_lets_them_meet_again() -> None:
    tasks = [_periodic("a", 3, Fraction(10), 0, 4), _periodic("b", 3, Fraction(10), 5)]
    system, plan = planned([element()], tasks)
    seen = worst(jobs_of(system, plan, jitters={"a": [4] * 20}), "b")
    assert seen == 2 + 3
    assert bound(system, plan, "b", NAME) == seen


def test_one_task_alone_has_no_offsets_to_speak_of() -> None:
    system, plan = planned([element()], [_periodic("a", 3, Fraction(10), 0), task("b", 3, 10)])
    assert bound(system, plan, "a", NAME) is None


@pytest.mark.parametrize("seed", range(4))
def test_without_jitter_it_is_near_to_the_exact_run(seed: int) -> None:
    rng = np.random.default_rng(50 + seed)
    equal = total = 0
    for _ in range(10):
        periods = rng.choice([6, 9, 12, 18], 4)
        tasks = [
            _periodic(f"t{i}", int(rng.integers(1, 4)), Fraction(int(p)), int(rng.integers(0, p)))
            for i, p in enumerate(sorted(periods.tolist()))
        ]
        if sum(one.execution.wcet_ns / one.separation_ns for one in tasks) >= 1:
            continue
        system, plan = planned([element()], tasks)
        for one in tasks:
            exact, found = bound(system, plan, one.name, "offset_simulation"), bound(system, plan, one.name, NAME)
            assert exact is not None
            assert found is not None
            assert exact <= found <= (bound(system, plan, one.name, "fp_response_time") or 0)
            equal += exact == found
            total += 1
    assert equal > 0.8 * total > 5


@pytest.mark.parametrize("preemptive", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_no_run_takes_longer(seed: int, preemptive: bool) -> None:
    rng = np.random.default_rng(60 + seed)
    tighter = total = 0
    for _ in range(12):
        periods = sorted(rng.choice([Fraction(10), Fraction(20), Fraction(40, 3), Fraction(15)], 4))
        tasks = [
            _periodic(f"t{i}", int(rng.integers(1, 4)), p, int(rng.integers(0, 20)), int(rng.integers(0, 8)))
            for i, p in enumerate(periods)
        ]
        tasks[1] = replace(tasks[1], sections=(section(0, 1),))
        tasks[3] = replace(tasks[3], sections=(section(0, 1),))
        system, plan = planned([element(preemptive=preemptive)], tasks, {"r": Protocol.PRIORITY_CEILING})
        runs = []
        for _ in range(3):
            late = {one.name: [int(rng.integers(0, one.activation.jitter_ns + 1)) for _ in range(60)] for one in tasks}
            runs.append(jobs_of(system, plan, 400, jitters=late))
        for one in tasks:
            found, plain = bound(system, plan, one.name, NAME), bound(system, plan, one.name, "fp_response_time")
            if found is not None and plain is not None:
                assert max(worst(jobs, one.name) for jobs in runs) <= found
                tighter += found < plain
                total += 1
    assert total > 10
    assert tighter > total // 8


def test_periods_that_hardly_repeat_together_are_looked_at_apart() -> None:
    tasks = [OffsetTask(Fraction(p), 1, i, offset_ns=0) for i, p in enumerate((10, 20, 9973, 40, 10007))]
    assert transactions_of(tasks) == [[0, 1, 3], [2], [4]]


def test_what_does_not_end_has_no_bound() -> None:
    full = [OffsetTask(Fraction(2), 1, 0, offset_ns=0), OffsetTask(Fraction(2), 1, 1, offset_ns=1)]
    assert offset_worst_case(full, 1) is None
    assert offset_worst_case(full, 0) is not None
    with pytest.raises(NotConverged):
        offset_worst_case([OffsetTask(Fraction(2**62), 1, 0, offset_ns=0)], 0)


def test_a_busy_period_of_very_many_jobs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [OffsetTask(Fraction(10), 4, 0, offset_ns=0), OffsetTask(Fraction(7), 4, 1, offset_ns=3)]
    case = offset_worst_case(tasks, 1)
    assert case is not None
    assert case.job == 1
    monkeypatch.setattr(transactions, "MOST_JOBS", 0)
    with pytest.raises(NotConverged, match="more than 0 jobs"):
        offset_worst_case(tasks, 1)


def test_a_busy_period_of_very_many_releases_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    flows = [Timing(5, 12, 12), Timing(7, 20, 20), Timing(3, 17, 17)]
    assert fifo_response_times(flows) == [15, 15, 15]
    monkeypatch.setattr(fifo, "MOST_RELEASES", 1)
    with pytest.raises(NotConverged, match="more than 1 releases"):
        fifo.fifo_worst_cases(flows)  # response times that were found before are remembered
