"""What a paced run is asked to do, and what has become of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rt_sched.model import Plan, System
from rt_sched.ports import Stage
from rt_sched.runtime.health_order import HealthOrder, HealthRecord
from rt_sched.runtime.host.observed import ObservedProcess
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.actuator import ActuatorOrder, ActuatorSide
from rt_sched.runtime.paced.clock import Pause
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.devices.failover import Notice
from rt_sched.runtime.paced.devices.ownership import Epoch
from rt_sched.runtime.paced.faults.alerts import Alert
from rt_sched.runtime.paced.faults.injector import Blow, Landed
from rt_sched.runtime.paced.faults.strike import Strike, Struck
from rt_sched.runtime.paced.feed.feeder import Playback
from rt_sched.runtime.paced.jobs.rehearsal import Rehearsal
from rt_sched.runtime.paced.jobs.spool import Spool
from rt_sched.runtime.paced.links.signs import LinkNotice
from rt_sched.runtime.paced.roster import WorkerLoss
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.tier import Seat
from rt_sched.runtime.paced.sections.records import SectionsRecord
from rt_sched.trace.records import SampleTable
from rt_sched.trace.setup import Setup

if TYPE_CHECKING:
    from rt_sched.runtime.paced.executor import PacedRun


def as_it_is(_index: int, stage: Stage) -> Stage:
    """No fault strikes the jobs of a task."""
    return stage


@dataclass(frozen=True, slots=True)
class PacedOrder:
    """What is to run. `setup`: the plan by rows. `samples`: with the instants at which they are due.

    `make_stage`: a started stage for a task, by its index; called in the worker. `struck_stage`: what serves the run in
    its place, once it has warmed up. `decode`: carried out by the process that decodes: given the playback it fills the
    line. `output_ports`: of each task, by its stage. `alive_ns`: by task, the longest time between two ends of its jobs
    in health. `blows`: that strike the run while it goes on.
    `failover`: what follows on lost devices; None: nobody watches them, and the run ends with one. `strikes`: at
    devices, given the run itself once it knows its processes. `restarts`: how many times devices are started anew at
    most. `health`: the watch over sensors, None for none. `beside`: the processes that stand above the tasks.
    """

    system: System
    plan: Plan
    setup: Setup
    tier: Tier
    rate: Fraction
    samples: SampleTable
    horizon_ns: int
    rehearsal: Rehearsal
    beside: Beside
    make_stage: Callable[[int], Stage]
    decode: Callable[[Playback], None]
    output_ports: Sequence[tuple[str, ...]]
    alive_ns: Sequence[int | None]
    struck_stage: Callable[[int, Stage], Stage] = as_it_is
    actuator: ActuatorOrder | None = None
    blows: Sequence[Blow] = ()
    failover: DeviceFailover | None = None
    strikes: Callable[[PacedRun], Sequence[Strike]] | None = None
    restarts: int = 0
    health: HealthOrder | None = None


@dataclass(frozen=True, slots=True)
class PacedWorker:
    """Who served a task, as the kernel reported it while it did; None where it had ended before anybody could look."""

    task: str
    seat: Seat
    core: int
    pid: int
    observed: ObservedProcess | None


@dataclass(frozen=True, slots=True)
class LinkCourse:
    """What went over a link: `transfers`, as `TRANSFER`. `kind`: what carried it."""

    name: str
    kind: str
    transfers: npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PacedOutcome:
    """`journals`, `spools`: by task. `published_ns`: by sample, -1 for never. `landed`: of each blow.

    `notices`: of devices that were lost or came back, and `epochs`, what followed on each. `struck`: what became of
    every strike. `sections`: what critical sections took. `links`: what went over each; `link_notices`: those that were
    noticed as lost.
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
    sections: SectionsRecord = field(default_factory=SectionsRecord)
    health: HealthRecord | None = None
    links: tuple[LinkCourse, ...] = ()
    link_notices: tuple[tuple[str, LinkNotice], ...] = ()
