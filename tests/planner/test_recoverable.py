"""A plan that leaves standbys no room is passed over for one that losses leave as well off as the file's."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from planned_systems import TRADE, system_of

sys.path.insert(0, str(Path(__file__).parent / "failover"))
from failover_rigs import rig

from rt_sched.analysis.result import Verdict
from rt_sched.planner import make_plan, recoverable
from rt_sched.planner.failover import failover_plan
from rt_sched.planner.objectives import Objective
from rt_sched.planner.optimise import optimise
from rt_sched.planner.placing.stopping import Stop


@pytest.mark.parametrize(("answers", "chosen"), [((2, 2), 0), ((1, 2), 1), ((0, 1), "home")])
def test_the_best_plan_that_answers_as_many_losses_as_the_files(
    monkeypatch: pytest.MonkeyPatch, answers: tuple[int, int], chosen: int | str
) -> None:
    system = system_of(TRADE.replace("deadline: 20ms", "deadline: 50ms"))
    planned = optimise(system, Objective.LATENCY, Stop(60), search=False)
    ranked = recoverable._accepted(planned)
    home = next(one for one in ranked if one.method == "as in the file")
    assert ranked[0] is planned.best is not home
    assert len(ranked) > 2
    count = {id(home.plan): 2, id(ranked[0].plan): answers[0], id(ranked[1].plan): answers[1]}

    def failover(_: object, plan: object, losses: object, stop: object) -> SimpleNamespace:
        schedulable = SimpleNamespace(verdict=Verdict.SCHEDULABLE)
        return SimpleNamespace(plan=plan, outcomes=[schedulable] * count.get(id(plan), 0))

    monkeypatch.setattr(recoverable, "failover_plan", failover)
    told: list[str] = []
    found, takeovers = recoverable.with_takeovers(system, planned, told.append)
    expected = home if chosen == "home" else ranked[int(chosen)]
    assert found.best is expected
    assert takeovers is not None
    assert takeovers.plan is expected.plan
    assert bool(told) == (expected is not planned.best)
    if expected is not planned.best:
        assert found.beside == {}
        assert found.report is not None


def test_without_an_accepted_plan_there_is_nothing_to_take_over() -> None:
    system = system_of(TRADE)
    planned = replace(optimise(system, Objective.LATENCY, Stop(60), search=False), best=None, proposals=())
    assert recoverable.with_takeovers(system, planned, print) == (planned, None)


def test_an_interrupted_search_leaves_the_rest_of_the_losses_without_an_answer() -> None:
    system = rig()
    stop = Stop(math.inf)
    found = failover_plan(
        system, make_plan(system), progress=lambda done, of: stop.ask() if done == 2 else None, stop=stop
    )
    assert [one.takeover is not None for one in found.outcomes] == [True, True, False, False, False]
    assert found.outcomes[3].reason == "not looked at: the search was interrupted"
    assert found.verdict is Verdict.INCONCLUSIVE
    assert [one.losses for one in found.plan.takeovers] == [("camera:front",), ("camera:rear",)]
