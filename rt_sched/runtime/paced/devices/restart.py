"""Devices whose processes are started anew after they have ended: when, as agreed on in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rt_sched.runtime.paced.shared import shared_array

_ORDER = np.dtype([("device", np.int64), ("due_ns", np.int64), ("done", np.int64)])


class Restarts:
    """Orders are given before the forks, then by one process; the launcher carries them out. Times are run time."""

    def __init__(self, devices: Sequence[str], most: int) -> None:
        self._devices = tuple(devices)
        self._orders = shared_array(_ORDER, most)
        self._count = shared_array(np.int64, 1)

    def order(self, device: str, due_ns: int) -> None:
        """The next time that the device has ended, it is started at `due_ns` at the earliest."""
        self._orders[int(self._count[0])] = (self._devices.index(device), due_ns, 0)
        self._count[0] += 1

    def take(self, device: str, now_ns: int) -> bool:
        """Whether a device that has ended is to be started now; an order counts once."""
        orders = self._orders[: int(self._count[0])]
        mine = (orders["device"] == self._devices.index(device)) & (orders["done"] == 0) & (orders["due_ns"] <= now_ns)
        found = np.flatnonzero(mine)
        orders["done"][found[:1]] = 1
        return bool(len(found))
