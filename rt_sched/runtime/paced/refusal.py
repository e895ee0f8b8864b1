"""What a system may declare that a paced run does not carry out: all of it is named at once, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from rt_sched.errors import DeploymentError
from rt_sched.trace.setup import DeadlineAction, OverrunAction, Policy, ProcessorRow, Setup, TaskRow

_CARRIED_OUT = (OverrunAction.LOG, OverrunAction.ABORT, OverrunAction.SKIP_NEXT, OverrunAction.FAIL_OVER)


def refuse(setup: Setup) -> None:
    """Raises DeploymentError with everything in `setup` that would happen in a simulation and not in a paced run."""
    found = left_out(setup)
    if found:
        raise DeploymentError(f"a paced run does not carry out: {'; '.join(found)}. Simulate or replay it in lockstep")


def left_out(setup: Setup) -> list[str]:
    """What a paced run would leave out, in words."""
    return [
        *(text for row in setup.processors for text in _of_processor(row)),
        *(text for row in setup.tasks for text in _of_task(row)),
        *_of_links(setup),
        *_of_changes(setup),
    ]


def _of_processor(row: ProcessorRow) -> Iterator[str]:
    if row.policy in (Policy.TIME_SLICED, Policy.TABLE):
        yield f"the policy {row.policy.name.lower()} of {row.name}"
    if row.cores > 1:
        yield f"one queue for the {row.cores} cores of {row.name} (use partitioned cores)"


def _of_task(row: TaskRow) -> Iterator[str]:
    if row.let:
        yield f"communication at arrival and deadline (let) of {row.name}"
    if row.sections:
        yield f"the critical sections of {row.name}"
    if row.suspensions:
        yield f"the suspensions of {row.name}"
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


def _of_links(setup: Setup) -> Iterator[str]:
    for edge in setup.edges:
        if edge.link is not None:
            target = setup.tasks[edge.target].name
            yield f"the link {setup.links[edge.link].name} to input {edge.input} of {target}"


def _of_changes(setup: Setup) -> Iterator[str]:
    changes = {
        "faults": setup.faults,
        "changes of mode": setup.mode_changes,
        "changes of frequency": setup.frequency_changes,
        "changes of the plan": (*setup.task_changes, *setup.extra_arrivals, *setup.route_changes),
    }
    yield from (name for name, rows in changes.items() if rows)
