"""Task graphs in whole systems: recognised, bounded, and never later than that in legal runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hand_made import element, planned, task

from rt_sched import model
from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.methods.dag import DAG_RESPONSE_TIME
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Edge, EdgeKind, Input, Join, OnMessage, Periodic, Plan, Policy, Sensor, SensorKind, System
from rt_sched.sim import Simulation
from rt_sched.trace.records import JobStatus

FP, EDF, FIFO = Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO


def message(name: str, source: str, *, read: bool = False) -> Input:
    kind = EdgeKind.LATEST if read else EdgeKind.QUEUE
    port = None if source.startswith("cam") else "out"
    return Input(name, source, port, Edge(kind, 1 if read else 8), not read)


def vertex(name: str, wcet: int, sources: list[str], *, bcet: int | None = None, **more: object) -> model.Task:
    """Set off by a message from each source."""
    inputs = tuple(message(f"in{i}", source) for i, source in enumerate(sources))
    join, primary = (Join.ALL, None) if len(sources) > 1 else (Join.LATEST, "in0")
    own = {"activation": OnMessage(join, primary), "inputs": inputs} | more
    made = task(name, wcet, 1000, **own)
    return replace(made, execution=model.ExecutionTime(bcet or wcet, wcet, (bcet or wcet, wcet)))


def camera(period: int, latency: int = 3, jitter: int = 0) -> Sensor:
    rate = Fraction(10**9, period)
    return Sensor("cam", SensorKind.CAMERA, rate, ("d",), ("/cam",), latency_ns=latency, jitter_ns=jitter)


def bounds_of(system: System, plan: Plan, methods: Sequence[Method] = METHODS) -> dict[str, TaskBound]:
    """Bounds of all tasks by name."""
    (mode,) = mode_loads(system, plan)
    return {one.task.name: one for one in mode_bounds(mode, methods).values()}


def random_system(rng: np.random.Generator) -> tuple[System, Plan]:
    """A graph of up to eight tasks behind a camera or a timer, on one or two processors of one to three cores."""
    elements = [
        element(f"p{n}", (FP, FP, EDF, FIFO)[rng.integers(4)], preemptive=bool(rng.random() < 0.7), cores=int(m))
        for n, m in enumerate(rng.integers(1, 4, int(rng.integers(1, 3))))
    ]
    timed = rng.random() < 0.5
    period, tasks, names = int(rng.integers(20, 90)), [], ["cam"]
    for number in range(int(rng.integers(2, 9))):
        wcet = int(rng.integers(1, 7))
        pe = elements[int(rng.integers(len(elements)))].name
        count = min(len(names), int(rng.choice([1, 1, 2, 3])))
        sources = [str(name) for name in rng.choice(names, count, replace=False)]
        more: dict[str, object] = {"pe": pe, "deadline_ns": int(rng.integers(5, 60))}
        if number == 0 and timed:
            jitter = int(rng.choice([0, 0, 5]))
            activation = Periodic(Fraction(10**9, period), int(rng.integers(0, 9)), jitter)
            made = replace(task("t0", wcet, period), activation=activation, pe=("d", pe))
            names = []
        else:
            made = vertex(f"t{number}", wcet, sources, bcet=int(rng.integers(1, wcet + 1)), **more)
        tasks.append(made)
        names.append(made.name)
    levels = dict(zip((t.name for t in tasks), (int(x) for x in rng.permutation(len(tasks))), strict=True))
    sensors = () if timed else (camera(period, 3, int(rng.choice([0, 3]))),)
    return planned(elements, tasks, sensors=sensors, levels=levels)


def seen_in(system: System, plan: Plan, seed: int, execution: Execution) -> dict[str, tuple[int, int]]:
    """Largest response of each task, and largest time from the arrival that set off its graph to its end."""
    horizon = 1500
    given = lower(
        system, plan, nominal_samples(system, horizon, seed), horizon_ns=horizon, execution=execution, seed=seed
    )
    simulation = Simulation(given)
    simulation.run()
    trace = simulation.trace()
    jobs = trace.jobs
    begun = {
        int(capture): int(arrival)
        for capture, arrival in zip(trace.samples.capture_ns, trace.samples.arrival_ns, strict=True)
    }
    result = {}
    for index, row in enumerate(given.tasks):
        mine = np.flatnonzero((jobs.task == index) & (jobs.status == JobStatus.COMPLETED))
        response = int((jobs.finish_ns - jobs.arrival_ns)[mine].max(initial=0))
        since = max((int(jobs.finish_ns[j]) - begun.get(int(s := jobs.capture_ns[j]), int(s)) for j in mine), default=0)
        result[row.name] = (response, since)
    return result


def test_no_run_of_a_random_graph_exceeds_its_bounds() -> None:
    rng = np.random.default_rng(91)
    judged = tight = 0
    for seed in range(70):
        system, plan = random_system(rng)
        found = bounds_of(system, plan, [DAG_RESPONSE_TIME])
        if any(one.since_source_ns is None for one in found.values()):
            continue
        judged += 1
        for run, execution in enumerate((Execution.WCET, Execution.PROFILE, Execution.PROFILE)):
            for name, (response, since) in seen_in(system, plan, 10 * seed + run, execution).items():
                one = found[name]
                assert response <= one.bound.value_ns, (seed, name)
                assert since <= one.since_source_ns, (seed, name)
                tight += 10 * since >= 9 * one.since_source_ns
    assert judged > 40
    assert tight > 3 * judged


def diamond(period: int = 30, cores: int = 2, **more: object) -> tuple[System, Plan]:
    """A camera sets off `a`, that sets off `b` and `c`, and both together set off `d`."""
    tasks = [vertex("a", 2, ["cam"]), vertex("b", 6, ["a"]), vertex("c", 4, ["a"]), vertex("d", 3, ["b", "c"])]
    tasks = [replace(one, **more) for one in tasks]
    return planned([element(cores=cores)], tasks, sensors=[camera(period)])


def test_a_diamond_by_hand() -> None:
    system, plan = diamond()
    chain = model.CauseEffectChain("see", ("cam", "a", "b", "d"), None, 14, None)
    report = analyze(replace(system, chains=(chain,)), plan)
    found = bounds_of(system, plan)
    # On two cores `b` and `c` do not delay each other.
    assert [found[n].since_source_ns for n in "abcd"] == [2, 8, 6, 11]
    assert [found[n].bound.value_ns for n in "abcd"] == [2, 6, 4, 3]
    latency = report.modes[0].chains[0].latency
    assert latency is not None
    assert latency.value_ns == 3 + 11
