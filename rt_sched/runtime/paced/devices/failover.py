"""What follows on the loss of a device: its processes are ended, and its tasks get the owners that the plan names."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.host.processes import demote
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import Answer, DeviceFailover
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats
from rt_sched.runtime.paced.devices.ownership import NOBODY, NOMINAL, Epoch, Ownership
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.strike import strike
from rt_sched.runtime.paced.roster import Roster
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.endings import is_ending

#: How often it is looked whether processes that were killed have begun to end, while there are any, and else.
_LOOK_NS, _SELDOM_NS = 1_000_000, 50_000_000


@dataclass(frozen=True, slots=True)
class Notice:
    """A lost device: when that was noticed, when it had given its last sign of life (run time), and how."""

    device: str
    noticed_ns: int
    last_sign_ns: int
    sign: Sign


_NOTICE = np.dtype([("noticed_ns", np.int64), ("last_sign_ns", np.int64), ("sign", np.int64), ("order", np.int64)])


class Failover:
    """Carried out by the supervisor that watches. A device is lost for good, whatever its processes do later."""

    def __init__(
        self,
        plan: DeviceFailover,
        heartbeats: Heartbeats,
        ownership: Ownership,
        roster: Roster,
        clock: PacedClock,
        *,
        real_time: bool,
    ) -> None:
        self._plan, self._heartbeats, self._ownership = plan, heartbeats, ownership
        self._roster, self._clock, self._real_time = roster, clock, real_time
        self._notices = shared_array(_NOTICE, len(plan.devices))
        self._lost: list[str] = []
        self._ending: set[int] = set()
        self.next_ns = 0
        self._table = {answer.devices: number for number, answer in enumerate(plan.answers)}

    def lose(self, device: str, sign: Sign) -> None:
        """Ends what may be left of the device, then says who goes on with its tasks and from when on."""
        noticed_ns = self._clock.now_ns()
        members = self._members(device)
        strike(self._heartbeats.group(device), signal.SIGKILL)
        self._lost.append(device)
        place = self._notices[self._plan.devices.index(device)]
        place["noticed_ns"], place["sign"] = noticed_ns, sign
        place["last_sign_ns"] = self._clock.run_ns(self._heartbeats.stamp_ns(device))
        number = self._table.get(frozenset(self._lost))
        answer = None if number is None else self._plan.answers[number]
        for task, owner in enumerate(self._owners(answer)):
            self._change(task, owner, noticed_ns)
        self._ownership.open_epoch(Epoch(number, noticed_ns, noticed_ns + self._plan.decision_ns))
        place["order"] = len(self._lost)
        self._clock.alert()
        self._ending |= {*members} if self._real_time else set()
        self.do(time.monotonic_ns())

    def _members(self, device: str) -> list[int]:
        plan, places = self._plan, self._roster.places
        mine = [task for task in range(len(plan.device_of)) if self._device(task, self._owner(task)) == device]
        standbys = [number for number, one in enumerate(plan.standbys) if one.device == device]
        pids = [self._heartbeats.supervisor(device), *self._roster.standbys["pid"][standbys].tolist()]
        return [pid for pid in (*pids, *places["pid"][mine].tolist(), *places["spare_pid"][mine].tolist()) if pid]

    def descriptors(self) -> Sequence[int]:
        """Nothing but time makes it look."""
        return ()

    def do(self, now_ns: int) -> None:
        """Lets what ends give its memory back below all tasks, but before ordinary processes, which may be many.

        Each only once it has begun to end: until then it needs its class to come that far.
        """
        for pid in [pid for pid in self._ending if is_ending(pid)]:
            self._ending.remove(pid)
            with suppress(ProcessLookupError):
                demote(pid, Scheduling.fifo(1))
        self.next_ns = now_ns + (_LOOK_NS if self._ending else _SELDOM_NS)

    def notices(self) -> tuple[Notice, ...]:
        """The lost devices, in order."""
        order = self._notices["order"]
        lost = sorted(np.flatnonzero(order).tolist(), key=lambda place: int(order[place]))
        times = {place: self._notices[place].tolist() for place in lost}
        return tuple(
            Notice(self._plan.devices[place], noticed_ns, last_sign_ns, Sign(sign))
            for place, (noticed_ns, last_sign_ns, sign, _) in times.items()
        )

    def _owners(self, answer: Answer | None) -> Sequence[int]:
        """Of every task; where nothing answers, everything on devices that live stays as it is."""
        plan = self._plan
        if answer is None:
            owners = [self._owner(task) for task in range(len(plan.device_of))]
        else:
            owners = [answer.moves.get(task, NOMINAL) for task in range(len(plan.device_of))]
            owners = [NOBODY if task in answer.dropped else owner for task, owner in enumerate(owners)]
        return [NOBODY if self._device(task, owner) in self._lost else owner for task, owner in enumerate(owners)]

    def _change(self, task: int, owner: int, noticed_ns: int) -> None:
        """A worker that lives where the task is no more is ended as well; its supervisor sees to the rest."""
        before = self._owner(task)
        if before == owner:
            return
        pid = int(self._roster.places["pid"][task])
        self._ownership.hand_over(task, owner)
        if self._device(task, before) in self._lost:
            self._roster.lose(task, pid, noticed_ns, with_device=True)
        elif pid:
            strike([pid], signal.SIGKILL)

    def _owner(self, task: int) -> int:
        return self._ownership.owner(task)

    def _device(self, task: int, owner: int) -> str | None:
        if owner == NOBODY:
            return None
        return self._plan.device_of[task] if owner == NOMINAL else self._plan.standbys[owner].device
