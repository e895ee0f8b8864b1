"""What a refusal names instead applies, and methods for other situations are told apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

from random_cases import random_case

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.methods.ways_out import with_ways_out
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.analysis.task_sets import analyze_task_set
from rt_sched.lowering import check_plan
from rt_sched.model import ArrivalCurve, Policy, Processor, SetTask, TaskSet
from rt_sched.trace.setup import Policy as RowPolicy
from rt_sched.trace.setup import ProcessorRow

NAMED = {method.name: method for method in METHODS}
CURVE = ArrivalCurve(30, ((1, 2), (5, 3)))


def _load(policy: Policy, preemptive: bool, cores: int, tasks: tuple[LoadTask, ...]) -> ProcessorLoad:
    row = ProcessorRow("p", RowPolicy[policy.name], preemptive, cores=cores)
    return ProcessorLoad(Processor("d", "p", 0, policy, preemptive), row, tasks)


def _check(load: ProcessorLoad) -> Counter[str]:
    """Every refusal of a load; those of the methods themselves name only what fits the policy."""
    refusals = [
        refusal for method in METHODS if load.policy in method.policies and (refusal := method.refuse(load)) is not None
    ]
    named: Counter[str] = Counter()
    for refusal in refusals:
        assert refusal.instead not in NAMED or load.policy in NAMED[refusal.instead].policies, refusal
    for refusal in with_ways_out(load, refusals, METHODS):
        if refusal.instead in NAMED:
            assert NAMED[refusal.instead].refuse(load) is None, refusal
            named[refusal.instead] += 1
    return named


def test_what_is_named_instead_does_not_refuse() -> None:
    """Every policy, with and without waits, curves, equal levels, jitter, offsets and several cores."""
    named: Counter[str] = Counter()
    policies = (Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO)
    for policy, preemptive, cores, waits, curved, equal, jitter in product(
        policies, (True, False), (1, 2), (0, 1), (False, True), (False, True), (0, 2)
    ):
        first = LoadTask(0, "a", 0, 2, 2, 20, (Stream(20, jitter),), suspensions=waits, suspension_ns=waits)
        stream = Stream(10, curve=CURVE) if curved else Stream(30)
        second = LoadTask(1, "b", 0 if equal else 1, 3, 3, 30, (stream,), offset_ns=3 if jitter else None)
        named += _check(_load(policy, preemptive, cores, (first, second)))
    assert set(named) >= {
        "fp_response_time",
        "edf_response_time",
        "fifo_response_time",
        "fp_curve_response_time",
        "edf_curve_response_time",
        "fifo_curve_response_time",
        "self_suspension",
        "suspension_oblivious",
        "global_fp",
        "global_edf",
    }


def test_what_is_named_instead_does_not_refuse_in_random_systems() -> None:
    seen = 0
    for seed in range(120):
        system, plan = random_case(seed)
        if check_plan(system, plan):
            continue
        mode = mode_loads(system, plan)[0]
        place = {task.index: load for load in mode.loads for task in load.tasks}
        for index, one in mode_bounds(mode, METHODS).items():
            load = place[index]
            for refusal in one.refusals:
                if refusal.instead in NAMED:
                    method = NAMED[refusal.instead]
                    seen += 1
                    assert load.policy in method.policies, (seed, refusal)
                    assert refusal.instead != refusal.method, (seed, refusal)
    assert seen > 200


def test_waits_under_edf_name_the_method_for_edf() -> None:
    waiting = LoadTask(0, "a", 0, 2, 2, 20, (Stream(20),), suspensions=1, suspension_ns=3)
    for policy, wanted in ((Policy.FIXED_PRIORITY, "self_suspension"), (Policy.EDF, "suspension_oblivious")):
        load = _load(policy, True, 1, (waiting,))
        refusal = NAMED["fp_response_time"].refuse(load)
        assert refusal is not None
        assert refusal.instead == wanted
    both = (waiting, replace(waiting, index=1, name="b"))
    load = _load(Policy.FIXED_PRIORITY, True, 1, both)
    refusal = NAMED["fp_response_time"].refuse(load)
    assert refusal is not None
    assert with_ways_out(load, [refusal], METHODS)[0].instead == "suspension_oblivious"


def test_methods_for_other_situations_are_told_apart() -> None:
    """A set without a bound: of all that refuse, only one stands in the way."""
    tasks = tuple(SetTask(f"t{i}", 1, 5, 1, level=i, separation_ns=5, jitter_ns=1) for i in range(2))
    report = analyze_task_set(TaskSet("plain", Policy.FIXED_PRIORITY, True, tasks), methods=["amc_rtb", "global_fp"])
    assert report.modes[0].tasks[0].bound is None
    assert all(refusal.elsewhere for refusal in report.modes[0].tasks[0].refusals)
    assert report.modes[0].tasks[0].reason.endswith("fp_response_time would apply")
    curved = replace(tasks[0], separation_ns=None, curve=CURVE)
    report = analyze_task_set(TaskSet("curve", Policy.FIXED_PRIORITY, True, (curved, tasks[1])))
    real = {one.method: one.instead for one in report.modes[0].tasks[0].refusals if not one.elsewhere}
    assert real == {"fp_response_time": "fp_curve_response_time"}
