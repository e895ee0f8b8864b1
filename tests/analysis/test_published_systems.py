"""Whole systems of the literature: their parameters, and what is published of them, beside bounds and legal runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import lcm

import pytest
from chain_reference import chain_times
from chain_systems import Node, chain_system
from hand_made import bound, element, planned, task
from test_distributed import after, periodic

from rt_sched import model
from rt_sched.analysis import analyze
from rt_sched.analysis.chains.bounds import chain_bound, davare_bound
from rt_sched.analysis.chains.segments import segments_of
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Quantity
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.model import CauseEffectChain, Communication, Plan, System
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain

HOLISTIC = "fp_response_time"


def _with_chains(system: System, *paths: Sequence[str]) -> System:
    chains = (
        CauseEffectChain(f"c{n}", tuple(path), communication=Communication.IMPLICIT) for n, path in enumerate(paths)
    )
    return replace(system, chains=tuple(chains))


def _latencies(system: System, plan: Plan, *methods: str) -> list[int | None]:
    (mode,) = analyze(system, plan, methods=methods or None).modes
    return [None if one.latency is None else one.latency.value_ns for one in mode.chains]


def _seen(system: System, plan: Plan, runs: int, horizon_ns: int = 3000) -> list[int]:
    """Largest latency of each chain in some runs: sporadic tasks begin anywhere, jobs need anything they may."""
    rng = random.Random(7)  # noqa: S311 - reproducible test data
    most = [0] * len(system.chains)
    for _ in range(runs):
        rows = lower(system, plan, nominal_samples(system, horizon_ns), horizon_ns=horizon_ns)
        changed = []
        for row, one in zip(rows.tasks, system.tasks, strict=True):
            if isinstance(one.activation, model.Sporadic):
                first, period = rng.randrange(one.separation_ns), one.separation_ns
                row = replace(row, rate_hz=None, explicit_arrivals_ns=tuple(range(first, horizon_ns, period)))
            demands = tuple(rng.choice((one.execution.bcet_ns, one.execution.wcet_ns)) for _ in range(horizon_ns // 15))
            changed.append(replace(row, explicit_demands_ns=demands))
        simulation = Simulation(replace(rows, tasks=tuple(changed)))
        simulation.run()
        trace = simulation.trace()
        for place, chain in enumerate(system.chains):
            most[place] = max(most[place], measure_chain(trace, chain.path).latency.max_ns or 0)
    return most


def two_flows(best_ns: int | None) -> tuple[System, Plan]:
    """Two processors and a network, all preemptive; jobs may need `best_ns` at least, their worst case for None.

    Source: Palencia, Gutiérrez, González Harbour 1997 (analysis of distributed systems); the responses of MAST.
    """
    tasks = [
        task("a1", 5, 30, pe="cpu1"),
        after("a1", "a2", 2, 30, pe="net"),
        after("a2", "a3", 20, 30, pe="cpu2"),
        task("a4", 5, 40, pe="cpu2"),
        after("a4", "a5", 10, 40, pe="net"),
        after("a5", "a6", 10, 40, pe="cpu1"),
    ]
    if best_ns is not None:
        times = [model.ExecutionTime(best_ns, one.execution.wcet_ns, (best_ns, one.execution.wcet_ns)) for one in tasks]
        tasks = [replace(one, execution=time) for one, time in zip(tasks, times, strict=True)]
    levels = {"a1": 0, "a6": 1, "a5": 0, "a2": 1, "a4": 0, "a3": 1}
    system, plan = planned([element("cpu1"), element("net"), element("cpu2")], tasks, levels=levels)
    return _with_chains(system, ("a1", "a2", "a3"), ("a4", "a5", "a6")), plan


@pytest.mark.parametrize("best_ns", [None, 1], ids=["constant", "from 1"])
def test_two_flows_over_a_network(best_ns: int | None) -> None:
    system, plan = two_flows(best_ns)
    assert _latencies(system, plan, HOLISTIC) == [42, 30]
    seen = _seen(system, plan, runs=40)
    assert all(value <= most for value, most in zip(seen, (42, 30), strict=True))
    assert seen[0] > 30


def wandering_chain() -> tuple[System, Plan]:
    """A chain that comes back to two of its three processors, beside four tasks of their own.

    Source: parameters of the example for offsets of pyCPA, after Palencia, González Harbour 1998.
    """
    tasks = [
        periodic("t11", 4, 20, pe="cpu1"),
        periodic("t21", 20, 150, pe="cpu1"),
        after("t21", "t22", 25, 150, pe="bus"),
        after("t22", "t23", 15, 150, pe="cpu2"),
        after("t23", "t24", 34, 150, pe="bus"),
        after("t24", "t25", 30, 150, pe="cpu1"),
        periodic("t31", 5, 30, pe="cpu2"),
        periodic("t51", 100, 200, pe="cpu2"),
    ]
    levels = {"t11": 0, "t21": 1, "t25": 2, "t22": 0, "t24": 1, "t31": 0, "t23": 1, "t51": 2}
    system, plan = planned([element("cpu1"), element("bus"), element("cpu2")], tasks, levels=levels)
    return _with_chains(system, [f"t2{number}" for number in range(1, 6)]), plan


def test_offsets_tighten_a_chain_that_returns() -> None:
    system, plan = wandering_chain()
    (holistic,) = _latencies(system, plan, HOLISTIC)
    (offsets,) = _latencies(system, plan)
    assert holistic is not None
    assert offsets is not None
    # 28 + 25 + 20 + 34 + 38: no part of the chain delays another one.
    assert offsets == 145 < holistic
    (seen,) = _seen(system, plan, runs=10)
    assert seen <= offsets


def test_a_static_offset_of_mast() -> None:
    """The second task begins 60 after the first and ends at 62, whatever the first does (MAST, static offsets)."""
    tasks = [periodic("a1", 5, 100), periodic("a2", 2, 100, offset=60)]
    system, plan = planned([element()], tasks, levels={"a1": 1, "a2": 0})
    assert 60 + (bound(system, plan, "a2") or 0) == 62
    assert bound(system, plan, "a1") == 5


#: Tasks as (read offset, period, LET) and chains: System-level LET examples of TORO (Köhler et al.), in ms.
LET_TASKS = {"t1": (2, 10, 5), "t4": (5, 20, 15), "t5": (1, 15, 10), "t7": (0, 5, 3), "t9": (1, 10, 5)}
LET_CHAINS = [("t1", "t5", "t7", "t9"), ("t4", "t1")]


@pytest.mark.parametrize("path", LET_CHAINS, ids="-".join)
def test_chains_of_let_tasks_shorter_than_their_periods_are_exact(path: tuple[str, ...]) -> None:
    sources = dict(pairwise(path))
    before = {reader: source for source, reader in sources.items()}
    nodes = [Node(n, 1, LET_TASKS[n][1], before.get(n), f"p{n}", LET_TASKS[n][0], D=LET_TASKS[n][2]) for n in path]
    made = chain_system(nodes, path, let=True)
    (mode,) = mode_loads(made, make_plan(made))
    segments = segments_of(mode, mode_bounds(mode, METHODS), path)
    tasks = [(1, LET_TASKS[name][1], LET_TASKS[name][0]) for name in path]
    end = 12 * lcm(*(period for _, period, _ in tasks)) + 500
    jobs = [[(at, at + LET_TASKS[n][2]) for at in range(LET_TASKS[n][0], end, LET_TASKS[n][1])] for n in path]
    exact = chain_times(jobs, tasks, range(len(path)))
    for quantity in Quantity:
        assert chain_bound(segments, quantity).value_ns == getattr(exact, quantity.value)


def test_response_times_of_two_cores_of_which_one_never_preempts() -> None:
    """Source: TORO, tasks whose responses are computed; by hand 1, 3, 7 and with a blocking of 4 - 1: 4, 5, 6."""
    tasks = [
        task("t1", 1, 5, pe="core1"),
        task("t5", 2, 10, pe="core1"),
        task("t3", 3, 15, pe="core1"),
        task("t4", 1, 5, pe="core2"),
        task("t2", 1, 10, pe="core2"),
        task("t6", 4, 20, pe="core2"),
    ]
    system, plan = planned([element("core1"), element("core2", preemptive=False)], tasks)
    assert [bound(system, plan, name, HOLISTIC) for name in ("t1", "t5", "t3", "t4", "t2", "t6")] == [1, 3, 7, 4, 5, 6]


def _duerr_ns(rows: Sequence[tuple[int, int, int]]) -> int:
    """Largest reaction time of a chain of sporadic tasks on one core, as (period, response, level) in the order of the
    chain (Dürr, von der Brüggen, Chen, Chen 2019, implicit communication)."""
    total = 0
    for place, (period, response, level) in enumerate(rows):
        last = place + 1 == len(rows)
        if last or rows[place + 1][2] < level:
            total += period + response
        else:
            total += period + max(response - rows[place + 1][0], 0)
    return total


def test_no_reaction_bound_is_above_that_of_sporadic_chains_nor_that_above_the_plain_sum() -> None:
    rng = random.Random(19)  # noqa: S311 - reproducible test data
    compared = tighter = 0
    for _ in range(60):
        count = rng.randint(2, 5)
        rows = [(rng.randint(1, 4), rng.choice((10, 20, 25, 40, 50))) for _ in range(count)]
        order = rng.sample(range(count), count)
        before = {reader: source for source, reader in pairwise(order)}
        nodes = [
            Node(f"t{place}", wcet, period, f"t{before[place]}" if place in before else None)
            for place, (wcet, period) in enumerate(rows)
        ]
        made = chain_system(nodes, tuple(f"t{place}" for place in order))
        (mode,) = mode_loads(made, make_plan(made))
        bounds = mode_bounds(mode, METHODS)
        found = {one.task.name: one for one in bounds.values()}
        if any(one.bound is None or one.bound.value_ns > one.task.deadline_ns for one in found.values()):
            continue
        segments = segments_of(mode, bounds, made.chains[0].path)
        chain = [found[f"t{place}"] for place in order]
        sporadic = _duerr_ns(
            [(rows[p][1], one.bound.value_ns, one.task.level) for p, one in zip(order, chain, strict=True)]
        )  # type: ignore[union-attr]
        reaction = chain_bound(segments, Quantity.REACTION).value_ns
        plain = davare_bound(segments, Quantity.REACTION).value_ns
        assert plain == sum(rows[p][1] + one.bound.value_ns for p, one in zip(order, chain, strict=True))  # type: ignore[union-attr]
        assert reaction <= sporadic <= plain
        compared += 1
        tighter += reaction < sporadic
    assert compared > 30
    assert tighter > 10
