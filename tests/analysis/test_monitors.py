"""Each assumption has a monitor: silent on runs of the declared system, tripped by a run that breaks just that one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

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
from rt_sched.trace.records import EventKind, SampleTable, SliceKind, Trace

CAMERA = model.Sensor("cam", model.SensorKind.CAMERA, Fraction(10**9, 100), ("box",), (), 3, 4, 2, capture_jitter_ns=3)
LIDAR = replace(CAMERA, name="lidar", kind=model.SensorKind.LIDAR, rate_hz=Fraction(10**9, 200))


def declared() -> model.System:
    """Everything that an assumption is made about, in one system."""
    nodes = [
        Node("detect", 10, None, "cam", bcet=4, D=90),
        Node("clock", 6, 50, "detect", bcet=3, jitter=4, D=50),
        Node("guarded", 8, 400, "clock", bcet=2, pe="p1", D=300),
        Node("far", 5, None, "lidar", pe="p1", D=150),
        Node("sliced", 5, 400, pe="p2"),
        Node("event", 4, 300, pe="p3"),
        Node("follow", 3, None, "detect", bcet=1, pe="p3", D=90),
    ]
    sliced = {"p2": model.Policy.TIME_SLICED}
    made = chain_system(nodes, ("cam", "detect", "clock", "guarded"), sensors=(CAMERA, LIDAR), policies=sliced)
    link = model.Link("bus", Fraction(10**9), 1)
    resource = model.SharedResource("table", model.Protocol.PRIORITY_CEILING)
    detect, clock, guarded, far, other, event, follow = made.tasks
    clock = replace(clock, sections=(model.CriticalSection("table", 1, 3),))
    detect = replace(detect, sections=(model.CriticalSection("table", 2, 4),))
    guarded = replace(
        guarded,
        suspensions=(model.Suspension(1, 2, 9),),
        budget_ns=8,
        budget=model.Budget(1, model.OverrunAction.ABORT),
    )
    far = replace(far, inputs=(replace(far.inputs[0], link="bus", size_bytes=7),))
    event = replace(event, activation=model.Sporadic(300))
    tasks = (detect, clock, guarded, far, other, event, follow)
    system = replace(made, tasks=tasks, links=(link,), resources=(resource,))
    slices = (model.TimeSlice(20, ("sliced",), 2), model.TimeSlice(10, ()))
    return with_element(with_element(system, "p2", slices=slices), "p3", switch_cost_ns=1)


def with_element(system: model.System, name: str, **changes: Any) -> model.System:
    (device,) = system.devices
    elements = tuple(replace(pe, **changes) if pe.name == name else pe for pe in device.processing_elements)
    return replace(system, devices=(replace(device, processing_elements=elements),))


def with_clock(clock: model.DeviceClock, system: model.System | None = None) -> model.System:
    made = system or declared()
    return replace(made, devices=(replace(made.devices[0], clock=clock),))


def mode_of(system: model.System) -> ModeLoad:
    (mode,) = mode_loads(system, make_plan(system))
    return mode


def run(system: model.System, seed: int = 0, horizon_ns: int = 8000) -> Trace:
    samples = nominal_samples(system, horizon_ns, seed)
    simulation = Simulation(lower(system, make_plan(system), samples, horizon_ns=horizon_ns, seed=seed))
    simulation.run()
    return simulation.trace()


def with_task(name: str, **changes: Any) -> model.System:
    made = declared()
    return replace(made, tasks=tuple(replace(one, **changes) if one.name == name else one for one in made.tasks))


def with_sensor(name: str, **changes: Any) -> model.System:
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


@pytest.mark.parametrize("drift_ppm", [-20_000, 0, 20_000])
def test_sporadic_arrivals_further_apart_than_declared_are_noticed(drift_ppm: int) -> None:
    clock = model.DeviceClock(drift_ppm=Fraction(drift_ppm))
    made = with_clock(clock, with_task("event", activation=model.Sporadic(300, 350)))
    wider = with_clock(clock, with_task("event", activation=model.Sporadic(300, 400)))
    key = "max_separation"
    assert key in {one.key for one in assumptions_of(made)}
    assert key not in {one.key for one in assumptions_of(declared())}
    for system, holds in ((made, True), (wider, False)):
        for seed in range(3):
            (found,) = (one for one in monitor(mode_of(made), run(system, seed)) if one.key == key)
            assert found.checked > 10
            assert found.holds is holds


def longer(task: str, wcet_ns: int) -> dict[str, object]:
    _ = task
    return {"execution": model.ExecutionTime(wcet_ns, wcet_ns, (wcet_ns, wcet_ns))}


BROKEN: dict[str, model.System] = {
    "execution": with_task("detect", **longer("detect", 11)),
    "budget": with_task("guarded", budget_ns=9, **longer("guarded", 9)),
    "best_case": with_task("detect", execution=model.ExecutionTime(3, 10, (3, 10))),
    "separation": with_task("event", activation=model.Sporadic(299)),
    "clocks": with_clock(model.DeviceClock(drift_ppm=Fraction(-20_000))),
    "supply": with_element(declared(), "p2", slices=(model.TimeSlice(20, ("sliced",), 2), model.TimeSlice(11, ()))),
    "switches": with_element(declared(), "p3", switch_cost_ns=2),
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
    less, more = deviation.value < deviation.limit, deviation.value > deviation.limit
    assert (less, more) == ((True, False) if first.relation == "at least" else (False, True))


def paired(lag_ns: int = 0, *, tolerance_ns: int = 8, depth: int = 4, latency_ns: int = 4) -> model.System:
    """A task that pairs two sensors of one rate, the second of which captures `lag_ns` behind the first."""
    made = chain_system([Node("fuse", 5, None, "cam")], ("cam", "fuse"), sensors=(CAMERA,))
    (task,) = made.tasks
    edge = model.Edge(model.EdgeKind.QUEUE, depth)
    inputs = tuple(replace(task.inputs[0], name=name, source=name, edge=edge) for name in ("cam", "radar"))
    radar = replace(CAMERA, name="radar", offset_ns=CAMERA.offset_ns + lag_ns, latency_ns=latency_ns)
    fuse = replace(task, activation=model.OnMessage(model.Join.ALL, None, tolerance_ns), inputs=inputs)
    return replace(made, tasks=(fuse,), sensors=(CAMERA, radar))


#: Declared, and a run of what breaks just that one assumption of it.
BROKEN_BESIDE: dict[str, tuple[model.System, model.System]] = {
    "partners": (paired(), paired(20)),
    "queues": (paired(depth=1), paired(depth=1, latency_ns=250)),
    "max_separation": (
        with_task("event", activation=model.Sporadic(300, 350)),
        with_task("event", activation=model.Sporadic(300, 400)),
    ),
}


@pytest.mark.parametrize("assumption", list(BROKEN_BESIDE))
def test_what_only_some_systems_assume_is_watched_there(assumption: str) -> None:
    system, breaking = BROKEN_BESIDE[assumption]
    assert assumption in {one.key for one in assumptions_of(system)}
    for seed in range(3):
        kept = {one.key: one for one in monitor(mode_of(system), run(system, seed))}
        assert kept[assumption].checked > 5
        assert all(one.holds for one in kept.values())
        broken = {one.key for one in monitor(mode_of(system), run(breaking, seed)) if not one.holds}
        # The latency that lets a queue run full is told as well, and so are those whose partners it loses.
        assert broken - ({"sensor_latency", "partners"} if assumption == "queues" else set()) == {assumption}


def test_messages_that_all_lack_a_partner_are_noticed_although_no_job_completes() -> None:
    system, breaking = BROKEN_BESIDE["partners"]
    trace = run(breaking)
    assert len(trace.jobs) == 0
    assert not next(one for one in monitor(mode_of(system), trace) if one.key == "partners").holds


def test_messages_without_a_partner_are_named() -> None:
    system, breaking = BROKEN_BESIDE["partners"]
    found = next(one for one in monitor(mode_of(system), run(breaking)) if one.key == "partners")
    assert (found.unit, found.first[0].value, found.first[0].limit) == ("messages", 1, 0)
    assert {one.who for one in found.first} <= {"fuse.cam", "fuse.radar"}


def test_every_assumption_that_the_page_on_bounds_lists_is_broken_here_on_purpose() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "concepts" / "bounds.md").read_text(encoding="utf-8")
    rows = page.split("| assumption | monitor |")[1].split("\n\n")[0].splitlines()
    listed = {row.split("`")[1] for row in rows if row.startswith("| `")}
    # That of outputs is broken by hand below, as only stages publish nothing.
    assert listed == {*BROKEN, *BROKEN_BESIDE, "outputs"}


def changed(trace: Trace, table: str, column: str, row: int, value: int) -> Trace:
    """The trace with one value of one table changed."""
    records = getattr(trace, table)
    values = getattr(records, column).copy()
    values[row] = value
    return replace(trace, **{table: replace(records, **{column: values})})


def job_row(trace: Trace, task: str, number: int) -> int:
    mine = (trace.jobs.task == trace.task_names.index(task)) & (trace.jobs.number == number)
    (row,) = np.flatnonzero(mine).tolist()
    return int(row)


def test_a_monitor_names_the_one_job_that_broke_it() -> None:
    trace = run(declared())
    jobs = trace.jobs
    far, event, clock = job_row(trace, "far", 7), job_row(trace, "event", 5), job_row(trace, "clock", 9)
    detect, sliced = job_row(trace, "detect", 3), job_row(trace, "sliced", 2)
    switch = int(np.flatnonzero((trace.slices.kind == SliceKind.SWITCH) & (trace.slices.job == event))[0])
    third = int(np.flatnonzero(trace.events.kind == EventKind.SLICE)[3])
    cases = {
        ("execution", "far", 7, 6, 5): changed(trace, "jobs", "executed_ns", far, 6),
        ("best_case", "detect", 3, 3, 4): changed(trace, "jobs", "executed_ns", detect, 3),
        ("separation", "event", 5, 298, 300): changed(trace, "jobs", "arrival_ns", event, 5 * 300 - 2),
        ("jitter", "clock", 9, 5, 4): changed(trace, "jobs", "release_ns", clock, int(jobs.arrival_ns[clock]) + 5),
        ("clocks", "sliced", 2, 1, 0): changed(trace, "jobs", "arrival_ns", sliced, 801),
        ("switches", "event", 5, 3, 1): changed(
            trace, "slices", "start_ns", switch, int(trace.slices.end_ns[switch]) - 3
        ),
        ("supply", "box.p2.0", 3, 4, 0): changed(trace, "events", "time_ns", third, 54),
    }
    for (key, who, number, value, limit), mutant in cases.items():
        found = next(one for one in monitor(mode_of(declared()), mutant) if one.key == key)
        first = found.first[0]
        assert (first.who, first.number, first.value, first.limit) == (who, number, value, limit), key
        assert not next(one for one in monitor(mode_of(declared()), trace) if one.key == key).broken


@pytest.mark.parametrize(("error_ns", "breaks"), [(4, False), (5, False), (6, True)])
def test_a_clock_may_be_off_by_its_declared_error(error_ns: int, breaks: bool) -> None:
    system = with_clock(model.DeviceClock(offset_ns=10, sync_error_ns=5))
    trace = run(with_clock(model.DeviceClock(offset_ns=10 + error_ns)))
    found = next(one for one in monitor(mode_of(system), trace) if one.key == "clocks")
    assert found.holds is not breaks
    if breaks:
        assert (found.first[0].value, found.first[0].limit) == (6, 5)


def test_a_clock_that_drifts_within_its_error_is_not_one_that_stands_still() -> None:
    system = with_clock(model.DeviceClock(offset_ns=10, sync_error_ns=500))
    trace = run(with_clock(model.DeviceClock(offset_ns=10, drift_ppm=Fraction(1000))))
    found = next(one for one in monitor(mode_of(system), trace) if one.key == "clocks")
    assert not found.holds


def test_the_latency_of_an_enforced_budget_is_assumed_to_be_its_granularity() -> None:
    late = replace(declared().tasks[2].budget, granularity_ns=5)
    trace = run(with_task("guarded", budget=late, **longer("guarded", 12)))
    assert tripped(trace) == {"budget"}
    prompt = run(with_task("guarded", **longer("guarded", 12)))
    assert tripped(prompt) == set()


def test_a_throttled_job_may_go_on_with_its_next_budget() -> None:
    throttle = model.Budget(1, model.OverrunAction.THROTTLE)

    def made(wcet_ns: int) -> model.System:
        system = chain_system([Node("slow", wcet_ns, 20, bcet=wcet_ns)], ("slow",))
        (slow,) = system.tasks
        return replace(system, tasks=(replace(slow, budget_ns=4, budget=throttle),))

    for wcet_ns, holds in ((6, True), (7, False)):
        (found,) = (one for one in monitor(mode_of(made(6)), run(made(wcet_ns))) if one.key == "budget")
        assert found.checked > 10
        assert found.holds is holds


def test_entries_of_a_table_begin_at_their_place() -> None:
    def system(start_ns: int) -> model.System:
        made = chain_system([Node("a", 3, 50)], ("a",), policies={"p0": model.Policy.TABLE})
        return with_element(made, "p0", table=(model.TableEntry(start_ns, 5, "a"),), table_cycle_ns=50)

    found = {one.key: one for one in monitor(mode_of(system(7)), run(system(7)))}
    assert found["supply"].holds
    broken = {one.key: one for one in monitor(mode_of(system(7)), run(system(9))) if not one.holds}
    assert [(one.value, one.limit) for one in broken["supply"].first[:1]] == [(2, 0)]
    assert list(broken) == ["supply"]


def test_jobs_behind_a_change_of_frequency_are_not_held_against_the_times_before_it() -> None:
    made = chain_system([Node("a", 8, 50)], ("a",))
    system = with_element(made, "p0", frequency_hz=10**9)
    (task,) = system.tasks
    system = replace(system, tasks=(replace(task, execution=replace(task.execution, frequency_hz=10**9)),))
    plan = make_plan(system)
    slower = model.FrequencyChange(1000, model.Frequency("box", "p0", 5 * 10**8))
    given = lower(system, plan, nominal_samples(system, 2000), horizon_ns=2000, frequency_changes=[slower])
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    assert int(trace.jobs.executed_ns.max()) == 16
    assert all(one.holds for one in monitor(mode_of(system), trace))


def test_a_job_that_was_degraded_may_publish_as_early_as_that() -> None:
    degrade = model.Budget(1, model.OverrunAction.DEGRADE, degraded_ns=2)
    system = with_task("detect", budget_ns=5, budget=degrade)
    trace = run(system)
    executed = trace.jobs.executed_ns[(trace.jobs.task == 0) & (trace.jobs.status == 0)]
    assert executed.min() == 2
    assert all(one.holds for one in monitor(mode_of(system), trace))
    assert not all(one.holds for one in monitor(mode_of(declared()), trace))


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
