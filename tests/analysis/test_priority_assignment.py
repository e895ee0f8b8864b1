"""Audsley's order exists whenever any order passes the test, and what it returns passes."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from rt_sched.analysis.loads.load import Blocking, LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.loads.priority_assignment import audsley
from rt_sched.analysis.methods.fixed_priority import FP_RESPONSE_TIME
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy, Processor
from rt_sched.trace.setup import Policy as RowPolicy
from rt_sched.trace.setup import ProcessorRow


def load_of(tasks: list[LoadTask], preemptive: bool) -> ProcessorLoad:
    processor = Processor("box", "cpu", 0, Policy.FIXED_PRIORITY, preemptive)
    return ProcessorLoad(processor, ProcessorRow("cpu", RowPolicy.FIXED_PRIORITY, preemptive), tuple(tasks))


def random_tasks(rng: np.random.Generator, preemptive: bool) -> list[LoadTask]:
    count = int(rng.integers(2, 6))
    shares = rng.dirichlet(np.ones(count)) * float(rng.choice([0.6, 0.8, 0.95]))
    tasks = []
    for index, share in enumerate(shares):
        period = int(rng.integers(5, 60))
        wcet = max(1, int(share * period))
        region = 1 if preemptive else wcet
        tasks.append(
            LoadTask(
                index,
                f"t{index}",
                index,
                wcet,
                1,
                int(rng.integers(wcet, 2 * period)),
                (Stream(period),),
                int(rng.integers(0, 3)) * int(rng.integers(0, period)) // 2,
                region_ns=region,
                last_region_ns=region,
            )
        )
    return tasks


def passes(load: ProcessorLoad, order: tuple[int, ...]) -> bool:
    placed = tuple(replace(load.tasks[place], level=level) for level, place in enumerate(order))
    found = FP_RESPONSE_TIME.respond(replace(load, tasks=placed))
    return all(
        one.bound is not None and one.bound.value_ns <= task.deadline_ns
        for one, task in zip(found, placed, strict=True)
    )


@pytest.mark.parametrize("preemptive", [True, False])
def test_an_order_is_found_exactly_when_one_exists(preemptive: bool) -> None:
    rng = np.random.default_rng(5)
    found = missing = better_than_deadline_monotonic = 0
    for _ in range(150):
        load = load_of(random_tasks(rng, preemptive), preemptive)
        order = audsley(load)
        any_order = any(passes(load, one) for one in permutations(range(len(load.tasks))))
        assert (order is not None) == any_order
        if order is None:
            missing += 1
            continue
        found += 1
        assert passes(load, tuple(order))
        monotonic = sorted(range(len(load.tasks)), key=lambda place: load.tasks[place].deadline_ns)
        better_than_deadline_monotonic += not passes(load, tuple(monotonic))
    assert min(found, missing) > 20
    # With jitter and arbitrary deadlines, deadline-monotonic priorities are not optimal.
    assert better_than_deadline_monotonic >= 1


def test_fixed_tasks_stay_first() -> None:
    tasks = [LoadTask(i, f"t{i}", i, 2, 1, deadline, (Stream(20),)) for i, deadline in enumerate((20, 20, 6))]
    load = load_of(tasks, True)
    assert audsley(load, [0]) == [0, 2, 1]
    assert audsley(load, [0, 1]) == [0, 1, 2]
    assert audsley(load_of([*tasks, LoadTask(3, "t3", 3, 3, 1, 20, (Stream(20),))], True), [3, 0, 1]) is None


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"suspensions": 1, "suspension_ns": 4}, "t0 suspends itself"),
        ({"blocking": Blocking(3, (("t1 in r", 3),))}, "t0 shares resources"),
        ({"streams": (Stream(10), Stream(20))}, "2 activating inputs"),
    ],
)
def test_sets_for_which_the_order_is_not_optimal_are_refused(more: dict[str, object], text: str) -> None:
    with pytest.raises(AnalysisNotApplicable, match=text):
        audsley(load_of([replace(LoadTask(0, "t0", 0, 2, 1, 10, (Stream(10),)), **more)], True))
