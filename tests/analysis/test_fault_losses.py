"""What a loss takes with it: tasks of a lost device, what nothing activates any more, chains without anything new."""

from __future__ import annotations

import pytest

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.losses import loss_of, passes, surviving
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.config import load_system_text
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.planner import make_plan

SYSTEM = """
rt_sched: 1
name: rig
devices:
  one: {processing_elements: {cpu: {kind: cpu}}}
  two: {processing_elements: {cpu: {kind: cpu}}}
links: {wire: {bandwidth: 1MB/s, between: [one, two]}}
sensors:
  left: {kind: camera, rate: 20Hz, attached_to: one, topic: /left}
  right: {kind: camera, rate: 20Hz, attached_to: [one, two], topic: /right}
tasks:
  see_left: {runs_on: one.cpu, inputs: {image: left}, execution: {wcet: 4ms}}
  see_right: {runs_on: two.cpu, inputs: {image: right}, execution: {wcet: 4ms}}
  pair: {runs_on: two.cpu, activation: {join: all, tolerance: 10ms}, execution: {wcet: 2ms},
    inputs: {l: {from: see_left, link: wire, size: 1kB}, r: see_right}}
  any: {runs_on: two.cpu, activation: {join: any}, execution: {wcet: 2ms},
    inputs: {l: {from: see_left, link: wire, size: 1kB}, r: see_right}}
  main: {runs_on: two.cpu, activation: {on: r}, execution: {wcet: 2ms},
    inputs: {l: {from: see_left, link: wire, size: 1kB, required: false}, r: see_right}}
  poll: {runs_on: one.cpu, activation: {rate: 100Hz}, execution: {wcet: 1ms},
    inputs: {m: {from: main, required: false}}}
chains:
  by_left: {path: [left, see_left, any], max_reaction: 500ms}
  by_right: {path: [right, see_right, main, poll], max_reaction: 500ms}
  both: {path: [right, see_right, pair], max_reaction: 500ms}
faults: {F}
"""


def _load(fault: str):
    text = SYSTEM.replace("{F}", f"{{f: {fault}}}")
    system = load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    (mode,) = mode_loads(system, plan)
    return system, plan, mode


@pytest.mark.parametrize(
    ("fault", "dead", "stale", "lost"),
    [
        ("{lose: left}", {"see_left", "pair"}, {"any": ("l",), "main": ("l",)}, {"by_left", "both"}),
        ("{lose: right}", {"see_right", "pair", "main"}, {"any": ("r",), "poll": ("m",)}, {"by_right", "both"}),
        ("{lose: wire}", {"pair"}, {"any": ("l",), "main": ("l",)}, {"by_left", "both"}),
        ("{lose: one}", {"see_left", "poll", "pair"}, {"any": ("l",), "main": ("l",)}, {"by_left", "by_right", "both"}),
        ("{lose: two}", {"see_right", "pair", "any", "main"}, {"poll": ("m",)}, {"by_left", "by_right", "both"}),
        ("{freeze: left}", set(), {}, {"by_left", "both"}),
        ("{corrupt: right}", set(), {}, {"by_right", "both"}),
    ],
)
def test_what_is_lost_follows_from_devices_links_and_joins(fault, dead, stale, lost):
    system, _, mode = _load(fault)
    loss = loss_of(mode, system.fault_scenarios[0])
    names = [task.name for task in system.tasks]
    assert {names[index] for index in loss.dead} == dead
    assert {names[index]: inputs for index, inputs in loss.stale.items()} == stale
    assert {chain.name for chain in system.chains if not passes(mode, loss, chain.path)} == lost


@pytest.mark.parametrize("fault", ["{lose: left}", "{lose: right}", "{lose: wire}", "{lose: one}", "{lose: two}"])
def test_what_goes_on_is_never_slower_than_before(fault):
    system, plan, mode = _load(fault)
    usual = mode_bounds(mode, METHODS)
    after = mode_bounds(surviving(mode, loss_of(mode, system.fault_scenarios[0])), METHODS)
    assert after
    for index, one in after.items():
        assert one.bound is not None
        assert usual[index].bound is not None
        assert one.bound.value_ns <= usual[index].bound.value_ns
    found = analyze_faults(system, plan, analyze(system, plan))
    assert found.scenarios[0].verdict is Verdict.SCHEDULABLE


def test_frozen_stamps_leave_no_pairs_to_count_on():
    system, _, mode = _load("{freeze: left}")
    index = [task.name for task in system.tasks].index("pair")
    after = mode_bounds(surviving(mode, loss_of(mode, system.fault_scenarios[0])), METHODS)
    assert len(mode_bounds(mode, METHODS)[index].streams) == 1
    assert len(after[index].streams) == 2


def test_only_what_is_named_is_analysed():
    system, plan, _ = _load("{lose: left}, g: {lose: right}")
    report = analyze(system, plan)
    assert [one.name for one in analyze_faults(system, plan, report, names=("g",)).scenarios] == ["g"]
    assert [one.name for one in analyze_faults(system, plan, report).scenarios] == ["f", "g"]
    with pytest.raises(AnalysisNotApplicable, match="unknown fault h; there are: all, f, g"):
        analyze_faults(system, plan, report, names=("h",))


def test_all_of_nothing_is_refused():
    text = SYSTEM.replace("faults: {F}", "")
    system = load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    with pytest.raises(AnalysisNotApplicable, match="declares no faults, no second mode and no miss_limit"):
        analyze_faults(system, plan, analyze(system, plan))


def test_a_change_after_a_freeze_counts_pairs_like_messages():
    modes = "modes: {usual: {without: [any]}, alert: {without: [main, poll]}}\nchains:\n  by_left"
    text = SYSTEM.replace("chains:\n  by_left", modes)
    text = text.replace("  by_left: {path: [left, see_left, any], max_reaction: 500ms}\n", "")
    text = text.replace("{F}", "{f: {freeze: left, detection: 10ms, mode: alert, mode_after: 20ms}}")
    system = load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    case = analyze_faults(system, plan, analyze(system, plan), names=("f",)).scenarios[0].cases[0]
    assert (case.old, case.new, case.transition) == ("usual", "alert", "usual->alert")
    assert case.lost_chains == ("both",)
    pair = next(one for one in case.tasks if one.task == "pair")
    assert pair.bound is not None
