"""Where not everything fits on what is left, the tasks of higher criticality go on, with what they need."""

from __future__ import annotations

import pytest
from failover_rigs import load

from rt_sched.analysis.result import Verdict
from rt_sched.app.runs.check_trace import check_document
from rt_sched.lowering import lower, nominal_samples
from rt_sched.model import Fault, FaultKind, System
from rt_sched.planner import make_plan
from rt_sched.planner.failover.plan import failover_plan, plan_takeovers
from rt_sched.planner.failover.search import Outcome
from rt_sched.runtime.detection import detect
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

PAIR = ("device:a", "device:b")
END_NS = 1_000 * NS_PER_MS
#: On a: two views, of which the wide one leads to the backup path. On c is room for one of them, beside its own.
SYSTEM = """
rt_sched: 1
name: rig
devices:
  a: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  b: {processing_elements: {cpu: {kind: cpu, cores: 2}}}
  c: {processing_elements: {cpu: {kind: cpu, cores: 1}}}
  gateway: {processing_elements: {mcu: {kind: mcu}}}
sensors:
  front: {kind: camera, rate: 20Hz, latency: 2ms, jitter: 500us, attached_to: [a, b, c], topic: /front}
  wide: {kind: camera, rate: 20Hz, latency: 2ms, jitter: 500us, attached_to: [a, b, c], topic: /wide}
tasks:
  see: {runs_on: a.cpu, core: 0, inputs: {image: front}, execution: {bcet: 1ms, wcet: SEE}, deadline: 30ms,
    criticality: LOW}
  prepare: {runs_on: a.cpu, core: 1, inputs: {image: wide}, execution: {bcet: 1ms, wcet: 2ms}, deadline: 30ms,
    criticality: A}
  watch: {runs_on: b.cpu, core: 0, inputs: {image: prepare}, execution: {bcet: 1ms, wcet: WATCH}, deadline: 30ms,
    criticality: C}
  own: {runs_on: c.cpu, activation: {rate: 20Hz}, execution: {bcet: 1ms, wcet: 5ms}, deadline: 50ms, criticality: B}
  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, execution: {bcet: 100us, wcet: 500us}, criticality: D,
    inputs: {primary: {from: see, required: false}, backup: {from: watch, required: false}}}
safety: {arbiter: arbiter, primary: see, backup: watch, recovery_limit: 200ms}
"""


def answer(see: str, watch: str, low: str = "B") -> Outcome:
    system: System = load(SYSTEM.replace("SEE", see).replace("WATCH", watch).replace("LOW", low))
    return failover_plan(system, make_plan(system, None), [PAIR]).outcomes[0]


def moved(found: Outcome) -> set[str]:
    return set() if found.takeover is None else {move.task for move in found.takeover.moves}


def test_everything_goes_on_where_it_fits() -> None:
    found = answer("3ms", "3ms")
    assert (found.verdict, moved(found), found.unmoved) == (Verdict.SCHEDULABLE, {"see", "prepare", "watch"}, ())


def test_what_is_less_critical_is_left_out_and_named() -> None:
    found = answer("18ms", "12ms")
    assert moved(found) == {"prepare", "watch"}
    assert [name for name, _ in found.unmoved] == ["see"]
    assert "task see goes nowhere: it is left out" in found.reason
    assert found.verdict is Verdict.INCONCLUSIVE
    tasks = {task.task: task for result in found.results for task in result.tasks}
    assert tasks.keys() >= {"prepare", "watch", "own"}
    assert not any(task.late or task.late_across for task in tasks.values())


def test_the_more_critical_path_is_kept_where_it_comes_first() -> None:
    found = answer("18ms", "12ms", low="D")
    assert "see" in moved(found)
    assert [name for name, _ in found.unmoved] == ["watch"]


@pytest.mark.parametrize("low", ["B", "D"])
def test_what_fits_nowhere_takes_nothing_else_with_it(low: str) -> None:
    found = answer("3ms", "60ms", low)
    assert moved(found) == {"see", "prepare"}
    assert [name for name, _ in found.unmoved] == ["watch"]


def test_a_single_loss_keeps_what_it_has() -> None:
    """Leaving out a part where a takeover goes is for several losses at one time."""
    text = SYSTEM.replace("runs_on: b.cpu", "runs_on: a.cpu").replace(
        "core: 0, inputs: {image: prepare}", "core: 1, inputs: {image: prepare}"
    )
    text = text.replace("attached_to: [a, b, c]", "attached_to: [a, c]").replace(
        "  b: {processing_elements: {cpu: {kind: cpu, cores: 2}}}\n", ""
    )
    system = load(text.replace("SEE", "18ms").replace("WATCH", "12ms").replace("LOW", "B"))
    found = failover_plan(system, make_plan(system, None), [("device:a",)]).outcomes[0]
    assert moved(found) == {"see", "prepare"}


def test_what_goes_on_is_in_time_in_runs() -> None:
    system = load(SYSTEM.replace("SEE", "18ms").replace("WATCH", "12ms").replace("LOW", "B"))
    plan = plan_takeovers(system, make_plan(system, None), [PAIR])
    names = [task.name for task in system.tasks]
    for step in range(0, 50, 7):
        at_ns = (300 + step) * NS_PER_MS
        faults = [Fault(FaultKind.DEVICE, "a", at_ns), Fault(FaultKind.DEVICE, "b", at_ns)]
        samples = nominal_samples(system, END_NS, step)
        detection = detect(system, plan, samples, faults, ["front", "wide"], END_NS)
        assert [one.in_force_ns is not None for one in detection.decisions] == [True]
        given = lower(
            system, plan, samples, horizon_ns=END_NS, seed=step, faults=faults, plan_changes=detection.plan_changes
        )
        simulation = Simulation(given)
        simulation.run()
        trace = simulation.trace()
        assert check_document(trace)["violations"] == []
        jobs = trace.jobs
        behind = jobs.arrival_ns > at_ns + 50 * NS_PER_MS
        done = behind & (jobs.status == JobStatus.COMPLETED)
        assert {names[index] for index in jobs.task[done]} == {"prepare", "watch", "own", "arbiter"}
        assert {names[index] for index in jobs.task[behind & jobs.missed]} <= {"see"}
