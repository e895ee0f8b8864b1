"""The evidence on recoveries: every single run is held against bound and limit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from failover_rigs import rig

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.failover import measured
from rt_sched.app.runs.takeover_runs import TakeoverJudge
from rt_sched.model import System
from rt_sched.planner import make_plan
from rt_sched.planner.failover import failover_plan

MS = 1_000_000


def at_instants(system: System, limit_ns: int | None = None) -> dict[str, Any]:
    """Of the loss of device a, under the takeover for the rig; `limit_ns`: another limit than the system's."""
    plan = failover_plan(system, make_plan(system), [("device:a",)]).plan
    if limit_ns is not None:
        assert system.safety is not None
        system = replace(system, safety=replace(system.safety, recovery_limit_ns=limit_ns))
    return measured(system, plan, plan.takeovers[0], 20, TakeoverJudge(system, plan))


def test_every_run_recovers_within_bound_and_limit() -> None:
    row = at_instants(rig())
    assert (row["over_bound"], row["over_limit"], row["not_recovered"]) == (0, 0, 0)
    assert len(row["all_recovered_ns"]) == 20
    assert row["recovered_ns"]["max"] <= row["recovery_bound_ns"] <= row["limit_ns"]


@pytest.mark.parametrize("part", ["p50", "max"])
def test_every_run_over_the_limit_is_counted(part: str) -> None:
    row = at_instants(rig())
    limit_ns = row["recovered_ns"][part] - 1
    over = sum(value > limit_ns for value in row["all_recovered_ns"])
    found = at_instants(rig(), limit_ns)
    assert found["limit_ns"] == limit_ns
    assert found["over_limit"] == over > 0
