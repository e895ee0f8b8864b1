"""A recording of one's own is paced without a system file: that of `init --host` is taken."""

from __future__ import annotations

import pytest
from cli_runs import Cli, Run, write_log

from rt_sched.runtime.host.affinity import allowed_cores


@pytest.fixture
def cli(tmp_path):
    return Cli(tmp_path)


def test_a_recording_is_paced_without_a_system_file(cli, tmp_path):
    log = write_log(
        tmp_path / "drive.mcap",
        seconds=0.8,
        cameras={"/camera/front": 10},
        lidars={"/lidar/points": 10},
        imus={"/imu/data": 50},
    )
    ended = cli("replay", log, "--paced", "--tier", "user", "-o", "run", code=None)
    assert ended.code in (0, 1, 3), ended.err
    summary = Run(tmp_path / "run", ended).summary
    assert (summary["clock"], summary["tier"], summary["representative"]) == ("paced", "user", True)
    assert {row["name"]: row["delivered"] for row in summary["topics"]}.keys() == {
        "/camera/front",
        "/lidar/points",
        "/imu/data",
    }
    assert {worker["asked_core"] for worker in summary["workers"]} <= allowed_cores()
    assert {row["name"] for row in summary["tasks"]} >= {"infer_camera_front", "cluster_lidar", "imu_imu", "arbiter"}


def test_a_system_that_is_deployed_nowhere_is_refused_with_the_way_out(cli):
    err = cli("replay", "hazard_short", "--system", "quad_orin", "--paced", code=2).err
    assert "does not say which host cores stand for gateway.mcu, orin-1.cpu (12 cores)" in err
    assert "one for each core, such as deploy: {gateway.mcu: [0]}" in err
    assert "rt-sched init --host" in err
