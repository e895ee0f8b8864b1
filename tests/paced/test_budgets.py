"""A stage that ignores everything is stopped at its budget, its spare goes on, and its neighbours miss nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus
from rt_sched.units import NS_PER_MS

from .conftest import Running

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
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "burning.yaml"
    path.write_text(SYSTEM)
    return path


def test_a_runaway_is_stopped_and_replaced(system: Path, tmp_path: Path, tiers: dict[str, TierReport]) -> None:
    if not tiers["fifo"].available:
        pytest.skip(f"this host has no tier fifo: {'; '.join(tiers['fifo'].reasons)}")
    ended = Running(tmp_path / "run", "--tier", "fifo", "--duration", "2s", system=system).end()
    assert ended.code in (0, 1, 3), ended.errors
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
