"""Whether the time to collision behind a car ahead is as smooth as the gap to it, on real frames without other truth.

The gap that the fusion publishes is the reference: as a line over a second around each instant it says how fast the
vehicle closes in. What the commands tell must not fall below that gap over that speed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from outputs import Outputs, Tracks, read_outputs

from rt_sched.app.progress import Progress
from rt_sched.app.replay.job import ReplayRequest, run_replay

Array = npt.NDArray[np.float64]

#: Half the width of the lane, the bumper ahead of the vehicle's origin, and half the time over which a line is fitted.
_LANE_M, _BUMPER_M, _HALF_S = 1.1, 2.0, 0.5


def time_to_collision_on(recording: Path, system: Path, work: Path, progress: Progress) -> dict[str, Any]:
    """Replays the recording; `smoothness` of what comes out."""
    run = run_replay(ReplayRequest(log=str(recording), system=str(system), output=work / "run_of_queue"), progress)
    return smoothness(read_outputs(run.folder / "output.mcap"))


def smoothness(found: Outputs) -> dict[str, Any]:
    """Least quotient of the time to collision told and that of the gap, largest drop below it and least one told.

    `cycles`: instants with a car ahead that closes in; without one the rest is None.
    """
    ahead = [(tracks.time_ns, gap) for tracks in found.tracks if (gap := _gap_m(tracks)) is not None]
    times = np.array([time_ns for time_ns, _ in ahead], np.float64) / 1e9
    gaps = np.array([gap for _, gap in ahead])
    closing = np.array([_slope(times, gaps, time) for time in times.tolist()])
    decided = np.array([decision.time_ns for decision in found.decisions], np.float64) / 1e9
    told = np.array([decision.ttc_s for decision in found.decisions])
    # The first command after an instant tells what was made of it.
    rows = np.searchsorted(decided, times, side="right")
    usable = (closing > 0.0) & (rows < len(decided))
    if not usable.any():
        return {"cycles": 0, "least_quotient": None, "largest_drop_s": None, "least_s": None}
    true, told = gaps[usable] / closing[usable], told[rows[usable]]
    return {
        "cycles": int(usable.sum()),
        "least_quotient": round(float((told / true).min()), 2),
        "largest_drop_s": round(float((true - told).max()), 2),
        "least_s": round(float(told.min()), 2),
    }


def _gap_m(tracks: Tracks) -> float | None:
    """From the bumper to the nearest object in the lane, None when there is none."""
    ends = tracks.centres[:, 0] - tracks.sizes[:, 0] / 2.0 - _BUMPER_M
    inside = (np.abs(tracks.centres[:, 1]) < _LANE_M + tracks.sizes[:, 1] / 2.0) & (ends > 0.0)
    return float(ends[inside].min()) if inside.any() else None


def _slope(times: Array, gaps: Array, time: float) -> float:
    """How fast the gap shrinks around an instant, in m/s; 0 where there is too little to tell."""
    near = np.abs(times - time) <= _HALF_S
    if near.sum() < 3:
        return 0.0
    return -float(np.polyfit(times[near] - time, gaps[near], 1)[0])
