"""Chain bounds: published values, and never below what any simulated run shows."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from chain_systems import Node, chain_system

from rt_sched import model
from rt_sched.analysis.chains.bounds import chain_bound, chain_results, davare_bound
from rt_sched.analysis.chains.delays import Unbounded
from rt_sched.analysis.chains.segments import Segment, segments_of
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.result import Quantity, Verdict
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.lowering import lower, nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation
from rt_sched.trace.chains import measure_chain

KNOWN = Path(__file__).resolve().parents[2] / "../shared/cases/known_answers.json"
PUBLISHED = {
    "tasks": [{"C": 2, "T": 10}, {"C": 4, "T": 20}, {"C": 10, "T": 50}],
    "implicit": {"davare": 106, "duerr": 98, "periodic_exact": 78},
    "let": {"sporadic": 160, "periodic_exact": 140},
}


def segments(system: model.System) -> list[Segment]:
    (mode,) = mode_loads(system, make_plan(system))
    return segments_of(mode, mode_bounds(mode, METHODS), system.chains[0].path)


def unphased(found: list[Segment]) -> list[Segment]:
    return [replace(segment, grid=None) for segment in found]


def three(scale: int, *, padded: bool, let: bool, order: tuple[int, ...] = (0, 1, 2)) -> model.System:
    rows = PUBLISHED["tasks"]
    names = ["a", "b", "c"]
    nodes = [Node(names[i], rows[i]["C"] * scale, rows[i]["T"] * scale, names[i - 1] if i else None) for i in range(3)]
    if padded:
        nodes.append(Node("idle", scale, 700 * scale))
    made = chain_system(nodes, ("a", "b", "c"), let=let)
    places = [*order, 3] if padded else list(order)
    return replace(made, tasks=tuple(made.tasks[place] for place in places))


def test_the_published_case_is_the_one_of_the_shared_file() -> None:
    if not KNOWN.exists():
        pytest.skip(f"{KNOWN} is not there")
    (case,) = json.loads(KNOWN.read_text())["chains"]
    assert {key: case[key] for key in PUBLISHED} == PUBLISHED


@pytest.mark.parametrize("scale", [1, 7919])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_three_periodic(scale: int, padded: bool, order: tuple[int, ...]) -> None:
    found = segments(three(scale, padded=padded, let=False, order=order))
    assert davare_bound(found, Quantity.REACTION).value_ns == 106 * scale
    assert chain_bound(unphased(found), Quantity.REACTION).value_ns == 98 * scale
    assert chain_bound(found, Quantity.REACTION).value_ns == 78 * scale
    found = segments(three(scale, padded=padded, let=True, order=order))
    assert chain_bound(unphased(found), Quantity.REACTION).value_ns == 160 * scale
    assert chain_bound(found, Quantity.REACTION).value_ns == 140 * scale


def measured(system: model.System, horizon_ns: int, seed: int, execution: Execution) -> dict[Quantity, int]:
    plan = make_plan(system)
    samples = nominal_samples(system, horizon_ns, seed)
    simulation = Simulation(lower(system, plan, samples, horizon_ns=horizon_ns, seed=seed, execution=execution))
    simulation.run()
    seen = measure_chain(simulation.trace(), system.chains[0].path)
    return {
        Quantity.REACTION: int(seen.reaction_ns.max(initial=0)),
        Quantity.LATENCY: int(seen.latency_ns.max(initial=0)),
        Quantity.DATA_AGE: int(seen.data_age_ns.max(initial=0)),
    }


def random_system(rng: np.random.Generator) -> model.System:
    length = int(rng.integers(2, 6))
    with_sensor = bool(rng.integers(0, 2))
    let = bool(rng.integers(0, 4) == 0)
    sensors: tuple[model.Sensor, ...] = ()
    if with_sensor:
        rate = Fraction(10**9, int(rng.integers(20, 90)))
        latency, jitter = (int(value) for value in rng.integers(0, 6, 2))
        sensors = (
            model.Sensor(
                "cam",
                model.SensorKind.CAMERA,
                rate,
                ("box",),
                (),
                int(rng.integers(0, 50)),
                latency,
                jitter,
                capture_jitter_ns=int(rng.integers(0, 6)) * int(rng.integers(0, 2)),
            ),
        )
    previous = "cam" if with_sensor else None
    nodes = []
    for place in range(length):
        timed = previous is None or bool(rng.integers(0, 2))
        period = int(rng.choice([10, 20, 25, 40, 50, 100])) if timed else None
        cost = int(rng.integers(1, 4))
        nodes.append(
            Node(
                f"t{place}",
                cost,
                period,
                previous,
                pe=f"p{int(rng.integers(0, 2))}",
                offset=int(rng.integers(0, 40)),
                bcet=int(rng.integers(1, cost + 1)),
                jitter=int(rng.integers(0, 3)) if rng.integers(0, 3) == 0 else 0,
            )
        )
        previous = f"t{place}"
    path = (*(sensor.name for sensor in sensors), *(node.name for node in nodes))
    nodes = [nodes[place] for place in rng.permutation(length)]
    ordered = sorted(nodes, key=lambda node: node.name)
    ranks = {node.name: rank for rank, node in enumerate(nodes)}
    policies = {name: model.Policy(str(rng.choice(["fixed_priority", "edf", "fifo"]))) for name in ("p0", "p1")}
    made = chain_system(ordered, path, let=let, sensors=sensors, policies=policies, preemptive=bool(rng.integers(0, 2)))
    return replace(made, tasks=tuple(replace(task, priority=ranks[task.name]) for task in made.tasks))


def test_no_simulated_chain_exceeds_its_bounds() -> None:
    rng = np.random.default_rng(11)
    methods: dict[str, int] = {}
    checked = unbounded = tighter = 0
    share: list[float] = []
    for number in range(250):
        system = random_system(rng)
        try:
            found = segments(system)
        except Unbounded:
            unbounded += 1
            continue
        bounds = {quantity: chain_bound(found, quantity) for quantity in Quantity}
        for quantity, bound in bounds.items():
            baseline = davare_bound(found, quantity).value_ns
            assert bound.value_ns <= baseline
            tighter += bound.value_ns < baseline
            methods[bound.method] = methods.get(bound.method, 0) + 1
        worst = dict.fromkeys(Quantity, 0)
        for seed in range(4):
            execution = (Execution.PROFILE, Execution.WCET, Execution.BCET, Execution.PROFILE)[seed]
            moved = replace(
                system,
                sensors=tuple(
                    replace(one, offset_ns=one.offset_ns + int(rng.integers(0, 100))) for one in system.sensors
                ),
            )
            for quantity, value in measured(moved, 6000, number * 4 + seed, execution).items():
                assert value <= bounds[quantity].value_ns, (system, quantity, value, bounds[quantity])
                worst[quantity] = max(worst[quantity], value)
        checked += 1
        share.append(worst[Quantity.REACTION] / bounds[Quantity.REACTION].value_ns)
    assert checked > 180
    assert min(methods.get("chain_sporadic", 0), methods.get("chain_phases", 0)) > 50
    assert tighter > checked
    assert float(np.median(share)) > 0.6
    assert unbounded < 70


def test_a_task_that_may_never_read_has_no_bound() -> None:
    made = chain_system([Node("a", 1, 10), Node("b", 1, 20, "a")], ("a", "b"))
    sporadic = replace(made.tasks[1], activation=model.Sporadic(20))
    with pytest.raises(Unbounded, match="b has no largest separation"):
        segments(replace(made, tasks=(made.tasks[0], sporadic)))
    within = replace(made.tasks[1], activation=model.Sporadic(20, 30))
    assert chain_bound(segments(replace(made, tasks=(made.tasks[0], within))), Quantity.REACTION).value_ns == 42


def test_verdicts_over_limits() -> None:
    made = three(1, padded=False, let=False)
    (mode,) = mode_loads(made, make_plan(made))

    def verdict(**limits: int) -> Verdict:
        chain = replace(made.chains[0], **limits)
        changed = replace(mode, system=replace(made, chains=(chain,)))
        (result,) = chain_results(changed, mode_bounds(mode, METHODS))
        return result.verdict

    assert verdict() is Verdict.SCHEDULABLE
    assert verdict(max_reaction_ns=78) is Verdict.SCHEDULABLE
    assert verdict(max_reaction_ns=77) is Verdict.INCONCLUSIVE
    assert verdict(max_reaction_ns=78, max_data_age_ns=10) is Verdict.INCONCLUSIVE
