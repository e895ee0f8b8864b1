"""Signs of life of devices: every supervisor writes its own place in shared memory, nobody else does.

It also holds a robust mutex for as long as it lives. The kernel marks that one when its owner begins to die, long
before anybody who waits for the end is told of it, since a process gives its memory back first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np

from rt_sched.runtime.host.mutex import MUTEX_BYTES, Protocol, SharedMutex
from rt_sched.runtime.paced.shared import shared_array

_PLACE = np.dtype([("beats", np.int64), ("stamp_ns", np.int64), ("supervisor", np.int64)])


class Heartbeats:
    """One place per device. Times are of the host's monotonic clock: a run that is paused goes on beating."""

    def __init__(self, devices: Sequence[str]) -> None:
        self.devices = tuple(devices)
        self._place_of = {device: place for place, device in enumerate(devices)}
        self._places = shared_array(_PLACE, len(devices))
        memory = shared_array(np.uint8, MUTEX_BYTES * len(devices))
        self._lives = {
            device: SharedMutex.create(memory, place * MUTEX_BYTES, protocol=Protocol.NONE)
            for device, place in self._place_of.items()
        }

    def join(self, device: str) -> None:
        """The calling process is the supervisor of a device; it and all that it starts are one process group."""
        os.setpgid(0, 0)
        self._lives[device].acquire()
        self._places["supervisor"][self._place_of[device]] = os.getpid()

    def beat(self, device: str) -> None:
        """The device is alive now."""
        place = self._places[self._place_of[device]]
        place["stamp_ns"] = time.monotonic_ns()
        place["beats"] += 1

    def beats(self, device: str) -> int:
        """How many signs it gave so far."""
        return int(self._places["beats"][self._place_of[device]])

    def stamp_ns(self, device: str) -> int:
        """When it gave the last one; 0 before the first."""
        return int(self._places["stamp_ns"][self._place_of[device]])

    def supervisor(self, device: str) -> int:
        """The process that leads the group of the device's processes; 0 before it has joined."""
        return int(self._places["supervisor"][self._place_of[device]])

    def has_died(self, device: str) -> bool:
        """Whether its supervisor has begun to end, though it may not be gone yet."""
        how = self._lives[device].try_acquire()
        if how is not None:
            self._lives[device].release()
        return how is not None

    def group(self, device: str) -> list[int]:
        """All its processes, as kill(2) takes them; none before it has joined."""
        supervisor = self.supervisor(device)
        return [-supervisor] if supervisor else []


class Pulse:
    """What a supervisor does beside its work: a beat in every period, at instants that do not drift."""

    def __init__(self, heartbeats: Heartbeats, device: str, period_ns: int) -> None:
        self._heartbeats, self._device, self._period_ns = heartbeats, device, period_ns
        self.next_ns = 0

    def descriptors(self) -> Sequence[int]:
        """Nothing but time makes it beat."""
        return ()

    def do(self, now_ns: int) -> None:
        """Beats if it is time to."""
        if now_ns >= self.next_ns:
            self._heartbeats.beat(self._device)
            self.next_ns = max(self.next_ns + self._period_ns, now_ns + self._period_ns // 2)
