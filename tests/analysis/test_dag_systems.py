"""Task graphs in whole systems: recognised, bounded, and never later than that in legal runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hand_made import element, planned, section, task
from random_graphs import EDF, camera, random_graph, vertex

from rt_sched import model
from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.chains.bounds import chain_results
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.methods.dag import DAG_RESPONSE_TIME
from rt_sched.analysis.system.engine import TaskBound, mode_bounds
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Join, OnMessage, Plan, System
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain
from rt_sched.trace.records import JobStatus


def bounds_of(system: System, plan: Plan, methods: Sequence[Method] = METHODS) -> dict[str, TaskBound]:
    """Bounds of all tasks by name."""
    (mode,) = mode_loads(system, plan)
    return {one.task.name: one for one in mode_bounds(mode, methods).values()}


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
    for seed in range(50):
        system, plan = random_graph(rng)
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


def test_tasks_one_after_the_other_on_one_core_do_not_delay_each_other() -> None:
    names = ["cam", "a", "b", "c"]
    tasks = [vertex(name, 4, [before]) for before, name in pairwise(names)]
    found = bounds_of(*planned([element()], tasks, sensors=[camera(12)]))
    assert [(one.bound.value_ns, one.since_source_ns) for one in found.values() if one.bound] == [
        (4, 4),
        (4, 8),
        (4, 12),
    ]
    assert {one.streams[0].jitter_ns for one in found.values()} == {0}


def test_a_graph_over_cpu_and_gpu() -> None:
    """Two pictures are prepared on two cores and inferred one after the other; each with its own message."""
    gpu = element("g", preemptive=False)
    tasks = [vertex("a", 2, ["cam"]), vertex("b", 2, ["cam"])]
    tasks += [vertex("c", 5, ["a"], pe="g"), vertex("d", 5, ["b"], pe="g")]
    tasks.append(vertex("e", 1, ["c", "d"]))
    system, plan = planned([element(cores=2), gpu], tasks, sensors=[camera(20)])
    found = bounds_of(system, plan, [DAG_RESPONSE_TIME])
    assert [found[n].since_source_ns for n in "abcde"] == [2, 2, 12, 12, 13]
    assert found["c"].bound is not None
    assert "Han et al. 2019" in found["c"].bound.source
    assert seen_in(system, plan, 1, Execution.WCET)["e"] == (1, 13)


def _late(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, activation=replace(one.activation, jitter_ns=2)) if one.name == "b" else one for one in tasks]


def _locking(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, sections=(section(0, 1),)) for one in tasks]


def _waiting(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, suspensions=(model.Suspension(1, 0, 3),)) if one.name == "b" else one for one in tasks]


def _stranger(tasks: list[model.Task]) -> list[model.Task]:
    return [*tasks, task("other", 1, 500)]


def _let(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, communication=model.Communication.LET) for one in tasks]


def _any(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, activation=OnMessage(Join.ANY)) if one.name == "d" else one for one in tasks]


def _tolerant(tasks: list[model.Task]) -> list[model.Task]:
    return [replace(one, activation=OnMessage(Join.ALL, None, 30)) if one.name == "d" else one for one in tasks]


@pytest.mark.parametrize(
    ("change", "more", "period", "says"),
    [
        (None, {}, 10, "the graph may take 11 ns, but arrivals of cam may be only 10 ns apart"),
        (None, {"switch_cost_ns": 1}, 30, "preemption on d.p[0-1] costs a switch"),
        (_late, {}, 30, "the release of task b inside the graph jitters"),
        (_locking, {}, 30, "task a locks a resource"),
        (_waiting, {}, 30, "task b suspends itself"),
        (_stranger, {}, 30, "its tasks are not one graph: cam and other set them off"),
        (_let, {}, 30, "task a publishes at its deadline"),
        (_any, {}, 30, "several messages set off task d one by one"),
        (_tolerant, {}, 30, "task d may pair messages of different jobs within its tolerance"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: Callable[[list[model.Task]], list[model.Task]] | None, more: dict[str, object], period: int, says: str
) -> None:
    system, _ = diamond()
    tasks = list(system.tasks) if change is None else change(list(system.tasks))
    system, plan = planned(
        [element(cores=2, **more)], tasks, {"r": model.Protocol.PRIORITY_CEILING}, sensors=[camera(period)]
    )
    found = bounds_of(system, plan, [DAG_RESPONSE_TIME])
    assert found["a"].bound is None
    assert says in found["d"].reason


def test_arrivals_as_close_as_the_graph_takes_are_far_enough() -> None:
    for period, bounded in ((10, False), (11, True)):
        found = bounds_of(*diamond(period), [DAG_RESPONSE_TIME])
        assert (found["a"].bound is not None) is bounded


def test_a_graph_beside_another_load_is_bounded_where_it_is_alone() -> None:
    """What comes in from a shared processor jitters, and sets off the graph on the other."""
    tasks = [vertex("pre", 2, ["cam"], pe="q", bcet=1), task("beside", 3, 40, pe="q")]
    tasks += [vertex("a", 2, ["pre"]), vertex("b", 6, ["a"]), vertex("c", 4, ["a"]), vertex("d", 3, ["b", "c"])]
    system, plan = planned(
        [element("q"), element(cores=2)], tasks, sensors=[camera(30)], levels={"beside": 0, "pre": 1}
    )
    found = bounds_of(system, plan)
    assert found["pre"].since_source_ns is None
    assert [found[n].since_source_ns for n in "abcd"] == [2, 8, 6, 11]
    assert found["d"].latest_ns == 3 + 5 + 11


def two_stages(**more: object) -> tuple[System, Plan]:
    """On one core, two ways beside each other and one task behind both; each way delays the other only once."""
    tasks = [vertex("a", 2, ["cam"]), vertex("x", 6, ["a"]), vertex("y", 4, ["a"])]
    tasks += [vertex("x2", 3, ["x"]), vertex("y2", 5, ["y"]), vertex("z", 1, ["x2", "y2"])]
    paths = {"long": ("cam", "a", "y", "y2", "z"), "short": ("cam", "a", "x")}
    chains = tuple(model.CauseEffectChain(name, path) for name, path in paths.items())
    system, plan = planned([element(policy=EDF)], tasks, sensors=[camera(60, **more)])
    return replace(system, chains=chains), plan


def test_a_chain_through_a_graph_counts_what_delays_it_once() -> None:
    system, plan = two_stages(jitter=2)
    report = analyze(system, plan, methods=["dag_response_time"])
    found = bounds_of(system, plan, [DAG_RESPONSE_TIME])
    assert [one.bound.value_ns for one in found.values() if one.bound is not None] == [2, 15, 13, 12, 14, 1]
    latencies = [chain.latency.value_ns for chain in report.modes[0].chains if chain.latency is not None]
    assert latencies == [3 + 2 + 21, 3 + 2 + 17]
    # One response after the other would be more than all the work that there is.
    assert sum(found[n].bound.value_ns for n in ("a", "y", "y2", "z")) > 2 + 6 + 4 + 3 + 5 + 1


def ways(system: System) -> list[tuple[str, ...]]:
    """Paths from the source of a graph to its tasks, through messages that set off jobs."""
    before = {t.name: [given.source for given in t.inputs] for t in system.tasks}

    def to(name: str) -> list[tuple[str, ...]]:
        return [(*way, name) for source in before.get(name, ()) for way in to(source)] or [(name,)]

    return [way for task in system.tasks for way in to(task.name) if len(way) > 2]


def test_no_chain_through_a_random_graph_is_longer_than_its_bounds() -> None:
    rng = np.random.default_rng(92)
    judged = shorter = 0
    for seed in range(30):
        system, plan = random_graph(rng)
        chains = tuple(model.CauseEffectChain(f"c{n}", way) for n, way in enumerate(ways(system)[:8]))
        system = replace(system, chains=chains)
        (mode,) = mode_loads(system, plan)
        bounds = mode_bounds(mode, [DAG_RESPONSE_TIME])
        responses = {one.task.name: one.bound.value_ns for one in bounds.values() if one.bound is not None}
        results = [one for one in chain_results(mode, bounds) if one.latency is not None]
        shorter += sum(
            one.latency.value_ns < sum(responses.get(name, 0) for name in one.path) for one in results if one.latency
        )
        for run, execution in enumerate((Execution.WCET, Execution.PROFILE)):
            samples = nominal_samples(system, 900, run)
            simulation = Simulation(
                lower(system, plan, samples, horizon_ns=900, execution=execution, seed=2 * seed + run)
            )
            simulation.run()
            for one in results:
                seen = measure_chain(simulation.trace(), one.path)
                assert one.latency is not None
                assert one.data_age is not None
                assert seen.latency_ns.max(initial=0) <= one.latency.value_ns, (seed, one.path)
                assert seen.data_age_ns.max(initial=0) <= one.data_age.value_ns, (seed, one.path)
                judged += len(seen.latency_ns) > 0
    assert judged > 100
    assert shorter > 2
