"""Time disparity of inputs: bounds by hand, what runs show beside them, and the verdict on a limit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.measured.monitors import monitor
from rt_sched.analysis.measured.observed import exceeded_disparities
from rt_sched.analysis.result import Bound, DisparityResult, TermKind, Verdict
from rt_sched.lowering import Execution, lower, nominal_samples
from rt_sched.model import Edge, EdgeKind, Input, Join, OnMessage
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace import Trace
from rt_sched.trace.disparity import measure_disparity

HORIZON_NS = 20_000


def sensor(name: str, period: int, latency: int = 0, jitter: int = 0) -> model.Sensor:
    return model.Sensor(
        name, model.SensorKind.CAMERA, Fraction(10**9, period), ("box",), (), latency_ns=latency, jitter_ns=jitter
    )


def reads(name: str, source: str, *, sensor: bool = False) -> Input:
    return Input(name, source, None if sensor else "out", Edge(EdgeKind.LATEST), required=False)


def fused(**changes: object) -> model.System:
    """`left` comes through a task of 2 to 4 ns, `right` at once; `fuse` looks every 29 ns."""
    sensors = (sensor("left", 41, 5, 1), sensor("right", 33, 2))
    nodes = [Node("see", 4, None, "left", bcet=2, pe="p1"), Node("fuse", 1, 29)]
    made = chain_system(nodes, ("left", "see"), sensors=sensors)
    inputs = (reads("seen", "see"), reads("raw", "right", sensor=True))
    return replace(made, tasks=(made.tasks[0], replace(made.tasks[1], inputs=inputs, **changes)))  # type: ignore[arg-type]


def result(system: model.System, task: str = "fuse") -> DisparityResult:
    (mode,) = analyze(system, make_plan(system)).modes
    return next(one for one in mode.disparities if one.task == task)


def found(system: model.System, task: str = "fuse") -> Bound:
    one = result(system, task)
    assert one.bound is not None
    return one.bound


def run(system: model.System, seed: int = 0) -> Trace:
    samples = nominal_samples(system, HORIZON_NS, seed)
    plan = make_plan(system)
    given = lower(system, plan, samples, horizon_ns=HORIZON_NS, seed=seed, execution=Execution.PROFILE)
    simulation = Simulation(given)
    simulation.run()
    return simulation.trace()


def test_the_bound_is_the_oldest_of_one_less_the_youngest_of_the_other() -> None:
    one = result(fused())
    assert one.bound is not None
    terms = [(term.kind, term.value_ns) for term in one.bound.terms]
    assert terms == [
        (TermKind.SENSOR, 6),
        (TermKind.RESPONSE, 4),
        (TermKind.SAMPLING, 41),
        (TermKind.LEAST_AGE, -2),
    ]
    assert (one.older, one.younger, one.verdict) == ("seen", "raw", Verdict.SCHEDULABLE)
    seen = [measure_disparity(run(fused(), seed), "fuse").disparity_ns.max() for seed in range(3)]
    assert 45 <= max(seen) <= 49


def test_measured_by_hand() -> None:
    trace = run(fused())
    seen = measure_disparity(trace, "fuse")
    jobs = trace.jobs
    stamps: dict[str, list[int]] = {"seen": [], "raw": []}
    for row in seen.job:
        seen_job, raw = jobs.inputs[row, 0], jobs.inputs[row, 1]
        stamps["seen"].append(int(jobs.capture_ns[seen_job]))
        stamps["raw"].append(int(trace.samples.capture_ns[-2 - raw]))
    assert np.array_equal(np.abs(np.subtract(stamps["seen"], stamps["raw"])), seen.disparity_ns)
    assert np.array_equal(seen.read_ns, jobs.start_ns[seen.job])
    assert len(seen.job) > 600
    with pytest.raises(ValueError, match="'fuze' is not a task"):
        measure_disparity(trace, "fuze")


def test_the_verdict_says_what_may_be_left_out() -> None:
    assert result(fused(max_disparity_ns=49)).verdict is Verdict.SCHEDULABLE
    over = result(fused(max_disparity_ns=48))
    assert over.verdict is Verdict.INCONCLUSIVE
    assert over.reason == "input seen may be older than raw by 1ns more than the limit, and then be left out"
    tight = fused(max_disparity_ns=48)
    assert analyze(tight, make_plan(tight)).verdict is Verdict.INCONCLUSIVE


def test_two_ways_of_one_sensor_differ_by_whole_samples() -> None:
    """The newest sample is on one way only while the other takes its few nanoseconds."""
    made = fused()
    inputs = (reads("seen", "see"), reads("raw", "left", sensor=True))
    made = replace(made, tasks=(made.tasks[0], replace(made.tasks[1], inputs=inputs)))
    assert found(made).value_ns == 41
    assert measure_disparity(run(made), "fuse").spread.max_ns == 41


def test_paired_inputs_differ_by_their_tolerance() -> None:
    made = fused()
    sensors = (sensor("left", 40, 5, 1), sensor("right", 40, 2))
    inputs = tuple(Input(name, name, None, Edge(EdgeKind.QUEUE, 2)) for name in ("left", "right"))
    pair = OnMessage(Join.ALL, tolerance_ns=3)
    fuse = replace(made.tasks[1], activation=pair, inputs=inputs, separation_ns=40)
    assert found(replace(made, sensors=sensors, tasks=(made.tasks[0], fuse))).value_ns == 3
    extra = (*inputs, reads("old", "see"))
    both = replace(made, sensors=sensors, tasks=(made.tasks[0], replace(fuse, inputs=extra)))
    assert result(both).older == "old"
    assert (measure_disparity(run(both), "fuse").spread.max_ns or 0) <= found(both).value_ns


def test_stamps_of_two_clocks_are_off_by_both_errors() -> None:
    made = fused()
    box = made.devices[0]
    devices = tuple(
        replace(box, name=name, clock=model.DeviceClock(sync_error_ns=error))
        for name, error in (("box", 3), ("far", 4))
    )
    right = replace(made.sensors[1], attached_to=("far",))
    apart = replace(made, devices=devices, sensors=(made.sensors[0], right))
    assert found(apart).value_ns == found(made).value_ns + 7
    assert found(replace(apart, sensors=made.sensors)).value_ns == found(made).value_ns


def test_what_reads_its_own_output_gets_older_without_end() -> None:
    made = fused()
    circle = replace(made.tasks[1], inputs=(*made.tasks[1].inputs, reads("own", "fuse")))
    one = result(replace(made, tasks=(made.tasks[0], circle)))
    assert one.bound is None
    assert one.reason == "task fuse reads what follows from its own output"


def test_a_run_beyond_the_bound_is_told() -> None:
    system = fused()
    (mode,) = analyze(system, make_plan(system)).modes
    trace = run(system)
    assert exceeded_disparities(trace, mode) == []
    bound = with_value(found(system), 20)
    lower_mode = replace(mode, disparities=(replace(mode.disparities[0], bound=bound),))
    told = exceeded_disparities(trace, lower_mode)
    assert told
    assert {(one.who, one.quantity, one.bound_ns) for one in told} == {("fuse", "disparity", 20)}
    assert min(one.value_ns for one in told) > 20


def with_value(bound: Bound, value_ns: int) -> Bound:
    return replace(bound, value_ns=value_ns, terms=(replace(bound.terms[0], value_ns=value_ns),))


def test_a_task_that_is_done_too_early_trips_the_monitor() -> None:
    """`right` goes through a task that activates nobody, and only makes the other input seem older."""
    made = fused()
    early = replace(made.tasks[0], name="early", inputs=(Input("in", "right", None, Edge(EdgeKind.LATEST), False),))
    early = replace(early, activation=model.Periodic(Fraction(10**9, 20)), separation_ns=20, deadline_ns=20)
    fuse = replace(made.tasks[1], inputs=(reads("seen", "see"), reads("near", "early")))
    system = replace(made, tasks=(made.tasks[0], early, fuse))
    (mode,) = mode_loads(system, make_plan(system))

    def broken(trace: Trace) -> list[tuple[str, str]]:
        return [(one.key, one.first[0].who) for one in monitor(mode, trace) if not one.holds]

    assert broken(run(system)) == []
    quick = replace(early, execution=model.ExecutionTime(1, 1, (1, 1)))
    assert broken(run(replace(system, tasks=(made.tasks[0], quick, fuse)))) == [("best_case", "early")]
