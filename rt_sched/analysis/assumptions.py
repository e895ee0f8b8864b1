"""What bounds take for granted, where it is used, and which figure of a run shows that it did not hold."""

from __future__ import annotations

from collections.abc import Sequence

from rt_sched.analysis.result import Assumption
from rt_sched.lowering import Role, input_role
from rt_sched.model import (
    EdgeKind,
    Join,
    OnMessage,
    OverrunAction,
    Periodic,
    Policy,
    ProcessingElement,
    Sporadic,
    System,
    Task,
)

_EXECUTION = "no job executes longer than its declared worst case"
_CONTENTION = ", times the declared factors of the other elements of its device while those work"


def assumptions_of(system: System) -> tuple[Assumption, ...]:
    """The assumptions that the bounds of `system` rest on; those that nothing rests on are left out."""
    enforcing = (OverrunAction.ABORT, OverrunAction.THROTTLE, OverrunAction.FAIL_OVER)
    enforced = [t for t in system.tasks if t.budget_ns is not None and t.budget.action in enforcing]
    messages = [t for t in system.tasks if not t.is_timed]
    rows = (
        (
            "execution",
            _EXECUTION + (_CONTENTION if any(device.contention for device in system.devices) else ""),
            "executed time of every job",
            [t for t in system.tasks if t not in enforced],
        ),
        (
            "budget",
            "the run-time system enforces the budget with the declared granularity",
            "executed time of every job",
            enforced,
        ),
        (
            "best_case",
            "no job that completes executes shorter than its declared best case, so that what it activates or "
            "sends comes no more densely, and what is read beside it is not so much older",
            "executed time of every job",
            [t for t in system.tasks if t.name in _best_cases(system)],
        ),
        (
            "separation",
            "arrivals are at least as far apart as declared",
            "distance of consecutive arrivals",
            [t for t in system.tasks if isinstance(t.activation, Periodic | Sporadic)],
        ),
        (
            "max_separation",
            "sporadic arrivals are no further apart than declared, by the clock of their device",
            "distance of consecutive arrivals",
            [t for t in system.tasks if isinstance(t.activation, Sporadic) and t.activation.max_separation_ns],
        ),
        (
            "jitter",
            "releases follow arrivals within the declared jitter",
            "release less arrival of every job",
            [t for t in system.tasks if t.activation.jitter_ns],
        ),
        (
            "clocks",
            "the clock of each device runs as declared, off by no more than its declared error",
            "distance of arrivals from the instants of the clock",
            [t for t in system.tasks if isinstance(t.activation, Periodic) and not system.modes],
        ),
        (
            "supply",
            "slices and table entries begin at their place in the cycle",
            "begin of every slice and entry",
            [t for t in system.tasks if _element_of(system, t).policy in (Policy.TIME_SLICED, Policy.TABLE)],
        ),
        (
            "switches",
            "no switch or migration takes longer than declared",
            "time of every switch",
            [t for t in system.tasks if _element_of(system, t).switch_cost_ns],
        ),
        (
            "sensor_rate",
            "no more samples arrive than the declared rate and jitter allow",
            "how far arrivals run ahead of their rate",
            messages,
        ),
        (
            "sensor_latency",
            "samples arrive within the declared latency and jitter",
            "arrival less capture stamp of every sample",
            messages,
        ),
        (
            "sensor_gap",
            "no sample is missing, so that chains through the sensor are fed at the declared rate",
            "distance of consecutive captures",
            [t for t in system.tasks if any(t.name in chain.path for chain in system.chains)],
        ),
        (
            "outputs",
            "every job that completes publishes, so that chains go on with new data",
            "completed jobs without an output",
            [t for t in system.tasks if any(t.name in chain.path for chain in system.chains)],
        ),
        (
            "partners",
            "every message that is to be paired finds its partner within the tolerance",
            "messages without a partner",
            [t for t in system.tasks if isinstance(t.activation, OnMessage) and t.activation.join is Join.ALL],
        ),
        (
            "queues",
            "no queue loses a message, so that chains through it are not delayed by one",
            "messages lost to full queues",
            [t for t in system.tasks if any(given.edge.kind is EdgeKind.QUEUE for given in t.inputs)],
        ),
        (
            "suspension",
            "no job waits longer than declared",
            "waits of every job",
            [t for t in system.tasks if t.suspensions],
        ),
        (
            "sections",
            "sections are no longer than declared, and the protocol is that of the run-time system",
            "lock and unlock of every section",
            [t for t in system.tasks if t.sections],
        ),
        (
            "links",
            "links have the declared bandwidth and latency",
            "transfer times",
            [t for t in system.tasks if any(given.link for given in t.inputs)],
        ),
    )
    return tuple(Assumption(key, text, _names(tasks), check) for key, text, check, tasks in rows if tasks)


def _best_cases(system: System) -> frozenset[str]:
    """The sources of all inputs that make jobs arrive, stand beside others or come over a link, and the tasks that read
    several."""
    sources = (
        given.source
        for task in system.tasks
        for given in task.inputs
        if input_role(task.activation, given) is not Role.READ or len(task.inputs) > 1 or given.link is not None
    )
    return frozenset((*sources, *(task.name for task in system.tasks if len(task.inputs) > 1)))


def _element_of(system: System, task: Task) -> ProcessingElement:
    return next(
        pe for device in system.devices for pe in device.processing_elements if (device.name, pe.name) == task.pe
    )


def _names(tasks: Sequence[Task]) -> tuple[str, ...]:
    return tuple(task.name for task in tasks)
