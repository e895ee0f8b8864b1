"""Proofs that there is no plan: each kind is found, and none is claimed where a plan may exist."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planned_systems import TRADE, system_of

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.lowering import check_plan
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.planner.impossible import impossibilities
from rt_sched.planner.objectives import Objective
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.from_system import placement_problem
from rt_sched.planner.placing.stopping import Stop

CPUS = "devices: {a: {memory: 1GB, processing_elements: {x: {kind: cpu}, y: {kind: cpu}}}}\n"


def proofs(text: str) -> tuple[str, ...]:
    system = system_of(text)
    return impossibilities(system, placement_problem(system))


def tasks(*wcets_ms: float, rest: str = "", rate: str = "100Hz") -> str:
    rows = (
        f"  t{n}: {{runs_on: a.x, candidates: a.y, activation: {{rate: {rate}}}, execution: {{wcet: {ms}ms}}{rest}}}\n"
        for n, ms in enumerate(wcets_ms)
    )
    return f"{CPUS}tasks:\n{''.join(rows)}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (tasks(12), "task t0: it takes 12ms wherever it runs, longer than its deadline of 10ms"),
        (tasks(7, 7, 7), "no placement keeps loads, memory and the ways of messages"),
        (tasks(1, 1, 1, rest=", memory: 400MB"), "no placement keeps loads, memory"),
        (f"{TRADE}".replace("max_latency: 200ms", "max_latency: 10ms"), "chain left: its tasks take 11ms"),
    ],
)
def test_each_kind_of_impossibility_is_proved(text: str, said: str) -> None:
    assert any(one.startswith(said) for one in proofs(text))


@pytest.mark.parametrize(
    "text",
    [
        # Thirds that fill two cores to the last nanosecond: rounded up they would seem too much.
        tasks(*[10 / 3] * 6, rate="100Hz").replace("3.3333333333333335ms", "3333333ns"),
        # A job that is aborted at its budget leaves the rest undone.
        tasks(12, 12, 12, rest=", budget: {limit: 5ms, on_overrun: abort}"),
        # What may miss now and then may be left out.
        tasks(9, 9, 9, rest=", miss_limit: 1 of 2"),
        # Modes: not all tasks at one time.
        tasks(9, 9, 9) + "modes: {one: {tasks: [t0, t1]}, two: {tasks: [t2]}}\n",
    ],
)
def test_nothing_is_proved_where_a_plan_may_exist(text: str) -> None:
    assert proofs(text) == ()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from([100, 50, 20])), min_size=1, max_size=5), st.booleans())
def test_no_system_with_an_accepted_plan_is_called_impossible(rows: list[tuple[int, int]], edf: bool) -> None:
    given_tasks = "".join(
        f"  t{n}: {{runs_on: a.{'xy'[n % 2]}, candidates: a.{'yx'[n % 2]}, activation: {{rate: {rate}Hz}}, "
        f"execution: {{wcet: {ms}ms}}}}\n"
        for n, (ms, rate) in enumerate(rows)
    )
    system: System = system_of(f"{CPUS}tasks:\n{given_tasks}")
    plan = make_plan(system, "edf" if edf else "rms")
    accepted = not check_plan(system, plan) and analyze(system, plan).verdict is Verdict.SCHEDULABLE
    if accepted:
        assert impossibilities(system, placement_problem(system)) == ()


def test_a_plan_that_misses_proves_nothing_of_others() -> None:
    # One after the other on one core t1 is late; nothing says that no order or policy could do it.
    text = tasks(6, rest=", deadline: 7ms") + (
        "  u: {runs_on: a.x, activation: {rate: 50Hz}, execution: {wcet: 7ms}, deadline: 8ms}\n"
        "  v: {runs_on: a.y, activation: {rate: 50Hz}, execution: {wcet: 7ms}, deadline: 8ms}\n"
    )
    planned = optimise(system_of(text), Objective.LATENCY, Stop(10), search=False)
    assert planned.report is not None
    assert planned.report.verdict is Verdict.UNSCHEDULABLE
    assert (planned.verdict, planned.proved) == (Verdict.INCONCLUSIVE, ())


def test_heuristics_alone_end_with_what_is_proved() -> None:
    planned = optimise(system_of(tasks(8, 8, 8)), Objective.LATENCY, Stop(10), search=False)
    assert planned.verdict is Verdict.UNSCHEDULABLE
    assert all(one.solved is None for one in planned.proposals)
