"""Small rigs whose takeovers, and the bounds on them, can be worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from failover_rigs import rig

from rt_sched.analysis.result import Verdict
from rt_sched.errors import AnalysisNotApplicable
from rt_sched.lowering import check_plan
from rt_sched.model import System, Takeover
from rt_sched.planner import make_plan
from rt_sched.planner.failover import FailoverPlan, Outcome, failover_plan, plan_takeovers

MS = 1_000_000


def _planned(system: System, *losses: str) -> tuple[FailoverPlan, Outcome]:
    found = failover_plan(system, make_plan(system), [losses])
    (outcome,) = found.outcomes
    return found, outcome


def _where(found: FailoverPlan, takeover: Takeover) -> dict[str, str]:
    return {move.task: found.plan.processors[move.processor].name for move in takeover.moves}


def test_the_work_of_a_lost_device_goes_to_the_second_home_of_its_camera() -> None:
    found, outcome = _planned(rig(), "device:a")
    takeover = outcome.takeover
    assert takeover is not None
    # On b, core 0 has fuse (3 of 50 ms), core 1 watch and decide (3 of 50 ms): of equals the lower core.
    assert _where(found, takeover) == {"see": "b.cpu.0"}
    assert (takeover.redone, takeover.dropped, takeover.variants, takeover.weights) == (("see",), (), (), ())
    # A kept frame and the next one: 8 ms; then fusion, which the kept frame has reached by then.
    assert takeover.at_once == (("fuse", 8 * MS),)
    assert outcome.verdict is Verdict.SCHEDULABLE


def test_its_recovery_adds_up() -> None:
    _, outcome = _planned(rig(), "device:a")
    (result,) = outcome.results
    assert (result.detection.value_ns, result.decision_ns) == (21 * MS, MS)
    (path,) = result.recoveries
    assert path.path == ("front", "see", "fuse", "decide", "arbiter")
    across = {task.task: task.across.value_ns for task in result.tasks if task.across is not None}
    # see twice; fuse twice behind see twice; decide twice beside watch.
    assert across == {"see": 8 * MS, "watch": 2 * MS, "fuse": 14 * MS, "decide": 4 * MS, "arbiter": MS // 2}
    assert [term.value_ns for term in path.terms or ()] == [8 * MS, 14 * MS, 4 * MS, 10 * MS, MS // 2]
    assert result.recovered_ns == 22 * MS + 36 * MS + MS // 2
    steady = {task.task: task.bound.value_ns for task in result.tasks if task.bound is not None}
    assert steady == {"see": 4 * MS, "watch": 2 * MS, "fuse": 7 * MS, "decide": 3 * MS, "arbiter": MS // 2}


def test_fusion_and_decision_move_with_their_device_and_keep_their_cycle() -> None:
    found, outcome = _planned(rig(), "device:b")
    takeover = outcome.takeover
    assert takeover is not None
    assert set(_where(found, takeover)) == {"watch", "fuse", "decide"}
    assert all(name.startswith("a.cpu") for name in _where(found, takeover).values())
    assert takeover.redone == ("watch",)
    assert [name for name, _ in takeover.at_once] == ["fuse"]
    assert outcome.verdict is Verdict.SCHEDULABLE
    assert {path.origin for path in outcome.results[0].recoveries} == {"front", "rear"}


def test_a_lost_camera_moves_nothing_and_the_other_weighs_more() -> None:
    _, outcome = _planned(rig(), "camera:front")
    takeover = outcome.takeover
    assert takeover is not None
    assert takeover.moves == takeover.redone == ()
    assert takeover.weights == (("front", Fraction(0)), ("rear", Fraction(2)))
    assert takeover.at_once == (("fuse", 0),)
    (result,) = outcome.results
    # One period, twice the jitter of arrival, and 3 ms.
    assert result.detection.value_ns == 54 * MS
    # Fusion twice, the decision twice behind watch, the arbiter.
    assert result.recovered_ns == 55 * MS + 6 * MS + 4 * MS + 10 * MS + MS // 2
    assert dict(result.lost) == {"see": "front no longer brings what activates it"}


def test_both_losses_at_one_time_are_one_takeover() -> None:
    _, outcome = _planned(rig(), "device:a", "camera:rear")
    takeover = outcome.takeover
    assert takeover is not None
    assert takeover.losses == ("camera:rear", "device:a")
    assert [move.task for move in takeover.moves] == ["see"]
    assert dict(takeover.weights)["rear"] == 0
    assert outcome.results[0].detection.value_ns == 54 * MS, "the later of the two"


def test_a_camera_with_one_home_is_lost_with_it() -> None:
    system = rig(("attached_to: [a, b]", "attached_to: a"))
    _, outcome = _planned(system, "device:a")
    takeover = outcome.takeover
    assert takeover is not None
    assert takeover.moves == ()
    assert dict(takeover.weights) == {"front": 0, "rear": 2}
    assert dict(outcome.results[0].lost)["see"] == "its device a is lost"
    assert outcome.verdict is Verdict.SCHEDULABLE, "the other camera goes on"


@pytest.mark.parametrize(("ends", "reaches"), [("[a, c]", True), ("[b, c]", False)])
def test_frames_that_a_link_brings_may_be_read_elsewhere(ends: str, reaches: bool) -> None:
    link = f"links: {{net: {{bandwidth: 100MB/s, latency: 1ms, between: {ends}}}}}\nsensors:"
    system = rig(
        ("  gateway:", "  c: {processing_elements: {cpu: {kind: cpu, cores: 2}}}\n  gateway:"),
        ("sensors:", link),
        ("inputs: {image: front}", "candidates: [c.cpu], output_size: 1kB, inputs: {image: front}"),
        ("runs_on: a.cpu, candidates", "runs_on: b.cpu, candidates"),
        ("attached_to: [a, b], topic", "frame_size: 1MB, attached_to: [a, b], topic"),
    )
    found, outcome = _planned(system, "device:b")
    where = {} if outcome.takeover is None else _where(found, outcome.takeover)
    if not reaches:
        assert "see" not in where
        assert "link net of input image leads from a lost device" in outcome.reason
        return
    assert where["see"].startswith("c.cpu")
    assert all(where[name].startswith("a.cpu") for name in ("watch", "fuse", "decide"))
    (result,) = outcome.results
    (front,) = (one for one in result.recoveries if one.origin == "front")
    kinds = [term.kind.value for term in front.terms or ()]
    assert "transfer" in kinds, "what sees on c reaches the fusion on a over the link"


def test_candidates_are_the_only_places() -> None:
    spare = "  c: {processing_elements: {cpu: {kind: cpu, cores: 2}}}\n  gateway:"
    changes = (("  gateway:", spare), ("attached_to: [a, b]", "attached_to: [a, b, c]"))
    found, outcome = _planned(rig(*changes), "device:a")
    assert outcome.takeover is not None
    assert _where(found, outcome.takeover) == {"see": "b.cpu.0"}
    only_c = (*changes, ("runs_on: a.cpu,", "runs_on: a.cpu, candidates: c.cpu,"))
    found, outcome = _planned(rig(*only_c), "device:a")
    assert outcome.takeover is not None
    assert _where(found, outcome.takeover) == {"see": "c.cpu.0"}


def test_a_task_that_the_plan_put_elsewhere_may_go_back_to_its_element_of_the_file() -> None:
    system = rig(("see: {runs_on: a.cpu,", "see: {runs_on: a.cpu, candidates: [b.cpu],"))
    places = {**{task.name: task.pe for task in system.tasks}, "see": ("b", "cpu")}
    found = failover_plan(system, make_plan(system, elements=places), [("device:b",)])
    (outcome,) = found.outcomes
    assert outcome.verdict is Verdict.SCHEDULABLE
    assert outcome.takeover is not None
    assert _where(found, outcome.takeover)["see"].startswith("a.cpu")
    assert check_plan(system, found.plan) == []


def test_without_memory_there_is_no_standby() -> None:
    small = (
        "b: {processing_elements: {cpu: {kind: cpu, cores: 2}}}",
        "b: {processing_elements: {cpu: {kind: cpu, cores: 2}}, memory: 1GB}",
    )
    big = ("inputs: {image: front}", "memory: 2GB, inputs: {image: front}")
    _, outcome = _planned(rig(small, big), "device:a")
    assert [name for name, _ in outcome.unmoved] == ["see"]
    assert "b has no memory left for it" in outcome.reason
    assert outcome.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("level", ["QM", "A"])
def test_what_has_no_integrity_level_gives_way_first(level: str) -> None:
    extra = "".join(
        f"  show{n}: {{runs_on: b.cpu, core: {n}, activation: {{rate: 20Hz}}, criticality: {level}, "
        "execution: {wcet: 40ms}, deadline: 50ms}\n"
        for n in range(2)
    )
    _, outcome = _planned(rig(extra=extra), "device:a")
    dropped = () if outcome.takeover is None else outcome.takeover.dropped
    assert len(dropped) == (1 if level == "QM" else 0)
    assert (outcome.verdict is Verdict.SCHEDULABLE) == (level == "QM")


def test_a_cheaper_variant_comes_before_giving_up() -> None:
    dear = (
        "execution: {bcet: 1ms, wcet: 4ms}, deadline: 20ms",
        "execution: {bcet: 1ms, wcet: 19ms}, deadline: 20ms, VARIANTS",
    )
    variants = "variants: {small: {execution: {wcet: 2ms}, parameters: {}}, big: {execution: {wcet: 18ms}}}"
    _, outcome = _planned(rig(dear, ("VARIANTS", "memory: 1MB")), "device:a")
    assert outcome.verdict is Verdict.INCONCLUSIVE
    # The kept frame and the next one, 38 ms, are too much; so it waits for the next frame.
    assert outcome.reason == "path front -> arbiter recovers 81.5ms after the limit of 100ms"
    _, outcome = _planned(rig(dear, ("VARIANTS", variants)), "device:a")
    assert outcome.takeover is not None
    assert outcome.takeover.variants == (("see", "small"),)
    assert outcome.verdict is Verdict.SCHEDULABLE


def test_a_limit_that_is_not_kept_is_named() -> None:
    _, outcome = _planned(rig(("recovery_limit: 100ms", "recovery_limit: 50ms")), "device:a")
    assert outcome.takeover is not None, "it is still the best answer"
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert outcome.reason == "path front -> arbiter recovers 8.5ms after the limit of 50ms"


def test_nothing_takes_over_from_the_arbiter() -> None:
    _, outcome = _planned(rig(), "device:gateway")
    assert outcome.takeover is None
    assert "the device of arbiter is lost" in outcome.reason


def test_every_single_loss_is_asked_for_by_default_and_the_plan_stays_legal() -> None:
    system = rig()
    plan = make_plan(system)
    found = failover_plan(system, plan)
    assert [one.losses for one in found.outcomes] == [
        ("camera:front",),
        ("camera:rear",),
        ("device:a",),
        ("device:b",),
        ("device:gateway",),
    ]
    assert [one.losses for one in found.plan.takeovers] == [one.losses for one in found.outcomes[:4]]
    assert check_plan(system, found.plan) == []
    assert plan_takeovers(system, plan) == found.plan


def test_bad_calls_are_refused() -> None:
    system = rig()
    plan = make_plan(system)
    with pytest.raises(ValueError, match=r"unknown loss camera:up; there are: camera:front, camera:rear, device:a"):
        failover_plan(system, plan, [("camera:up",)])
    with pytest.raises(ValueError, match="none is named"):
        failover_plan(system, plan, [()])
    with pytest.raises(AnalysisNotApplicable, match="the plan does not fit the system"):
        failover_plan(rig(("name: rig", "name: other")), plan)
