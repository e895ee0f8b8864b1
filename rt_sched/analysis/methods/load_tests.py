"""Tests of the tasks of one processor together: they decide all deadlines at once, without a bound for each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rt_sched.analysis.batch import Status, edf_schedulable
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.edf import blocked_ns
from rt_sched.analysis.methods.rows import attained
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.theory.fixed_points import NotConverged, Timing, exact_sum
from rt_sched.analysis.theory.utilisation import edf_load, hyperbolic, liu_layland
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Policy
from rt_sched.units import NS_PER_S

#: Name of the test, what it says, and why.
TestResult = tuple[str, Verdict, str]
#: Name of the test that finds more work than a processor can ever do.
BACKLOG = "load"


def judge_load(load: ProcessorLoad) -> tuple[TestResult, ...]:
    """Every test that applies to a load with its arrivals.

    The load itself is a necessary test; the utilisation tests are sufficient; the demand test under EDF is both as long
    as nothing keeps the worst case from happening.
    """
    if not load.tasks:
        return ()
    found = [_necessary(load)]
    if load.row.cores == 1 and all(_independent(task) for task in load.tasks):
        timings = [task.timing() for task in load.tasks]
        anywhere = load.row.preemptive and all(task.region_ns <= 1 for task in load.tasks)
        if load.policy is Policy.FIXED_PRIORITY and anywhere:
            found += _sufficient(timings)
        elif load.policy is Policy.EDF:
            if anywhere:
                found += _by_load(timings)
            found += _demand(load, timings)
    return tuple(found)


def _independent(task: LoadTask) -> bool:
    alone = len(task.streams) == 1 and task.streams[0].curve is None and not task.suspensions
    return alone and not task.throttled_beyond and task.blocking is not None


def _necessary(load: ProcessorLoad) -> TestResult:
    # Work that may be left out, or may never be asked for, does not count.
    switches = load.switches_mode
    needed = exact_sum(
        Fraction((task.wcet_ns + load.row.switch_ns) * (task.rate_hz or 0), NS_PER_S)
        for task in load.tasks
        if not (task.sheds or task.rate_hz is None or (switches and not task.high))
    )
    text = f"work that nothing sheds takes {float(needed):.6g} of {load.row.cores}"
    if needed > load.row.cores:
        return BACKLOG, Verdict.UNSCHEDULABLE, f"{text}: the backlog grows without end"
    return BACKLOG, Verdict.INCONCLUSIVE, f"{text}: necessary, not sufficient"


def _sufficient(timings: Sequence[Timing]) -> list[TestResult]:
    found: list[TestResult] = []
    for name, test in (("liu_layland", liu_layland), ("hyperbolic", hyperbolic)):
        try:
            holds = test(timings)
        except AnalysisNotApplicable as error:
            found.append((name, Verdict.INCONCLUSIVE, str(error)))
            continue
        if holds:
            found.append((name, Verdict.SCHEDULABLE, "the load is within the bound of the test"))
        else:
            found.append((name, Verdict.INCONCLUSIVE, "the load exceeds the bound of the test, which proves nothing"))
    return found


def _by_load(timings: Sequence[Timing]) -> list[TestResult]:
    try:
        holds = edf_load(timings)
    except AnalysisNotApplicable as error:
        return [("edf_load", Verdict.INCONCLUSIVE, str(error))]
    verdict = Verdict.SCHEDULABLE if holds else Verdict.INCONCLUSIVE
    return [("edf_load", verdict, "the load is at most 1" if holds else "the load, as rounded up, exceeds 1")]


def _demand(load: ProcessorLoad, timings: Sequence[Timing]) -> list[TestResult]:
    name = "edf_demand"
    try:
        blocking_ns = [blocked_ns(load, task) for task in load.tasks]
    except NotConverged as error:
        return [(name, Verdict.INCONCLUSIVE, str(error))]
    result = edf_schedulable(
        [[t.wcet_ns for t in timings]],
        [[t.period_ns for t in timings]],
        [[t.deadline_ns for t in timings]],
        [[t.jitter_ns for t in timings]],
        [blocking_ns] if any(blocking_ns) else None,
        load.row.preemptive,
    )
    status = Status(int(result.status[0]))
    if bool(result.schedulable[0]):
        return [(name, Verdict.SCHEDULABLE, "in no interval more work falls due than fits")]
    if status is not Status.OK or result.violation_ns is None:
        return [(name, Verdict.INCONCLUSIVE, f"the test ended with status {status.name.lower()}")]
    text = f"within {int(result.violation_ns[0])} ns more work can fall due than fits"
    proven = attained(load) and not any(blocking_ns)
    return [(name, Verdict.UNSCHEDULABLE if proven else Verdict.INCONCLUSIVE, text)]
