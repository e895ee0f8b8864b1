"""A stage that ignores everything is stopped at its budget, its spare goes on, and its neighbours miss nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

from .conftest import Ended, run_of

SYSTEM = """
rt_sched: 1
name: burning
policy: dm
devices: {ecu: {processing_elements: {cpu: {kind: cpu, cores: 1, switch_cost: 0.2ms}}}}
deploy: {ecu.cpu: 1}
sensors: {imu: {kind: imu, rate: 200Hz, jitter: 2ms, attached_to: ecu, topic: /imu/*}}
tasks:
  runaway:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 7ms}, execution: {wcet: 10ms},
     deadline: 60ms, budget: {limit: 12ms, granularity: 10ms, on_overrun: abort}, parameters: {ms: 2, forever_at: 6}}
  neighbour:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 20Hz}, execution: {wcet: 6ms},
     deadline: 100ms, parameters: {ms: 3}}
  stoppable:
    {stage: "burning_stages:Stoppable", runs_on: ecu.cpu, activation: {rate: 5Hz, offset: 50ms},
     execution: {wcet: 10ms}, deadline: 150ms,
     budget: {limit: 30ms, granularity: 10ms, on_overrun: abort}, parameters: {ms: 2, forever_at: 3}}
  skipping:
    {stage: "burning_stages:Burn", runs_on: ecu.cpu, activation: {rate: 10Hz, offset: 30ms}, execution: {wcet: 15ms},
     deadline: 200ms, budget: {limit: 6ms, on_overrun: skip_next}, parameters: {ms: 2, long_at: 5}}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Ended:
    """One run: a task that has to be killed once, one that gives a job up, one that takes too long, and another."""
    return run_of(tmp_path_factory.mktemp("budgets"), SYSTEM, tiers)


def test_a_stage_that_can_be_asked_gives_its_job_up_and_its_process_goes_on(ended: Ended) -> None:
    jobs = ended.jobs("stoppable")
    assert jobs["status"][3] == JobStatus.ABORTED and jobs["finish_ns"][3] < 0
    assert (jobs["status"][4:] == JobStatus.COMPLETED).sum() >= len(jobs["status"][4:]) - 1
    assert 20 * NS_PER_MS <= jobs["executed_ns"][3] < 40 * NS_PER_MS  # one granularity before its budget is used
    assert "stoppable" in ended.summary["spares"]
    assert all(one["task"] == "runaway" for one in ended.summary["losses"])


def test_the_job_after_one_that_took_too_long_is_suppressed(ended: Ended) -> None:
    jobs = ended.jobs("skipping")
    status = jobs["status"].tolist()
    assert status[5] == JobStatus.COMPLETED and jobs["overrun"][5]
    assert status[6] == JobStatus.SUPPRESSED and status[7] == JobStatus.COMPLETED
    assert status.count(JobStatus.SUPPRESSED) == 1


def test_a_runaway_is_stopped_and_replaced(ended: Ended) -> None:
    (loss,) = ended.summary["losses"]
    assert loss["task"] == "runaway" and loss["by_budget"]
    jobs, neighbour = ended.jobs("runaway"), ended.jobs("neighbour")
    assert jobs["status"][6] == JobStatus.ABORTED
    assert (jobs["status"][7:] == JobStatus.COMPLETED).sum() >= len(jobs["status"][7:]) - 1
    stopped_after_ns = loss["noticed_ns"] - int(jobs["start_ns"][6])
    assert stopped_after_ns < 200 * NS_PER_MS
    served = neighbour["status"] == JobStatus.COMPLETED
    response_ns = (neighbour["finish_ns"] - neighbour["arrival_ns"])[served]
    assert served.sum() >= len(served) - 1
    assert np.quantile(response_ns, 0.9) < 100 * NS_PER_MS
    assert not neighbour["missed"].any()
