"""Directions in which a LiDAR has stopped to see anything: a cover, dirt, or a part of the receiver that failed."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from rt_sched.messages.sensor import SECTORS, PointCloud, sector_of
from safety.monitors.delivery import Delivery, Pace

#: Sweeps whose median is what a sector usually holds, and how many there must be.
USUAL_OVER, USUAL_LEAST = 10, 3
#: A sector that usually holds so many points, and now less than this share of them (num / den), is missing.
LEAST_POINTS, MISSING = 50, (1, 20)
#: So many sweeps in a row, so that a lorry's wet side that returns nothing is no fault.
CONFIRMED = 2

Counts = npt.NDArray[np.int64]
Lost = npt.NDArray[np.bool_]


class Sectors:
    """Points by direction against those of the sweeps before; where packets were recorded, also where they lack."""

    name = "sector"

    def __init__(self, pace: Pace) -> None:
        self.worst_case_ns = pace.within_ns(CONFIRMED)
        self._usual: deque[Counts] = deque(maxlen=USUAL_OVER)
        self._in_a_row = np.zeros(SECTORS, np.int64)
        self._has_fired = np.zeros(SECTORS, bool)

    def see(self, delivery: Delivery) -> str | None:
        """The sectors that are missing."""
        if not isinstance(delivery.message, PointCloud):
            return None
        unmeasured, dark = self._unmeasured(delivery.message.fired), self._dark(by_direction(delivery.message))
        return _told("were not measured", unmeasured) or _told("see nothing", dark)

    def _unmeasured(self, fired: Counts | None) -> Lost:
        """Where the sensor has fired before, and not in this turn: nothing but a loss of packets explains that."""
        if fired is None:
            return np.zeros(SECTORS, bool)
        lost: Lost = self._has_fired & (fired == 0)
        self._has_fired = self._has_fired | (fired > 0)
        return lost

    def _dark(self, counts: Counts) -> Lost:
        """Where points usually are, and were none in so many sweeps in a row."""
        if len(self._usual) < USUAL_LEAST:
            self._usual.append(counts)
            return np.zeros(SECTORS, bool)
        usual = np.median(np.stack(self._usual), axis=0)
        missing = (usual >= LEAST_POINTS) & (counts * MISSING[1] < usual * MISSING[0])
        self._in_a_row = np.where(missing, self._in_a_row + 1, 0)
        # What is missing stays as it usually was; all else is learned.
        self._usual.append(np.where(missing, usual.astype(np.int64), counts))
        return self._in_a_row >= CONFIRMED


def _told(how: str, lost: Lost) -> str | None:
    sectors = np.flatnonzero(lost)
    if not len(sectors):
        return None
    width = 360 // SECTORS
    begin = int(sectors[0]) * width - 180
    return f"{len(sectors)} sectors of {width} degrees {how}, the first from {begin} degrees on"


def by_direction(cloud: PointCloud) -> Counts:
    """Points in each sector, counted from straight behind over the right: int64[SECTORS]."""
    sectors = sector_of(np.arctan2(cloud.xyz_m[:, 1], cloud.xyz_m[:, 0]))
    return np.bincount(sectors, minlength=SECTORS).astype(np.int64)
