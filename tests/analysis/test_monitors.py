"""Each assumption has a monitor: silent on runs of the declared system, tripped by a run that breaks just that one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.assumptions import assumptions_of
from rt_sched.analysis.loads.resolve import ModeLoad, mode_loads
from rt_sched.analysis.measured.monitors import first_broken, monitor
from rt_sched.analysis.measured.observed import bounds_end_ns, exceeded_chains, exceeded_responses
from rt_sched.lowering import lower, nominal_samples
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import SampleTable, Trace

CAMERA = model.Sensor("cam", model.SensorKind.CAMERA, Fraction(10**9, 100), ("box",), (), 3, 4, 2, capture_jitter_ns=3)
LIDAR = replace(CAMERA, name="lidar", kind=model.SensorKind.LIDAR, rate_hz=Fraction(10**9, 200))


def declared() -> model.System:
    """Everything that an assumption is made about, in one system."""
    nodes = [
        Node("detect", 10, None, "cam", bcet=4, D=90),
        Node("clock", 6, 50, "detect", bcet=3, jitter=4, D=50),
        Node("guarded", 8, 400, "clock", bcet=2, pe="p1", D=300),
        Node("far", 5, None, "lidar", pe="p1", D=150),
    ]
    made = chain_system(nodes, ("cam", "detect", "clock", "guarded"), sensors=(CAMERA, LIDAR))
    link = model.Link("bus", Fraction(10**9), 1)
    resource = model.SharedResource("table", model.Protocol.PRIORITY_CEILING)
    detect, clock, guarded, far = made.tasks
    clock = replace(clock, sections=(model.CriticalSection("table", 1, 3),))
    detect = replace(detect, sections=(model.CriticalSection("table", 2, 4),))
    guarded = replace(
        guarded,
        suspensions=(model.Suspension(1, 2, 9),),
        budget_ns=8,
        budget=model.Budget(1, model.OverrunAction.ABORT),
    )
    far = replace(far, inputs=(replace(far.inputs[0], link="bus", size_bytes=7),))
    return replace(made, tasks=(detect, clock, guarded, far), links=(link,), resources=(resource,))


def mode_of(system: model.System) -> ModeLoad:
    (mode,) = mode_loads(system, make_plan(system))
    return mode


def run(system: model.System, seed: int = 0, horizon_ns: int = 8000) -> Trace:
    samples = nominal_samples(system, horizon_ns, seed)
    simulation = Simulation(lower(system, make_plan(system), samples, horizon_ns=horizon_ns, seed=seed))
    simulation.run()
    return simulation.trace()


def with_task(name: str, **changes: object) -> model.System:
    made = declared()
    return replace(made, tasks=tuple(replace(one, **changes) if one.name == name else one for one in made.tasks))


def with_sensor(name: str, **changes: object) -> model.System:
    made = declared()
    return replace(made, sensors=tuple(replace(one, **changes) if one.name == name else one for one in made.sensors))


def tripped(trace: Trace) -> set[str]:
    return {one.key for one in monitor(mode_of(declared()), trace) if not one.holds}


def test_every_assumption_has_a_monitor_that_looks_at_something() -> None:
    monitored = {one.key for one in monitor(mode_of(declared()), run(declared()))}
    assert monitored == {one.key for one in assumptions_of(declared())}


@pytest.mark.parametrize("seed", range(20))
def test_runs_of_the_declared_system_trip_nothing_and_exceed_no_bound(seed: int) -> None:
    system = declared()
    trace = run(system, seed)
    assert tripped(trace) == set()
    result = analyze_mode(mode_of(system))
    assert all(one.bound is not None for one in result.tasks), [(one.task, one.reason) for one in result.tasks]
    assert exceeded_responses(trace, result) == []
    measured = {"chain": measure_chain(trace, system.chains[0].path)}
    assert exceeded_chains(result.chains, measured, trace.horizon_ns) == []


def longer(task: str, wcet_ns: int) -> dict[str, object]:
    _ = task
    return {"execution": model.ExecutionTime(wcet_ns, wcet_ns, (wcet_ns, wcet_ns))}


BROKEN: dict[str, model.System] = {
    "execution": with_task("detect", **longer("detect", 11)),
    "budget": with_task("guarded", budget_ns=9, **longer("guarded", 9)),
    "separation": with_task("clock", activation=model.Periodic(Fraction(10**9, 49), 0, 4)),
    "jitter": with_task("clock", activation=model.Periodic(Fraction(10**9, 50), 0, 6)),
    "sensor_rate": with_sensor("cam", rate_hz=Fraction(10**9, 98)),
    "sensor_latency": with_sensor("lidar", latency_ns=9),
    "sensor_gap": with_sensor("cam", rate_hz=Fraction(10**9, 110)),
    "suspension": with_task("guarded", suspensions=(model.Suspension(1, 2, 14),)),
    "sections": with_task("clock", sections=(model.CriticalSection("table", 0, 3),)),
    "links": replace(declared(), links=(model.Link("bus", Fraction(10**9), 2),)),
}


@pytest.mark.parametrize("assumption", list(BROKEN))
def test_a_run_that_breaks_one_assumption_trips_its_monitor_alone(assumption: str) -> None:
    trace = run(BROKEN[assumption])
    assert tripped(trace) == {assumption}
    first = first_broken(monitor(mode_of(declared()), trace))
    assert first is not None
    assert first.key == assumption
    deviation = first.first[0]
    over = deviation.value_ns < deviation.limit_ns if first.relation == "at least" else None
    assert over if over is not None else deviation.value_ns > deviation.limit_ns


def test_a_sensor_that_ends_before_the_others_has_a_gap() -> None:
    system = declared()
    horizon_ns = 8000
    samples = nominal_samples(system, horizon_ns)
    early = (samples.sensor == 0) & (samples.capture_ns > 7600)
    columns = ("sensor", "number", "arrival_ns", "capture_ns", "status")
    kept = SampleTable(*(getattr(samples, name)[~early] for name in columns))
    simulation = Simulation(lower(system, make_plan(system), kept, horizon_ns=horizon_ns))
    simulation.run()
    assert tripped(simulation.trace()) == {"sensor_gap"}


def test_a_job_that_publishes_nothing_trips_its_monitor() -> None:
    trace = run(declared())
    silent = [int(row) for row in np.flatnonzero(trace.jobs.task == 1)[3:5]]
    found = {one.key: one for one in monitor(mode_of(declared()), trace, silent)}
    assert {key for key, one in found.items() if not one.holds} == {"outputs"}
    assert [(one.who, one.number) for one in found["outputs"].first] == [("clock", 3), ("clock", 4)]


def test_a_full_queue_trips_its_monitor() -> None:
    made = chain_system([Node("a", 5, None, "cam")], ("cam", "a"), sensors=(CAMERA, LIDAR))
    task = made.tasks[0]
    second = replace(task.inputs[0], name="other", source="lidar")
    paired = replace(
        task,
        activation=model.OnMessage(model.Join.ALL, None, 2),
        inputs=(replace(task.inputs[0], edge=model.Edge(model.EdgeKind.QUEUE, 1)), second),
    )
    slow = replace(LIDAR, rate_hz=Fraction(10**9, 400))
    system = replace(made, tasks=(paired,), sensors=(CAMERA, slow))
    found = {one.key: one for one in monitor(mode_of(system), run(system))}
    assert not found["queues"].holds
    assert found["queues"].first[0].who == "a.in"


def test_a_bound_that_is_too_small_is_found_with_the_job_that_exceeds_it() -> None:
    system = declared()
    trace = run(system)
    result = analyze_mode(mode_of(system))
    largest = int(np.max(trace.jobs.finish_ns - trace.jobs.arrival_ns, where=trace.jobs.task == 0, initial=0))
    bound = result.tasks[0].bound
    assert bound is not None
    cut = bound.value_ns - (largest - 1)
    term = replace(bound.terms[0], value_ns=bound.terms[0].value_ns - cut)
    smaller = replace(bound, value_ns=largest - 1, terms=(term, *bound.terms[1:]))
    patched = replace(result, tasks=(replace(result.tasks[0], bound=smaller), *result.tasks[1:]))
    exceeded = exceeded_responses(trace, patched)
    assert {(one.who, one.quantity, one.value_ns, one.bound_ns) for one in exceeded} == {
        ("detect", "response", largest, largest - 1)
    }


def test_bounds_end_with_the_first_change_of_mode() -> None:
    made = declared()
    names = tuple(task.name for task in made.tasks)
    modal = replace(made, modes=(model.Mode("all", names), model.Mode("few", names[:2])))
    plan = make_plan(modal)
    samples = nominal_samples(modal, 4000)
    simulation = Simulation(lower(modal, plan, samples, horizon_ns=4000, mode_changes=[model.ModeChange(1500, "few")]))
    simulation.run()
    assert bounds_end_ns(simulation.trace()) == 1500
    assert bounds_end_ns(run(made, horizon_ns=4000)) == 4001
