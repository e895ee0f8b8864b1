"""Starts every process of a paced run, lets it run, ends it, and gathers what happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import cast

import numpy as np

from rt_sched.errors import DeploymentError, RtSchedError
from rt_sched.model import Plan, System
from rt_sched.ports import Port, Stage
from rt_sched.runtime.host.affinity import allowed_cores, pin
from rt_sched.runtime.host.child import fork, name_process
from rt_sched.runtime.host.cpuset import ExclusiveCpuset
from rt_sched.runtime.host.cpuset_groups import processes
from rt_sched.runtime.host.huge_pages import collapse_memory
from rt_sched.runtime.host.observed import ObservedProcess, observe
from rt_sched.runtime.host.scheduling import Scheduling, set_scheduling
from rt_sched.runtime.host.supply import deadline_share
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.keys import authenticator_of
from rt_sched.runtime.paced.actuator import ActuatorOrder, ActuatorSide, Publish
from rt_sched.runtime.paced.alerts import Alert, Alerts
from rt_sched.runtime.paced.answers import DeviceFailover
from rt_sched.runtime.paced.arrivals import MessageArrivals, TimedArrivals
from rt_sched.runtime.paced.clock import PacedClock, Pause
from rt_sched.runtime.paced.edges import channel_name, channels_of, inlets_of, outlets_of
from rt_sched.runtime.paced.failover import Notice
from rt_sched.runtime.paced.feeder import Playback, publish_on_time
from rt_sched.runtime.paced.guard import DeviceGuard
from rt_sched.runtime.paced.inbox import Inbox
from rt_sched.runtime.paced.injector import Blow, Injector, Landed
from rt_sched.runtime.paced.journal import Journal
from rt_sched.runtime.paced.lane import Lane
from rt_sched.runtime.paced.line import ReadyLine, line_channels
from rt_sched.runtime.paced.marks import Marks
from rt_sched.runtime.paced.oversight import Oversight, Watched
from rt_sched.runtime.paced.ownership import NOMINAL, Epoch, Ownership, Tenure
from rt_sched.runtime.paced.process import Employment, ends_jobs
from rt_sched.runtime.paced.publisher import publisher_of
from rt_sched.runtime.paced.ranking import Ranking
from rt_sched.runtime.paced.refusal import refuse
from rt_sched.runtime.paced.rehearsal import Rehearsal
from rt_sched.runtime.paced.reservations import as_scheduling, check_room, task_reservations
from rt_sched.runtime.paced.roster import Roster, State, WorkerLoss
from rt_sched.runtime.paced.shared import shared_array
from rt_sched.runtime.paced.spool import Spool
from rt_sched.runtime.paced.standing import Standing, standings
from rt_sched.runtime.paced.strike import Strike, Striker, Struck
from rt_sched.runtime.paced.supervisor import Charge, Supervisor
from rt_sched.runtime.paced.tier import FEEDER_PRIORITY, HIGHEST_TASK_PRIORITY, Seat, seats
from rt_sched.runtime.paced.turns import Turns
from rt_sched.runtime.paced.worker import Post
from rt_sched.trace.records import SampleTable
from rt_sched.trace.setup import Setup, TaskRow
from rt_sched.transport import Channel, Segment


class StageDefect(RtSchedError):
    """Stage code failed in a worker."""

    is_defect = True


@dataclass(frozen=True, slots=True)
class PacedOrder:
    """What is to run. `setup`: the plan by rows. `samples`: with the instants at which they are due.

    `make_stage`: a started stage for a task, by its index; called in the worker. `decode`: carried out by the process
    that decodes: given the playback it fills the line. `output_ports`: of each task, by its stage. `alive_ns`: by task,
    the longest time between two ends of its jobs in health. `blows`: that strike the run while it goes on.
    `failover`: what follows on lost devices; None: nobody watches them, and the run ends with one. `strikes`: at
    devices, given the run itself once it knows its processes.
    """

    system: System
    plan: Plan
    setup: Setup
    tier: Tier
    rate: Fraction
    samples: SampleTable
    horizon_ns: int
    rehearsal: Rehearsal
    make_stage: Callable[[int], Stage]
    decode: Callable[[Playback], None]
    output_ports: Sequence[tuple[str, ...]]
    alive_ns: Sequence[int | None]
    actuator: ActuatorOrder | None = None
    blows: Sequence[Blow] = ()
    failover: DeviceFailover | None = None
    strikes: Callable[[PacedRun], Sequence[Strike]] | None = None


@dataclass(frozen=True, slots=True)
class PacedWorker:
    """Who served a task, as the kernel reported it while it did; None where it had ended before anybody could look."""

    task: str
    seat: Seat
    core: int
    pid: int
    observed: ObservedProcess | None


@dataclass(frozen=True, slots=True)
class PacedOutcome:
    """`journals`, `spools`: by task. `published_ns`: by sample, -1 for never. `landed`: of each blow.

    `notices`: of lost devices, and `epochs`, what followed on each. `struck`: what became of every strike.
    """

    journals: list[np.ndarray]
    spools: list[Spool]
    published_ns: np.ndarray
    workers: tuple[PacedWorker, ...]
    losses: tuple[WorkerLoss, ...]
    pauses: tuple[Pause, ...]
    alerts: tuple[Alert, ...] = ()
    landed: tuple[Landed, ...] = ()
    actuator: ActuatorSide | None = None
    notices: tuple[Notice, ...] = ()
    epochs: tuple[Epoch, ...] = ()
    struck: tuple[Struck, ...] = ()


#: How long stages may take to start, before the run is given up.
_START_LIMIT_S = 180.0
#: From the moment at which everybody is ready to run time 0.
_LEAD_NS = 200_000_000
#: How long processes may take to end once the run is over.
_END_LIMIT_S = 5.0
#: When, in run time, the kernel is asked about the workers.
_OBSERVED_AT_NS = 100_000_000
_LOOK_S = 0.05


class PacedRun:
    """One run. Make it and call `run`, in a process with no other thread: all others are forked from it."""

    def __init__(self, order: PacedOrder) -> None:
        refuse(order.setup)
        self._order = order
        self._authenticator = authenticator_of(order.system)
        self._cores = host_cores(order.system, order.plan)
        self._publisher = publisher_of(order.system, order.plan, order.rehearsal.bytes_of)
        self._standbys = order.failover.standbys if order.failover is not None else ()
        self._rows: list[TaskRow] = [*order.setup.tasks, *(one.row for one in self._standbys)]
        self._seats = seats(order.setup, order.tier, self._reserved(), self._rows[len(order.setup.tasks) :])
        self._cpusets: dict[int, ExclusiveCpuset] = {}  # one for each core: SCHED_DEADLINE has no pinning inside
        self.clock = PacedClock(order.rate)
        self._roster = Roster(len(order.setup.tasks), len(self._standbys))
        self._kept = order.failover.kept if order.failover is not None else frozenset()
        channels = channels_of(order.system, order.setup, order.rehearsal.bytes_of, self._kept)
        self._channels: dict[str, Channel] = {channel.name: channel for channel in channels}
        sensors = [sensor.name for sensor in order.system.sensors]
        ahead = line_channels(
            order.system, {name: self._channels[name].message_bytes for name in sensors if name in self._channels}
        )
        self._segment = Segment.create([*channels, *ahead])
        self._port = cast(Port, self._segment)  # its loans are of its own kind, which the protocol cannot say
        self._journals = [self._journal(index) for index in range(len(order.setup.tasks))]
        self._spools = [Spool() for _ in order.setup.tasks]
        self._turns = self._make_turns()
        self._guard = None
        self._ownership = Ownership(len(order.setup.tasks))
        if order.failover is not None:
            real_time = order.tier is not Tier.USER
            self._guard = DeviceGuard(order.failover, self._roster, self.clock, real_time=real_time)
            self._ownership = self._guard.ownership
        strikes = () if order.strikes is None else order.strikes(self)
        self._striker = Striker(strikes, self.clock, real_time=order.tier is not Tier.USER) if strikes else None
        self._published_ns = shared_array(np.int64, len(order.samples))
        self._published_ns[:] = -1
        lines = iter([ReadyLine(self._port, channel, self.clock) for channel in ahead])
        by_sensor = tuple(next(lines) if name in self._channels else None for name in sensors)
        self._playback = Playback(order.samples, by_sensor, self._published_ns, self.clock)
        self._alerts, self._marks = Alerts(len(order.setup.tasks)), Marks(len(order.setup.tasks))
        self._actuator = self._make_actuator()
        self._injector = self._make_injector()

    def run(self, progress: Callable[[int], None]) -> PacedOutcome:
        """Everything from the first fork to the last exit. Raises what a stage could not do at its start."""
        with ExitStack() as stack:
            if self._order.tier is Tier.DEADLINE:
                for core in sorted(set(self._cores)):
                    self._cpusets[core] = stack.enter_context(ExclusiveCpuset({core}, patience_ns=_LEAD_NS))
            if self._guard is not None:  # no beat may be missed for the time that a fork takes
                collapse_memory()
            pids = stack.enter_context(self._forked())
            self._wait_for(State.READY, pids)
            self.clock.prepare()
            self._wait_for(State.SEATED, pids)
            self.clock.begin(time.monotonic_ns() + _LEAD_NS)
            workers = self._let_run(pids, progress)
            self._end(pids)
        return PacedOutcome(
            [journal.read() for journal in self._journals],
            self._spools,
            self._published_ns.copy(),
            workers,
            tuple(self._roster.losses()),
            self.clock.pauses,
            self._alerts.read(),
            () if self._injector is None else self._injector.landed(),
            self._actuator,
            notices=() if self._guard is None else self._guard.notices(),
            epochs=tuple(self._ownership.epochs()),
            struck=() if self._striker is None else tuple(self._striker.struck()),
        )

    def processes_of(self, device: str) -> Sequence[int]:
        """All processes of a device, as kill(2) takes them; none where nobody watches devices."""
        return () if self._guard is None else self._guard.heartbeats.group(device)

    def journals_of(self, device: str) -> tuple[Journal, ...]:
        """The journals of the tasks that are on a device nominally."""
        return tuple(
            self._journals[index]
            for index, row in enumerate(self._order.setup.tasks)
            if self._order.plan.processors[row.processor].device == device
        )

    @property
    def order(self) -> PacedOrder:
        """What runs."""
        return self._order

    def standings(self, now_ns: int) -> tuple[Standing, ...]:
        """How every task stands at this run time; while the run goes on."""
        return standings([task.name for task in self._order.system.tasks], self._journals, now_ns)

    @contextmanager
    def _forked(self) -> Iterator[dict[int, str]]:
        """Supervisors and feeders, by process; whatever happens, none of them is left."""
        pids: dict[int, str] = {}
        real_time = self._order.tier is not Tier.USER
        try:
            for device, charges in self._charges().items():
                cores = sorted({charge.employment.core for charge in charges})
                if allowed_cores() - self._cpusets.keys():  # elsewhere than the reservations, where that is possible
                    cores = sorted(set(cores) - self._cpusets.keys())
                supervisor = Supervisor(
                    charges,
                    cores,
                    self._oversight(charges),
                    self._roster,
                    self.clock,
                    real_time=real_time,
                    duties=() if self._guard is None else self._guard.duties(device),
                    join=None if self._guard is None else partial(self._guard.heartbeats.join, device),
                )
                pids[fork(supervisor.run)] = _supervisor(device)
            pids[fork(self._decode)] = "the process that decodes"
            pids[fork(self._publish)] = "the process that publishes samples"
            if self._actuator is not None:
                pids[fork(partial(self._actuator.run, self._free_core, real_time=real_time))] = (
                    "the process of the actuators' side"
                )
            if self._injector is not None:
                pids[fork(partial(self._injector.run, real_time=real_time))] = "the process that injects faults"
            if self._striker is not None:
                pids[fork(self._striker.run)] = "the process that strikes"
            yield pids
        finally:
            self.clock.end()
            for pid in pids:
                _kill(pid)
            self._wait_for_empty_cpusets()

    def _wait_for_empty_cpusets(self) -> None:
        """Workers die with their supervisors, but not at once."""
        until = time.monotonic() + _END_LIMIT_S
        while any(processes(one.path) for one in self._cpusets.values()) and time.monotonic() < until:
            time.sleep(0.01)

    def _decode(self) -> None:
        name_process("rt-decode")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._order.decode(self._playback)

    def _reserved(self) -> dict[int, Scheduling]:
        """In the tier `deadline`, by the index of the task. Raises DeploymentError where a core has too little room."""
        order = self._order
        if order.tier is not Tier.DEADLINE:
            return {}
        reservations = task_reservations(order.system, order.plan)
        extra = {self._cores[self._publisher.processor]: self._publisher.reservation}
        check_room(order.system, order.plan, reservations, self._cores, extra, deadline_share())
        return {index: as_scheduling(one, order.rate) for index, one in reservations.items()}

    def _publisher_scheduling(self) -> Scheduling:
        if self._order.tier is Tier.DEADLINE:
            return as_scheduling(self._publisher.reservation, self._order.rate)
        return Scheduling.fifo(FEEDER_PRIORITY)

    def _publish(self) -> None:
        name_process("rt-publish")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        writers = [
            self._port.writer(sensor.name) if sensor.name in self._channels else None
            for sensor in self._order.system.sensors
        ]
        for line in self._playback.lines:
            if line is not None:
                line.open()
        if self._order.tier is not Tier.USER:  # before the begin: on a busy host it would take too long after it
            self._go_to(self._cores[self._publisher.processor])
            set_scheduling(self._publisher_scheduling())
        if not self.clock.wait_until_begun():
            return
        name_process("rt-publishing")
        publish_on_time(self._playback, writers)

    def _wait_for(self, wanted: State, pids: dict[int, str]) -> None:
        """Waits until every worker is that far, and enough of the recording lies decoded."""
        until = time.monotonic() + _START_LIMIT_S
        states = self._roster.places["state"]
        standby_states = self._roster.standbys["state"]
        while not (
            (states == wanted).all()
            and (standby_states == wanted).all()
            and self._playback.filled
            and self._actuator_is_ready
        ):
            self._raise_failures(pids)
            if time.monotonic() > until:
                tasks = [*self._order.system.tasks, *(self._order.system.tasks[one.task] for one in self._standbys)]
                found = zip(tasks, [*states, *standby_states], strict=True)
                late = [task.name for task, state in found if state != wanted]
                raise DeploymentError(f"not ready within {_START_LIMIT_S:g} s: {', '.join(late) or 'the recording'}")
            time.sleep(_LOOK_S)

    @property
    def _actuator_is_ready(self) -> bool:
        return self._actuator is None or self._actuator.ready

    def _let_run(self, pids: dict[int, str], progress: Callable[[int], None]) -> tuple[PacedWorker, ...]:
        workers: tuple[PacedWorker, ...] = ()
        while (now_ns := self.clock.now_ns()) < self._order.horizon_ns:
            self._raise_failures(pids)
            if not workers and now_ns >= min(_OBSERVED_AT_NS, self._order.horizon_ns // 2):
                workers = self._observed()
            progress(max(now_ns, 0))
            time.sleep(_LOOK_S)
        return workers or self._observed()

    def _observed(self) -> tuple[PacedWorker, ...]:
        found = []
        for index, task in enumerate(self._order.system.tasks):
            pid = int(self._roster.places["pid"][index])
            try:
                seen = observe(pid)
            except ProcessLookupError:
                seen = None
            found.append(PacedWorker(task.name, self._seats[index], self._core_of(index), pid, seen))
        return tuple(found)

    def _raise_failures(self, pids: dict[int, str]) -> None:
        """Raises what a worker could not do, and where a process that has to last has ended."""
        places = self._roster.places
        for index, task in enumerate(self._order.system.tasks):
            if places["state"][index] == State.FAILED:
                text = f"task {task.name}: {self._roster.reason(index)}"
                raise StageDefect(text) if places["is_defect"][index] else DeploymentError(text)
        for pid in list(pids):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                name = pids.pop(pid)
                if status and name not in self._may_end():
                    raise DeploymentError(f"{name} ended early: {_how(status)}")

    def _may_end(self) -> set[str]:
        """The supervisors whose end is taken care of: of devices that are watched, once the run has begun."""
        if self._guard is None or not self.clock.begun:
            return set()
        return {_supervisor(device) for device in self._guard.watched}

    def _end(self, pids: dict[int, str]) -> None:
        self.clock.end()
        for row in self._order.setup.tasks:
            if not row.timed:  # whoever waits for a message looks then whether the run has ended
                self._segment.bell(row.name).ring()
        until = time.monotonic() + _END_LIMIT_S
        for pid in list(pids):
            while time.monotonic() < until:
                ended, _ = os.waitpid(pid, os.WNOHANG)
                if ended:
                    del pids[pid]
                    break
                time.sleep(0.01)

    def _charges(self) -> dict[str, list[Charge]]:
        """The tasks of each device, then those that stand by there."""
        tasks = range(len(self._order.setup.tasks))
        places = [(index, NOMINAL) for index in tasks] + [(one.task, n) for n, one in enumerate(self._standbys)]
        found: dict[str, list[Charge]] = {}
        if self._guard is not None:  # also of a device on which nothing runs
            found = {device: [] for device in self._guard.heartbeats.devices}
        for place, (index, owner) in enumerate(places):
            row = self._rows[place]
            charge = Charge(
                self._employment(place, index, owner),
                self._journals[index],
                self._turns[place],
                keeps_spare=ends_jobs(row) and owner == NOMINAL,
            )
            device = self._order.plan.processors[row.processor].device
            found.setdefault(device, []).append(charge)
        return found

    def _employment(self, place: int, index: int, owner: int) -> Employment:
        """What a process at a place needs: those of the tasks come first, then those of standbys."""
        edges = self._order.setup.edges
        tenure = Tenure(self._ownership, index, owner, tuple(edge.target for edge in edges if edge.task == index))
        return Employment(
            index=index,
            task=self._order.system.tasks[index],
            row=self._rows[place],
            edges=tuple(edge for edge in edges if edge.target == index),
            turns=self._turns[place],
            seat=self._seats[place],
            core=self._core_of(place),
            go_to_core=lambda: self._go_to(self._core_of(place)),
            make_stage=lambda: self._order.make_stage(index),
            example=self._order.rehearsal.example(self._order.system.tasks[index].name),
            open_post=lambda stateful: self._open_post(place, tenure, stateful),
            prepare_post=lambda: self._prepare_post(index),
            clock=self.clock,
            roster=self._roster,
            marks=self._marks,
            journal=self._journals[index],
            tenure=tenure,
        )

    def _prepare_post(self, index: int) -> None:
        """In a process that may have to open the post in a hurry: what takes long of that."""
        task = self._order.system.tasks[index]
        for given in task.inputs:
            self._segment.prepare(channel_name(given.source, given.port), writable=False)
        for port in self._order.output_ports[index]:
            if channel_name(task.name, port) in self._channels:
                self._segment.prepare(channel_name(task.name, port), writable=True)

    def _open_post(self, place: int, tenure: Tenure, stateful: bool) -> Post:
        """In the worker: claims its ends of the edges."""
        order, index = self._order, tenure.task
        task, row = order.system.tasks[index], self._rows[place]
        edges = tuple(edge for edge in order.setup.edges if edge.target == index)
        inlets = inlets_of(self._port, order.system, order.setup, index, copy=stateful, kept=self._kept)
        inbox = Inbox(edges, inlets, row.tolerance_ns)
        outlets = outlets_of(self._port, task.name, self._channels, order.output_ports[index])
        publish: Publish = outlets.publish
        if self._actuator is not None and self._actuator.task == task.name:
            publish = self._actuator.published_too(publish)
        journal = self._journals[index]
        if row.timed:
            arrivals: TimedArrivals | MessageArrivals = TimedArrivals(
                row, self.clock, journal, order.horizon_ns, os.getpid(), tenure
            )
        else:
            bell = self._segment.bell(task.name)
            arrivals = MessageArrivals(row, inbox, bell, self.clock, journal, os.getpid())
        return Post(
            task=task,
            row=row,
            edges=edges,
            clock=self.clock,
            arrivals=arrivals,
            inbox=inbox,
            journal=journal,
            turns=self._turns[place],
            publish=publish,
            keep=self._spools[index].keep,
            tenure=tenure,
            authenticator=self._authenticator,
        )

    def _oversight(self, charges: Sequence[Charge]) -> Oversight:
        watched = {
            charge.employment.index: Watched(
                charge.journal,
                None if charge.is_standby else self._order.alive_ns[charge.employment.index],
                self._order.alive_ns[charge.employment.index] or charge.employment.row.deadline_ns,
            )
            for charge in charges
        }
        over_ns = min(int(self._order.samples.arrival_ns.max(initial=0)), self._order.horizon_ns)
        return Oversight(watched, self._alerts, self.clock, over_ns)

    @property
    def _free_core(self) -> int | None:
        """A core of this host that no task runs on."""
        return max(allowed_cores() - set(self._cores), default=None)

    def _make_actuator(self) -> ActuatorSide | None:
        order = self._order.actuator
        if order is None:
            return None
        seen_bytes = self._order.rehearsal.bytes_of.get((order.task, order.port), 0)
        return ActuatorSide(order, seen_bytes, self.clock, self._order.horizon_ns, self._authenticator)

    def _make_injector(self) -> Injector | None:
        blows = self._order.blows
        if not blows:
            return None
        return Injector(
            blows, self.clock, self._roster, self._marks, self._journals, self._published_ns, self.processes_of
        )

    def _go_to(self, core: int) -> None:
        """In the worker: it runs on this core alone from now on."""
        if core in self._cpusets:
            self._cpusets[core].admit(os.getpid())
        pin([core])

    def _journal(self, index: int) -> Journal:
        """With room for twice the jobs that the plan expects."""
        order = self._order
        slots = sum(edge.target == index for edge in order.setup.edges)
        apart_ns = max(1, order.system.tasks[index].separation_ns)
        return Journal(slots, 2 * (order.horizon_ns // apart_ns) + 256)

    def _make_turns(self) -> list[Turns]:
        setup = self._order.setup
        members = [[i for i, row in enumerate(self._rows) if row.processor == p] for p in range(len(setup.processors))]
        lanes = [Lane(len(mine)) if any(self._seats[index].lane for index in mine) else None for mine in members]
        rankings = [
            Ranking(len(mine), HIGHEST_TASK_PRIORITY) if any(self._seats[index].ranked for index in mine) else None
            for mine in members
        ]
        return [
            Turns(
                policy=setup.processors[task.processor].policy,
                level=task.level,
                place=members[task.processor].index(index),
                lane=lanes[task.processor],
                ranking=rankings[task.processor],
            )
            for index, task in enumerate(self._rows)
        ]

    def _core_of(self, place: int) -> int:
        return self._cores[self._rows[place].processor]


def host_cores(system: System, plan: Plan) -> list[int]:
    """The host core of each processor of the plan. Raises DeploymentError where the file deploys it nowhere."""
    deployed = {one.pe: one.cores for one in system.deployments}
    lacking = sorted({f"{p.device}.{p.pe}" for p in plan.processors if (p.device, p.pe) not in deployed})
    if lacking:
        raise DeploymentError(
            f"system {system.name} does not say which host cores stand for {', '.join(lacking)}; "
            f"add them to its section deploy, such as deploy: {{{lacking[0]}: [0]}}"
        )
    cores = [deployed[p.device, p.pe][p.core] for p in plan.processors]
    strange = sorted(set(cores) - allowed_cores())
    if strange:
        there = ", ".join(map(str, sorted(allowed_cores())))
        raise DeploymentError(f"this host has no core {', '.join(map(str, strange))} for this process; it has {there}")
    return cores


def _supervisor(device: str) -> str:
    return f"the supervisor of {device}"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
