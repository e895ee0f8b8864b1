"""What an analysis says does not hinge on the order in which a file lists its tasks, devices, links and chains."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

import pytest
from hand_made import element, planned, task
from permuted import permuted
from random_cases import random_case
from random_distributed_cases import random_distributed
from random_transition_checks import transition_case
from ruamel.yaml import YAML

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.result import Bound, Witness
from rt_sched.analysis.system.tried_runs import drawn_by_name, worst_case_run
from rt_sched.analysis.task_sets import analyze_task_set
from rt_sched.config import load_system_text
from rt_sched.lowering import check_plan
from rt_sched.model import ModeChange, Plan, Policy, SetTask, Sporadic, System, TaskSet
from rt_sched.planner import make_plan
from rt_sched.sim import Simulation

View = dict[tuple[str, ...], object]


def _of(bound: Bound | None) -> int | None:
    return None if bound is None else bound.value_ns


def _miss(one: Witness | None) -> object:
    return one and (one.how, one.job, one.arrival_ns, one.finish_ns, one.deadline_ns, one.horizon_ns)


def _view(system: System, plan: Plan) -> View:
    """By names: every bound, every verdict and every witness of a system."""
    report = analyze(system, plan)
    view: View = {("system",): report.verdict}
    for mode in report.modes:
        view["mode", mode.name] = mode.verdict
        for one in mode.tasks:
            view["task", mode.name, one.task] = _of(one.bound), one.verdict, _miss(one.witness)
        for chain in mode.chains:
            view["chain", mode.name, chain.chain] = _of(chain.reaction), _of(chain.data_age), chain.verdict
        for pair in mode.disparities:
            view["disparity", mode.name, pair.task] = _of(pair.bound), pair.verdict
    if len(system.modes) > 1:
        for change in analyze_faults(system, plan, report).transitions:
            for kept in change.tasks:
                view["change", change.name, kept.task] = _of(kept.bound), kept.verdict, _miss(kept.witness)
    return view


def _schedule(system: System, plan: Plan) -> Mapping[object, int]:
    """When the jobs of every task end in each mode if all need their worst case: by mode, task and number."""
    ends: dict[object, int] = {}
    for mode in system.modes or (None,):
        entered = (ModeChange(0, mode.name),) if mode and mode is not system.modes[0] else ()
        given = drawn_by_name(worst_case_run(system, plan, 2000, mode_changes=entered))
        simulation = Simulation(given)
        simulation.run()
        jobs = simulation.trace().jobs
        rows = zip(jobs.task.tolist(), jobs.number.tolist(), jobs.finish_ns.tolist(), strict=True)
        ends |= {(mode and mode.name, given.tasks[task].name, number): end for task, number, end in rows}
    return ends


def _same(found: View, again: View, seed: int) -> int:
    """How many misses both tell of, if they are equal."""
    assert found == again, (seed, [(key, one, again[key]) for key, one in found.items() if one != again[key]])
    return sum(value[-1] is not None for value in found.values() if isinstance(value, tuple) and len(value) == 3)


@pytest.mark.parametrize(
    ("make", "seeds", "least"),
    [(random_case, range(0, 300, 25), 10), (random_distributed, range(0, 60, 20), 0), (transition_case, range(5), 10)],
)
def test_bounds_verdicts_and_witnesses_go_by_names(
    make: Callable[[int], tuple[System, Plan]], seeds: range, least: int
) -> None:
    """But which of equal keys goes first is part of a schedule, and there the order of the file counts."""
    same = missed = 0
    for seed in seeds:
        system, plan = make(seed)
        other = permuted(system, plan, seed)
        if check_plan(system, plan) or _schedule(system, plan) != _schedule(*other):
            continue
        same += 1
        missed += _same(_view(system, plan), _view(*other), seed)
    assert same >= 0.8 * len(seeds)
    assert missed >= least


FILE = """
rt_sched: 1
name: drive
devices:
  a: {clock: {sync_error: 20us}, processing_elements: {cpu: {kind: cpu}, gpu: {kind: gpu, policy: fifo}}}
  b: {clock: {sync_error: 30us}, processing_elements: {cpu: {kind: cpu, policy: edf}}}
links: {net: {bandwidth: 1MB/s, latency: 200us}}
sensors:
  front: {kind: camera, rate: 30Hz, latency: 1ms, jitter: 900us, attached_to: [a], topic: /front}
  top: {kind: lidar, rate: 10Hz, latency: 2ms, jitter: 500us, attached_to: [b], topic: /top}
tasks:
  see: {runs_on: a.cpu, inputs: {image: front}, execution: {bcet: 1ms, wcet: 4ms}, deadline: 20ms}
  find: {runs_on: a.gpu, inputs: {image: see}, execution: {wcet: 9ms}, deadline: 21ms}
  segment: {runs_on: a.gpu, activation: {min_separation: 40ms, jitter: 3ms}, execution: {wcet: 14ms}, deadline: 27ms}
  scan: {runs_on: b.cpu, inputs: {points: top}, execution: {bcet: 5ms, wcet: 31ms}, deadline: 37ms}
  watch: {runs_on: b.cpu, activation: {period: 20ms, jitter: 7ms}, execution: {wcet: 6ms}, deadline: 13ms}
  fuse: {runs_on: b.cpu, activation: {join: any}, inputs: {boxes: {from: find, link: net, size: 400B}, points: scan},
    execution: {wcet: 3ms}, deadline: 30ms}
chains:
  near: {path: [top, scan, fuse], max_reaction: 240ms}
  far: {path: [front, see, find, fuse], max_reaction: 160ms, max_data_age: 160ms}
"""


def _shuffled(text: str, seed: int) -> str:
    """The file with the entries of every section of names in another order."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    tree = YAML(typ="safe").load(text)
    for section in ("devices", "links", "sensors", "tasks", "chains"):
        tree[section] = dict(rng.sample(list(tree[section].items()), len(tree[section])))
    for device in tree["devices"].values():
        elements = device["processing_elements"]
        device["processing_elements"] = dict(rng.sample(list(elements.items()), len(elements)))
    return json.dumps(dict(rng.sample(list(tree.items()), len(tree))))


def test_a_file_may_list_its_entries_in_any_order() -> None:
    def seen(text: str) -> View:
        system = load_system_text(text, file_name="drive.yaml", base_dir=".", stages=None)
        return _view(system, make_plan(system))

    first = seen(FILE)
    for seed in range(6):
        assert _same(first, seen(_shuffled(FILE, seed)), seed) >= 2


def _set(policy: Policy, seed: int, order: int) -> TaskSet:
    """Four sporadic tasks, highly loaded, of levels of their own."""
    rng = random.Random(seed)  # noqa: S311 - reproducible test data
    tasks = []
    for level in range(4):
        period_ns = rng.randint(10, 60)
        wcet_ns = max(1, period_ns * rng.randint(15, 30) // 100)
        deadline_ns = rng.randint(wcet_ns + 2, period_ns)
        tasks.append(SetTask(f"t{level}", wcet_ns, deadline_ns, wcet_ns, level=level, separation_ns=period_ns))
    rng = random.Random(order)  # noqa: S311 - reproducible test data
    return TaskSet("set", policy, bool(seed % 2), tuple(rng.sample(tasks, len(tasks))))


@pytest.mark.parametrize("policy", [Policy.FIXED_PRIORITY, Policy.EDF])
def test_a_task_set_may_list_its_tasks_in_any_order(policy: Policy) -> None:
    missed = 0
    for seed in range(20):
        views = []
        for order in range(2):
            tasks = analyze_task_set(_set(policy, seed, order)).modes[0].tasks
            views.append({(one.task,): (_of(one.bound), one.verdict, _miss(one.witness)) for one in tasks})
        if policy is Policy.FIXED_PRIORITY:
            missed += _same(views[0], views[1], seed)
        else:
            # Tasks that are released together with one deadline go in the order of the set.
            assert [(key, one[:2]) for key, one in sorted(views[0].items())] == [
                (key, one[:2]) for key, one in sorted(views[1].items())
            ]
    assert missed >= 5 or policy is Policy.EDF


def test_what_is_drawn_for_a_task_is_not_changed_by_another_one() -> None:
    def jitters(*names: str) -> dict[str, tuple[int, ...]]:
        system, plan = planned([element()], [task(n, 1, 20, activation=Sporadic(20, None, 0, 15)) for n in names])
        rows = drawn_by_name(worst_case_run(system, plan, 400)).tasks
        assert all(row.jitter_ns == 0 for row in rows)
        return {row.name: row.explicit_jitters_ns for row in rows}

    found = jitters("a", "b", "c")
    assert jitters("c", "a") == {name: found[name] for name in ("c", "a")}
    assert found["a"] != found["b"]
    assert all(0 <= value <= 15 for value in found["a"])
    assert len(set(found["a"])) > 5
