"""Lost devices of a paced run: how they are made, and what a run tells of them in the words of every other run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rt_sched.app.inputs.fault_args import check_fault_times, parse_faults
from rt_sched.errors import ConfigError, Problem
from rt_sched.model import Fault, FaultKind, Plan, System, Takeover
from rt_sched.runtime import signs_of_life
from rt_sched.runtime.detection import NOTHING_LOST, Decision, Detection
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.devices.failover import Notice
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.executor import PacedRun
from rt_sched.runtime.paced.faults.strike import Strike
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome
from rt_sched.units import MAX_TIME_NS

_SIGNS = {Sign.HEARTBEAT: "heartbeat", Sign.PROCESS_END: "process_end"}


def device_faults(arguments: Sequence[str], system: System, end_ns: int) -> tuple[Fault, ...]:
    """The losses that a paced run can inject. Raises ConfigError with every mistake at once."""
    faults = parse_faults(arguments, system)
    problems = []
    for fault in faults:
        if fault.kind is not FaultKind.DEVICE:
            problems.append(f"{fault} is lost in replays in lockstep, and by fault scripts; here only devices are")
        elif fault.target == signs_of_life.watching_device(system):
            problems.append(f"{fault} is the device of the arbiter: nothing would command, and nothing watch")
    if problems:
        raise ConfigError([Problem("--fault", 0, 0, "", problem) for problem in problems])
    check_fault_times(faults, end_ns)
    return faults


def has_answers(plan: Plan) -> bool:
    """Whether a plan says what follows on the loss of a device."""
    return any(loss.startswith(FaultKind.DEVICE.value) for one in plan.takeovers for loss in one.losses)


def strikes(faults: Sequence[Fault], *, stop: bool, inside: bool) -> Callable[[PacedRun], Sequence[Strike]] | None:
    """Every process of a device gets the signal at the instant of its fault, or, `inside`, in the next job there.

    `stop`: SIGSTOP in place of SIGKILL. At the end of a fault the device is started anew, or gets SIGCONT. These
    signals come behind the strikes of all faults.
    """
    if not faults:
        return None
    number = signal.SIGSTOP if stop else signal.SIGKILL
    ends = [(fault.target, fault.until_ns) for fault in faults if fault.until_ns is not None]

    def made(run: PacedRun) -> list[Strike]:
        if not stop:
            for target, until_ns in ends:
                run.restart(target, until_ns)
        going_on = [Strike(until_ns, signal.SIGCONT, partial(run.processes_of, target)) for target, until_ns in ends]
        return [
            Strike(
                fault.time_ns,
                number,
                partial(run.processes_of, fault.target),
                run.journals_of(fault.target) if inside else (),
            )
            for fault in faults
        ] + (going_on if stop else [])

    return made


def losses_of(planned: Sequence[Fault], outcome: PacedOutcome) -> tuple[Fault, ...]:
    """The losses as they were: from the instant of the strike, or, of a device that nobody struck here, of its last
    sign, until the first sign of those that made it one of the devices again.

    `planned`: the faults that the first of the strikes were made from, in their order.
    """
    struck = [
        (fault.target, one.struck_ns)
        for fault, one in zip(planned, outcome.struck, strict=False)
        if one.struck_ns is not None
    ]
    found = []
    for device in sorted({one.device for one in outcome.notices} | {target for target, _ in struck}):
        strikes_ns = [time_ns for target, time_ns in struck if target == device]
        from_ns = 0
        for lost, back in _absences(outcome.notices, device):
            before_ns = [time_ns for time_ns in strikes_ns if from_ns <= time_ns <= lost.noticed_ns]
            begin_ns = min(before_ns, default=max(0, lost.last_sign_ns))
            found.append(Fault(FaultKind.DEVICE, device, begin_ns, None if back is None else back.last_sign_ns))
            from_ns = MAX_TIME_NS if back is None else back.last_sign_ns
        unnoticed_ns = [time_ns for time_ns in strikes_ns if time_ns >= from_ns]
        found += [Fault(FaultKind.DEVICE, device, min(unnoticed_ns))] if unnoticed_ns else []
    return tuple(sorted(found, key=lambda one: (one.time_ns, one.target)))


def _absences(notices: Sequence[Notice], device: str) -> Iterator[tuple[Notice, Notice | None]]:
    """The notices of each loss of a device and of its return, None where it did not return."""
    mine = [one for one in notices if one.device == device]
    return zip(mine[::2], [*mine[1::2], None], strict=False)


def detection_of(failover: DeviceFailover | None, outcome: PacedOutcome) -> Detection:
    """What was noticed in the run, and what followed."""
    if failover is None:
        return NOTHING_LOST
    lost: list[str] = []
    decisions = []
    in_force: Takeover | None = None
    for notice, epoch in zip(outcome.notices, outcome.epochs, strict=True):
        what = f"{FaultKind.DEVICE.value}:{notice.device}"
        lost = [one for one in lost if one != what] if notice.is_back else [*lost, what]
        answer = None if epoch.answer is None else failover.answers[epoch.answer]
        takeover = in_force if answer is None else answer.takeover if answer.devices else None
        decisions.append(
            Decision(
                notice.noticed_ns,
                (signs_of_life.Notice(notice.noticed_ns, what, not notice.is_back, _SIGNS[notice.sign]),),
                tuple(sorted(lost)),
                None if answer is None else epoch.switch_ns,
                takeover,
                in_force,
                _reason(failover, lost) if answer is None else answer.reason,
            )
        )
        in_force = takeover
    return Detection(tuple(decisions))


def _reason(failover: DeviceFailover, lost: Sequence[str]) -> str:
    """Why nothing answers."""
    devices = frozenset(one.partition(":")[2] for one in lost)
    refusal = failover.refused.get(devices)
    return "the plan has no takeover for it" + ("" if refusal is None else f", and none is admitted: {refusal}")


def failover_document(order: PacedOrder, outcome: PacedOutcome) -> dict[str, Any] | None:
    """The watch over devices: what was declared, who stood by, what was struck and noticed; None without a watch."""
    plan = order.failover
    if plan is None:
        return None
    processors = order.setup.processors
    return {
        "watcher": plan.watcher,
        "heartbeat_ns": plan.period_ns,
        "timeout_ns": plan.timeout_ns,
        "decision_ns": plan.decision_ns,
        "trust_ns": plan.trust_ns,
        "standbys": [
            {"task": order.system.tasks[one.task].name, "processor": processors[one.row.processor].name}
            for one in plan.standbys
        ],
        "answers": [
            {"devices": sorted(one.devices), "reason": one.reason, "moves": [move.task for move in one.takeover.moves]}
            for one in plan.answers
            if one.devices
        ],
        "refused": [{"devices": sorted(devices), "reason": reason} for devices, reason in plan.refused.items()],
        "notices": [
            {
                "device": one.device,
                "noticed_ns": one.noticed_ns,
                "last_sign_ns": one.last_sign_ns,
                "by": _SIGNS[one.sign],
                "is_back": one.is_back,
            }
            for one in outcome.notices
        ],
        "strikes": [
            {
                "struck_ns": one.struck_ns,
                "hit": one.hit,
                "inside": one.job is not None,
                "job": one.job,
            }
            for one in outcome.struck
        ],
    }
