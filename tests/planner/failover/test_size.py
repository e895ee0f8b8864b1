"""Failover plans of larger rigs are made in time."""

from __future__ import annotations

import time

from failover_rigs import large

from rt_sched.analysis.result import Verdict
from rt_sched.lowering import check_plan
from rt_sched.planner import make_plan
from rt_sched.planner.failover import failover_plan


def test_forty_tasks_on_sixteen_cores_are_planned_in_a_minute_for_every_single_loss() -> None:
    system = large(devices=5, cameras=2, spares=7)
    assert len(system.tasks) == 40
    assert sum(pe.cores for device in system.devices for pe in device.processing_elements) == 16
    begun_s = time.process_time()
    found = failover_plan(system, make_plan(system))
    assert time.process_time() - begun_s < 60
    assert len(found.outcomes) == 16
    assert check_plan(system, found.plan) == []
    open_losses = [one.losses for one in found.outcomes if one.verdict is not Verdict.SCHEDULABLE]
    assert open_losses == [("device:gateway",)], "where the arbiter is"
