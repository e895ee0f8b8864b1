"""What a system may declare that a paced run does not carry out: all of it is named at once, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from rt_sched.errors import DeploymentError
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.host.waiting import waits_are_known
from rt_sched.runtime.paced.sections.order import in_both_orders
from rt_sched.trace.setup import (
    DeadlineAction,
    EdgeKind,
    OverrunAction,
    Policy,
    ProcessorRow,
    Protocol,
    Role,
    Setup,
    TaskRow,
)

_CARRIED_OUT = (
    OverrunAction.LOG,
    OverrunAction.ABORT,
    OverrunAction.SKIP_NEXT,
    OverrunAction.FAIL_OVER,
    OverrunAction.DEGRADE,
)


def refuse(setup: Setup, *, tier: Tier = Tier.FIFO, commands_of: str | None = None) -> None:
    """Raises DeploymentError with everything in `setup` that would happen in a simulation and not in a paced run.

    `commands_of`: the task whose outputs go to the actuators' side, None where there is none.
    """
    found = [*left_out(setup), *_of_let(setup, commands_of), *_of_suspensions(setup, tier)]
    if found:
        raise DeploymentError(f"a paced run does not carry out: {'; '.join(found)}. Simulate or replay it in lockstep")


def left_out(setup: Setup) -> list[str]:
    """What a paced run would leave out, in words."""
    return [
        *(text for row in setup.processors for text in _of_processor(row)),
        *(text for row in setup.tasks for text in _of_task(row)),
        *_of_resources(setup),
        *_of_changes(setup),
    ]


def _of_processor(row: ProcessorRow) -> Iterator[str]:
    if row.policy in (Policy.TIME_SLICED, Policy.TABLE):
        yield f"the policy {row.policy.name.lower()} of {row.name}"
    if row.cores > 1:
        yield f"one queue for the {row.cores} cores of {row.name} (use partitioned cores)"


def _of_task(row: TaskRow) -> Iterator[str]:
    if row.preemption_points_ns is not None:
        yield f"the preemption points of {row.name}"
    if row.deadline_action is not DeadlineAction.CONTINUE:
        yield f"deadline_action {row.deadline_action.name.lower()} of {row.name}"
    if row.budget_ns is not None and row.overrun_action not in _CARRIED_OUT:
        yield f"the overrun action {row.overrun_action.name.lower()} of {row.name}"
    if row.low_budget_ns is not None:
        yield f"the criticality switch at wcet_lo of {row.name}"
    if not row.active:
        yield f"{row.name}, which does not exist in the first mode"
    if row.every > 1:
        yield f"every {row.every}th arrival only of {row.name}"
    if row.explicit_arrivals_ns is not None:
        yield f"listed arrivals of {row.name}"


def _of_let(setup: Setup, commands_of: str | None) -> Iterator[str]:
    """What dated messages (`rt_sched.runtime.paced.jobs.dated`) cannot do."""
    for edge in setup.edges:
        if edge.task is None or edge.link is not None or not setup.tasks[edge.task].let:
            continue
        if edge.kind is EdgeKind.QUEUE and edge.role is not Role.EACH:
            what = f"input {edge.input} of {setup.tasks[edge.target].name} from {setup.tasks[edge.task].name} (let)"
            yield f"the queue of {what}, whose messages do not activate it one by one"
    for row in setup.tasks:
        if row.let and row.name == commands_of:
            yield f"communication at arrival and deadline (let) of {row.name}, whose commands go to the actuators' side"


def _of_suspensions(setup: Setup, tier: Tier) -> Iterator[str]:
    """What jobs wait of their own accord is measured; others run meanwhile only where each stands by itself."""
    for row in setup.tasks:
        place, what = setup.processors[row.processor], f"the suspensions of {row.name}"
        if not row.suspensions:
            continue
        if tier is Tier.DEADLINE:
            yield f"{what} in the tier deadline, as a reservation may lose what is left of it meanwhile"
        elif tier is Tier.USER or not place.preemptive or place.policy is Policy.FIFO:
            yield f"{what}, as one job at a time is on {place.name} and would keep it meanwhile"
        elif row.sections:
            yield f"{what}, which could not be told from its waits for {setup.resources[row.sections[0].resource].name}"
        elif not waits_are_known():
            yield f"{what}, as this kernel does not count how long others had the core (/proc/PID/schedstat)"


def _of_resources(setup: Setup) -> Iterator[str]:
    for number, resource in enumerate(setup.resources):
        users = [row for row in setup.tasks if any(section.resource == number for section in row.sections)]
        if users and resource.protocol is Protocol.MSRP:
            yield f"the protocol msrp of {resource.name}, which spins (use priority_inheritance)"
        places = [setup.processors[row.processor] for row in users]
        ranked = [one.name for one in places if one.policy is Policy.EDF and one.preemptive]
        if ranked and resource.protocol is Protocol.PRIORITY_CEILING:
            yield f"the ceiling of {resource.name} under edf on {ranked[0]} (use priority_inheritance)"
    if circle := [setup.resources[number].name for number in in_both_orders(setup.tasks)]:
        yield f"sections of {' and '.join(circle)} that are nested in both orders: real jobs would wait in a circle"


def _of_changes(setup: Setup) -> Iterator[str]:
    changes = {
        "faults": setup.faults,
        "changes of mode": setup.mode_changes,
        "changes of frequency": setup.frequency_changes,
        "changes of the plan": (*setup.task_changes, *setup.extra_arrivals, *setup.route_changes),
    }
    yield from (name for name, rows in changes.items() if rows)
