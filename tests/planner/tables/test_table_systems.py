"""Tables of whole systems: the kernel follows them to the nanosecond, nothing is missed, the analysis bounds it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from rt_sched.analysis.result import Verdict
from rt_sched.config import load_system_text
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import Execution, check_plan, lower, nominal_samples
from rt_sched.model import Plan, Policy, System
from rt_sched.planner import make_plan
from rt_sched.planner.tables.from_system import hyperperiod_ns
from rt_sched.planner.tables.plan_tables import NoTable, TableResult, plan_tables
from rt_sched.sim import Simulation
from rt_sched.trace.checker.check import check_trace
from rt_sched.trace.records import Trace

MS = 10**6
S = 10**9

PIPE = """rt_sched: 1
name: pipe
devices: {a: {processing_elements: {cpu: {kind: cpu, cores: 2, switch_cost: 0.1ms}, gpu: {kind: gpu}}}}
tasks:
  grab: {runs_on: a.cpu, activation: {rate: 30Hz}, execution: {bcet: 1ms, wcet: 2ms}}
  grab2: {runs_on: a.cpu, activation: {rate: 30Hz, offset: 1ms}, execution: {bcet: 1ms, wcet: 2ms}}
  infer: {runs_on: a.gpu, inputs: {x: grab}, execution: {bcet: 4ms, wcet: 8ms}}
  infer2: {runs_on: a.gpu, inputs: {x: grab2}, execution: {bcet: 4ms, wcet: 8ms}}
  fuse:
    runs_on: a.cpu
    activation: {rate: 30Hz, offset: 26ms}
    inputs: {x: {from: infer, required: false}, y: {from: infer2, required: false}}
    execution: {wcet: 3ms}
  act: {runs_on: a.cpu, inputs: {x: fuse}, execution: {wcet: 1ms}}
  ctl: {runs_on: a.cpu, activation: {rate: 100Hz}, execution: {wcet: 1ms}}
chains: {c: {path: [grab, infer, fuse, act]}}
"""


def loaded(text: str) -> tuple[System, Plan]:
    system = load_system_text(text, file_name="s", base_dir=".", stages=None)  # type: ignore[arg-type]
    return system, make_plan(system)


def run(found: TableResult, cycles: int, execution: Execution, seed: int = 0) -> Trace:
    horizon_ns = cycles * found.figures.cycle_ns
    samples = nominal_samples(found.system, horizon_ns, seed)
    simulation = Simulation(
        lower(found.system, found.plan, samples, horizon_ns=horizon_ns, execution=execution, seed=seed)
    )
    simulation.run()
    return simulation.trace()


def follows(found: TableResult, trace: Trace) -> int:
    """Holds every start of a job against the table; the number of jobs."""
    planned: dict[str, list[int]] = {}
    for name, _, start in found.starts:
        planned.setdefault(name, []).append(start)
    jobs, count = trace.jobs, 0
    for job in np.flatnonzero(jobs.start_ns >= 0):
        starts = planned.get(trace.task_names[jobs.task[job]])
        if starts is not None:
            cycle, place = divmod(int(jobs.number[job]), len(starts))
            assert jobs.start_ns[job] == starts[place] + cycle * found.figures.cycle_ns
            count += 1
    return count


@pytest.mark.parametrize("method", ["list", "cp_sat"])
@pytest.mark.parametrize("free", [False, True])
def test_the_kernel_follows_the_table(method: str, free: bool) -> None:
    found = plan_tables(*loaded(PIPE), method=method, free_offsets=free)
    assert check_plan(found.system, found.plan) == []
    assert found.report.verdict is Verdict.SCHEDULABLE
    assert found.figures.cycle_ns == 100 * MS
    for execution in (Execution.WCET, Execution.BCET, Execution.PROFILE):
        trace = run(found, 4, execution)
        assert follows(found, trace) == 4 * (6 * 3 + 10)
        assert not trace.jobs.missed.any()
        assert check_trace(trace).violations == ()
        bounds = {one.task: one.bound for one in found.report.modes[0].tasks}
        done = trace.jobs.finish_ns >= 0
        for number, name in enumerate(trace.task_names):
            mine = done & (trace.jobs.task == number)
            bound = bounds[name]
            assert bound is not None
            assert (trace.jobs.finish_ns - trace.jobs.arrival_ns)[mine].max() <= bound.value_ns


def test_the_latency_is_that_of_the_longest_frame() -> None:
    found = plan_tables(*loaded(PIPE))
    assert found.proved and found.gap == 0
    assert found.latency_ns == 17_100_000, "grab2 comes at 1 ms, and waits for infer of the other camera"
    fused = plan_tables(*loaded(PIPE), free_offsets=True)
    assert fused.proved
    assert dict(fused.offsets) == {"fuse": 18_100_000}
    assert fused.latency_ns == 22_300_000
    assert fused.figures.critical_path == ("grab", "infer", "fuse", "act")
    assert fused.figures.critical_path_ns == 2_100_000 + 8 * MS + 3_100_000 + 1_100_000
    (pipeline,) = (one for one in fused.figures.pipelines if one.sink == "act")
    assert (pipeline.interval_ns, pipeline.frames_in_flight) == (Fraction(100 * MS, 3), 1)


def test_a_fragment_makes_the_system_of_the_table() -> None:
    found = plan_tables(*loaded(PIPE), free_offsets=True)
    yaml = YAML(typ="safe", pure=True)
    merged = _merged(yaml.load(PIPE), yaml.load(found.as_yaml()))
    text = io.StringIO()
    yaml.dump(merged, text)
    again, plan = loaded(text.getvalue())
    assert again.devices == found.system.devices
    assert {task.name: task for task in again.tasks} == {task.name: task for task in found.system.tasks}
    assert [p.processor for p in plan.placements] == [
        next(o.processor for o, t in zip(found.plan.placements, found.system.tasks, strict=True) if t.name == p.task)
        for p in plan.placements
    ]


def _merged(one: Any, other: Any) -> Any:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return other
    return {key: _merged(one.get(key, {}), other[key]) if key in other else one[key] for key in {**one, **other}}


def test_some_elements_only() -> None:
    found = plan_tables(*loaded(PIPE), ["a.gpu"])
    assert {table.name for table in found.tables} == {"a.gpu"}
    assert {p.policy for p in found.plan.processors if p.pe == "cpu"} == {Policy.FIXED_PRIORITY}
    trace = run(found, 3, Execution.WCET)
    assert follows(found, trace) == 18 and not trace.jobs.missed.any()


def test_samples_are_awaited_as_long_as_they_may_take() -> None:
    text = """rt_sched: 1
name: cam
devices: {a: {processing_elements: {gpu: {kind: gpu}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: a, topic: /f, latency: 3ms, jitter: 1ms, capture_jitter: 0.5ms}
tasks: {see: {runs_on: a.gpu, inputs: {x: front}, execution: {bcet: 1ms, wcet: 8ms}, deadline: 20ms}}
"""
    found = plan_tables(*loaded(text))
    assert found.starts == (("see", 0, 4_500_000),)
    assert found.latency_ns == 12_500_000
    assert found.relies_on == ("front",)
    assert plan_tables(*loaded(text), margin_ns=MS).starts == (("see", 0, 5_500_000),)
    for seed in range(3):
        trace = run(found, 20, Execution.PROFILE, seed)
        assert follows(found, trace) == 20 and not trace.jobs.missed.any()
    with pytest.raises(NoTable) as caught:
        plan_tables(*loaded(text.replace("20ms}}", "10ms}}")))
    assert caught.value.proved
    assert "see[0] starts 1ms too late: its deadline of 10ms" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("activation: {rate: 100Hz}", "activation: {min_separation: 10ms}", "ctl is sporadic"),
        ("name: pipe", "name: pipe\nmodes: {m: {}}", "without modes"),
        ("devices: {a: {", "devices: {a: {clock: {drift: 1ppm}, ", "the clock of a is not exact"),
        ("cores: 2", "cores: 2, scheduling: global", "share a ready queue"),
        ("execution: {wcet: 1ms}}\nchains", "execution: {wcet: 1ms}, suspensions: [{after: 0.5ms, max: 1ms}]}\nchains",
         "ctl suspends itself"),
        ("rate: 100Hz", "rate: 999.9Hz", "the cycle of 10s holds 11799 jobs"),
    ],
)  # fmt: skip
def test_what_has_no_known_instants_has_no_table(old: str, new: str, reason: str) -> None:
    assert old in PIPE
    with pytest.raises(AnalysisNotApplicable, match=reason):
        plan_tables(*loaded(PIPE.replace(old, new)))


def test_a_wrong_call_is_refused() -> None:
    system, plan = loaded(PIPE)
    with pytest.raises(AnalysisNotApplicable, match=r"unknown processing element 'a\.npu'; valid: a\.cpu, a\.gpu"):
        plan_tables(system, plan, ["a.npu"])
    with pytest.raises(AnalysisNotApplicable, match="unknown method 'magic'"):
        plan_tables(system, plan, method="magic")


@pytest.mark.parametrize(
    ("rates", "expected"),
    [((30,), 10**8), ((30, 10, 200), 10**8), ((30, 20, 15), 2 * 10**8), ((Fraction(30000, 1001),), 1001 * 10**5)],
)
def test_a_cycle_holds_whole_periods_of_every_rate(rates: tuple[Fraction | int, ...], expected: int) -> None:
    found = hyperperiod_ns([Fraction(rate) for rate in rates])
    assert all((found * Fraction(rate) / S).denominator == 1 for rate in rates)
    assert found == expected


@st.composite
def systems(draw: st.DrawFn) -> str:
    """Some timed tasks, each with a tail of tasks behind it, on two devices with several cores."""
    places = ["a.cpu", "a.cpu", "a.gpu", "b.cpu"]
    rows = []
    for head in range(draw(st.integers(1, 4))):
        rate = draw(st.sampled_from([10, 20, 30, 40]))
        offset = draw(st.integers(0, 20))
        source = f"h{head}"
        place = draw(st.sampled_from(places))
        wcet = draw(st.integers(1, 5))
        rows.append(
            f"  {source}: {{runs_on: {place}, activation: {{rate: {rate}Hz, offset: {offset}ms}},"
            f" execution: {{bcet: 1ms, wcet: {wcet}ms}}}}"
        )
        for step in range(draw(st.integers(0, 3))):
            name = f"h{head}_{step}"
            place = draw(st.sampled_from(places))
            wcet = draw(st.integers(1, 5))
            link = ", link: net, size: 100kB" if draw(st.booleans()) else ""
            rows.append(
                f"  {name}: {{runs_on: {place}, inputs: {{x: {{from: {source}{link}}}}},"
                f" execution: {{bcet: 0.5ms, wcet: {wcet}ms}}, deadline: {draw(st.integers(10, 25))}ms}}"
            )
            source = name
    cost = draw(st.sampled_from(["0ns", "0.2ms"]))
    return (
        "rt_sched: 1\nname: random\ndevices:\n"
        f"  a: {{processing_elements: {{cpu: {{kind: cpu, cores: 2, switch_cost: {cost}}}, gpu: {{kind: gpu}}}}}}\n"
        "  b: {processing_elements: {cpu: {kind: cpu}}}\n"
        "links: {net: {bandwidth: 1Gbit/s, latency: 0.1ms}}\n"
        "tasks:\n" + "\n".join(rows) + "\n"
    )


@settings(max_examples=25, deadline=None)
@given(text=systems(), some=st.booleans(), free=st.booleans())
def test_random_tables_are_followed_and_keep_their_deadlines(text: str, some: bool, free: bool) -> None:
    system, plan = loaded(text)
    elements = sorted({".".join(task.pe) for task in system.tasks})[: 1 if some else None]
    try:
        listed = plan_tables(system, plan, elements, "list", free_offsets=free)
    except NoTable:
        listed = None
    except AnalysisNotApplicable as refusal:
        assert "no bound" in str(refusal)
        assume(False)
    try:
        found = plan_tables(system, plan, elements, time_limit_ns=S, free_offsets=free)
    except NoTable:
        assert listed is None
        return
    if listed is not None:
        assert found.latency_ns <= listed.latency_ns
    for one in (found, *([listed] if listed else [])):
        assert one.report.verdict is not Verdict.UNSCHEDULABLE or some
        for execution in (Execution.WCET, Execution.BCET):
            trace = run(one, 4, execution)
            follows(one, trace)
            mine = {name for name, _, _ in one.starts}
            numbers = [number for number, name in enumerate(trace.task_names) if name in mine]
            late = trace.jobs.missed & np.isin(trace.jobs.task, numbers)
            assert not late.any()
            for result in one.report.modes[0].tasks:
                number = trace.task_names.index(result.task)
                done = (trace.jobs.task == number) & (trace.jobs.finish_ns >= 0)
                if result.bound is not None and done.any():
                    response = (trace.jobs.finish_ns - trace.jobs.arrival_ns)[done].max()
                    assert response <= result.bound.value_ns
