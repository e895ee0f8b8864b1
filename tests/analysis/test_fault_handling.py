"""Detection, reaction and margin of a fault, and that no run takes longer to notice than is derived."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.config import load_system_text
from rt_sched.lowering import lower
from rt_sched.lowering.changes import losses_of
from rt_sched.lowering.nominal_samples import nominal_samples
from rt_sched.lowering.task_rows import Execution
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.ports import Watch
from rt_sched.sim import Simulation

MS = 10**6

LIMP = """
rt_sched: 1
name: limp
devices: {ecu: {processing_elements: {cpu: {kind: cpu, frequency: 1GHz}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}
tasks:
  detect: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 12ms, memory: 2ms}}
  blind: {runs_on: ecu.cpu, activation: {rate: 50Hz}, execution: {wcet: 3ms}, start_latency: 5ms}
modes:
  normal: {tasks: [detect]}
  limp: {tasks: [blind], frequencies: {ecu.cpu: 500MHz}}
faults:
  lose_front: {lose: front, at: 90ms, DECLARED, mode: limp, mode_after: 60ms}
"""

WATCHED = """
rt_sched: 1
name: watched
devices: {ecu: {processing_elements: {cpu: {kind: cpu}, mcu: {kind: mcu}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}
  rear: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /rear}
tasks:
  ahead: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 5ms}}
  behind: {runs_on: ecu.cpu, inputs: {image: rear}, execution: {wcet: 5ms}}
  watcher: {runs_on: ecu.mcu, activation: {rate: 100Hz}, execution: {wcet: 2ms},
    inputs: {primary: {from: ahead, required: false}, backup: {from: behind, required: false}}}
chains:
  by_ahead: {path: [front, ahead, watcher]}
  by_behind: {path: [rear, behind, watcher]}
safety: {arbiter: watcher, primary: ahead, backup: behind, recovery_limit: 100ms}
faults: {f: {lose: front, at: AT, detection: DECLARED}}
"""

WATCHES = {"watcher": (Watch("primary", "front", 70 * MS),)}


def _analysed(text: str, watches=None):
    system = load_system_text(text, file_name="f.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    found = analyze_faults(system, plan, analyze(system, plan), watches=watches)
    return found.scenarios[0].cases[0]


def test_a_change_of_mode_is_part_of_the_reaction():
    case = _analysed(LIMP.replace("DECLARED", "detection: 60ms, reaction: 20ms, margin: 20ms"))
    one = case.handling
    # The start latency, then 6 ms of the added task at half the frequency.
    assert (one.detection_ns, one.decision_ns, one.start_latency_ns, one.first_output_ns) == (
        60 * MS,
        0,
        5 * MS,
        6 * MS,
    )
    assert (one.reaction_ns, one.limit_ns, one.margin_ns) == (11 * MS, 100 * MS, 29 * MS)
    # Later than that the mode would change before the fault is noticed, whatever the margin leaves.
    assert one.longest_detection_ns == 60 * MS
    assert (one.path, case.transition, case.verdict) == ("blind", "normal->limp", Verdict.SCHEDULABLE)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("detection: 60ms, reaction: 10ms, margin: 20ms", "a reaction within 10ms is declared, its bound is 11ms"),
        ("detection: 50ms, reaction: 20ms, margin: 1ms", "a reaction within 20ms is declared, its bound is 21ms"),
        ("detection: 70ms, reaction: 20ms, margin: 20ms", "the mode changes 60ms after the fault"),
        ("detection: 60ms, margin: 10ms", "over the limit of 70ms by 1ms"),
        ("margin: 10ms", "nothing says within which time it is noticed"),
    ],
)
def test_what_is_declared_and_not_kept_is_named(declared, reason):
    case = _analysed(LIMP.replace("DECLARED", declared))
    assert case.handling.verdict is Verdict.INCONCLUSIVE
    assert case.verdict is Verdict.INCONCLUSIVE
    assert reason in case.handling.reason


def test_detection_follows_from_what_a_stage_watches():
    case = _analysed(WATCHED.replace("AT", "100ms").replace("DECLARED", "85ms"), WATCHES)
    one = case.handling
    # An age of 70 ms, 10 ms between two looks, 2 ms until the look has its effect.
    assert (one.derived.value_ns, one.derived.age_limit_ns, one.derived.gap_ns, one.derived.response_ns) == (
        82 * MS,
        70 * MS,
        10 * MS,
        2 * MS,
    )
    assert (one.detection_ns, one.reaction_ns, one.margin_ns, one.path) == (85 * MS, 0, 15 * MS, "by_behind")
    assert case.verdict is Verdict.SCHEDULABLE


def test_a_detection_that_is_too_optimistic_is_not_believed():
    case = _analysed(WATCHED.replace("AT", "100ms").replace("DECLARED", "80ms"), WATCHES)
    assert case.handling.detection_ns == 82 * MS
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "watcher is only known to notice within 82ms" in case.reason


def test_nothing_is_derived_for_what_nobody_watches():
    text = WATCHED.replace("AT", "100ms").replace("DECLARED", "80ms")
    assert _analysed(text).handling.derived is None
    assert _analysed(text.replace("lose: front", "lose: rear"), WATCHES).handling.derived is None
    of_command = {"watcher": (Watch("primary", None, 60 * MS),)}
    assert _analysed(text, of_command).handling.derived.value_ns == 72 * MS


def test_a_loss_that_leaves_no_command_is_told():
    text = WATCHED.replace("AT", "100ms").replace("DECLARED", "90ms")
    text = text.replace("inputs: {image: rear}", "inputs: {image: front}").replace("[rear, behind", "[front, behind")
    case = _analysed(text, WATCHES)
    assert case.handling.reaction_ns is None
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "no chain to watcher is left that could command" in case.reason


AUXILIARY = """
rt_sched: 1
name: auxiliary
devices: {ecu: {processing_elements: {cpu: {kind: cpu}, mcu: {kind: mcu}}}}
sensors:
  front: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /front}
  rear: {kind: camera, rate: 20Hz, attached_to: ecu, topic: /rear}
  motion: {kind: imu, rate: 100Hz, attached_to: ecu, topic: /motion}
tasks:
  ahead: {runs_on: ecu.cpu, inputs: {image: front}, execution: {wcet: 5ms}}
  behind: {runs_on: ecu.cpu, inputs: {image: rear}, execution: {wcet: 5ms}}
  ego: {runs_on: ecu.cpu, inputs: {reading: motion}, execution: {wcet: 1ms}}
  sweep: {runs_on: ecu.cpu, inputs: {image: rear}, execution: {wcet: 2ms}, start_latency: 4ms}
  watcher: {runs_on: ecu.mcu, activation: {rate: 100Hz}, execution: {wcet: 2ms},
    inputs: {primary: {from: ahead, required: false}, backup: {from: behind, required: false},
      ego: {from: ego, required: false}, spare: {from: sweep, required: false}}}
modes:
  normal: {tasks: [ahead, BEHINDego, watcher]}
  limp: {tasks: [behind, sweep, ego, watcher]}
chains:
  by_ahead: {path: [front, ahead, watcher]}
  by_ego: {path: [motion, ego, watcher]}
  by_sweep: {path: [rear, sweep, watcher]}
  by_behind: {path: [rear, behind, watcher]}
safety: {arbiter: watcher, primary: ahead, backup: behind, recovery_limit: 200ms}
faults: {f: {lose: LOST, at: 100ms, HOW}}
"""


def _auxiliary(*, behind: bool, how: str, lost: str = "front"):
    text = AUXILIARY.replace("BEHIND", "behind, " if behind else "").replace("LOST", lost).replace("HOW", how)
    return _analysed(text)


def test_a_chain_to_the_arbiter_that_brings_no_command_does_not_count():
    case = _auxiliary(behind=False, how="detection: 60ms")
    assert (case.handling.path, case.handling.reaction_ns, case.verdict) == (None, None, Verdict.INCONCLUSIVE)
    assert "no chain to watcher is left that could command" in case.reason
    # `sweep` comes with the change and reads what is left, but its output is no command either.
    lost = _auxiliary(behind=True, how="detection: 60ms, mode: limp, mode_after: 60ms", lost="rear")
    assert "no chain to watcher is left that could command" in lost.reason


@pytest.mark.parametrize("how", ["", ", mode: limp, mode_after: 60ms", ", mode: limp, mode_after: 90ms"])
def test_a_path_that_goes_on_needs_no_reaction_whatever_the_mode_does(how):
    case = _auxiliary(behind=True, how=f"detection: 60ms{how}")
    one = case.handling
    assert (one.path, one.decision_ns, one.reaction_ns, one.margin_ns) == ("by_behind", 0, 0, 140 * MS)
    assert case.verdict is Verdict.SCHEDULABLE


@pytest.mark.parametrize("behind", [True, False])
@pytest.mark.parametrize("limit", ["80ms", "170ms", "200ms"])
def test_the_longest_detection_can_be_written_into_the_file(behind, limit):
    def handled(detection_ns: int):
        text = (
            AUXILIARY.replace("200ms", limit).replace("BEHIND", "behind, " if behind else "").replace("LOST", "front")
        )
        return _analysed(text.replace("HOW", f"detection: {detection_ns}ns, mode: limp, mode_after: 90ms")).handling

    longest_ns = handled(60 * MS).longest_detection_ns
    if longest_ns is None:
        assert handled(1).verdict is Verdict.INCONCLUSIVE
        assert handled(90 * MS).verdict is Verdict.INCONCLUSIVE
        return
    assert handled(longest_ns).verdict is Verdict.SCHEDULABLE
    assert handled(longest_ns + 1).verdict is Verdict.INCONCLUSIVE


def test_without_a_known_detection_the_reaction_starts_at_the_fault():
    declared = _auxiliary(behind=False, how="detection: 60ms, mode: limp, mode_after: 60ms").handling
    unknown = _auxiliary(behind=False, how="mode: limp, mode_after: 60ms").handling
    assert declared.path == unknown.path == "by_behind"
    assert unknown.reaction_ns == declared.reaction_ns + 60 * MS
    assert (unknown.margin_ns, unknown.longest_detection_ns) == (None, declared.longest_detection_ns)


def test_without_a_safety_concept_another_chain_that_goes_on_does_not_stand_in():
    text = AUXILIARY.replace("safety: {arbiter: watcher, primary: ahead, backup: behind, recovery_limit: 200ms}\n", "")
    text = text.replace("BEHIND", "").replace("LOST", "front")
    one = _analysed(text.replace("HOW", "detection: 60ms, mode: limp, mode_after: 60ms, margin: 100ms")).handling
    assert one.path in {"by_sweep", "by_behind"}
    assert one.reaction_ns > 0


@pytest.mark.parametrize(("lost", "verdict"), [("front", Verdict.INCONCLUSIVE), ("rear", Verdict.SCHEDULABLE)])
def test_without_a_safety_concept_a_loss_of_every_chain_is_not_handled(lost, verdict):
    text = WATCHED.replace("safety: {arbiter: watcher, primary: ahead, backup: behind, recovery_limit: 100ms}\n", "")
    text = text.replace("  by_behind: {path: [rear, behind, watcher]}\n", "").replace("lose: front", f"lose: {lost}")
    case = _analysed(text.replace("AT", "100ms").replace("DECLARED", "85ms, margin: 10ms"))
    assert case.verdict is verdict
    assert ("no chain is left, and nothing takes over" in case.reason) == (lost == "front")


def _noticed_after_ns(system: System, at_ns: int) -> int:
    """From the loss to the end of the first job of the watcher that sees an age above the limit."""
    plan = make_plan(system)
    horizon = at_ns + 150 * MS
    (scenario,) = system.fault_scenarios
    given = lower(
        system,
        plan,
        nominal_samples(system, horizon),
        horizon_ns=horizon,
        execution=Execution.WCET,
        faults=losses_of(system, scenario),
    )
    simulation = Simulation(given)
    simulation.run()
    jobs = simulation.trace().jobs
    for row in np.flatnonzero(jobs.task == 2):
        message = int(jobs.inputs[row][0])
        old = message >= 0 and jobs.arrival_ns[row] - jobs.capture_ns[message] > 70 * MS
        if jobs.arrival_ns[row] >= at_ns and old:
            return int(jobs.finish_ns[row]) - at_ns
    raise AssertionError("it was not noticed")


def test_no_loss_is_noticed_later_than_derived():
    found = []
    for at in (100_001, *range(102_000, 152_000, 4000)):
        text = WATCHED.replace("AT", f"{at}us").replace("DECLARED", "85ms")
        system = load_system_text(text, file_name="f.yaml", base_dir=".", stages=None)
        found.append(_noticed_after_ns(system, at * 1000))
    # The first loss comes right after a capture, and a look falls on the very limit.
    assert found[0] == max(found) == 82 * MS - 1000


def test_a_system_that_is_in_the_mode_already_decides_nothing():
    text = LIMP.replace("DECLARED", "detection: 30ms, reaction: 50ms, margin: 20ms")
    system = load_system_text(text, file_name="f.yaml", base_dir=".", stages=None)
    plan = make_plan(system)
    cases = analyze_faults(system, plan, analyze(system, plan)).scenarios[0].cases
    assert [(one.old, one.new, one.handling.decision_ns, one.transition) for one in cases] == [
        ("normal", "limp", 30 * MS, "normal->limp"),
        ("limp", "limp", 0, None),
    ]
