"""Replays of short cuts of the shipped scene, each made once, and the code that judges them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "quality"))

from outputs import Outputs, read_outputs
from real_frames import Quiet

from rt_sched.app.replay import ReplayRequest, run_replay

QUAD_ORIN = Path(__file__).resolve().parents[2] / "examples" / "quad_orin.yaml"


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Outputs]:
    """What the four-device example makes of a recording."""

    def run(log: Path) -> Outputs:
        folder = tmp_path_factory.mktemp("runs") / log.stem
        request = ReplayRequest(log=str(log), system=str(QUAD_ORIN), output=folder)
        return read_outputs(run_replay(request, Quiet()).folder / "output.mcap")

    return run
