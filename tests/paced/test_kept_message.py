"""The kept message at the takeover of a paced run: what came last before the switch is processed by the standby."""

from __future__ import annotations

import numpy as np
import pytest

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.config.plan_text import plan_text
from rt_sched.planner import make_plan
from rt_sched.planner.failover.plan import failover_plan
from rt_sched.runtime.host.tiers import TierReport
from rt_sched.trace.records import JobStatus, message_of_sample

from .conftest import ROOT, Ended, Running, require

EXAMPLE = ROOT / "examples" / "host_failover.yaml"
#: The backup path moves with the device that is lost, its LiDAR is heard on both, and the watch is patient.
CHANGES = (
    ("    attached_to: ecu-b\n", "    attached_to: [ecu-a, ecu-c]\n"),
    ('LidarCorridor", runs_on: ecu-b.cpu,', 'LidarCorridor", runs_on: ecu-a.cpu, candidates: [ecu-c.cpu],'),
    ("{period: 5ms, misses: 3, margin: 2ms}", "{period: 10ms, misses: 10, margin: 20ms}"),
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, tiers: dict[str, TierReport]) -> Ended:
    require(tiers, "fifo")
    folder = tmp_path_factory.mktemp("kept")
    text = EXAMPLE.read_text(encoding="utf-8")
    for before, after in CHANGES:
        assert before in text
        text = text.replace(before, after)
    file, plan_file = folder / "system.yaml", folder / "plan.yaml"
    file.write_text(text, encoding="utf-8")
    system = load_system(file, stages=ImportedStages())
    found = failover_plan(system, make_plan(system, None), [("device:ecu-a",)])
    (takeover,) = found.plan.takeovers
    assert "backup" in takeover.redone
    plan_file.write_text(plan_text(system, found.plan), encoding="utf-8")
    words = ("--plan", str(plan_file), "--tier", "fifo", "--duration", "1.8s", "--fault", "device:ecu-a@1.23s")
    return Running(folder / "run", *words, system=file).end()


def test_the_last_message_before_the_switch_is_processed_once_it_is_made(ended: Ended) -> None:
    assert ended.code in (0, 1, 3), ended.errors
    (fault,) = ended.summary["faults"]
    switch_ns = fault["time_ns"] + fault["switched_after_ns"]
    jobs = ended.jobs("backup")
    with np.load(ended.folder / "trace.npz") as file:
        arrival_ns, sensor = file["samples.arrival_ns"], file["samples.sensor"]
    after = np.flatnonzero(jobs["arrival_ns"] >= switch_ns)
    first = after[0]
    assert jobs["arrival_ns"][first] == switch_ns
    assert jobs["status"][first] == JobStatus.COMPLETED
    read = message_of_sample(jobs["inputs"][:, 0])  # the way back is the same
    lidar = sensor[read[first]]
    before = np.flatnonzero((sensor == lidar) & (arrival_ns < switch_ns))
    assert read[first] == before[-1]
    if arrival_ns[read[first]] < fault["time_ns"]:  # its device was lost after it had been read there
        assert (read == read[first]).sum() == 2
    newer = [row for row in after if jobs["status"][row] == JobStatus.COMPLETED][1:]
    assert newer and (arrival_ns[read[newer]] > switch_ns).all()
