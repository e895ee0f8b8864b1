"""Responses that grow with every round are given up soon, and what settles late is not."""

from __future__ import annotations

from typing import Any

import pytest
from hand_made import element, planned, task

from rt_sched import model
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS
from rt_sched.analysis.system import engine
from rt_sched.model import Plan, Policy, System


def _ping_pong(policy: Policy, percent: int) -> tuple[System, Plan]:
    """Two chains of four tasks that go to and fro between two processors, each of which has twice the load."""
    tasks = []
    for number, period in enumerate((10_000, 13_000)):
        for hop in range(4):
            pe = "pq"[(number + hop) % 2]
            own: dict[str, Any] = {}
            if hop:
                edge = model.Input("x", f"t{number}{hop - 1}", "out", model.Edge(model.EdgeKind.QUEUE, 4))
                own = {"activation": model.OnMessage(model.Join.ANY), "inputs": (edge,)}
            tasks.append(task(f"t{number}{hop}", percent * period // 200, period, pe=pe, **own))
    return planned([element("p", policy), element("q", policy)], tasks)


@pytest.mark.parametrize("policy", [Policy.EDF, Policy.FIXED_PRIORITY])
def test_what_grows_with_every_round_is_given_up_soon(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = 0
    find = engine.processor_bounds

    def counted(*given):  # type: ignore[no-untyped-def]
        nonlocal rounds
        rounds += 1
        return find(*given)

    monkeypatch.setattr(engine, "processor_bounds", counted)
    system, plan = _ping_pong(policy, 48)
    found = engine.mode_bounds(mode_loads(system, plan)[0], METHODS)
    settled = all(one.bound is not None for one in found.values())
    assert settled == (policy is Policy.FIXED_PRIORITY)
    assert rounds < 100
    if not settled:
        assert all(one.bound is None for one in found.values())
        assert any("more than 1000 periods late" in one.reason for one in found.values())


def test_less_load_settles() -> None:
    system, plan = _ping_pong(Policy.EDF, 20)
    found = engine.mode_bounds(mode_loads(system, plan)[0], METHODS)
    assert all(one.bound is not None for one in found.values())


def test_what_only_feeds_forward_may_be_as_late_as_it_is() -> None:
    """A task with a short period behind one that takes thousands of them has a bound, as nothing depends on itself."""
    edge = model.Input("x", "often", "out", model.Edge(model.EdgeKind.QUEUE, 4))
    after = task("after", 1, 100, pe="q", activation=model.OnMessage(model.Join.ANY), inputs=(edge,))
    tasks = [task("rare", 200_000, 10**6), task("often", 1, 100, 300_000), after]
    system, plan = planned([element("p"), element("q")], tasks)
    found = engine.mode_bounds(mode_loads(system, plan)[0], METHODS)
    late = next(one for one in found.values() if one.task.name == "after")
    assert late.bound is not None
    assert late.streams[0].jitter_ns > 1000 * 100
