"""Directions in which a LiDAR has stopped to see anything: a cover, dirt, or a part of the receiver that failed."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from rt_sched.messages.sensor import PointCloud
from safety.monitors.delivery import Delivery, Pace

#: Sectors of a whole turn, of 10 degrees each.
SECTORS = 36
#: Sweeps whose median is what a sector usually holds, and how many there must be.
USUAL_OVER, USUAL_LEAST = 10, 3
#: A sector that usually holds so many points, and now less than this share of them (num / den), is missing.
LEAST_POINTS, MISSING = 50, (1, 20)
#: So many sweeps in a row, so that a lorry's wet side that returns nothing is no fault.
CONFIRMED = 2

Counts = npt.NDArray[np.int64]


class Sectors:
    """Points by direction, against those of the sweeps before."""

    name = "sector"

    def __init__(self, pace: Pace) -> None:
        self.worst_case_ns = pace.within_ns(CONFIRMED)
        self._usual: deque[Counts] = deque(maxlen=USUAL_OVER)
        self._in_a_row = np.zeros(SECTORS, np.int64)

    def see(self, delivery: Delivery) -> str | None:
        """The sectors that are missing."""
        if not isinstance(delivery.message, PointCloud):
            return None
        counts = by_direction(delivery.message)
        if len(self._usual) < USUAL_LEAST:
            self._usual.append(counts)
            return None
        usual = np.median(np.stack(self._usual), axis=0)
        missing = (usual >= LEAST_POINTS) & (counts * MISSING[1] < usual * MISSING[0])
        self._in_a_row = np.where(missing, self._in_a_row + 1, 0)
        # What is missing stays as it usually was; all else is learned.
        self._usual.append(np.where(missing, usual.astype(np.int64), counts))
        lost = np.flatnonzero(self._in_a_row >= CONFIRMED)
        if not len(lost):
            return None
        width = 360 // SECTORS
        begin = int(lost[0]) * width - 180
        return f"{len(lost)} sectors of {width} degrees see nothing, the first from {begin} degrees on"


def by_direction(cloud: PointCloud) -> Counts:
    """Points in each sector, counted from straight behind over the right: int64[SECTORS]."""
    angle = np.arctan2(cloud.xyz_m[:, 1], cloud.xyz_m[:, 0])
    index = ((angle + np.pi) * (SECTORS / (2 * np.pi))).astype(np.int64) % SECTORS
    return np.bincount(index, minlength=SECTORS).astype(np.int64)
