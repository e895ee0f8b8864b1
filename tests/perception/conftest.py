"""Replays of short cuts of the shipped scene, each made once, and the code that judges them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "quality"))

from outputs import Outputs, read_outputs
from scene_logs import cut

from rt_sched.app.progress import Quiet
from rt_sched.app.replay.job import ReplayRequest, run_replay

#: The recorded driver brakes at 2.7 s; a little later all that can be seen of the danger has been seen.
UNTIL_S = 3.1
QUAD_ORIN = Path(__file__).resolve().parents[2] / "examples" / "quad_orin.yaml"


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Outputs]:
    """What the four-device example makes of a recording."""

    def run(log: Path) -> Outputs:
        folder = tmp_path_factory.mktemp("runs") / log.stem
        request = ReplayRequest(log=str(log), system=str(QUAD_ORIN), output=folder)
        return read_outputs(run_replay(request, Quiet()).folder / "output.mcap")

    return run


@pytest.fixture(scope="session")
def drives(replayed: Callable[[Path], Outputs], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Outputs]:
    """What came out of the hazard scene with some of its sensors; each drive is replayed once."""
    folder = tmp_path_factory.mktemp("cuts")
    known: dict[tuple[object, ...], Outputs] = {}

    def drive(*sensors: str, blank: str | None = None) -> Outputs:
        key = (*sensors, blank)
        if key not in known:
            log = cut(folder / f"cut{len(known)}.mcap", sensors=(*sensors, "imu"), until_s=UNTIL_S, blank=blank)
            known[key] = replayed(log)
        return known[key]

    return drive
