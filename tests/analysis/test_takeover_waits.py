"""Waits inside jobs for an element that serves them, when something is lost or taken over."""

from __future__ import annotations

from dataclasses import replace

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.result import FaultCase
from rt_sched.config import load_system_text
from rt_sched.model import Placement, Plan, System, Takeover
from rt_sched.planner import make_plan

RIG = """
rt_sched: 1
name: rig
devices:
  a: {processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu}}}
  b: {processing_elements: {cpu: {kind: cpu, cores: 2},
    gpu: {kind: gpu, frequency: 1GHz, operating_points: [{frequency: 500MHz}, {frequency: 1GHz}]}}}
tasks:
  asks:
    {runs_on: b.cpu, core: 0, activation: {period: 24ms}, deadline: 20ms, execution: {wcet: 2ms}, priority: 1,
     suspensions: [{after: 1ms, max: FIRST, on: b.gpu, service: 2ms}]}
  asks_too:
    {runs_on: b.cpu, core: 1, activation: {period: 40ms}, execution: {wcet: 2ms}, priority: 2,
     suspensions: [{after: 1ms, max: SECOND, on: b.gpu, service: 3ms}]}
  guest: {runs_on: a.cpu, activation: {period: 20ms}, execution: {wcet: WORK}WAITS}
MODES
faults: {lose_a: {lose: a}}
"""
NO_MODES = ""
EVERYTHING = "tasks: [asks, asks_too, guest]"
SLOW = f"modes: {{fast: {{{EVERYTHING}}}, slow: {{{EVERYTHING}, frequencies: {{b.gpu: 500MHz}}}}}}"


def rig(first: str = "6ms", second: str = "8ms", work: str = "1ms", waits: str = "", modes: str = NO_MODES) -> System:
    text = RIG.replace("FIRST", first).replace("SECOND", second).replace("WORK", work)
    text = text.replace("WAITS", waits).replace("MODES", modes)
    return load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)


def moving(system: System, core: int = 0) -> Plan:
    """`guest` goes to a core of the other device, above what runs there."""
    plan = make_plan(system)
    names = [one.name for one in plan.processors]
    levels = {"asks": 5, "asks_too": 6, "guest": 7}
    placements = tuple(replace(one, level=levels[one.task]) for one in plan.placements)
    takeover = Takeover(("device:a",), (Placement("guest", names.index(f"b.cpu.{core}"), 1),))
    return replace(plan, placements=placements, takeovers=(takeover,))


def cases(system: System, plan: Plan) -> dict[str, FaultCase]:
    report = analyze(system, plan)
    assert report.verdict is Verdict.SCHEDULABLE, [
        (one.task, one.reason) for mode in report.modes for one in (*mode.tasks, *mode.waits)
    ]
    found = analyze_faults(system, plan, report, names=("lose_a",)).scenarios[0].cases
    return {one.old: one for one in found}


def test_what_comes_to_a_core_may_make_the_waits_of_others_longer() -> None:
    """`asks` answers later beside `guest`, so that two of its requests may fall into one wait of `asks_too`."""
    system = rig(work="12ms")
    (case,) = cases(system, moving(system)).values()
    assert case.takeover is not None
    assert all(not one.late and not one.late_across for one in case.takeover.tasks)
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "wait of asks_too for b.gpu: above the declared 8ms" in case.reason
    assert "wait of asks_too for b.gpu at the takeover: " in case.reason
    (short,) = cases(rig(), moving(rig())).values()
    assert short.verdict is Verdict.SCHEDULABLE


def test_waits_under_a_takeover_take_as_long_as_the_element_of_the_mode_needs() -> None:
    """At half the frequency `asks_too` waits 10 ms in the queue, and `asks` beside `guest` answers within 15."""
    system = rig("10ms", "16ms", "3ms", modes=SLOW)
    found = cases(system, moving(system))
    assert found["fast"].verdict is Verdict.SCHEDULABLE
    assert found["slow"].verdict is Verdict.INCONCLUSIVE
    assert found["slow"].reason.startswith("wait of asks_too for b.gpu: above the declared 16ms")
    short = rig("10ms", "16ms", "1ms", modes=SLOW)
    assert cases(short, moving(short))["slow"].verdict is Verdict.SCHEDULABLE


def test_what_a_task_that_moves_had_asked_may_still_be_in_the_queue() -> None:
    asks = ", priority: 3, suspensions: [{after: 0.5ms, max: 9ms, on: b.gpu, service: 1ms}]"
    system = rig("9ms", "9ms", waits=asks)
    (case,) = cases(system, moving(system)).values()
    assert case.verdict is Verdict.INCONCLUSIVE
    reason = "guest moves, and what its last job had asked may still be in the queue"
    assert f"wait of asks for b.gpu at the takeover: {reason}" in case.reason
    assert "wait of asks for b.gpu: " not in case.reason


def test_nobody_serves_what_waits_for_a_lost_element() -> None:
    system = rig()
    there = replace(system.tasks[0].suspensions[0], on=("a", "gpu"))
    system = replace(system, tasks=(replace(system.tasks[0], suspensions=(there,)), *system.tasks[1:]))
    for plan in (replace(moving(system), takeovers=()), moving(system)):
        (case,) = cases(system, plan).values()
        assert case.verdict is Verdict.INCONCLUSIVE
        assert "wait of asks for a.gpu: device a is lost" in case.reason
