"""Margins of whole systems: every one is kept in a system that uses it up, and one step more breaks what was named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from rt_sched import model
from rt_sched.analysis.analyze import analyze_mode
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import ModeResult, Quantity, Verdict
from rt_sched.analysis.sensitivity import MILLION, Sensitivity, sensitivity
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.rates import rate_groups, rate_margin
from rt_sched.planner import make_plan

US, MS = 10**3, 10**6
GHZ = 10**9
CPU_POINTS = tuple(model.OperatingPoint(hz * 10**6) for hz in (100, 400, 700, 1000, 1500))


def times(bcet_ns: int, wcet_ns: int, memory_ns: int = 0) -> model.ExecutionTime:
    return model.ExecutionTime(bcet_ns, wcet_ns, (bcet_ns, wcet_ns), memory_ns=memory_ns, frequency_hz=GHZ)


def camera_task(name: str, source: str, pe: str, execution: model.ExecutionTime, deadline_ms: int) -> model.Task:
    port = None if source in ("left", "right", "lidar") else "out"
    edge = model.Edge(model.EdgeKind.QUEUE, 2)
    return model.Task(
        name,
        "x:Y",
        (),
        ("box", pe),
        model.OnMessage(model.Join.LATEST, "in"),
        (model.Input("in", source, port, edge),),
        execution,
        deadline_ms * MS,
        50 * MS,
    )


def camera(name: str, trigger: str | None, rate_hz: int = 20) -> model.Sensor:
    kind = model.SensorKind.CAMERA
    return model.Sensor(name, kind, Fraction(rate_hz), ("box",), (), 0, 5 * MS, 1 * MS, trigger=trigger)


def declared(max_latency_ms: int = 60, max_reaction_ms: int = 120) -> model.System:
    """Two cameras of one trigger and a LiDAR on a CPU and a GPU that runs one job at a time; a clock-driven reader."""
    cpu = model.ProcessingElement(
        "cpu", model.PEKind.CPU, 1, model.Policy.FIXED_PRIORITY, True, frequency_hz=GHZ, operating_points=CPU_POINTS
    )
    gpu = model.ProcessingElement(
        "gpu", model.PEKind.GPU, 1, model.Policy.FIXED_PRIORITY, False, switch_cost_ns=20 * US, frequency_hz=GHZ
    )
    plain = model.ProcessingElement("mcu", model.PEKind.MCU, 1, model.Policy.FIXED_PRIORITY, True)
    act = model.Task(
        "act",
        "x:Y",
        (),
        ("box", "mcu"),
        model.Periodic(Fraction(100)),
        (model.Input("in", "infer_left", "out", model.Edge(model.EdgeKind.LATEST), required=False),),
        times(1 * MS, 2 * MS),
        10 * MS,
        10 * MS,
    )
    tasks = (
        camera_task("pre_left", "left", "cpu", times(2 * MS, 4 * MS, MS), 30),
        camera_task("pre_right", "right", "cpu", times(2 * MS, 4 * MS, MS), 30),
        camera_task("infer_left", "pre_left", "gpu", times(5 * MS, 8 * MS, 2 * MS), 40),
        camera_task("infer_right", "pre_right", "gpu", times(5 * MS, 8 * MS, 2 * MS), 40),
        camera_task("cluster", "lidar", "cpu", times(3 * MS, 10 * MS), 90),
        act,
    )
    path = ("left", "pre_left", "infer_left", "act")
    chain = model.CauseEffectChain("see", path, max_reaction_ms * MS, max_latency_ms * MS)
    sensors = (camera("left", "shutters"), camera("right", "shutters"), camera("lidar", None, 10))
    return model.System(
        "s",
        (model.Device("box", (cpu, gpu, plain)),),
        sensors,
        tasks,
        (chain,),
        None,
        "dm",
        ".",
        triggers=(model.Trigger("shutters", Fraction(20)),),
    )


def analysed(system: model.System, plan: model.Plan | None = None) -> ModeResult:
    (mode,) = mode_loads(system, plan or make_plan(system))
    return analyze_mode(mode, search_witnesses=False)


@cache
def margins(system: model.System) -> Sensitivity:
    (mode,) = mode_loads(system, make_plan(system))
    return sensitivity(mode, METHODS)


def kept(result: ModeResult) -> bool:
    return result.verdict is Verdict.SCHEDULABLE


def breaks(result: ModeResult, promise: str | None) -> bool:
    """Whether the analysis, too, no longer proves what a margin says that it is limited by."""
    late = [f"deadline of {one.task}" for one in result.tasks if one.verdict is not Verdict.SCHEDULABLE]
    for chain in result.chains:
        bounds = {"reaction": chain.reaction, "latency": chain.latency, "data age": chain.data_age}
        limits = {quantity.value.replace("_", " "): limit_ns for quantity, limit_ns in chain.limits_ns}
        for name, limit_ns in limits.items():
            bound = bounds[name]
            if bound is None or bound.value_ns > limit_ns:
                late.append(f"{name} limit of {chain.chain}")
    return promise in late


def with_times(system: model.System, change: Callable[[model.Task], int]) -> model.System:
    """Worst cases of `change`; the rest of every execution time stays."""
    tasks = tuple(
        replace(task, execution=replace(task.execution, wcet_ns=change(task), profile_ns=())) for task in system.tasks
    )
    return replace(system, tasks=tasks)


def with_frequency(system: model.System, name: str, frequency_hz: int) -> model.System:
    (device,) = system.devices
    elements = tuple(
        replace(pe, frequency_hz=frequency_hz) if pe.name == name else pe for pe in device.processing_elements
    )
    return replace(system, devices=(replace(device, processing_elements=elements),))


def with_rates(system: model.System, names: tuple[str, ...], factor: Fraction) -> model.System:
    sensors = tuple(replace(one, rate_hz=one.rate_hz * factor) if one.name in names else one for one in system.sensors)
    return replace(system, sensors=sensors)


LIMITS = [(55, 120), (90, 96)]


@pytest.mark.parametrize("limits", LIMITS)
def test_a_task_may_use_up_its_margin_and_no_more(limits: tuple[int, int]) -> None:
    system = declared(*limits)
    found = margins(system)
    assert found.broken is None
    assert [one.task for one in found.tasks] == [task.name for task in system.tasks]
    for one in found.tasks:
        for extra_ns, meets in ((0, True), (1, False)):
            grown = with_times(
                system, lambda t, o=one, e=extra_ns: t.execution.wcet_ns + (o.margin_ns + e) * (t.name == o.task)
            )
            assert kept(analysed(grown)) is meets
        assert breaks(analysed(grown), one.limited_by)


def test_a_chain_limits_its_tasks_before_their_deadlines_do() -> None:
    loose, tight = margins(declared(90, 200)), margins(declared(55, 120))
    assert not any("limit of see" in str(one.limited_by) for one in loose.tasks)
    by_name = {one.task: one for one in tight.tasks}
    assert by_name["infer_left"].limited_by == "latency limit of see"
    (chain,) = tight.chains
    slack_ns = {quantity: limit_ns - bound_ns for quantity, bound_ns, limit_ns in chain.bounds}
    assert by_name["infer_left"].margin_ns == slack_ns[Quantity.LATENCY]


@pytest.mark.parametrize("limits", LIMITS)
def test_the_tasks_of_a_chain_may_grow_together(limits: tuple[int, int]) -> None:
    system = declared(*limits)
    (chain,) = margins(system).chains
    result = analysed(system).chains[0]
    assert result.reaction is not None
    assert result.latency is not None
    assert chain.bounds == (
        (Quantity.REACTION, result.reaction.value_ns, limits[1] * MS),
        (Quantity.LATENCY, result.latency.value_ns, limits[0] * MS),
    )
    path = system.chains[0].path
    for more, meets in ((0, True), (1, False)):
        ppm = chain.scaling_ppm + more
        grown = with_times(
            system, lambda t, p=ppm: -(-t.execution.wcet_ns * (p if t.name in path else MILLION) // MILLION)
        )
        assert kept(analysed(grown)) is meets
    assert breaks(analysed(grown), chain.limited_by)


def test_all_tasks_together_keep_chain_limits() -> None:
    system = declared(55, 120)
    found = margins(system).scaling
    assert found.ppm is not None
    assert found.limited_by == "latency limit of see"
    # Switches of the GPU grow as well, so the same factor for the worst cases alone leaves a little.
    grown = with_times(system, lambda t: -(-t.execution.wcet_ns * found.ppm // MILLION))
    assert kept(analysed(grown))
    far = with_times(system, lambda t: -(-t.execution.wcet_ns * (found.ppm + 20_000) // MILLION))
    assert not kept(analysed(far))


@pytest.mark.parametrize("limits", LIMITS)
def test_elements_may_slow_down_to_their_smallest_frequency(limits: tuple[int, int]) -> None:
    system = declared(*limits)
    rows = {one.pe: one for one in margins(system).frequencies}
    assert list(rows) == ["box.cpu", "box.gpu"]
    for name in ("cpu", "gpu"):
        one = rows[f"box.{name}"]
        assert one.smallest_hz is not None
        assert one.smallest_hz < GHZ
        for frequency_hz in (one.smallest_hz, (one.smallest_hz + GHZ) // 2000 * 1000, GHZ):
            assert kept(analysed(with_frequency(system, name, frequency_hz)))
        slower = analysed(with_frequency(system, name, one.smallest_hz - 1000))
        assert not kept(slower)
        assert breaks(slower, one.limited_by)
    met = [p.frequency_hz for p in CPU_POINTS if kept(analysed(with_frequency(system, "cpu", p.frequency_hz)))]
    assert rows["box.cpu"].point_hz == met[0]
    assert rows["box.gpu"].point_hz is None


def test_an_element_that_is_too_slow_is_told_what_would_do() -> None:
    system = with_frequency(declared(), "cpu", 100 * 10**6)
    found = margins(system)
    assert found.broken is not None
    assert (found.tasks, found.chains, found.rates) == ((), (), ())
    one = found.frequencies[0]
    assert one.smallest_hz is not None
    assert one.smallest_hz > 100 * 10**6
    assert kept(analysed(with_frequency(system, "cpu", one.smallest_hz)))
    # Only the CPU is too slow: no frequency of the GPU mends that.
    assert found.frequencies[1].smallest_hz is None
    assert found.frequencies[1].limited_by is not None


def test_a_budget_is_a_promise_when_frequencies_change() -> None:
    system = declared(max_latency_ms=500, max_reaction_ms=900)
    budget = model.Budget(1, model.OverrunAction.ABORT)
    tasks = tuple(
        replace(task, budget_ns=5 * MS, budget=budget, deadline_ns=90 * MS) if task.name == "pre_left" else task
        for task in system.tasks
    )
    one = margins(replace(system, tasks=tasks)).frequencies[0]
    # 3 of its 4 ms are compute work, which may take 4 ms before the job needs more than 5.
    assert one.limited_by == "budget of pre_left"
    assert one.smallest_hz == 750_000_000


@pytest.mark.parametrize("limits", LIMITS)
def test_sensors_may_go_faster(limits: tuple[int, int]) -> None:
    system = declared(*limits)
    rows = {one.name: one for one in margins(system).rates}
    assert {name: one.sensors for name, one in rows.items()} == {"shutters": ("left", "right"), "lidar": ("lidar",)}
    for one in rows.values():
        assert one.scaling_ppm is not None
        assert one.limited_by is not None
        assert one.scaling_ppm > MILLION
        for ppm in (one.scaling_ppm, (one.scaling_ppm + MILLION) // 2):
            assert kept(analysed(with_rates(system, one.sensors, Fraction(ppm, MILLION)), make_plan(system)))


def test_one_step_more_of_a_rate_breaks_the_deadline_that_is_named() -> None:
    system = replace(declared(), chains=())
    for one in margins(system).rates:
        assert one.scaling_ppm is not None
        factor = Fraction(one.scaling_ppm + 1, MILLION)
        assert breaks(analysed(with_rates(system, one.sensors, factor), make_plan(system)), one.limited_by)


def test_a_rate_that_others_are_paired_with_has_no_margin() -> None:
    system = declared()
    cluster = system.tasks[4]
    other = model.Input("other", "infer_right", "out", model.Edge(model.EdgeKind.QUEUE, 2))
    paired = replace(
        cluster,
        activation=model.OnMessage(model.Join.ALL, None, 60 * MS),
        inputs=(*cluster.inputs, other),
        deadline_ns=300 * MS,
    )
    tasks = tuple(paired if task is cluster else task for task in system.tasks)
    (mode,) = mode_loads(replace(system, tasks=tasks), make_plan(system))
    promises = Promises(mode, METHODS)
    for name, sensors in rate_groups(mode):
        one = rate_margin(mode, promises, name, sensors)
        assert one.scaling_ppm is None
        assert one.reason == "cluster pairs its messages with those of others"


def test_a_limit_on_the_disparity_of_inputs_is_kept() -> None:
    system = declared(90, 200)
    other = model.Input("other", "right", None, model.Edge(model.EdgeKind.LATEST), required=False)
    pre = replace(system.tasks[0], inputs=(*system.tasks[0].inputs, other))
    free = replace(system, tasks=(pre, *system.tasks[1:]))
    (row,) = [one for one in analysed(free).disparities if one.task == "pre_left"]
    assert row.bound is not None
    for limit_ns, broken in ((row.bound.value_ns, None), (row.bound.value_ns - 1, "disparity limit of pre_left")):
        limited = replace(system, tasks=(replace(pre, max_disparity_ns=limit_ns), *system.tasks[1:]))
        assert margins(limited).broken == broken
        assert kept(analysed(limited)) is (broken is None)
