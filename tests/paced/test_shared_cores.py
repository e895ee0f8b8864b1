"""Elements that share a core of the host: what runs beside the tasks delays all of theirs, and what is not bounded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system.engine import mode_bounds
from rt_sched.app.paced.host_supply import HostShare, host_share, why_no_bounds_under, with_watch
from rt_sched.app.paced.shared_cores import shared_cores, why_contended_under, why_core_is_contended
from rt_sched.app.runs.takeover_runs import TakeoverJudge
from rt_sched.config import load_system_text
from rt_sched.model import Heartbeat, Placement, Plan, SafetyConcept, System, Takeover
from rt_sched.planner import make_plan
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.devices.supervision import supervision
from rt_sched.runtime.paced.feed.publisher import Publisher, publisher_of
from rt_sched.runtime.paced.links.seat import LinkSeat
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.fitting import Room
from rt_sched.runtime.paced.seats.wakeups import Wakeups
from rt_sched.units import NS_PER_MS

SYSTEM = """
rt_sched: 1
name: shared
devices:
  a: {processing_elements: {cpu: {kind: cpu}}}
  b: {processing_elements: {cpu: {kind: cpu}}}
  c: {processing_elements: {cpu: {kind: cpu}}}
deploy: {a.cpu: 0, b.cpu: CORE, c.cpu: 0}
tasks:
  one: {runs_on: a.cpu, activation: {rate: 10Hz}, execution: {wcet: 1ms}}
  two: {runs_on: b.cpu, activation: {rate: 10Hz}, execution: {wcet: 1ms}}
"""


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rt_sched.runtime.paced.deployment.allowed_cores", lambda: frozenset({0, 1}))


def planned(core: int) -> tuple[System, Plan]:
    text = SYSTEM.replace("CORE", str(core))
    system = load_system_text(text, file_name="x", base_dir=Path(), stages=None)
    return system, make_plan(system)


def on(plan: Plan, device: str) -> int:
    return next(index for index, one in enumerate(plan.processors) if one.device == device)


def test_elements_that_work_at_the_same_time_are_contended() -> None:
    system, plan = planned(core=0)
    why = why_core_is_contended(system, plan)
    assert why is not None and "host core 0" in why and "a.cpu" in why and "b.cpu" in why


def test_an_element_that_only_stands_by_is_not() -> None:
    system, plan = planned(core=1)
    assert shared_cores(system) == "core 0 for a.cpu and c.cpu"
    assert why_core_is_contended(system, plan) is None
    to_c = Placement("one", on(plan, "c"), 0)
    assert why_core_is_contended(system, replace(plan, takeovers=(Takeover(("device:a",), (to_c,)),))) is None


def test_what_a_takeover_brings_beside_what_goes_on_is() -> None:
    system, plan = planned(core=1)
    takeover = Takeover(("device:b",), (Placement("two", on(plan, "c"), 0),))
    why = why_contended_under(system, plan, takeover)
    assert why is not None and why == why_core_is_contended(system, replace(plan, takeovers=(takeover,)))


def share_of(system: System, plan: Plan, lost_ms: int = 0) -> HostShare:
    publisher = Publisher(on(plan, "c"), (Wakeups("camera", 2 * NS_PER_MS, 100 * NS_PER_MS),))
    carrier = LinkSeat("line", on(plan, "c"), (Wakeups("due", NS_PER_MS, 100 * NS_PER_MS),), NS_PER_MS)
    loss = SupplyLoss(lost_ms * NS_PER_MS, 1000 * NS_PER_MS, "the fair server") if lost_ms else None
    return host_share(system, plan, Tier.FIFO, Beside(publisher, (carrier,)), loss)


def response_ns(system: System, plan: Plan, task: str) -> int:
    bounds = mode_bounds(mode_loads(system, plan)[0], METHODS).values()
    return next(one.bound.value_ns for one in bounds if one.task.name == task and one.bound is not None)


def failover_of(devices: tuple[str, ...], watcher: str) -> DeviceFailover:
    never = 1000 * NS_PER_MS
    return DeviceFailover(devices, watcher, (), (), (), (), 10 * NS_PER_MS, never, never, never)


def test_supervisors_that_watch_devices_delay_the_tasks_on_their_cores() -> None:
    """That of b beats, looks and answers; those of a and c beat on one core, whose tasks wait for both."""
    system, plan = planned(core=1)
    plain = share_of(system, plan)
    watching = supervision(system, plan, failover_of(("a", "b", "c"), "b"), Fraction(1), links=False)
    publisher = Publisher(on(plan, "c"), ())
    beside = Beside(publisher, (), watching)
    share = host_share(system, plan, Tier.FIFO, beside, None)
    added = [task for task in share.system.tasks if task.name.startswith("supervisor of")]
    assert {task.name.split()[2]: task.separation_ns for task in added if "beats" in task.name} == {
        "a:": 10 * NS_PER_MS,
        "b:": 10 * NS_PER_MS,
        "c:": 10 * NS_PER_MS,
    }
    looks, answers = (task for task in added if "beats" not in task.name)
    assert (looks.pe, looks.separation_ns) == (("b", "cpu"), 5 * NS_PER_MS)
    assert (answers.pe, answers.separation_ns) == (("b", "cpu"), 1000 * NS_PER_MS)
    longer = {
        name: response_ns(share.system, share.plan, name) - response_ns(system, plan, name) for name in ("one", "two")
    }
    wake_ns = looks.execution.wcet_ns
    assert longer == {"one": 2 * wake_ns, "two": 2 * wake_ns + answers.execution.wcet_ns}
    assert not any("supervisor" in task.name for task in plain.system.tasks)


def test_a_faster_run_leaves_supervisors_less_time_between_their_looks() -> None:
    system, plan = planned(core=1)
    failover = failover_of(("a", "b"), "b")
    once, twice = (supervision(system, plan, failover, Fraction(rate), links=False) for rate in (1, 2))
    assert twice[0].wakeups[0].cost_ns == 2 * once[0].wakeups[0].cost_ns


@pytest.mark.parametrize("failover", [None, ("a", "b")])
def test_the_supervisor_that_watches_links_looks_at_them_beside_all_else(failover: tuple[str, ...] | None) -> None:
    system, plan = planned(core=1)
    safety = SafetyConcept("two", "one", None, heartbeat=Heartbeat(10 * NS_PER_MS, 3, NS_PER_MS))
    watched = replace(system, safety=safety)
    found = None if failover is None else failover_of(failover, "b")
    (mine,) = (one for one in supervision(watched, plan, found, Fraction(1), links=True) if one.device == "b")
    assert (mine.wakeups[-1].name, mine.wakeups[-1].period_ns) == ("looks at links", 5 * NS_PER_MS)
    assert len(mine.wakeups) == (1 if failover is None else 4)
    assert not supervision(watched, plan, None, Fraction(1), links=False)
    assert not supervision(system, plan, None, Fraction(1), links=True), "nobody watches"


def test_processes_beside_delay_the_tasks_of_every_element_on_their_core() -> None:
    system, plan = planned(core=1)
    share = share_of(system, plan)
    longer = {
        name: response_ns(share.system, share.plan, name) - response_ns(system, plan, name) for name in ("one", "two")
    }
    assert longer == {"one": 3 * NS_PER_MS, "two": 0}


def test_the_watch_over_sensors_may_hold_up_what_shares_its_core() -> None:
    system, plan = planned(core=1)
    watch: Any = SimpleNamespace(processor=on(plan, "c"), cycle_wcet_ns=NS_PER_MS, period_ns=10 * NS_PER_MS)
    placements = with_watch(system, plan, watch)[1].placements[2:]
    assert {one.processor for one in placements} == {on(plan, "a"), on(plan, "c")}
    assert len({one.task for one in placements}) == 2 and min(one.level for one in placements) > 0


def test_they_go_to_the_core_with_the_least_to_do_whatever_its_elements() -> None:
    system, plan = planned(core=1)
    one, two = system.tasks
    longer = replace(one, execution=replace(one.execution, wcet_ns=5 * NS_PER_MS))
    system = replace(system, tasks=(longer, two))
    room = Room.beside(system, plan, Fraction(9, 10), None)
    assert room.part(on(plan, "c")) == room.part(on(plan, "a")) > room.part(on(plan, "b")) > 0
    for found in (None, room):
        assert publisher_of(system, plan, {}, found).processor == on(plan, "b")


def test_a_takeover_has_no_bounds_where_its_tasks_and_those_before_leave_others_too_little() -> None:
    system, plan = planned(core=1)
    plan = replace(plan, takeovers=(Takeover(("device:a",), (Placement("one", on(plan, "c"), 0),)),))

    def why(lost_ms: int) -> str:
        share = share_of(system, plan, lost_ms)
        assert share.counted == (("a.cpu.0", "c.cpu.0") if lost_ms > 950 else ())
        found = TakeoverJudge(share.system, share.plan).result(plan.takeovers[0])
        assert not isinstance(found, str)
        return why_no_bounds_under(share, found)

    # The publisher and the link run on the core once, though on both elements: 33 ms in a second, and each task 10.
    assert why(800) == why(947) == why(980) == ""
    assert why(948) == (
        "tasks on a.cpu.0, c.cpu.0 may leave others less than what the kernel then takes: the fair server"
    )
