"""Tasks that may miss some deadlines: the verdict on them, and runs beside the number of misses that is told."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

from hand_made import element, planned, task
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_sched import model
from rt_sched.analysis import analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.result import Verdict
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import DeadlineAction, Policy
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.weakly_hard import measure_weakly_hard

SYSTEM = """
rt_sched: 1
name: weakly_hard
devices: {ecu: {processing_elements: {cpu: {kind: cpu}}}}
tasks:
  load: {runs_on: ecu.cpu, activation: {ACTIVATION}, execution: {wcet: 6ms}, priority: 0}
  control:
    {runs_on: ecu.cpu, activation: {period: 10ms}, execution: {wcet: 5ms}, priority: 1,
     on_deadline: ACTION, miss_limit: LIMIT}
"""


def _system(limit: str, action: str = "abort", activation: str = "period: 30ms", more: str = ""):
    text = SYSTEM.replace("LIMIT", limit + more).replace("ACTIVATION", activation)
    return load_system_text(text.replace("ACTION", action), file_name="w.yaml", base_dir=".", stages=None)


def _misses(system):
    report = analyze(system, make_plan(system))
    return report.verdict, report.task("control")


def test_misses_of_known_arrivals_are_counted_over_the_hyperperiod():
    verdict, control = _misses(_system("1 of 3"))
    assert (verdict, control.verdict, control.misses.at_most) == (Verdict.SCHEDULABLE, Verdict.SCHEDULABLE, 1)
    assert control.bound.value_ns > control.deadline_ns
    assert control.reason.startswith("at most 1 of any 3 jobs miss: in the run with all worst cases")


def test_more_misses_than_allowed_are_shown_by_a_run():
    verdict, control = _misses(_system("1 of 4"))
    assert (verdict, control.misses.at_most, control.misses.verdict) == (Verdict.UNSCHEDULABLE, 2, verdict)
    # Jobs 0 and 3 are late: with job 3 it is two of the last four.
    assert (control.witness.job, control.witness.arrival_ns) == (3, 30_000_000)
    assert control.reason.startswith("1 of any 4 may miss, and in a legal run more do")


def test_a_late_job_that_suppresses_the_next_one_makes_two_miss():
    assert _misses(_system("1 of 3", "skip_next"))[0] is Verdict.UNSCHEDULABLE
    verdict, control = _misses(_system("2 of 3", "skip_next"))
    assert (verdict, control.misses.at_most) == (Verdict.SCHEDULABLE, 2)


def test_what_is_not_known_is_neither_yes_nor_no():
    sporadic = _system("1 of 3", activation="min_separation: 30ms")
    verdict, control = _misses(sporadic)
    assert (verdict, control.misses.at_most) == (Verdict.INCONCLUSIVE, None)
    assert "1 of any 3 may miss; it may be late, and how often is not known" in control.reason


def test_jobs_that_a_budget_ends_have_missed_although_they_are_not_late():
    cut = _system("1 of 3", activation="period: 300ms", more=", budget: {limit: 4ms, on_overrun: abort}")
    _, control = _misses(cut)
    assert control.bound is not None
    assert control.misses.at_most is None
    assert control.verdict is Verdict.UNSCHEDULABLE
    assert "how often is not known: jobs that need more than the budget of 4" in control.misses.reason


def test_the_demand_test_is_no_verdict_on_a_task_that_may_miss():
    tasks = (task("a", 3, 6, 3), task("b", 2, 6, 4, miss_limit=(1, 2), activation=model.Sporadic(6)))
    system, plan = planned([element(policy=Policy.EDF)], tasks)
    tests = {name: verdict for name, verdict, _ in analyze(system, plan).modes[0].processors[0].tests}
    assert tests["edf_demand"] is Verdict.INCONCLUSIVE
    tasks = (tasks[0], replace(tasks[1], miss_limit=None))
    system, plan = planned([element(policy=Policy.EDF)], tasks)
    tests = {name: verdict for name, verdict, _ in analyze(system, plan).modes[0].processors[0].tests}
    assert tests["edf_demand"] is Verdict.UNSCHEDULABLE


def test_faults_tell_the_same_misses():
    for limit in ("1 of 3", "1 of 4"):
        system = _system(limit)
        plan = make_plan(system)
        report = analyze(system, plan)
        found = analyze_faults(system, plan, report)
        assert found.misses == (("normal" if system.modes else "nominal", report.task("control").misses),)
        assert found.verdict is report.verdict


@st.composite
def weakly_hard_sets(draw):
    """Two to four periodic tasks on one core; all but the first may miss some deadlines."""
    tasks = []
    for number in range(draw(st.integers(2, 4))):
        period = draw(st.sampled_from((6, 8, 12, 18, 24)))
        wcet = draw(st.integers(1, period // 2 + 1))
        k = draw(st.integers(1, 6))
        tasks.append(
            task(
                "abcd"[number],
                wcet,
                period,
                draw(st.integers(wcet, period)),
                activation=model.Periodic(Fraction(10**9, period), draw(st.integers(0, 5))),
                deadline_action=draw(st.sampled_from(list(DeadlineAction))),
                miss_limit=(draw(st.integers(0, k - 1)), k) if number else None,
            )
        )
    seed = draw(st.integers(0, 1000))
    return tuple(tasks), draw(st.sampled_from((Policy.FIXED_PRIORITY, Policy.EDF))), seed


def _measured(system, plan, demands, horizon_ns=600):
    """How a run kept the miss limits. `demands`: of the first jobs, by task; all others need their worst case."""
    samples = nominal_samples(system, horizon_ns)
    rows = lower(system, plan, samples, horizon_ns=horizon_ns, execution=Execution.WCET)
    tasks = tuple(replace(row, explicit_demands_ns=tuple(demands.get(row.name, ()))) for row in rows.tasks)
    simulation = Simulation(replace(rows, tasks=tasks))
    simulation.run()
    return measure_weakly_hard(simulation.trace())


@settings(max_examples=60, deadline=None)
@given(weakly_hard_sets())
def test_no_run_has_more_misses_than_are_told(drawn):
    tasks, policy, seed = drawn
    random = Random(seed)  # noqa: S311 - reproducible test data
    system, plan = planned([element(policy=policy)], tasks)
    results = {one.task: one for one in analyze(system, plan).modes[0].tasks}
    for shortest in (1.0, 0.5, 0.0):
        demands = {
            one.name: [max(1, round(one.execution.wcet_ns * random.uniform(shortest, 1))) for _ in range(80)]
            for one in tasks
        }
        for measured in _measured(system, plan, demands):
            told = results[measured.task].misses
            assert told.at_most is None or measured.most_missed <= told.at_most
            if told.verdict is Verdict.SCHEDULABLE:
                assert measured.kept
    broken = {one.task for one in _measured(system, plan, {}) if not one.kept}
    assert broken == {name for name, one in results.items() if one.misses and one.verdict is Verdict.UNSCHEDULABLE}
