"""Takeovers of a run: every path recovers within its bound, bounds hold, and the summary's rows say so."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "failover"))
from failover_rigs import load, rig

from rt_sched.app.runs.bounds import run_bounds
from rt_sched.app.runs.check_trace import check_document
from rt_sched.app.runs.fault_outcomes import fault_outcomes
from rt_sched.app.runs.judged_chains import judged_chains
from rt_sched.app.runs.takeover_runs import late_recoveries, takeover_notes, takeover_runs
from rt_sched.lowering import Execution, check_plan, lower, nominal_samples
from rt_sched.messages import ArbiterDecision, ArbiterState, Command
from rt_sched.model import Fault, FaultKind, Placement, Plan, System, Takeover
from rt_sched.planner import make_plan
from rt_sched.planner.failover import plan_takeovers
from rt_sched.runtime.detection import detect
from rt_sched.sim import Simulation

MS = 1_000_000
END = 1_500 * MS
CAMERAS = ("front", "rear")


@pytest.fixture(scope="module")
def system() -> System:
    return rig()


@pytest.fixture(scope="module")
def plan(system: System) -> Plan:
    return plan_takeovers(system, make_plan(system, None))


def run(system: System, plan: Plan, *faults: Fault, seed: int = 0):
    samples = nominal_samples(system, END, seed)
    detection = detect(system, plan, samples, faults, CAMERAS, END)
    given = lower(system, plan, samples, horizon_ns=END, seed=seed, faults=faults, plan_changes=detection.plan_changes)
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    return trace, detection, takeover_runs(system, plan, trace, detection, faults, CAMERAS)


def commands(*rows: tuple[int, bool]) -> list[tuple[int, ArbiterDecision]]:
    """(time in ms, whether the command is valid)."""
    return [
        (at * MS, ArbiterDecision(0, at * MS, ArbiterState.NOMINAL, "p", Command(0, "p", 0, 0.0, False, None, ok), ""))
        for at, ok in rows
    ]


@pytest.mark.parametrize("loss", ["device:a", "device:b", "camera:front", "camera:rear"])
def test_every_path_recovers_within_its_bound_at_every_instant_of_the_cycle(system, plan, loss):
    kind, _, name = loss.partition(":")
    for step in range(0, 50, 3):
        fault = Fault(FaultKind(kind), name, (500 + step) * MS)
        trace, _, (one,) = run(system, plan, fault, seed=step)
        assert one.analysed, one.reason
        assert one.paths
        assert all(path.recovered_ns is not None and path.bound_ns is not None for path in one.paths)
        assert (late_recoveries(one), one.exceeded) == ([], ())
        assert one.recovered_ns is not None
        assert one.recovered_ns - fault.time_ns <= (one.bound_ns or 0) <= 100 * MS
    assert check_document(trace)["violations"] == []


def test_additional_arrivals_break_no_assumption(system, plan):
    fault = Fault(FaultKind.DEVICE, "b", 503 * MS, 700 * MS)
    trace, _, runs = run(system, plan, fault)
    bounds = run_bounds(system, plan, trace, judged_chains(system, plan, trace, [fault], CAMERAS, []), [], runs)
    assert [one["assumption"] for one in bounds.monitors if not one["holds"]] == []
    assert bounds.exceeded == []


def test_a_takeover_on_another_has_a_bound_too(system, plan):
    faults = [Fault(FaultKind.CAMERA, "front", 400 * MS), Fault(FaultKind.DEVICE, "a", 700 * MS)]
    _, detection, (first, second) = run(system, plan, *faults)
    assert (first.analysed, second.analysed, second.reason) == (True, True, "")
    rows = fault_outcomes(system, faults, CAMERAS, [], detection, (first, second))
    assert rows[1]["takeover"]["losses"] == ["camera:front", "device:a"]
    assert second.recovered_ns is not None
    assert second.recovered_ns - 700 * MS <= rows[1]["recovery_bound_ns"]
    assert takeover_notes(detection, (first, second)) == []


def test_a_takeover_on_another_that_returns_is_reported_without_a_bound(system, plan):
    faults = [Fault(FaultKind.DEVICE, "a", 300 * MS), Fault(FaultKind.CAMERA, "rear", 310 * MS, 400 * MS)]
    _, detection, runs = run(system, plan, *faults)
    last = runs[-1]
    assert last.decision.losses == ("device:a",)
    assert (last.analysed, last.bound_ns) == (False, None)
    note = takeover_notes(detection, runs)[-1]
    assert "another takeover was in force: camera:rear came back while something else was lost" in note


def test_rows_say_who_noticed_when_it_switched_recovered_and_returned(system, plan):
    fault = Fault(FaultKind.DEVICE, "a", 501 * MS, 600 * MS)
    _, detection, runs = run(system, plan, fault)
    decisions = commands(*((at, True) for at in range(0, 1_500, 10)))
    (row,) = fault_outcomes(system, [fault], CAMERAS, decisions, detection, runs)
    assert (row["detected_after_ns"], row["detected_by"]) == (20 * MS, "heartbeat")
    assert row["switched_after_ns"] == 21 * MS
    assert row["returned_after_ns"] == 600 * MS
    (path,) = row["paths"]
    assert path["origin"] == "front"
    assert row["switched_after_ns"] < path["recovered_after_ns"] <= row["recovered_after_ns"]
    assert row["recovered_after_ns"] <= row["recovery_bound_ns"] + 10 * MS


def test_nothing_is_recovered_before_commands_are_valid(system, plan):
    fault = Fault(FaultKind.DEVICE, "a", 501 * MS)
    _, detection, runs = run(system, plan, fault)
    valid = commands((490, True), (530, True), (560, True), (700, False), (800, True), (900, True))
    (row,) = fault_outcomes(system, [fault], CAMERAS, valid, detection, runs)
    assert row["recovered_after_ns"] == 299 * MS
    (row,) = fault_outcomes(system, [fault], CAMERAS, valid[:4], detection, runs)
    assert row["recovered_after_ns"] is None


def test_a_timed_task_that_was_stopped_begins_anew_and_breaks_no_assumption():
    extra = "  other: {runs_on: b.cpu, activation: {rate: 30Hz}, execution: {wcet: 1ms}}\n"
    system = rig(extra=extra)
    plan = plan_takeovers(system, make_plan(system, None))
    stopping = tuple(replace(one, dropped=("other",)) for one in plan.takeovers)
    plan = replace(plan, takeovers=stopping)
    fault = Fault(FaultKind.DEVICE, "a", 503 * MS, 600 * MS)
    trace, _, runs = run(system, plan, fault)
    arrivals = trace.jobs.arrival_ns[trace.jobs.task == trace.task_names.index("other")]
    assert (arrivals > 1_200 * MS).any()
    bounds = run_bounds(system, plan, trace, judged_chains(system, plan, trace, [fault], CAMERAS, []), [], runs)
    assert [one["assumption"] for one in bounds.monitors if not one["holds"]] == []


def test_monitors_hold_jobs_against_what_was_declared_where_they_ran():
    """The element that takes over is slower to switch, its lock is held longer, and a link leads to it."""
    core = "{processing_elements: {cpu: {kind: cpu, cores: 2"
    locked = "criticality: B, critical_sections: [{resource: map, from: 0ms, to: 500us}]}"
    link, table = (
        "links: {net: {bandwidth: 100MB/s, latency: 200us}}",
        "resources: {map: {protocol: priority_inheritance}}",
    )
    system = rig(
        (f"b: {core}}}}}}}", f"b: {core}, switch_cost: 100us}}}}}}"),
        ("sensors:\n", f"{link}\n{table}\nsensors:\n"),
        ("{from: see, required: false}", "{from: see, required: false, link: net, size: 10kB}"),
        ("wcet: 4ms}, deadline: 20ms, criticality: B}", f"wcet: 4ms}}, deadline: 20ms, {locked}"),
    )
    plan = plan_takeovers(system, make_plan(system, None))
    fault = Fault(FaultKind.DEVICE, "a", 503 * MS, 700 * MS)
    trace, _, runs = run(system, plan, fault)
    bounds = run_bounds(system, plan, trace, judged_chains(system, plan, trace, [fault], CAMERAS, []), [], runs)
    assert [one["assumption"] for one in bounds.monitors if not one["holds"]] == []
    assert {"switches", "links"} <= {one["assumption"] for one in bounds.monitors}


def broken(system: System, plan: Plan, *faults: Fault, recorded=CAMERAS) -> dict[str, tuple]:
    trace, detection, _ = run(system, plan, *faults)
    judged = judged_chains(system, plan, trace, faults, recorded, [], detection.plan_changes)
    assert all(one.measurement.latency.max_ns < 100 * MS for one in judged)
    return {one.chain.name: tuple((b // MS, None if e is None else e // MS) for b, e in one.broken) for one in judged}


def test_chains_are_judged_again_when_everything_is_back_where_it_belongs(system, plan):
    found = broken(system, plan, Fault(FaultKind.DEVICE, "a", 501 * MS, 600 * MS))
    # Trusted 500 ms after the first sign of life at 600 ms, and in force 1 ms later.
    assert found == {"ahead": ((501, 1101),), "behind": ()}
    found = broken(system, plan, Fault(FaultKind.CAMERA, "rear", 501 * MS, 600 * MS))
    assert found["ahead"] == ()
    assert found["behind"][0][0] == 501
    assert 1_100 <= found["behind"][0][1] <= 1_160
    found = broken(
        system, plan, Fault(FaultKind.DEVICE, "a", 501 * MS), Fault(FaultKind.DEVICE, "a", 600 * MS, 601 * MS)
    )
    assert found["ahead"] == ((501, None),)


def test_without_takeovers_a_chain_is_judged_again_when_its_device_is_back(system):
    plan = make_plan(system, None)
    faults = [Fault(FaultKind.DEVICE, "a", 300 * MS, 400 * MS), Fault(FaultKind.DEVICE, "a", 700 * MS, 800 * MS)]
    trace, _, _ = run(system, plan, *faults)
    ahead, behind = judged_chains(system, plan, trace, faults, CAMERAS, [])
    assert [len(one.broken) for one in (ahead, behind)] == [2, 0]
    assert ahead.until_ns is None
    assert ahead.measurement.latency.max_ns < 100 * MS
    assert ahead.measurement.open_reaction_ns < 100 * MS


def test_a_device_that_only_the_plan_uses_breaks_the_chain():
    system = rig(("see: {runs_on: a.cpu,", "see: {runs_on: b.cpu, candidates: [a.cpu],"))
    plan = make_plan(system, None, elements={**{t.name: t.pe for t in system.tasks}, "see": ("a", "cpu")})
    fault = Fault(FaultKind.DEVICE, "a", 500 * MS)
    trace, _, _ = run(system, plan, fault)
    ahead, _ = judged_chains(system, plan, trace, [fault], CAMERAS, [])
    assert ahead.until_ns == 500 * MS


STARVED = """
rt_sched: 1
name: starved
devices:
  a: {processing_elements: {cpu: {kind: cpu}}}
  b: {processing_elements: {cpu: {kind: cpu}}}
  gateway: {processing_elements: {mcu: {kind: mcu}}}
links: {net: {bandwidth: 100MB/s, latency: 100us}}
sensors:
  front: {kind: camera, rate: 20Hz, latency: 2ms, attached_to: [a, b], topic: /front}
  scan: {kind: lidar, rate: 10Hz, latency: 1ms, attached_to: [a], topic: /scan, frame_size: 10kB}
tasks:
  see: {runs_on: a.cpu, inputs: {image: front}, execution: {wcet: 4ms}, deadline: 45ms, criticality: B}
  heavy: {runs_on: b.cpu, priority: 1, inputs: {x: {from: scan, link: net}}, execution: {wcet: 30ms}, deadline: 90ms}
  decide: {runs_on: gateway.mcu, inputs: {o: {from: see, link: net, size: 1kB}}, execution: {wcet: 1ms}, criticality: B}
  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, execution: {wcet: 500us}, criticality: D,
    inputs: {primary: {from: decide, required: false}}}
chains: {ahead: {path: [front, see, decide, arbiter], max_reaction: 250ms}}
safety: {arbiter: arbiter, primary: decide, recovery_limit: 150ms}
"""


def test_what_the_loss_stops_may_still_be_at_work_where_something_comes():
    """`heavy` gets no more sweeps once a is lost, but the last one keeps b busy when `see` comes there."""
    system = load(STARVED)
    move = Takeover(("device:a",), (Placement("see", 1, 1),), redone=("see",))
    plan = replace(make_plan(system, None), takeovers=(move,))
    assert check_plan(system, plan) == []
    slowest_ns = 0
    for step in range(0, 100, 6):
        faults = [Fault(FaultKind.DEVICE, "a", (500 + step) * MS)]
        samples = nominal_samples(system, END, step)
        detection = detect(system, plan, samples, faults, ["front", "scan"], END)
        given = lower(
            system,
            plan,
            samples,
            horizon_ns=END,
            faults=faults,
            plan_changes=detection.plan_changes,
            execution=Execution.WCET,
        )
        simulation = Simulation(given)
        simulation.run()
        trace = simulation.trace()
        for one in takeover_runs(system, plan, trace, detection, faults, ["front", "scan"]):
            assert (late_recoveries(one), one.exceeded) == ([], ())
        came = (trace.jobs.task == 0) & (trace.jobs.arrival_ns >= faults[0].time_ns) & (trace.jobs.finish_ns >= 0)
        slowest_ns = max(slowest_ns, int((trace.jobs.finish_ns - trace.jobs.arrival_ns)[came].max()))
    # Without the carried work its two jobs, the kept one and the next, would take 8 ms at most.
    assert slowest_ns > 8 * MS
