"""Resources of several processors: every combination has its verdict and reason, and no spin is longer than bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_made import bound, element, jobs_of, planned, section, task, worst

from rt_sched import model
from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import TermKind, Verdict
from rt_sched.analysis.sensitivity.execution import scaled
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import check_plan, lower
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import Plan, Policy, Protocol, Sporadic, System
from rt_sched.sim import Simulation

FP, EDF, FIFO = Policy.FIXED_PRIORITY, Policy.EDF, Policy.FIFO
NONE, PIP, PCP, MSRP = (
    Protocol.NONE,
    Protocol.PRIORITY_INHERITANCE,
    Protocol.PRIORITY_CEILING,
    Protocol.MSRP,
)


def on_two_devices(system: System, plan: Plan, second: str = "q") -> tuple[System, Plan]:
    """The same with one processor on a device of its own."""
    (device,) = system.devices
    here = tuple(one for one in device.processing_elements if one.name != second)
    there = tuple(one for one in device.processing_elements if one.name == second)
    devices = (replace(device, processing_elements=here), replace(device, name="e", processing_elements=there))
    tasks = tuple(replace(t, pe=("e", second)) if t.pe[1] == second else t for t in system.tasks)
    processors = tuple(replace(one, device="e") if one.pe == second else one for one in plan.processors)
    return replace(system, devices=devices, tasks=tasks), replace(plan, processors=processors)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("policy", [FP, EDF, FIFO])
@pytest.mark.parametrize(
    ("protocol", "says"),
    [(NONE, "without a protocol the inversion is not bounded"), (PIP, "only msrp has an analysis")],
)
def test_other_protocols_across_processors_are_inconclusive(
    protocol: Protocol, says: str, policy: Policy, devices: int
) -> None:
    tasks = [task("one", 3, 90, sections=(section(1, 2),)), task("other", 3, 90, pe="q", sections=(section(0, 3),))]
    system, plan = planned([element(policy=policy), element("q")], tasks, {"r": protocol})
    if devices == 2:
        system, plan = on_two_devices(system, plan)
    assert not check_plan(system, plan)
    for result in analyze(system, plan).modes[0].tasks:
        assert (result.bound, result.verdict) == (None, Verdict.INCONCLUSIVE)
        assert says in result.reason


def test_a_ceiling_across_processors_is_no_plan() -> None:
    tasks = [task("one", 3, 90, sections=(section(1, 2),)), task("other", 3, 90, pe="q", sections=(section(0, 3),))]
    system, plan = planned([element(), element("q")], tasks, {"r": PCP})
    assert any("priority_ceiling works on one core" in problem for problem in check_plan(system, plan))


@pytest.mark.parametrize("policy", [FP, EDF, FIFO])
@pytest.mark.parametrize("preemptive", [True, False])
def test_a_spin_is_one_section_of_each_other_core_a_request(policy: Policy, *, preemptive: bool) -> None:
    """Two requests of `mine`, each behind one section of `q` and one of `u`, whose two tasks do not both count."""
    tasks = [
        task("mine", 6, 200, sections=(section(0, 1), section(3, 4))),
        task("q1", 5, 20, pe="q", sections=(section(0, 5),)),
        task("u1", 4, 20, pe="u", sections=(section(0, 4),)),
        task("u2", 3, 200, pe="u", sections=(section(0, 3),)),
    ]
    elements = [element(policy=policy, preemptive=preemptive), element("q"), element("u", EDF)]
    system, plan = on_two_devices(*planned(elements, tasks, {"r": MSRP}))
    found = analyze(system, plan).task("mine").bound
    assert found is not None
    assert [term.value_ns for term in found.terms if term.kind is TermKind.SPIN] == [2 * (5 + 4)]
    assert found.value_ns == 6 + 18
    # The first request alone: both others have just begun.
    assert worst(jobs_of(system, plan, arrivals={"mine": [1], "q1": [0], "u1": [0]}), "mine") <= 24


@pytest.mark.parametrize(("inner", "outer"), [(MSRP, MSRP), (PCP, MSRP), (MSRP, PCP), (PIP, MSRP)])
def test_nested_sections_on_a_spin_lock_are_refused(inner: Protocol, outer: Protocol) -> None:
    mine = task("mine", 9, 90, sections=(section(0, 8, "outer"), section(2, 4, "inner")))
    other = task("other", 9, 90, sections=(section(0, 2, "inner"), section(4, 5, "outer")))
    across = task("across", 9, 90, pe="q", sections=(section(0, 2, "outer" if outer is MSRP else "inner"),))
    system, plan = planned([element(), element("q")], [mine, other, across], {"inner": inner, "outer": outer})
    for name in ("mine", "other"):
        result = analyze(system, plan).task(name)
        assert result.bound is None
        assert "nests sections on inner and outer" in result.reason or "inheritance beside other" in result.reason


def test_nested_spin_locks_elsewhere_do_not_matter() -> None:
    """Only processors that may wait for one of the two resources have no bound."""
    nest = (section(0, 8, "a"), section(2, 4, "b"))
    tasks = [
        task("p1", 9, 90, sections=nest),
        task("q1", 9, 90, pe="q", sections=(section(0, 2, "a"),)),
        task("u1", 9, 90, pe="u", sections=(section(0, 2, "c"),)),
        task("v1", 9, 90, pe="v", sections=(section(0, 3, "c"),)),
    ]
    elements = [element(name) for name in "pquv"]
    system, plan = planned(elements, tasks, dict.fromkeys("abc", MSRP))
    assert bound(system, plan, "p1") is None
    assert bound(system, plan, "q1") is None
    assert "task p1 nests sections on a and b" in analyze(system, plan).task("q1").reason
    assert (bound(system, plan, "u1"), bound(system, plan, "v1")) == (9 + 3, 9 + 2)


def random_system(rng: np.random.Generator) -> tuple[System, Plan]:
    """Two or three processors of all kinds, whose tasks spin for one or two resources, up to three times a job."""
    kinds = [(FP, True), (FP, True), (FP, False), (EDF, True), (EDF, False), (FIFO, False)]
    elements, tasks = [], []
    for name in "pqu"[: int(rng.integers(2, 4))]:
        policy, preemptive = kinds[int(rng.integers(len(kinds)))]
        elements.append(element(name, policy, preemptive=preemptive))
        for number in range(int(rng.integers(1, 4))):
            period, wcet = int(rng.integers(25, 90)), int(rng.integers(2, 9))
            marks = sorted(
                int(m) for m in rng.choice(wcet + 1, min(wcet + 1, int(rng.choice([2, 4, 6]))), replace=False)
            )
            pairs = list(zip(marks[::2], marks[1::2], strict=False))
            sections = tuple(section(a, b, str(rng.choice(["r", "s"]))) for a, b in pairs)
            activation = Sporadic(period, period + int(rng.integers(1, 9)), int(rng.integers(0, 30)))
            made = task(f"{name}{number}", wcet, period, pe=name, sections=sections, activation=activation)
            least = int(rng.integers(1, wcet + 1))
            tasks.append(replace(made, execution=model.ExecutionTime(least, wcet, (least, wcet))))
    system, plan = planned(elements, tasks, {"r": MSRP, "s": MSRP})
    return on_two_devices(system, plan) if rng.random() < 0.5 else (system, plan)


def test_no_response_with_spinning_exceeds_its_bound() -> None:
    rng = np.random.default_rng(111)
    judged = spun = close = 0
    for seed in range(120):
        system, plan = random_system(rng)
        (mode,) = mode_loads(system, plan)
        found = mode_bounds(mode, METHODS)
        seen = [0] * len(system.tasks)
        for run in range(3):
            execution = Execution.WCET if run == 0 else Execution.PROFILE
            samples = nominal_samples(system, 1500, run)
            given = lower(system, plan, samples, horizon_ns=1500, execution=execution, seed=3 * seed + run)
            simulation = Simulation(given)
            simulation.run()
            jobs = simulation.trace().jobs
            ends = np.where(jobs.finish_ns >= 0, jobs.finish_ns, 1500)
            for index in range(len(seen)):
                seen[index] = max(seen[index], int((ends - jobs.arrival_ns)[jobs.task == index].max(initial=0)))
        for index, one in found.items():
            if one.bound is not None:
                assert seen[index] <= one.bound.value_ns, (seed, one.task.name)
                judged += 1
                spun += one.task.spin_ns > 0
                close += 2 * seen[index] >= one.bound.value_ns
    assert judged > 250
    assert spun > 200
    assert close > judged // 3


def asking(requests: int, rare: int, more: dict[str, object] | None = None) -> tuple[System, Plan]:
    """`mine` asks several times a job; on the other processor one task asks for long but rarely, one often."""
    sections = tuple(section(2 * n, 2 * n + 1) for n in range(requests))
    tasks = [
        task("mine", 2 * requests + 2, 900, sections=sections, **(more or {})),
        task("often", 2, 20, pe="q", sections=(section(0, 1),)),
        task("rare", 30, rare, pe="q", sections=(section(5, 25),)),
    ]
    return planned([element(), element("q")], tasks, {"r": MSRP})


def test_a_rare_section_is_met_as_often_as_it_comes() -> None:
    for requests, rare, spin in ((1, 5000, 20), (4, 5000, 20 + 3), (4, 60, 2 * 20 + 2), (20, 5000, 20 + 6)):
        system, plan = asking(requests, rare)
        found = analyze(system, plan).task("mine").bound
        assert found is not None
        assert [term.value_ns for term in found.terms if term.kind is TermKind.SPIN] == [spin], requests
        assert found.value_ns == 2 * requests + 2 + spin


def test_one_section_a_request_counts_where_responses_or_lengths_are_not_known() -> None:
    budget = {"budget_ns": 10, "budget": model.Budget(1, model.OverrunAction.ABORT)}
    assert bound(*asking(4, 5000, budget), "mine") == 10 + 1 + 4 * 20
    system, plan = asking(4, 31)
    assert bound(system, plan, "rare") is None
    assert bound(system, plan, "mine") == 10 + 4 * 20


def test_counted_spins_scale_with_execution_times() -> None:
    (mode,) = mode_loads(*asking(4, 5000))
    for percent in (100, 101, 150, 333):
        found = mode_bounds(scaled(mode, 10_000 * percent), METHODS)[0].bound
        assert found is not None
        assert 0 <= 100 * found.value_ns - 33 * percent < 300 + 100 * (percent > 100)
