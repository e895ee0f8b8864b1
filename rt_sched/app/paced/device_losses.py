"""Lost devices of a paced run: how they are made, and what a run tells of them in the words of every other run."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Any

from rt_sched.app.inputs.fault_args import check_fault_times, parse_faults
from rt_sched.errors import ConfigError, Problem
from rt_sched.model import Fault, FaultKind, Plan, System, Takeover
from rt_sched.runtime import signs_of_life
from rt_sched.runtime.detection import NOTHING_LOST, Decision, Detection
from rt_sched.runtime.paced.devices.answers import DeviceFailover
from rt_sched.runtime.paced.devices.watch import Sign
from rt_sched.runtime.paced.executor import PacedRun
from rt_sched.runtime.paced.faults.strike import Strike
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome

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
        if fault.until_ns is not None:
            problems.append(f"{fault} would come back; in paced runs devices are lost for good")
    if problems:
        raise ConfigError([Problem("--fault", 0, 0, "", problem) for problem in problems])
    check_fault_times(faults, end_ns)
    return faults


def has_answers(plan: Plan) -> bool:
    """Whether a plan says what follows on the loss of a device."""
    return any(loss.startswith(FaultKind.DEVICE.value) for one in plan.takeovers for loss in one.losses)


def strikes(faults: Sequence[Fault], *, stop: bool, inside: bool) -> Callable[[PacedRun], Sequence[Strike]] | None:
    """Every process of a device gets the signal at the instant of its fault, or, `inside`, in the next job there.

    `stop`: SIGSTOP in place of SIGKILL.
    """
    if not faults:
        return None
    number = signal.SIGSTOP if stop else signal.SIGKILL

    def made(run: PacedRun) -> list[Strike]:
        return [
            Strike(
                fault.time_ns,
                number,
                lambda fault=fault: run.processes_of(fault.target),  # type: ignore[misc]
                run.journals_of(fault.target) if inside else (),
            )
            for fault in faults
        ]

    return made


def losses_of(planned: Sequence[Fault], outcome: PacedOutcome) -> tuple[Fault, ...]:
    """The losses as they were: at the instant of the strike, or, of a device that nobody struck here, of its last sign.

    `planned`: the faults that the strikes were made from, in their order.
    """
    struck = {
        fault.target: Fault(fault.kind, fault.target, one.struck_ns)
        for fault, one in zip(planned, outcome.struck, strict=True)
        if one.struck_ns is not None
    }
    by_others = {
        one.device: Fault(FaultKind.DEVICE, one.device, max(0, one.last_sign_ns))
        for one in outcome.notices
        if one.device not in struck
    }
    return tuple(sorted((struck | by_others).values(), key=lambda one: (one.time_ns, one.target)))


def detection_of(failover: DeviceFailover | None, outcome: PacedOutcome) -> Detection:
    """What was noticed in the run, and what followed."""
    if failover is None:
        return NOTHING_LOST
    lost: list[str] = []
    decisions = []
    in_force: Takeover | None = None
    for notice, epoch in zip(outcome.notices, outcome.epochs, strict=True):
        what = f"{FaultKind.DEVICE.value}:{notice.device}"
        lost.append(what)
        answer = None if epoch.answer is None else failover.answers[epoch.answer].takeover
        decisions.append(
            Decision(
                notice.noticed_ns,
                (signs_of_life.Notice(notice.noticed_ns, what, True, _SIGNS[notice.sign]),),
                tuple(sorted(lost)),
                None if answer is None else epoch.switch_ns,
                answer or in_force,
                in_force,
                "it is in the table" if answer is not None else "the plan has no takeover for it",
            )
        )
        in_force = answer or in_force
    return Detection(tuple(decisions))


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
        "standbys": [
            {"task": order.system.tasks[one.task].name, "processor": processors[one.row.processor].name}
            for one in plan.standbys
        ],
        "notices": [
            {
                "device": one.device,
                "noticed_ns": one.noticed_ns,
                "last_sign_ns": one.last_sign_ns,
                "by": _SIGNS[one.sign],
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
