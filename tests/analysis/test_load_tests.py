"""Tests of a whole load say nothing where their assumptions fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad, Stream
from rt_sched.analysis.methods.load_tests import judge_load
from rt_sched.analysis.methods.mixed_criticality import AMC_MAX, AMC_RTB
from rt_sched.analysis.result import Verdict
from rt_sched.model import Policy, Processor
from rt_sched.trace.setup import Policy as RowPolicy
from rt_sched.trace.setup import ProcessorRow


def _load(policy: Policy, tasks: list[tuple[int, int]]) -> ProcessorLoad:
    """Sporadic tasks (wcet, period) with implicit deadlines on one preemptive core."""
    rows = tuple(
        LoadTask(i, f"t{i}", i, wcet, wcet, period, (Stream(period),), rate_hz=Fraction(10**9, period))
        for i, (wcet, period) in enumerate(tasks)
    )
    processor = Processor("d", "p", 0, policy, True)
    return ProcessorLoad(processor, ProcessorRow("p", RowPolicy[policy.name], True), rows)


def _verdicts(load: ProcessorLoad) -> dict[str, Verdict]:
    return {name: verdict for name, verdict, _ in judge_load(load)}


def test_utilisation_decides_plain_loads() -> None:
    found = _verdicts(_load(Policy.FIXED_PRIORITY, [(2, 10), (5, 20), (10, 50)]))
    assert found["liu_layland"] is found["hyperbolic"] is Verdict.SCHEDULABLE
    found = _verdicts(_load(Policy.EDF, [(5, 10), (10, 20)]))
    assert found["edf_load"] is found["edf_demand"] is Verdict.SCHEDULABLE


def test_regions_and_switches_take_that_away() -> None:
    for policy, names in ((Policy.FIXED_PRIORITY, ("liu_layland", "hyperbolic")), (Policy.EDF, ("edf_load",))):
        plain = _load(policy, [(1, 10), (7, 30)])
        assert all(_verdicts(plain)[name] is Verdict.SCHEDULABLE for name in names)
        regions = replace(plain, tasks=(plain.tasks[0], replace(plain.tasks[1], region_ns=7)))
        assert not set(names) & set(_verdicts(regions))


def test_too_much_work_is_unschedulable_unless_some_is_shed() -> None:
    load = _load(Policy.EDF, [(6, 10), (9, 20)])
    assert _verdicts(load)["load"] is Verdict.UNSCHEDULABLE
    shed = replace(load, tasks=(load.tasks[0], replace(load.tasks[1], sheds=True)))
    assert _verdicts(shed)["load"] is Verdict.INCONCLUSIVE


def test_a_failed_demand_test_is_a_proof_for_free_arrivals_only() -> None:
    load = _load(Policy.EDF, [(5, 10), (5, 20)])
    short = replace(load, tasks=(replace(load.tasks[0], deadline_ns=5), replace(load.tasks[1], deadline_ns=8)))
    assert _verdicts(short)["edf_demand"] is Verdict.UNSCHEDULABLE
    apart = replace(short, tasks=tuple(replace(task, offset_ns=task.index, free=False) for task in short.tasks))
    assert _verdicts(apart)["edf_demand"] is Verdict.INCONCLUSIVE


def test_a_low_job_with_a_lock_goes_on_after_the_switch_and_has_no_bound_by_amc() -> None:
    load = _load(Policy.FIXED_PRIORITY, [(4, 20), (6, 40)])
    high = replace(load.tasks[0], high=True, low_wcet_ns=1)
    plain = replace(load, tasks=(high, load.tasks[1]))
    locking = replace(load, tasks=(high, replace(load.tasks[1], locks=True)))
    for method in (AMC_RTB, AMC_MAX):
        assert method.refuse(plain) is None
        refusal = method.refuse(locking)
        assert refusal is not None
        assert refusal.instead == "fp_response_time"
