"""The measure of how smooth the time to collision is: by hand on gaps that shrink evenly."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from outputs import Decision, Outputs, Tracks
from smoothness import smoothness

GAP_M, CLOSING_M_S, CYCLE_S = 12.0, 2.0, 0.033


def behind(y_m: float = 0.0) -> Outputs:
    """3 s behind a car 4 m long; every command tells the true time to collision, 1 ms after its instant."""
    found = Outputs()
    for k in range(91):
        gap_m, time_ns = GAP_M - CLOSING_M_S * k * CYCLE_S, round(k * CYCLE_S * 1e9)
        centres = np.array([[2.0 + gap_m + 2.0, y_m], [1.0, 0.0]])
        sizes = np.array([[4.0, 1.8], [1.0, 1.0]])
        found.tracks.append(Tracks(time_ns, ("1", "2"), centres, sizes, ("car", "car")))
        decision = Decision(time_ns + 10**6, 0.0, False, gap_m / CLOSING_M_S, "NOMINAL", "primary")
        found.decisions.append(decision)
    return found


def test_what_tells_the_truth_is_smooth() -> None:
    found = smoothness(behind())
    assert found == {"cycles": 91, "least_quotient": 1.0, "largest_drop_s": pytest.approx(0.0), "least_s": 3.03}


def test_one_dip_is_found_and_what_is_too_long_is_none() -> None:
    found = behind()
    found.decisions[45] = dataclasses.replace(found.decisions[45], ttc_s=1.502)
    found.decisions[60] = dataclasses.replace(found.decisions[60], ttc_s=float("inf"))
    # 45 cycles in, the gap is 9.03 m: 4.515 s.
    assert smoothness(found) == {"cycles": 91, "least_quotient": 0.33, "largest_drop_s": 3.01, "least_s": 1.5}


def test_without_a_car_in_the_lane_nothing_is_told() -> None:
    nothing = {"cycles": 0, "least_quotient": None, "largest_drop_s": None, "least_s": None}
    assert smoothness(behind(y_m=3.0)) == nothing
    assert smoothness(Outputs()) == nothing
