"""Recordings and one run of the shipped log that the tests of the command line share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cli_runs import QUAD_ORIN, SHIPPED_LOG, Cli, Run, write_log


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `imu.mcap`, half a second of one IMU, and `drive.mcap` with camera, LiDAR and IMU."""
    folder = tmp_path_factory.mktemp("logs")
    write_log(folder / "imu.mcap", seconds=0.5, imus={"/imu/data": 100}, chunk_bytes=4096)
    write_log(
        folder / "drive.mcap",
        seconds=0.6,
        cameras={"/camera/front": 10},
        lidars={"/lidar/points": 10},
        imus={"/imu/data": 50},
    )
    return folder


@pytest.fixture(scope="session")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The shipped short log on the four-device example, on one thread, with --json."""
    folder = tmp_path_factory.mktemp("short")
    ended = Cli(folder)("replay", SHIPPED_LOG, "--system", QUAD_ORIN, "--threads", 1, "-o", "run", "--json")
    return Run(folder / "run", ended)
