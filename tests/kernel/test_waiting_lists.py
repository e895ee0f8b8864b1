"""Lists of tasks that wait for a core as heaps: the same schedule as without, only where keys do not change."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from agreement import bulk, disagreement
from bulk_traces import at_once, in_windows
from hypothesis import given as cases
from hypothesis import strategies as st
from kernel_systems import ALL_FEATURES, random_system
from takeover_systems import takeover_system

from rt_sched.kernels import ready
from rt_sched.kernels.codes import HOLD_ON_CORE, READY
from rt_sched.lowering.machine_input import (
    DeadlineAction,
    MachineInput,
    ModeChangeRow,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    ResourceRow,
    SectionRow,
    SuspensionRow,
    TaskRow,
    TimeSlice,
)
from rt_sched.sim import waiting_lists
from rt_sched.sim.waiting_lists import FEW, ordered_processors
from rt_sched.trace import schedule_sha256

BY_KEY = (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO)


def crowded(seed: int) -> MachineInput:
    """A processor of one core or two on which up to 70 tasks with few different keys wait and give up together."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    count = rng.randint(FEW + 1, 70)
    tasks = tuple(
        TaskRow(
            f"t{number}",
            0,
            rng.randint(10, 60),
            rng.randint(1, 4),
            rng.randrange(6),
            explicit_arrivals_ns=tuple(sorted(rng.randrange(0, 80, 8) for _ in range(rng.randint(1, 4)))),
            jitter_ns=rng.choice((0, 0, 3)),
            deadline_action=rng.choice(tuple(DeadlineAction)),
            suspensions=(SuspensionRow(1, 1, 3),) if rng.random() < 0.3 else (),
        )
        for number in range(count)
    )
    removed = tuple(number for number in range(count) if rng.random() < 0.3)
    processor = ProcessorRow(
        "cpu", BY_KEY[seed % 3], rng.random() < 0.7, cores=rng.choice((1, 2)), switch_ns=rng.choice((0, 1))
    )
    modes = (ModeChangeRow(rng.randrange(20, 60), removed=removed),) if rng.random() < 0.5 else ()
    return MachineInput((processor,), (), tasks, (), horizon_ns=120, seed=seed, mode_changes=modes)


@pytest.fixture
def heaps_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of few tasks."""
    monkeypatch.setattr(waiting_lists, "FEW", 0)


@pytest.mark.parametrize("block", range(2))
def test_crowded_processors_schedule_as_the_oracle_does(block: int) -> None:
    for seed in range(6 * block, 6 * block + 6):
        given = crowded(seed)
        assert ordered_processors(given) == {0}
        assert disagreement(given) is None, seed
        assert at_once(given).items() <= in_windows(given, 16, 4).items(), seed


def test_a_heap_and_a_list_without_order_give_one_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    in_order = [schedule_sha256(bulk(crowded(seed))) for seed in range(30, 50)]
    monkeypatch.setattr(waiting_lists, "FEW", 1000)
    assert [schedule_sha256(bulk(crowded(seed))) for seed in range(30, 50)] == in_order


@pytest.mark.usefixtures("heaps_everywhere")
def test_random_systems_agree_with_heaps_of_few() -> None:
    ordered = 0
    for seed in range(20_000, 20_100):
        given = random_system(seed, ALL_FEATURES)
        ordered += len(ordered_processors(given))
        assert disagreement(given) is None, seed
    assert ordered > 40


@pytest.mark.usefixtures("heaps_everywhere")
def test_random_takeovers_agree_with_heaps_of_few() -> None:
    for seed in range(500, 530):
        assert disagreement(takeover_system(seed)) is None, seed


@cases(
    steps=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 3), st.integers(0, 2)), max_size=60),
    ordered=st.booleans(),
)
def test_a_list_holds_who_waits_and_a_heap_its_first_in_front(
    steps: list[tuple[int, int, int]], *, ordered: bool
) -> None:
    """Tasks that begin to wait with a key and a release, or no longer do, in any order; two processors in one array."""
    rows = [
        {"processor": n % 2, "hold": HOLD_ON_CORE, "waiting_place": 0, "key_ns": 0, "head_job": n} for n in range(12)
    ]
    jobs = [{"release_ns": 0} for _ in rows]
    processors = [{"first_waiting": 6 * n, "waiting": 0, "ordered": int(ordered)} for n in range(2)]
    m = SimpleNamespace(tasks=rows, jobs=jobs, processors=processors, links=[-1] * 12)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_put_in_order", "_is_before"):
            patch.setattr(ready, name, getattr(ready, name).py_func)
        for task, key_ns, release_ns in steps:
            if rows[task]["hold"] == READY:
                ready.set_hold.py_func(m, task, HOLD_ON_CORE)
            else:
                rows[task]["key_ns"], jobs[task]["release_ns"] = key_ns, release_ns
                ready.set_hold.py_func(m, task, READY)
            for number, processor in enumerate(processors):
                assert_list_is_in_place(m, number, processor, ordered=ordered)


def assert_list_is_in_place(m: SimpleNamespace, number: int, processor: dict[str, int], *, ordered: bool) -> None:
    first = processor["first_waiting"]
    listed = m.links[first : first + processor["waiting"]]
    assert sorted(listed) == [n for n, row in enumerate(m.tasks) if row["hold"] == READY and row["processor"] == number]
    assert [m.tasks[task]["waiting_place"] for task in listed] == list(range(first, first + len(listed)))
    order = [(m.tasks[task]["key_ns"], m.jobs[task]["release_ns"], task) for task in listed]
    for place in range(1, len(order) if ordered else 0):
        assert order[(place - 1) // 2] < order[place]


def many(policy: Policy, **of_first: object) -> MachineInput:
    """More than few tasks on one processor; the first one has something special."""
    tasks = [TaskRow(f"t{number}", 0, 10, 1, number) for number in range(FEW + 1)]
    tasks[0] = replace(tasks[0], **of_first)
    return MachineInput((ProcessorRow("cpu", policy, True),), (), tuple(tasks), (), horizon_ns=1)


@pytest.mark.parametrize("policy", BY_KEY)
def test_lists_are_in_order_where_nothing_changes_keys(policy: Policy) -> None:
    given = many(policy)
    assert ordered_processors(given) == {0}
    assert ordered_processors(replace(given, tasks=given.tasks[:FEW])) == set()


def test_lists_are_in_no_order_where_keys_change_or_the_time_decides() -> None:
    locks = replace(
        many(Policy.EDF, sections=(SectionRow(0, 0, 1),)),
        resources=(ResourceRow("bus", Protocol.PRIORITY_INHERITANCE),),
    )
    throttles = many(Policy.EDF, overrun_action=OverrunAction.THROTTLE, budget_ns=1, separation_ns=10)
    slices = many(Policy.TIME_SLICED)
    slices = replace(
        slices, processors=(replace(slices.processors[0], slices=(TimeSlice(5, tasks=tuple(range(FEW + 1))),)),)
    )
    for given in (locks, throttles, slices):
        assert ordered_processors(given) == set()
