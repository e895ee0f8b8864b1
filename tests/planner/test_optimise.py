"""The search for a plan: objectives, what it says where there is none, and that it keeps what the analysis says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_systems import TRADE, system_of

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.result import Verdict
from rt_sched.lowering import check_plan
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.planner.energy import energy_model
from rt_sched.planner.explain import frame_figures, reasons
from rt_sched.planner.fusion import fusions
from rt_sched.planner.objectives import Costs, Objective, core_loads
from rt_sched.planner.obstacles import obstacles
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.stopping import Stop
from rt_sched.planner.planned import Planned
from rt_sched.planner.priorities import directly_behind
from rt_sched.planner.switches import switches_of


@cache
def _trade() -> System:
    return system_of(TRADE)


@cache
def _planned(objective: Objective) -> Planned:
    return optimise(_trade(), objective, Stop(60), workers=1)


def _costs(planned: Planned) -> Costs:
    assert planned.best is not None
    assert planned.best.costs is not None
    return planned.best.costs


@pytest.mark.parametrize("objective", list(Objective))
def test_each_objective_has_the_best_plan_in_its_own_direction(objective: Objective) -> None:
    planned = _planned(objective)
    assert planned.verdict is Verdict.SCHEDULABLE
    assert planned.best is not None
    assert planned.best.plan is not None
    assert check_plan(_trade(), planned.best.plan) == []
    mine = _costs(planned).key(objective)
    for other in Objective:
        assert mine <= _costs(_planned(other)).key(objective), f"the plan for {other.value} is better"
    for proposal in planned.proposals:
        if proposal.costs is not None and objective is Objective.ENERGY:
            assert mine <= proposal.costs.key(objective)


HOME = """
policy: dm
devices:
  a: {processing_elements: {cpu: {kind: cpu, cores: 2}, gpu: {kind: gpu}}}
  b: {processing_elements: {cpu: {kind: cpu}, dla: {kind: dla}}}
links: {wire: {bandwidth: 100Mbit/s, latency: 1ms, between: [a, b]}}
sensors: {eye: {kind: camera, rate: 30Hz, latency: 3ms, attached_to: [a, b], topic: /eye, frame_size: 100kB}}
tasks:
  pre: {runs_on: a.cpu, candidates: [b.cpu], inputs: {x: eye}, execution: {wcet: 3ms}, output_size: 100kB}
  look:
    {runs_on: a.gpu, candidates: [b.dla], inputs: {x: pre}, execution: {gpu: {wcet: 6ms}, dla: {wcet: 9ms}},
     output_size: 10kB}
  track: {runs_on: a.cpu, candidates: [b.cpu], inputs: {x: look}, execution: {wcet: 2ms}, output_size: 1kB}
  act: {runs_on: b.cpu, candidates: [a.cpu], activation: {period: 20ms}, inputs: {x: track}, execution: {wcet: 4ms}}
  busy: {runs_on: b.cpu, candidates: [a.cpu], activation: {period: 5ms}, execution: {wcet: 1ms}}
chains: {see: {path: [eye, pre, look, track, act], max_latency: 250ms}}
"""


@pytest.mark.parametrize("objective", list(Objective))
def test_where_the_file_keeps_the_groups_its_placement_only_gives_way_to_a_better_one(objective: Objective) -> None:
    planned = optimise(system_of(HOME), objective, Stop(20), search=False, workers=1)
    home = next(one for one in planned.proposals if one.method == "as in the file")
    assert planned.grouping is not None and planned.grouping.device_of["eye"] == "a"
    assert home.costs is not None and home.costs.accepted
    assert _costs(planned).key(objective) <= home.costs.key(objective)


def test_objectives_cost_each_other_something() -> None:
    costs = {objective: _costs(_planned(objective)) for objective in Objective}
    assert costs[Objective.ENERGY].power_mw < costs[Objective.LATENCY].power_mw
    assert (costs[Objective.LATENCY].latency_ns or 0) < (costs[Objective.ENERGY].latency_ns or 0)
    assert costs[Objective.BALANCE].peak < costs[Objective.ENERGY].peak
    assert costs[Objective.MARGIN].margin > costs[Objective.ENERGY].margin


def test_energy_counts_idle_elements_and_busy_cores() -> None:
    # 40 ms of work in 50 ms on slow elements, each 1.9 W more than idle; two of them, as `act` must be done in 20 ms.
    costs = _costs(_planned(Objective.ENERGY))
    work = 2 * (6 + 6 + 3 + 3 + 2) / 50
    assert costs.power_mw == pytest.approx(1900 * work + 2 * 100, abs=2)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("", "power"),
        ("busy_power", "busy_time"),
        ("voltage", "voltage"),
    ],
)
def test_the_energy_model_is_the_most_telling_one(change: str, name: str) -> None:
    element = "kind: cpu, frequency: 2GHz, operating_points: [{frequency: 2GHz, voltage: 0.9V}]"
    text = {
        "": "a: {kind: cpu, busy_power: 1W}",
        "busy_power": "a: {kind: cpu}",
        "voltage": f"a: {{{element}}}",
    }[change]
    system = system_of(
        f"devices: {{d: {{processing_elements: {{{text}}}}}}}\n"
        "tasks: {t: {runs_on: d.a, activation: {rate: 10Hz}, execution: {wcet: 1ms}}}\n"
    )
    model = energy_model(system)
    assert model.name == name
    assert model.of["d", "a"].busy_mw == {"power": 1000, "busy_time": 1000, "voltage": 1620}[name]


def test_heuristics_alone_need_no_solver() -> None:
    planned = optimise(_trade(), Objective.LATENCY, Stop(60), search=False)
    assert planned.verdict is Verdict.SCHEDULABLE
    assert all(one.solved is None for one in planned.proposals)
    assert planned.moves == 0


def test_the_costs_are_those_of_the_analysis() -> None:
    planned = _planned(Objective.LATENCY)
    assert planned.best is not None
    assert planned.best.plan is not None
    chains = analyze(_trade(), planned.best.plan).modes[0].chains
    latencies = [one.latency.value_ns for one in chains if one.latency is not None]
    assert _costs(planned).latency_ns == sum(latencies) // 2
    assert _costs(planned).peak == max(core_loads(_trade(), planned.best.plan))


def test_every_task_has_a_reason_and_every_other_element_its_own() -> None:
    planned = _planned(Objective.LATENCY)
    found = reasons(_trade(), planned)
    assert [one.task for one in found] == [task.name for task in _trade().tasks]
    assert all(one.why for one in found)
    assert all(len(one.instead) == 3 for one in found)
    assert planned.complete
    told = [why for one in found for _, why in one.instead]
    assert not any("not looked at" in why for why in told if "apart from" not in why)
    assert any(why.startswith("mean latency would be") for why in told)


def test_the_figures_of_a_frame_add_up() -> None:
    planned = _planned(Objective.LATENCY)
    figures = frame_figures(_trade(), planned)
    assert figures is not None
    assert figures.path[0].startswith("see_")
    assert figures.path_ns <= figures.makespan_ns
    assert figures.speed_up == pytest.approx(figures.work_ns / figures.makespan_ns)
    assert 0 < figures.efficiency <= 1 <= figures.imbalance
    assert figures.period_ns == 50_000_000
    # The fullest core works all the time at the rate that it could keep up with.
    fullest = _costs(planned).peak / 1e6
    assert figures.throughput_hz == pytest.approx(20 / fullest, rel=1e-4)
    assert figures.bubbles_fullest == pytest.approx(1 - fullest, abs=1e-4)


CPUS = "devices: {a: {memory: 1GB, processing_elements: {x: {kind: cpu}, y: {kind: cpu}}}}\n"


def test_too_much_work_is_said_with_what_would_have_to_give() -> None:
    tasks = "".join(
        f"  t{n}: {{runs_on: a.x, candidates: a.y, activation: {{rate: 100Hz}}, execution: {{wcet: 8ms}}}}\n"
        for n in range(3)
    )
    planned_system = system_of(f"{CPUS}tasks:\n{tasks}")
    planned = optimise(planned_system, Objective.LATENCY, Stop(30), workers=1)
    assert planned.verdict is Verdict.UNSCHEDULABLE
    found = obstacles(planned_system, planned)
    assert found[0].startswith("load: even the best placement fills a.x to 160 %") or "a.y to 160 %" in found[0]
    assert "would have to fall to 62 %" in found[0]


def test_a_chain_that_is_too_slow_is_said() -> None:
    system = _trade()
    hasty = replace(system, chains=tuple(replace(chain, max_latency_ns=40_000_000) for chain in system.chains))
    planned = optimise(hasty, Objective.LATENCY, Stop(20), workers=1)
    assert planned.verdict is not Verdict.SCHEDULABLE
    assert planned.best is not None
    assert any(line.startswith("chain left:") for line in obstacles(hasty, planned))


def test_another_policy_is_tried_where_that_of_the_file_is_not_accepted() -> None:
    # Utilisation 1, not harmonic: only EDF meets all deadlines.
    tasks = (
        "  p: {runs_on: a.x, activation: {rate: 500Hz}, execution: {wcet: 1ms}}\n"
        "  q: {runs_on: a.x, activation: {rate: 200Hz}, execution: {wcet: 2.5ms}}\n"
    )
    system = system_of(f"{CPUS}tasks:\n{tasks}")
    planned = optimise(system, Objective.LATENCY, Stop(30), workers=1)
    assert (planned.verdict, planned.policy) == (Verdict.SCHEDULABLE, "edf")
    asked = optimise(system, Objective.LATENCY, Stop(30), policy="rms", workers=1)
    assert (asked.verdict, asked.policy) == (Verdict.UNSCHEDULABLE, "rms")


def test_small_tasks_of_one_chain_share_a_core() -> None:
    def made(switch: str) -> System:
        return system_of(
            f"devices: {{a: {{processing_elements: {{cpu: {{kind: cpu, cores: 3, switch_cost: {switch}}}}}}}}}\n"
            "sensors: {eye: {kind: camera, rate: 10Hz, attached_to: a, topic: /e}}\n"
            "tasks:\n  big: {runs_on: a.cpu, inputs: {x: eye}, execution: {wcet: 5ms}}\n"
            "  small: {runs_on: a.cpu, inputs: {x: big}, execution: {wcet: 0.1ms}}\n"
            "  read: {runs_on: a.cpu, activation: {rate: 10Hz}, inputs: {x: small}, execution: {wcet: 0.1ms}}\n"
        )

    system = made("10us")
    places = {task.name: task.pe for task in system.tasks}
    (found,) = fusions(system, places)
    assert (found.first, found.second, found.saved_ns, float(found.share)) == ("big", "small", 20_000, 0.2)
    assert fusions(made("2.5us"), places) == ()
    plan = make_plan(system, beside={found.second: found.first})
    assert plan.placements[0].processor == plan.placements[1].processor != plan.placements[2].processor


def test_small_tasks_follow_each_other_directly_and_cost_fewer_switches_than_apart() -> None:
    # In the order of the file `other` would come between the two, at the same rate.
    text = (
        "devices: {a: {processing_elements: {x: {kind: cpu, cores: 2, switch_cost: 20us}}}}\ntasks:\n"
        "  grab: {runs_on: a.x, activation: {rate: 50Hz}, execution: {wcet: 0.3ms}}\n"
        "  other: {runs_on: a.x, activation: {rate: 50Hz, offset: 10ms}, execution: {wcet: 0.25ms}}\n"
        "  scale: {runs_on: a.x, inputs: {x: grab}, execution: {wcet: 0.2ms}, deadline: 20ms}\n"
        "  slow: {runs_on: a.x, activation: {rate: 10Hz}, execution: {wcet: 65ms}}\n"
        "  slower: {runs_on: a.x, activation: {rate: 10Hz}, execution: {wcet: 65ms}}\n"
        "chains: {go: {path: [grab, scale], max_latency: 20ms}}\n"
    )
    system = system_of(text)
    places = {task.name: task.pe for task in system.tasks}
    fused = fusions(system, places)
    assert [(one.first, one.second) for one in fused] == [("grab", "scale")]
    plan = make_plan(system, beside={"scale": "grab"})
    level = {one.task: (one.processor, one.level) for one in plan.placements}
    assert level["scale"] == (level["grab"][0], level["grab"][1] + 1)
    (counted,) = switches_of(system, places, "rms", fused)
    # Alone on a core, each of them preempts what is there, which is resumed: four switches. On one, three.
    assert counted.apart > counted.together
    assert switches_of(system, places, "rms", ()) == ()


@given(st.data())
def test_levels_stay_an_order_whatever_is_put_behind_what(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    tasks = tuple(
        SimpleNamespace(name=f"t{n}", priority=data.draw(st.sampled_from([None, None, n]))) for n in range(count)
    )
    processor_of = [data.draw(st.integers(0, 1)) for _ in tasks]
    order = data.draw(st.permutations(range(count)))
    levels = [sum(processor_of[a] == processor_of[n] for a in order[: order.index(n)]) for n in range(count)]
    beside = {}
    for n in range(1, count):
        if data.draw(st.booleans()):
            beside[f"t{n}"] = f"t{data.draw(st.integers(0, n - 1))}"
    found = directly_behind(tasks, processor_of, levels, beside)  # type: ignore[arg-type]
    for processor in (0, 1):
        here = sorted(found[n] for n in range(count) if processor_of[n] == processor)
        assert here == list(range(len(here)))
    followers = [(first, second) for second, first in beside.items()]
    for first, second in followers:
        one, two = int(first[1:]), int(second[1:])
        alone = [s for f, s in followers if f == first] == [second]
        same = processor_of[one] == processor_of[two] and tasks[one].priority == tasks[two].priority
        if alone and same:
            assert found[two] == found[one] + 1
