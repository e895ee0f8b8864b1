"""What follows on the loss of a device, and on its return: the tasks get the owners that the plan names."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rt_sched.runtime.host.processes import children_of, demote, is_stopped
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.paced.clock import PacedClock
from rt_sched.runtime.paced.devices.answers import NOBODY, NOMINAL, Answer, DeviceFailover
from rt_sched.runtime.paced.devices.heartbeat import Heartbeats
from rt_sched.runtime.paced.devices.ownership import Epoch, Ownership
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.faults.strike import open_job, strike
from rt_sched.runtime.paced.jobs.journal import Journal
from rt_sched.runtime.paced.roster import Roster, State
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.transport.endings import is_ending

#: How often it is looked whether processes that were killed have begun to end, while there are any, and else.
_LOOK_NS, _SELDOM_NS = 2_000_000, 50_000_000
#: Returns that a run has room for.
_MOST_RETURNS = 64


def most_notices(plan: DeviceFailover) -> int:
    """Losses and returns that a run has room for: every device can be lost once more than something returns."""
    return len(plan.devices) + 2 * _MOST_RETURNS


@dataclass(frozen=True, slots=True)
class Notice:
    """A device that was lost, or `is_back`: when that was noticed, and how; times are run time.

    `last_sign_ns`: of a loss, when the device had given its last sign of life; of a return, the first one since then.
    """

    device: str
    noticed_ns: int
    last_sign_ns: int
    sign: Sign
    is_back: bool = False


_NOTICE = np.dtype([(name, np.int64) for name in ("device", "noticed_ns", "last_sign_ns", "sign", "is_back")])


@dataclass(frozen=True, slots=True)
class _Trust:
    """In a device that was lost, since a sign of life: when the decision fell, and by when its tasks go back."""

    since_ns: int
    noticed_ns: int
    until_ns: int


class Failover:
    """Carried out by the supervisor that watches. `journals`: by task.

    A process of a lost device never serves its task again. They are ended at once, but for a supervisor that was only
    stopped: it owns no task, and when it goes on it starts others, which wait until the device is trusted.
    """

    def __init__(
        self,
        plan: DeviceFailover,
        heartbeats: Heartbeats,
        ownership: Ownership,
        roster: Roster,
        journals: Sequence[Journal],
        clock: PacedClock,
        *,
        real_time: bool,
    ) -> None:
        self._plan, self._heartbeats, self._ownership = plan, heartbeats, ownership
        self._roster, self._journals, self._clock, self._real_time = roster, journals, clock, real_time
        self._notices = shared_array(_NOTICE, most_notices(plan))
        self._count = shared_array(np.int64, 1)
        self._returns = 0
        self._lost: list[str] = []
        self._trust: dict[str, _Trust] = {}
        self._ending: set[int] = set()
        self.next_ns = 0
        self._table = {answer.devices: number for number, answer in enumerate(plan.answers)}

    def lose(self, device: str, sign: Sign) -> None:
        """Says who goes on with the device's tasks and from when on, and ends what may be left of it before that."""
        noticed_ns = self._clock.now_ns()
        members = self._members(device)
        for place in self._waiting(device):
            place["state"] = State.EMPTY
        self._lost.append(device)
        number = self._table.get(frozenset(self._lost))
        for task, owner in enumerate(self._owners(self._answer(number))):
            self._change(task, owner, noticed_ns)
        stays = self._end_all(device)
        self._ownership.open_epoch(Epoch(number, noticed_ns, noticed_ns + self._plan.decision_ns))
        self._note(Notice(device, noticed_ns, self._clock.run_ns(self._heartbeats.stamp_ns(device)), sign))
        self._clock.alert()
        self._ending |= {*members} - {stays} if self._real_time else set()
        self.do(time.monotonic_ns())

    def take_back(self, device: str, since_ns: int) -> bool:
        """Whether the tasks of a device that beats since then, of the host's clock, have gone back now.

        Not before the plan answers what is still lost, a process stands ready for each task that moves, the time for
        the decision is over, and no job of such a task is at work; for that it waits no longer than their deadlines.
        """
        still_lost = frozenset(self._lost) - {device}
        number = self._table.get(still_lost)
        if number is None or self._returns == _MOST_RETURNS:
            return False
        owners = self._owners(self._answer(number), still_lost)
        moving = [task for task, owner in enumerate(owners) if owner != self._owner(task)]
        if not all(self._is_ready(task, owners[task]) for task in moving):
            return False
        trust, now_ns = self._trusted(device, since_ns, moving), self._clock.now_ns()
        at_work = any(open_job(self._journals[task]) is not None for task in moving)
        if now_ns < trust.noticed_ns + self._plan.decision_ns or (at_work and now_ns < trust.until_ns):
            return False
        del self._trust[device]
        self._lost.remove(device)
        self._returns += 1
        self._ownership.open_epoch(Epoch(number, trust.noticed_ns, now_ns))
        for task in moving:
            self._change(task, owners[task], now_ns)
        self._note(Notice(device, trust.noticed_ns, self._clock.run_ns(since_ns), Sign.HEARTBEAT, is_back=True))
        self._clock.alert()
        return True

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
        """The devices that were lost, and that came back, in order."""
        return tuple(
            Notice(self._plan.devices[device], noticed_ns, last_sign_ns, Sign(sign), bool(is_back))
            for device, noticed_ns, last_sign_ns, sign, is_back in self._notices[: int(self._count[0])].tolist()
        )

    def _note(self, notice: Notice) -> None:
        device = self._plan.devices.index(notice.device)
        times = notice.noticed_ns, notice.last_sign_ns
        self._notices[int(self._count[0])] = (device, *times, int(notice.sign), notice.is_back)
        self._count[0] += 1

    def _members(self, device: str) -> list[int]:
        """The processes of the device that are known."""
        plan, places = self._plan, self._roster.places
        mine = [task for task in range(len(plan.device_of)) if self._device(task, self._owner(task)) == device]
        pids = [self._heartbeats.supervisor(device), *(int(place["pid"]) for place in self._waiting(device))]
        return [pid for pid in (*pids, *places["pid"][mine].tolist(), *places["spare_pid"][mine].tolist()) if pid]

    def _waiting(self, device: str) -> list[np.void]:
        """The places of processes there that wait for a task."""
        plan = self._plan
        owners = [(task, NOMINAL) for task, nominal in enumerate(plan.device_of) if nominal == device]
        owners += [(one.task, number) for number, one in enumerate(plan.standbys) if one.device == device]
        return [self._roster.waiting(task, owner) for task, owner in owners]

    def _end_all(self, device: str) -> int | None:
        """Ends its processes; a supervisor that stands still stays, and is returned."""
        supervisor = self._heartbeats.supervisor(device)
        started = children_of(supervisor) if is_stopped(supervisor) else None
        strike(self._heartbeats.group(device) if started is None else started, signal.SIGKILL)
        return None if started is None else supervisor

    def _is_ready(self, task: int, owner: int) -> bool:
        return owner == NOBODY or int(self._roster.waiting(task, owner)["state"]) == State.SEATED

    def _trusted(self, device: str, since_ns: int, moving: Sequence[int]) -> _Trust:
        """Decided when this was first asked, unless its signs of life began anew."""
        trust = self._trust.get(device)
        if trust is None or trust.since_ns != since_ns:
            now_ns = self._clock.now_ns()
            longest_ns = max((self._plan.deadline_ns[task] for task in moving), default=0)
            trust = self._trust[device] = _Trust(since_ns, now_ns, now_ns + self._plan.decision_ns + longest_ns)
        return trust

    def _answer(self, number: int | None) -> Answer | None:
        return None if number is None else self._plan.answers[number]

    def _owners(self, answer: Answer | None, lost: frozenset[str] | None = None) -> Sequence[int]:
        """Of every task; where nothing answers, everything on devices that live stays as it is."""
        tasks = range(len(self._plan.device_of))
        gone = self._lost if lost is None else lost
        owners = [self._owner(task) if answer is None else answer.owner(task) for task in tasks]
        return [NOBODY if self._device(task, owner) in gone else owner for task, owner in enumerate(owners)]

    def _change(self, task: int, owner: int, noticed_ns: int) -> None:
        """A worker that lives where the task is no more is ended as well; its supervisor sees to the rest."""
        before = self._owner(task)
        if before == owner:
            return
        pid = int(self._roster.places["pid"][task])
        self._ownership.hand_over(task, owner)
        if self._device(task, before) in self._lost:
            self._roster.lose(task, pid, noticed_ns, with_device=True)
        elif pid and before != NOBODY:
            strike([pid], signal.SIGKILL)

    def _owner(self, task: int) -> int:
        return self._ownership.owner(task)

    def _device(self, task: int, owner: int) -> str | None:
        if owner == NOBODY:
            return None
        return self._plan.device_of[task] if owner == NOMINAL else self._plan.standbys[owner].device
