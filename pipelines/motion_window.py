"""The recent motion of the vehicle as intervals, for stages that carry measurements from one instant to another."""

from __future__ import annotations

from collections import deque

import numpy as np

from pipelines.rotations import Float, matrix_of_vector
from rt_sched.messages import MotionHistory


class MotionWindow:
    """Collects steps into intervals of at least `interval_ns` and forgets what is older than `window_ns`."""

    def __init__(self, window_ns: int, interval_ns: int) -> None:
        self._window_ns = window_ns
        self._interval_ns = interval_ns
        self._intervals: deque[tuple[int, int, Float, Float]] = deque()
        self._start_ns: int | None = None
        self._turn: Float = np.zeros(3)
        self._way: Float = np.zeros(3)

    def forget(self, now_ns: int) -> None:
        """Begins anew at `now_ns`: the motion up to then is not known."""
        self._intervals.clear()
        self._start_ns = now_ns
        self._turn, self._way = np.zeros(3), np.zeros(3)

    def add(self, now_ns: int, turn_rad: Float, move_m: Float) -> None:
        """A step that ends at `now_ns`, in the vehicle's axes at its start."""
        if self._start_ns is None:
            raise ValueError("forget() gives the first instant")
        # Rotation vectors of parts of an interval of some milliseconds add up.
        self._way = self._way + matrix_of_vector(self._turn) @ move_m
        self._turn = self._turn + turn_rad
        if now_ns - self._start_ns >= self._interval_ns:
            self._intervals.append((self._start_ns, now_ns, self._turn, self._way))
            self._start_ns = now_ns
            self._turn, self._way = np.zeros(3), np.zeros(3)
        while self._intervals and self._intervals[0][1] < now_ns - self._window_ns:
            self._intervals.popleft()

    def message(self, now_ns: int) -> MotionHistory | None:
        """The intervals up to `now_ns`; None before the first one is complete."""
        intervals = list(self._intervals)
        if self._start_ns is not None and now_ns > self._start_ns:
            intervals.append((self._start_ns, now_ns, self._turn, self._way))
        if not intervals:
            return None
        return MotionHistory(
            time_ns=np.array([intervals[0][0], *(end for _, end, _, _ in intervals)], np.int64),
            turn_rad=np.array([turn for _, _, turn, _ in intervals]),
            move_m=np.array([way for _, _, _, way in intervals]),
        )
