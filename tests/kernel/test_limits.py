"""Ranges, growth of tables, exact arrival times, runs in parts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from kernel_systems import random_system

from rt_sched.errors import ConfigError
from rt_sched.lowering.machine_checks import LIMIT_POSTPONEMENTS
from rt_sched.lowering.machine_input import (
    LIMIT_NS,
    EdgeKind,
    EdgeRow,
    FaultRow,
    FaultTarget,
    FrequencyChangeRow,
    MachineInput,
    OverrunAction,
    Policy,
    ProcessorRow,
    Role,
    Samples,
    TaskRow,
)
from rt_sched.sim import Simulation
from rt_sched.trace import JobStatus, Trace, schedule_sha256
from rt_sched.trace.records import EventKind

CPU = ProcessorRow("cpu", Policy.FIXED_PRIORITY, True)
TASK = TaskRow("work", 0, deadline_ns=10, demand_ns=3, rate_hz=Fraction(10**8))
EDGE = EdgeRow(0, "in", EdgeKind.QUEUE, Role.READ, task=0)
GOOD = MachineInput((CPU,), ("eye",), (TASK,), (EDGE,), horizon_ns=100)


def run(given: MachineInput, rows: int = 1024) -> Trace:
    simulation = Simulation(given, rows)
    simulation.run()
    return simulation.trace()


def throttled(
    budget_ns: int, demand_ns: int, policy: Policy = Policy.EDF, grain_ns: int = 1, khz: int = 1000
) -> MachineInput:
    """A job under a bandwidth server, whose processor slows down from 1000 kHz to `khz` at the start."""
    task = replace(
        TASK,
        deadline_ns=10**9,
        demand_ns=demand_ns,
        rate_hz=None,
        explicit_arrivals_ns=(0,),
        budget_ns=budget_ns,
        budget_granularity_ns=grain_ns,
        overrun_action=OverrunAction.THROTTLE,
        separation_ns=10,
    )
    processor = ProcessorRow("cpu", policy, True, frequency_khz=1000)
    changes = (FrequencyChangeRow(0, 0, khz),) if khz != 1000 else ()
    return MachineInput((processor,), (), (task,), (), horizon_ns=10**8, frequency_changes=changes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            throttled(1, 10**7),
            "tasks[0] (work).budget_ns: a demand of 10000000 ns uses up a budget of 1 ns 10000000 times, each of which "
            "is recorded; at most 10000 times a job: raise the budget or its granularity",
        ),
        (throttled(3, 10**6, grain_ns=2), "uses up a budget of 4 ns 250000 times"),
        (throttled(100, 10**6, khz=500), "a demand of 2000000 ns uses up a budget of 100 ns 20000 times"),
    ],
)
def test_a_budget_that_would_fill_the_log_is_refused(given: MachineInput, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Simulation(given)
    assert message in str(caught.value)


def test_the_most_postponements_that_are_allowed_are_recorded() -> None:
    trace = run(throttled(100, LIMIT_POSTPONEMENTS * 100))
    assert np.count_nonzero(trace.events.kind == EventKind.REPLENISH) == LIMIT_POSTPONEMENTS - 1
    assert trace.jobs.status.tolist() == [JobStatus.COMPLETED]


def test_other_policies_pay_by_arrivals_so_that_any_budget_will_do() -> None:
    trace = run(throttled(1, 10**7, Policy.FIXED_PRIORITY))
    assert len(trace.events) < 10


def one_sample(arrival_ns: int = 0, sensor: int = 0, capture_ns: int = 0) -> Samples:
    return Samples(*(np.array([value], np.int64) for value in (arrival_ns, sensor, capture_ns)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"horizon_ns": 0}, "horizon_ns: 0 is outside 1 ... "),
        ({"horizon_ns": LIMIT_NS + 1}, "horizon_ns: 1152921504606846977 is outside"),
        ({"seed": -1}, "seed: -1 is outside 0 ... 18446744073709551615"),
        ({"tasks": (replace(TASK, processor=1),)}, "tasks[0] (work).processor: 1 is not one of the 1 that exist"),
        ({"tasks": (replace(TASK, deadline_ns=0),)}, "tasks[0] (work).deadline_ns: 0 is outside"),
        ({"tasks": (replace(TASK, level=-1),)}, "tasks[0] (work).level: -1 is outside"),
        ({"tasks": (replace(TASK, offset_ns=-1),)}, "tasks[0] (work).offset_ns: -1 is outside"),
        ({"tasks": (replace(TASK, budget_ns=0),)}, "tasks[0] (work).budget_ns: 0 is outside"),
        ({"tasks": (replace(TASK, tolerance_ns=-1),)}, "tasks[0] (work).tolerance_ns: -1 is outside"),
        ({"tasks": (replace(TASK, demand_ns=0),)}, "tasks[0] (work).demand_ns: 0 is outside"),
        ({"tasks": (replace(TASK, demand_ns=(1, 2)),)}, "tasks[0] (work).demand_ns: 2 quantiles; give one value or 33"),
        (
            {"tasks": (replace(TASK, demand_ns=(2, *[1] * 32)),)},
            "tasks[0] (work).demand_ns: quantiles must not descend",
        ),
        ({"tasks": (replace(TASK, explicit_demands_ns=(LIMIT_NS + 1,)),)}, "tasks[0] (work).demand_ns: "),
        ({"tasks": (replace(TASK, rate_hz=Fraction(0)),)}, "tasks[0] (work).rate_hz: 0 Hz is not positive"),
        ({"tasks": (replace(TASK, rate_hz=Fraction(10**9 + 1)),)}, "tasks[0] (work) period in ns: 0 is outside"),
        ({"tasks": (replace(TASK, rate_hz=Fraction(1, 2**40)),)}, "tasks[0] (work) period in ns: "),
        ({"edges": (replace(EDGE, role=Role.EACH),)}, "tasks[0] (work).rate_hz: a timed task has an activating input"),
        ({"edges": (replace(EDGE, target=2),)}, "edges[0] (in).target: 2 is not one of the 1 that exist"),
        ({"edges": (replace(EDGE, task=-1),)}, "edges[0] (in).task: -1 is not one of"),
        ({"edges": (replace(EDGE, task=None),)}, "edges[0] (in): an edge starts at either a sensor or a task"),
        ({"edges": (replace(EDGE, task=None, sensor=1),)}, "edges[0] (in).sensor: 1 is not one of"),
        ({"edges": (replace(EDGE, depth=0),)}, "edges[0] (in).depth: 0 is outside"),
        (
            {"edges": (replace(EDGE, role=Role.PAIRED, kind=EdgeKind.LATEST),)},
            "edges[0] (in): paired inputs wait for each other and need a queue",
        ),
        ({"faults": (FaultRow(-1, FaultTarget.SENSOR, 0),)}, "faults[0].time_ns: -1 is outside"),
        ({"faults": (FaultRow(0, FaultTarget.PROCESSOR, 1),)}, "faults[0].target: 1 is not one of"),
        ({"samples": one_sample(arrival_ns=-1)}, "samples.arrival_ns: -1 is outside"),
        ({"samples": one_sample(sensor=1)}, "samples.sensor: 1 is not one of"),
        ({"samples": one_sample(capture_ns=-LIMIT_NS - 1)}, "samples.capture_ns: "),
        (
            {"samples": replace(one_sample(), sensor=np.zeros(0, np.int64))},
            "samples: arrival_ns, sensor and capture_ns",
        ),
    ],
)
def test_out_of_range_input_is_refused_by_name(wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Simulation(replace(GOOD, **wrong))
    assert message in str(refusal.value)


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(ConfigError) as refusal:
        Simulation(replace(GOOD, horizon_ns=0, seed=-1, edges=(replace(EDGE, depth=0),)))
    assert len(refusal.value.problems) == 3


def test_largest_allowed_times_do_not_overflow() -> None:
    slow = TaskRow(
        "slow", 0, LIMIT_NS, (1, *[LIMIT_NS] * 32), rate_hz=Fraction(2**60 - 1, 2**60 - 2**59), level=LIMIT_NS
    )
    late = replace(slow, name="late", offset_ns=LIMIT_NS - 1, rate_hz=Fraction(10**9, LIMIT_NS), budget_ns=LIMIT_NS)
    given = replace(GOOD, tasks=(late, replace(slow, offset_ns=LIMIT_NS - 10**9)), horizon_ns=LIMIT_NS, edges=())
    jobs = run(given).jobs
    assert jobs.arrival_ns.tolist() == [LIMIT_NS - 10**9, LIMIT_NS - 5 * 10**8, LIMIT_NS - 1]
    assert (jobs.demand_ns >= 1).all() and (jobs.demand_ns <= LIMIT_NS).all()
    assert jobs.deadline_ns.tolist() == [arrival + LIMIT_NS for arrival in jobs.arrival_ns.tolist()]
    assert jobs.executed_ns.tolist()[0] == min(jobs.demand_ns.tolist()[0], 10**9)


@pytest.mark.parametrize("rate_hz", [Fraction(30), Fraction(30000, 1001), Fraction(200), Fraction(999_999_937, 7)])
def test_arrivals_of_a_rational_rate_are_exact(rate_hz: Fraction) -> None:
    count = 20_000
    horizon_ns = 5 + int(count * 10**9 / rate_hz)
    task = TaskRow("tick", 0, deadline_ns=1, demand_ns=1, rate_hz=rate_hz, offset_ns=5)
    arrivals = run(MachineInput((CPU,), (), (task,), (), horizon_ns=horizon_ns)).jobs.arrival_ns.tolist()
    assert arrivals == [5 + k * rate_hz.denominator * 10**9 // rate_hz.numerator for k in range(count)]


def test_tables_that_start_tiny_grow_without_losing_anything() -> None:
    for seed in range(60):
        given = random_system(seed)
        tiny, roomy = run(given, rows=1), run(given, rows=100_000)
        assert schedule_sha256(tiny) == schedule_sha256(roomy)
        for table in ("slices", "drops"):
            for left, right in zip(_columns(getattr(tiny, table)), _columns(getattr(roomy, table)), strict=True):
                assert left == right


def _columns(table: object) -> list[list[int]]:
    return [getattr(table, name).tolist() for name in table.__dataclass_fields__]


def test_a_run_in_parts_equals_a_run_at_once() -> None:
    for seed in range(60):
        given = random_system(seed)
        in_parts = Simulation(given)
        for until_ns in (-5, 0, 3, 3, 11, 17, given.horizon_ns - 1):
            in_parts.run(until_ns)
            assert not in_parts.ended
            assert in_parts.now_ns <= max(until_ns, 0)
        in_parts.step()
        in_parts.run()
        assert in_parts.ended
        assert in_parts.step() is None
        assert schedule_sha256(in_parts.trace()) == schedule_sha256(run(given))


def test_same_input_same_schedule_and_another_seed_another() -> None:
    profile = tuple(range(1, 34))
    given = replace(GOOD, tasks=(replace(TASK, demand_ns=profile),), seed=7)
    assert schedule_sha256(run(given)) == schedule_sha256(run(given))
    assert schedule_sha256(run(given)) != schedule_sha256(run(replace(given, seed=8)))


def test_demands_do_not_depend_on_the_policy() -> None:
    tasks = tuple(
        replace(TASK, name=f"t{i}", level=i, demand_ns=tuple(range(1, 34)), deadline_ns=30 - 9 * i) for i in range(3)
    )
    demands = set()
    for policy in (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO):
        jobs = run(replace(GOOD, processors=(replace(CPU, policy=policy),), tasks=tasks, horizon_ns=1000)).jobs
        demands.add(tuple(sorted(zip(jobs.task.tolist(), jobs.number.tolist(), jobs.demand_ns.tolist(), strict=True))))
    assert len(demands) == 1


def test_nothing_to_do() -> None:
    trace = run(MachineInput((), (), (), (), horizon_ns=1))
    assert (len(trace.jobs), len(trace.slices), len(trace.drops), len(trace.samples)) == (0, 0, 0, 0)


def test_a_burst_of_samples_at_one_instant_gets_a_job_each() -> None:
    count = 3000
    task = TaskRow("each", 0, deadline_ns=10**6, demand_ns=1)
    edge = EdgeRow(0, "in", EdgeKind.QUEUE, Role.EACH, sensor=0, depth=count)
    burst = Samples(np.full(count, 4), np.zeros(count, np.int64), np.arange(count))
    trace = run(MachineInput((CPU,), ("eye",), (task,), (edge,), horizon_ns=10_000, samples=burst), rows=1)
    assert trace.jobs.capture_ns.tolist() == list(range(count))
    assert trace.jobs.finish_ns.tolist() == list(range(5, 5 + count))
    assert set(trace.jobs.status.tolist()) == {JobStatus.COMPLETED}
    assert trace.samples.number.tolist() == list(range(count))


def test_sample_order_leads_back_to_the_given_samples() -> None:
    given = replace(
        GOOD,
        sensors=("a", "b"),
        samples=Samples(np.array([9, 3, 3, 9]), np.array([0, 1, 0, 0]), np.array([1, 2, 3, 4])),
    )
    simulation = Simulation(given)
    assert simulation.sample_order.tolist() == [2, 1, 0, 3]
    samples = simulation.trace().samples
    assert samples.capture_ns.tolist() == [3, 2, 1, 4]
    assert samples.number.tolist() == [0, 0, 1, 2]
