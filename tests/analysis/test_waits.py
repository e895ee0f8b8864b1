"""Waits of jobs for an accelerator that serves them: what follows from all that ask it, beside what is declared."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hand_made import element, planned, task

from rt_sched import model
from rt_sched.analysis.analyze import analyze, analyze_mode
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.loads.resolve import at_frequency, mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Verdict
from rt_sched.analysis.sensitivity import sensitivity
from rt_sched.analysis.sensitivity.execution import with_more
from rt_sched.analysis.theory.fixed_points import Timing
from rt_sched.analysis.theory.joint_suspension import AskingTask, Queue, joint_response_times
from rt_sched.config import load_system_text
from rt_sched.model import PEKind, Plan, Policy, ProcessingElement, Suspension, System
from rt_sched.planner import make_plan

GPU = ("d", "gpu")


def gpu(policy: Policy = Policy.FIXED_PRIORITY) -> ProcessingElement:
    return ProcessingElement("gpu", PEKind.GPU, 1, policy, False)


def asking(name: str, wcet: int, period: int, service: int, longest: int, *, pe: str = "p") -> model.Task:
    """Waits in the middle of its jobs."""
    return task(name, wcet, period, pe=pe, suspensions=(Suspension(1, 0, longest, GPU, service),))


def waits(system: System, plan: Plan) -> dict[str, tuple[int | None, Verdict]]:
    (mode,) = analyze(system, plan).modes
    return {one.task: (one.waited_ns, one.verdict) for one in mode.waits}


def two(longest: int = 9, policy: Policy = Policy.FIXED_PRIORITY, *more: model.Task) -> tuple[System, Plan]:
    """Two tasks on a core each, of which the first is the more urgent."""
    tasks = (asking("a", 2, 40, 3, longest), asking("b", 2, 60, 5, longest, pe="q"), *more)
    return planned([element("p"), element("q"), gpu(policy)], tasks, levels={"a": 0, "b": 1})


def test_by_priority_a_request_waits_for_one_that_has_begun_and_for_more_urgent_ones() -> None:
    # `a` for the 5 - 1 of `b`, then its own 3; `b` for its own kind less 1, for one request of `a` and its own 5.
    assert waits(*two(13)) == {"a": (7, Verdict.SCHEDULABLE), "b": (4 + 3 + 5, Verdict.SCHEDULABLE)}


def test_first_come_first_served_a_request_waits_for_one_of_every_other_task() -> None:
    assert waits(*two(9, Policy.FIFO)) == {"a": (8, Verdict.SCHEDULABLE), "b": (8, Verdict.SCHEDULABLE)}


def test_a_declared_wait_that_is_too_short_is_never_proven() -> None:
    system, plan = two(11)
    report = analyze(system, plan)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert waits(system, plan)["b"] == (12, Verdict.INCONCLUSIVE)
    (late,) = [one for one in report.modes[0].waits if one.verdict is not Verdict.SCHEDULABLE]
    assert late.reason == "above the declared 11ns"
    assert all(one.verdict is Verdict.SCHEDULABLE for one in report.modes[0].tasks)


@pytest.mark.parametrize(
    ("system", "plan", "reason"),
    [
        (*two(9, Policy.FIFO, task("other", 1, 100, pe="gpu")), "task other runs on d.gpu besides"),
        (*planned([element("p"), element("gpu", cores=2)], [asking("a", 2, 40, 3, 9)]), "d.gpu has 2 cores"),
        (*planned([element("p"), element("gpu")], [asking("a", 2, 40, 3, 9)]), "d.gpu preempts what it serves"),
        (*planned([element("p"), gpu(Policy.EDF)], [asking("a", 2, 40, 3, 9)]), "d.gpu serves by edf"),
    ],
)
def test_what_is_not_known_is_told(system: System, plan: Plan, reason: str) -> None:
    (mode,) = analyze(system, plan).modes
    assert {one.verdict for one in mode.waits} == {Verdict.INCONCLUSIVE}
    assert all(one.reason.startswith(reason) for one in mode.waits)


def test_waits_of_which_nobody_serves_are_left_as_declared() -> None:
    plain = replace(asking("a", 2, 40, 3, 9), suspensions=(Suspension(1, 0, 9),))
    (mode,) = analyze(*planned([element("p")], [plain])).modes
    assert mode.waits == ()


def _joint(rows: Sequence[tuple[int, int, int, int]], queue: Queue) -> list[int | None]:
    """The waits of the joint fixed point from below, of (wcet, period, service, core)."""
    tasks = [AskingTask(Timing(wcet, period, period), core, (service,)) for wcet, period, service, core in rows]
    return [None if one is None else one.served_ns[0] for one in joint_response_times(tasks, queue)]


@pytest.mark.parametrize("queue", list(Queue))
def test_the_joint_fixed_point_is_proven_when_it_is_declared(queue: Queue) -> None:
    """What the analysis from below finds, written down as declared waits, is found to be kept to the nanosecond."""
    rng = random.Random(23)  # noqa: S311 - reproducible test data
    proven = 0
    for _ in range(40):
        rows = [(rng.randint(1, 4), rng.choice((60, 80, 120, 200)), rng.randint(1, 6), place % 2) for place in range(4)]
        rows.sort(key=lambda row: row[1])
        found = _joint(rows, queue)
        if any(one is None for one in found):
            continue
        tasks = [
            asking(f"t{place}", wcet + 1, period, service, int(found[place] or 0), pe="pq"[core])
            for place, (wcet, period, service, core) in enumerate(rows)
        ]
        tasks = [
            replace(one, execution=model.ExecutionTime(w, w, (w, w))) for one, (w, *_) in zip(tasks, rows, strict=True)
        ]
        policy = Policy.FIFO if queue is Queue.FIFO else Policy.FIXED_PRIORITY
        levels = {one.name: place for place, one in enumerate(tasks)}
        system, plan = planned([element("p"), element("q"), gpu(policy)], tasks, levels=levels)
        kept = waits(system, plan)
        for place, one in enumerate(tasks):
            waited, verdict = kept[one.name]
            assert (waited, verdict) == (found[place], Verdict.SCHEDULABLE)
        proven += 1
    assert proven > 20


SERVED = """
rt_sched: 1
name: s
devices:
  ecu: {processing_elements: {cpu: {kind: cpu, cores: 2}, gpu: {kind: gpu}}}
tasks:
  a:
    {runs_on: ecu.cpu, core: 0, activation: {period: 20ms}, execution: {wcet: 2ms},
     suspensions: [{after: 1ms, max: 6ms, on: ecu.gpu, service: 2ms}]}
  b:
    {runs_on: ecu.cpu, core: 1, activation: {period: 40ms}, execution: {wcet: 4ms}, deadline: 30ms,
     suspensions: [{after: 1ms, max: 6ms, on: ecu.gpu, service: 2ms}]}
  c:
    {runs_on: ecu.cpu, core: 0, activation: {period: 30ms}, execution: {wcet: 1ms}, deadline: 30ms,
     suspensions: [{after: 0.5ms, max: MAX, on: ecu.gpu, service: 3ms}]}
modes: {one: {without: MISSING}, other: {without: a}}
faults: {long: {overrun: a, jobs: [0, 1, 2], demand: 14ms}}
"""


def served(longest: str = "10ms", missing: str = "c") -> System:
    text = SERVED.replace("MAX", longest).replace("MISSING", missing)
    return load_system_text(text, file_name="s", base_dir=".", stages=None)


def test_a_change_between_modes_whose_waits_hold_may_make_them_longer() -> None:
    system = served()
    plan = make_plan(system)
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    changes = analyze_faults(system, plan, report).transitions
    for change in changes:
        # Both modes together ask more of the element than either.
        late = {one.task for one in change.waits if one.verdict is not Verdict.SCHEDULABLE}
        assert late >= {"a", "b"}
        assert all(one.verdict is Verdict.SCHEDULABLE for one in change.tasks)
        assert change.verdict is Verdict.INCONCLUSIVE


def test_an_overrun_may_make_waits_longer() -> None:
    system = replace(served(missing="c"), modes=())
    system = replace(system, tasks=system.tasks[:2])
    plan = make_plan(system)
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE
    (case,) = analyze_faults(system, plan, report).scenarios[0].cases
    assert all(one.verdict is Verdict.SCHEDULABLE for one in case.tasks)
    assert case.verdict is Verdict.INCONCLUSIVE
    assert case.reason.startswith("wait of b for ecu.gpu: ")


def test_an_element_that_serves_waits_may_be_so_much_slower() -> None:
    text = SERVED.replace("MAX", "10ms").replace("MISSING", "c").replace("max: 6ms", "max: 15ms")
    text = text.replace("{kind: gpu}", "{kind: gpu, frequency: 1GHz}")
    system = load_system_text(text, file_name="s", base_dir=".", stages=None)
    system = replace(system, tasks=system.tasks[:2], modes=(), fault_scenarios=())
    (mode,) = mode_loads(system, make_plan(system))
    (found,) = sensitivity(mode, METHODS).frequencies
    assert (found.pe, found.limited_by) == ("ecu.gpu", "declared wait of b for ecu.gpu")
    assert found.smallest_hz is not None
    verdicts = []
    for hertz in (found.smallest_hz, found.smallest_hz - 1000):
        slow = at_frequency(mode, "ecu", "gpu", hertz)
        verdicts.append([one.verdict for one in analyze_mode(slow).waits])
    assert verdicts[0] == [Verdict.SCHEDULABLE] * 2
    assert Verdict.INCONCLUSIVE in verdicts[1]


def test_no_margin_leaves_a_wait_longer_than_declared() -> None:
    system = replace(served(), modes=(), fault_scenarios=())
    system = replace(system, tasks=system.tasks[:2])
    (mode,) = mode_loads(system, make_plan(system))
    found = sensitivity(mode, METHODS)
    (first, _) = found.tasks
    # Longer jobs of `a` ask twice within a wait of `b`, long before any deadline is missed.
    assert first.limited_by == "declared wait of b for ecu.gpu"
    assert analyze_mode(with_more(mode, {0: first.margin_ns})).verdict is Verdict.SCHEDULABLE
    beyond = analyze_mode(with_more(mode, {0: first.margin_ns + 1}))
    assert all(one.verdict is Verdict.SCHEDULABLE for one in beyond.tasks)
    assert beyond.verdict is Verdict.INCONCLUSIVE
