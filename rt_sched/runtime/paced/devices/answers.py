"""What the takeovers of a plan ask of the processes of a paced run: who stands by where, and what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

from rt_sched.analysis.faults.takeover_detection import concept_of, decision_ns, heartbeat_timeout_ns
from rt_sched.errors import DeploymentError
from rt_sched.lowering import lower
from rt_sched.model import FaultKind, Plan, PlanChange, System, Takeover
from rt_sched.planner.failover.admission import AdmissionTest
from rt_sched.runtime.signs_of_life import watching_device
from rt_sched.trace.records import SampleTable
from rt_sched.trace.setup import Setup, TaskRow

_DEVICE = f"{FaultKind.DEVICE.value}:"
#: Owns a task nominally; standbys own one by their number, and nobody does when it stays lost or is dropped.
NOMINAL, NOBODY = -1, -2
#: How many devices the combinations have that are put to the admission test; the largest only where all are few.
_ALWAYS, _WHERE_FEW, _FEW = (1, 2), 3, 200
#: Any instant of a run does to find out what a takeover changes.
_SOME_NS = 1


@dataclass(frozen=True, slots=True)
class Standby:
    """A process that may go on with a task: `row` declares the task there, `device` is the one of its processor."""

    task: int
    row: TaskRow
    device: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What changes once all of `devices` are lost, nothing where none is. Tasks by their index.

    `moves`: the standby, by its number, that goes on with a task. `at_once`: from the switch to an additional arrival.
    `reason`: why it may come into force.
    """

    takeover: Takeover
    devices: frozenset[str]
    moves: Mapping[int, int]
    dropped: frozenset[int]
    redone: frozenset[int]
    at_once: Mapping[int, int]
    reason: str = "it is in the table"

    def owner(self, task: int) -> int:
        """Who goes on with a task: the number of a standby, `NOMINAL`, or `NOBODY` where it is dropped."""
        return NOBODY if task in self.dropped else self.moves.get(task, NOMINAL)


#: All devices are there: every task is where it is nominally.
ALL_THERE = Answer(Takeover(()), frozenset(), {}, frozenset(), frozenset(), {}, "nothing is lost any more")


@dataclass(frozen=True, slots=True)
class DeviceFailover:
    """All that is decided beforehand about lost devices, times in ns of run time.

    `devices`: that are watched or watch. `watcher`: the device of the arbiter, whose supervisor watches the others.
    `device_of`: by task, where it is nominally, `deadline_ns`: from its arrival. `period_ns`: of beats; `timeout_ns`:
    without one a device is lost.
    `decision_ns`: from the notice to the switch, at least. `trust_ns`: a device that was lost is one of them again when
    no beat was late for so long. `refused`: combinations that nothing answers, with the reasons.
    """

    devices: tuple[str, ...]
    watcher: str
    device_of: tuple[str, ...]
    deadline_ns: tuple[int, ...]
    answers: tuple[Answer, ...]
    standbys: tuple[Standby, ...]
    period_ns: int
    timeout_ns: int
    decision_ns: int
    trust_ns: int
    refused: Mapping[frozenset[str], str] = field(default_factory=dict)

    @property
    def kept(self) -> frozenset[int]:
        """Tasks that process a kept message under some takeover."""
        return frozenset(task for answer in self.answers for task in answer.redone)


def device_failover(system: System, plan: Plan, samples: SampleTable, horizon_ns: int) -> DeviceFailover:
    """What is to happen when devices are lost, as `plan` says; other losses are not watched for in paced runs.

    Where it has takeovers of devices, what they lack of single devices and pairs, and of three in systems with few
    devices, is put to the admission test here, so that a decision is never more than a look at the answers.

    Raises DeploymentError, with all of it, for what paced runs do not carry out, and without an arbiter, whose device
    is the one that watches.
    """
    watcher = watching_device(system)
    if watcher is None:
        raise DeploymentError(f"nobody watches the devices of {system.name}: it has no section safety with an arbiter")
    standbys: list[Standby] = []
    answers: list[Answer] = [ALL_THERE]
    problems: list[str] = []
    for takeover in plan.takeovers:
        if not all(loss.startswith(_DEVICE) for loss in takeover.losses):
            continue
        changed = lower(
            system, plan, samples, horizon_ns=horizon_ns, plan_changes=(PlanChange(_SOME_NS, takeover),)
        ).setup
        problems += [f"{what} when {', '.join(takeover.losses)} is lost" for what in _left_out(changed)]
        answers.append(_answer(system, plan, takeover, changed, standbys))
    refused = {} if problems or not answers[1:] else _admit(system, plan, samples, horizon_ns, answers, standbys)
    if problems:
        raise DeploymentError(f"a paced run does not carry out: {'; '.join(problems)}. Replay it in lockstep")
    return DeviceFailover(
        devices=tuple(device.name for device in system.devices),
        watcher=watcher,
        device_of=tuple(plan.processors[one.processor].device for one in plan.placements),
        deadline_ns=tuple(task.deadline_ns for task in system.tasks),
        answers=tuple(answers),
        standbys=tuple(standbys),
        period_ns=concept_of(system).heartbeat.period_ns,
        timeout_ns=heartbeat_timeout_ns(system),
        decision_ns=decision_ns(system),
        trust_ns=concept_of(system).return_after_ns,
        refused=refused,
    )


def _admit(
    system: System,
    plan: Plan,
    samples: SampleTable,
    horizon_ns: int,
    answers: list[Answer],
    standbys: list[Standby],
) -> Mapping[frozenset[str], str]:
    """Adds the answers to combinations that the plan lacks, and what they need; why there are none to the others."""
    watched = [device.name for device in system.devices if device.name != watching_device(system)]
    known = {answer.devices for answer in answers}
    wanted = [frozenset(some) for size in _ALWAYS for some in combinations(watched, size)]
    if len(wanted) + comb(len(watched), _WHERE_FEW) <= _FEW:
        wanted += map(frozenset, combinations(watched, _WHERE_FEW))
    test, refused = AdmissionTest(system, plan), {}
    for devices in wanted:
        if devices in known:
            continue
        admission = test.admit([f"{_DEVICE}{device}" for device in sorted(devices)])
        takeover, reason = admission.takeover, admission.reason
        if takeover is not None:
            change = PlanChange(_SOME_NS, takeover)
            changed = lower(system, plan, samples, horizon_ns=horizon_ns, plan_changes=(change,)).setup
            left_out = _left_out(changed)
            if not left_out:
                answers.append(replace(_answer(system, plan, takeover, changed, standbys), reason=reason))
                continue
            reason = f"a paced run does not carry out {'; '.join(left_out)}"
        refused[devices] = reason
    return refused


def _left_out(changed: Setup) -> list[str]:
    found = [f"another variant of {change.row.name}" for change in changed.task_changes if not change.moved]
    found += [f"communication at arrival and deadline (let) of {row.name}" for row in changed.tasks if row.let]
    return found + (["messages over links"] if changed.route_changes else [])


def _answer(system: System, plan: Plan, takeover: Takeover, changed: Setup, standbys: list[Standby]) -> Answer:
    """The answer; adds to `standbys` those that are not there yet."""
    moves = {}
    for change in changed.task_changes:
        device = plan.processors[change.row.processor].device
        standby = Standby(change.task, change.row, device)
        if standby not in standbys:
            standbys.append(standby)
        moves[change.task] = standbys.index(standby)
    index_of = {task.name: index for index, task in enumerate(system.tasks)}
    return Answer(
        takeover=takeover,
        devices=frozenset(loss.removeprefix(_DEVICE) for loss in takeover.losses),
        moves=moves,
        dropped=_indices(index_of, takeover.dropped),
        redone=_indices(index_of, takeover.redone),
        at_once={index_of[name]: delay_ns for name, delay_ns in takeover.at_once},
    )


def _indices(index_of: Mapping[str, int], names: Sequence[str]) -> frozenset[int]:
    return frozenset(index_of[name] for name in names)
