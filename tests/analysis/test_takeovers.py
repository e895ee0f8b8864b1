"""`analyze --faults` of plans with takeovers, and what the parts of that analysis say of rigs made for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from rt_sched.analysis import Verdict, analyze
from rt_sched.analysis.faults.analyze import analyze_faults
from rt_sched.analysis.faults.result import FaultCase
from rt_sched.analysis.faults.takeover_detection import decision_ns, detection_of_losses, silence_timeout_ns
from rt_sched.analysis.faults.takeover_loads import TakeoverLoads, faults_of
from rt_sched.analysis.faults.takeover_tasks import under_takeover
from rt_sched.analysis.faults.takeovers import Takeovers
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.config import load_system_text
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.model import Placement, Plan, Sporadic, System, Takeover
from rt_sched.planner import make_plan

MS = 1_000_000

RIG = """
rt_sched: 1
name: rig
devices:
  a: {processing_elements: {cpu: {kind: cpu}}, clock: {drift: 100ppm}}
  b: {processing_elements: {cpu: {kind: cpu}}}
  gateway: {processing_elements: {mcu: {kind: mcu}}}
links: {net: {bandwidth: 1MB/s, latency: 300us}, slow: {bandwidth: 1MB/s, latency: 2ms, between: [a, gateway]}}
triggers: {shutter: {rate: 20Hz}}
sensors:
  front: {kind: camera, trigger: shutter, latency: 2ms, jitter: 500us, attached_to: [a, b], topic: /front}
  top: {kind: lidar, rate: 10Hz, latency: 1ms, attached_to: [a, b], topic: /top, capture_jitter: 200us}
tasks:
  see: {runs_on: a.cpu, inputs: {image: front}, execution: {bcet: 1ms, wcet: 4ms}, criticality: B,
    variants: {small: {execution: {wcet: 2ms}}, seldom: {every: 2}}}
  scan: {runs_on: b.cpu, inputs: {points: top}, execution: {bcet: 1ms, wcet: 10ms}, criticality: B}
  tick: {runs_on: a.cpu, activation: {rate: 30Hz}, execution: {wcet: 1ms}, variants: {seldom: {every: 3}}}
  joined: {runs_on: b.cpu, activation: {join: any}, inputs: {s: see, c: scan}, execution: {wcet: 1ms},
    variants: {seldom: {every: 2}}}
  show: {runs_on: b.cpu, activation: {rate: 10Hz}, execution: {wcet: 30ms}, deadline: 100ms}
  arbiter: {runs_on: gateway.mcu, activation: {rate: 100Hz}, execution: {wcet: 500us}, criticality: D,
    inputs: {primary: {from: joined, required: false, link: net, size: 100B}}}
chains:
  brake: {path: [front, see, joined, arbiter], max_reaction: 300ms}
safety: {arbiter: arbiter, primary: joined, recovery_limit: 100ms, heartbeat: {period: 5ms, misses: 3, margin: 2ms},
  silence: {lidar: {periods: 2, margin: 10ms}}, decision: 4ms}
faults:
  lose_a: {lose: a, at: 1s, DECLARED}
  lose_top: {lose: top, at: 1s}
  freeze: {freeze: front, at: 1s}
"""


def _system(declared: str = "detection: 90ms", *changes: tuple[str, str]) -> System:
    text = RIG.replace("DECLARED", declared)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return load_system_text(text, file_name="rig.yaml", base_dir=".", stages=None)


def _plan(system: System, *takeovers: Takeover) -> Plan:
    """The nominal plan with room between its levels."""
    plan = make_plan(system)
    placements = tuple(replace(one, level=10 * one.level) for one in plan.placements)
    return replace(plan, placements=placements, takeovers=takeovers)


def _to_b(system: System, *tasks: str, level: int = 5) -> tuple[Placement, ...]:
    names = [processor.name for processor in make_plan(system).processors]
    return tuple(Placement(task, names.index("b.cpu.0"), level + place) for place, task in enumerate(tasks))


def _judge(system: System, plan: Plan) -> Takeovers:
    modes = {mode.name: mode for mode in mode_loads(system, plan)}
    bounds = {name: mode_bounds(mode, METHODS) for name, mode in modes.items()}
    verdicts = {(name, one.task.name): Verdict.SCHEDULABLE for name, all_ in bounds.items() for one in all_.values()}
    return Takeovers(system, modes, bounds, verdicts)


def _case(system: System, plan: Plan, fault: str) -> FaultCase:
    report = analyze_faults(system, plan, analyze(system, plan), names=(fault,))
    (case,) = report.scenarios[0].cases
    return case


def test_losses_are_noticed_by_timers_that_every_message_restarts() -> None:
    system = _system()
    # 3 * 5 + 2 ms without a sign, and the slowest way for the last one.
    assert detection_of_losses(system, faults_of(("device:a",))).value_ns == 17 * MS + 2 * MS
    assert detection_of_losses(system, faults_of(("device:b",))).value_ns == 17 * MS + 300_000
    assert detection_of_losses(system, faults_of(("link:slow",))).value_ns == 19 * MS
    # One period of 50 ms, twice the jitter, 3 ms; two of 100 ms, each with twice the jitter of capture, 10 ms.
    front, top = system.sensors
    assert silence_timeout_ns(system, front) == 54 * MS
    assert silence_timeout_ns(system, top) == 210 * MS + 800_000
    assert detection_of_losses(system, faults_of(("camera:front", "lidar:top"))).watched == "top"
    assert decision_ns(system) == 6 * MS, "told over the slowest link"
    with pytest.raises(ValueError, match="'radar' is not a valid FaultKind"):
        faults_of(("radar:front",))


def test_a_loss_is_answered_by_the_takeover_of_the_plan() -> None:
    system = _system()
    moves = _to_b(system, "see")
    takeover = Takeover(("device:a",), moves, dropped=("show",), redone=("see",))
    case = _case(system, _plan(system, takeover), "lose_a")
    assert case.takeover is not None
    assert case.takeover.takeover == takeover
    assert dict(case.lost_tasks) == {"tick": "its device a is lost"}
    assert case.lost_chains == ()
    assert {task.task: task.processor for task in case.takeover.tasks if task.moved} == {"see": "b.cpu.0"}
    handling = case.handling
    assert handling is not None
    assert handling.derived is not None
    assert (handling.derived.by, handling.detection_ns, handling.decision_ns) == ("heartbeat", 19 * MS, 6 * MS)
    assert handling.path == "front -> arbiter"
    assert case.verdict is Verdict.SCHEDULABLE, case.reason
    assert handling.detection_ns + (handling.reaction_ns or 0) + (handling.margin_ns or 0) == 100 * MS


def test_without_a_takeover_for_it_a_loss_is_analysed_as_ever() -> None:
    system = _system()
    takeover = Takeover(("device:b",), ())
    case = _case(system, _plan(system, takeover), "lose_a")
    assert case.takeover is None
    assert {name for name, _ in case.lost_tasks} == {"see", "tick"}
    assert _case(system, _plan(system, Takeover(("camera:front",))), "freeze").takeover is None


def test_what_is_dropped_counts_until_the_switch() -> None:
    system = _system()
    plan = _plan(system)
    judge = _judge(system, plan)
    kept = judge.judge("nominal", Takeover(("device:a",), _to_b(system, "see", level=45), redone=("see",)))
    less = judge.judge("nominal", Takeover(("device:a",), _to_b(system, "see", level=45), ("show",), ("see",)))
    bounds = {name: {task.task: task for task in one.tasks}["see"] for name, one in (("kept", kept), ("less", less))}
    assert bounds["less"].bound is not None
    assert bounds["kept"].bound is not None
    assert bounds["less"].bound.value_ns == bounds["kept"].bound.value_ns - 30 * MS
    # A job of it may be in the way that has begun before the switch, and is aborted then.
    assert bounds["less"].across is not None
    assert bounds["kept"].across is not None
    assert bounds["less"].across.value_ns <= bounds["kept"].across.value_ns
    assert "show" not in {task.task for task in less.tasks}


def test_a_detection_that_is_declared_too_short_is_told() -> None:
    system = _system("detection: 10ms")
    takeover = Takeover(("device:a",), _to_b(system, "see"), redone=("see",))
    case = _case(system, _plan(system, takeover), "lose_a")
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "a detection within 10ms is declared, but heartbeat is only known to notice within 19ms" in case.reason


def test_a_takeover_that_makes_tasks_late_is_not_accepted() -> None:
    system = _system("detection: 90ms", ("inputs: {image: front}, ", "inputs: {image: front}, deadline: 9ms, "))
    takeover = Takeover(("device:a",), _to_b(system, "see", level=45), redone=("see",))
    case = _case(system, _plan(system, takeover), "lose_a")
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "task see: the bound exceeds the deadline by" in case.reason
    assert "task see at the takeover: the bound exceeds the deadline by" in case.reason


def test_whole_sweeps_are_reported_and_not_limited() -> None:
    system = _system()
    case = _case(system, _plan(system, Takeover(("lidar:top",))), "lose_top")
    assert case.handling is not None
    assert case.handling.limit_ns is None
    assert case.verdict is Verdict.SCHEDULABLE


def test_a_moved_timed_task_keeps_its_distances_on_the_other_clock() -> None:
    system = _system()
    changed = under_takeover(system, make_plan(system), Takeover(("device:a",), _to_b(system, "tick")))
    tick = next(task for task in changed.tasks if task.name == "tick")
    # The fast clock of a makes its period shorter in true time than that of b would.
    fast = Fraction(1_000_100, 1_000_000)
    assert isinstance(tick.activation, Sporadic)
    assert tick.activation.min_separation_ns == int(Fraction(10**9, 30) / fast)
    assert tick.activation.max_separation_ns is not None
    assert tick.activation.max_separation_ns >= Fraction(10**9, 30)


@pytest.mark.parametrize(("task", "variant", "source"), [("see", "seldom", "front, 1 of 2"), ("tick", "seldom", None)])
def test_a_variant_that_leaves_out_arrivals_thins_its_source(task: str, variant: str, source: str | None) -> None:
    system = _system()
    takeover = Takeover(("lidar:top",), variants=((task, variant),))
    changed = under_takeover(system, make_plan(system), takeover)
    one = next(found for found in changed.tasks if found.name == task)
    if source is None:
        assert isinstance(one.activation, Sporadic)
        assert one.activation.min_separation_ns == 100 * MS
        return
    assert one.inputs[0].source == source
    assert next(sensor for sensor in changed.sensors if sensor.name == source).rate_hz == 10
    assert changed.chains[0].path == (source, "see", "joined", "arbiter")
    judge = _judge(system, _plan(system))
    usual, thin = (judge.judge("nominal", replace(takeover, variants=v)) for v in ((), takeover.variants))
    slower = [result.chains[0].reaction.value_ns for result in (usual, thin) if result.chains[0].reaction]
    assert slower[1] >= slower[0] + 50 * MS


def test_what_stands_for_a_thinned_sensor_is_lost_with_it() -> None:
    system = _system()
    takeover = Takeover(("camera:front",), variants=(("see", "seldom"),))
    result = _judge(system, _plan(system)).judge("nominal", takeover)
    assert "see" in dict(result.lost)
    assert result.chains == ()


def test_a_kept_message_is_in_the_way_even_where_nothing_more_follows() -> None:
    """A task that moves without what activates it has one job, and so has what that activates; what had come before
    the loss counts beside it.
    """
    system = _system(
        "detection: 90ms",
        ("inputs: {s: see, c: scan}", "inputs: {s: more, c: scan}"),
        ("  scan:", "  more: {runs_on: a.cpu, inputs: {s: see}, execution: {wcet: 7ms}, criticality: B}\n  scan:"),
        ("[front, see, joined", "[front, see, more, joined"),
    )
    takeover = Takeover(("device:a",), _to_b(system, "more", level=1), redone=("more",))
    result = _judge(system, _plan(system)).judge("nominal", takeover)
    assert {"see", "more"} <= set(dict(result.lost))
    tasks = {task.task: task for task in result.tasks}
    assert tasks["show"].bound is not None
    assert tasks["show"].across is not None
    assert tasks["show"].across.value_ns >= tasks["show"].bound.value_ns + 7 * MS + 1 * MS, "more, then joined"


def test_leaving_out_messages_of_several_sources_is_not_analysed() -> None:
    system = _system()
    takeover = Takeover(("lidar:top",), variants=(("joined", "seldom"),))
    with pytest.raises(AnalysisNotApplicable, match="variant seldom of joined leaves out arrivals"):
        under_takeover(system, make_plan(system), takeover)
    case = _case(system, _plan(system, takeover), "lose_top")
    assert (case.verdict, case.handling) == (Verdict.INCONCLUSIVE, None)


def test_an_exchange_between_processors_that_go_on_is_not_analysed() -> None:
    system = _system()
    names = [processor.name for processor in make_plan(system).processors]
    swapped = (*_to_b(system, "see"), Placement("scan", names.index("a.cpu.0"), 5))
    (mode,) = mode_loads(system, _plan(system))
    with pytest.raises(AnalysisNotApplicable, match=r"leaves (a|b)\.cpu\.0, which goes on, while other tasks come"):
        TakeoverLoads(system).across(mode, Takeover(("lidar:top",), swapped))
