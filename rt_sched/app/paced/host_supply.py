"""What a host takes from the tasks of a paced run, as parts of the system that is analysed beside it.

More tasks of a processor to the analysis are the process that publishes samples, those of emulated links, supervisors
that watch over devices, the process that watches the sensors where it shares a core with tasks, and, where tasks leave
ordinary processes too little, what the kernel then lends these (`rt_sched.runtime.host.supply`). Each counts on every
processor whose jobs run on its core.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from rt_sched.analysis.faults.takeovers import TakeoverResult
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods import METHODS, Method
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.analysis.system.engine import Known, mode_bounds
from rt_sched.analysis.system.spare_time import spare_times_ns
from rt_sched.app.paced.interrupted_bounds import by_levels, interrupted_methods
from rt_sched.app.paced.links import with_lateness
from rt_sched.app.paced.reserved_bounds import reserved_method
from rt_sched.model import ExecutionTime, Placement, Plan, Sporadic, System, Task
from rt_sched.runtime.health_order import HealthOrder
from rt_sched.runtime.host.supply import SupplyLoss
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.deployment import core_mates
from rt_sched.runtime.paced.devices.supervision import Supervision
from rt_sched.runtime.paced.feed.publisher import LATE_TIMES, Publisher
from rt_sched.runtime.paced.seats.beside import Beside
from rt_sched.runtime.paced.seats.density import waking_flows
from rt_sched.runtime.paced.seats.reservations import task_reservations
from rt_sched.runtime.paced.seats.wakeups import Wakeups, with_switches


@dataclass(frozen=True, slots=True)
class HostShare:
    """`system`, `plan`: with what the host takes; `methods`, `reservations`: of the tier. `loss`: what the
    kernel may take, or None.

    `spare_ns`: by processor, what tasks leave in each of its periods at least, None where there is no bound; `counted`:
    the processors on which the loss counts, as they, or others of their core, leave less. `why_no_bounds`: where the
    tier has none then. `woken`: tasks with reservations that wake up for messages without a job as well.
    `first_beside`: the first task of `system` that is none of the run's. `known`: bounds of `methods` that are
    computed already.
    """

    system: System
    plan: Plan
    methods: Sequence[Method]
    reservations: dict[int, Reservation]
    loss: SupplyLoss | None
    spare_ns: dict[str, int | None]
    counted: tuple[str, ...]
    why_no_bounds: str | None = None
    woken: frozenset[int] = frozenset()
    first_beside: int = 0
    known: Known = field(default_factory=dict, compare=False, repr=False)


def host_share(
    system: System,
    plan: Plan,
    tier: Tier,
    beside: Beside,
    loss: SupplyLoss | None,
    watch: HealthOrder | None = None,
) -> HostShare:
    """What is analysed beside a run of a tier. `watch`: over sensors, where it shares a core with tasks.

    The kernel lends a core to ordinary processes only when these have had less than their part of a period. As long as
    it never has, all bounds hold that count nothing for it; and as long as these hold, tasks leave at least
    `spare_times_ns`. So where that is the part or more, it never does, by induction over time.
    """
    if tier is Tier.USER:
        return HostShare(system, plan, METHODS, {}, None, {}, ())
    first = len(system.tasks)
    methods = interrupted_methods(METHODS, plan, first)
    system = with_lateness(system, beside.links)
    for link in beside.links:
        name = f"link {link.name}"
        system, plan = _with_process(system, plan, link.processor, name, link.wakeups, link.reservation)
    system, plan = with_publisher(system, plan, beside.publisher)
    for supervisor in beside.supervisors:
        system, plan = with_supervisor(system, plan, supervisor)
    if watch is not None and tier is Tier.FIFO and not watch.is_ordinary:
        system, plan = with_watch(system, plan, watch)
    reservations = task_reservations(system, plan) if tier is Tier.DEADLINE else {}
    setup = mode_loads(system, plan)[0].setup
    woken = frozenset(index for index in reservations if waking_flows(system, setup, index))
    if reservations:
        methods = (reserved_method(reservations, woken),)
    if loss is None:
        return HostShare(system, plan, methods, reservations, None, {}, (), woken=woken, first_beside=first)
    mode = mode_loads(system, plan)[0]
    known: Known = {}
    spare_ns = spare_times_ns(mode, mode_bounds(mode, methods, known), loss.period_ns)
    short = {name for name, left_ns in spare_ns.items() if left_ns is None or left_ns < loss.lost_ns}
    names = [one.name for one in plan.processors]
    counted = tuple(
        name
        for name, mates in zip(names, core_mates(system, plan), strict=True)
        if any(names[mate] in short for mate in mates)
    )
    if counted and tier is Tier.DEADLINE:
        why = f"reservations on {', '.join(counted)} may leave others less than what the kernel then takes: {loss.why}"
        return HostShare(system, plan, methods, reservations, loss, spare_ns, counted, why, woken, first, known)
    for name in counted:
        system, plan = with_supply_loss(system, plan, loss, name)
    return HostShare(system, plan, methods, reservations, loss, spare_ns, counted, None, woken, first, known)


def leaves_enough(
    system: System,
    plan: Plan,
    tier: Tier,
    beside: Beside,
    loss: SupplyLoss | None,
    watch: HealthOrder,
) -> bool:
    """Whether tasks leave ordinary processes their part even where the watch over sensors comes before these.

    Shown in the tier `fifo` only, where levels order the jobs; else the kernel might take it from the tasks.
    """
    sharing = [plan.processors[mate] for mate in core_mates(system, plan)[watch.processor]]
    if tier is not Tier.FIFO or not all(by_levels(one) for one in sharing):
        return False
    alone = host_share(system, plan, tier, beside, loss)
    return set(host_share(system, plan, tier, beside, loss, watch).counted) <= set(alone.counted)


def why_no_bounds_under(share: HostShare, found: TakeoverResult) -> str:
    """Why nothing bounds what a takeover brings: others may have less by then than what the kernel gives them; "" where
    they have enough, or the loss counts anyway.

    Of a core that several elements share it may be the tasks of one until the takeover, and those of another from then
    on, that take from one period.
    """
    loss = share.loss
    if share.methods is not METHODS:
        return "takeovers are analysed only where levels order the jobs, as the processes beside the tasks stand above"
    if loss is None:
        return ""
    crossing, window_ns = found.crossing, loss.period_ns
    nominal = mode_loads(share.system, share.plan)[0]
    phases = (
        (nominal, mode_bounds(nominal, share.methods, share.known)),
        (crossing.across, crossing.bounds),
        (crossing.after, crossing.steady),
    )

    def taken_ns(tasks: range) -> dict[str, int]:
        """By processor, in any phase at most."""
        left = [spare_times_ns(*phase, window_ns, tasks) for phase in phases]
        return {name: max(window_ns - (one.get(name, window_ns) or 0) for one in left) for name in names}

    names = [one.name for one in share.plan.processors]
    by_tasks = taken_ns(range(share.first_beside))
    by_others = taken_ns(range(share.first_beside, len(share.system.tasks)))
    for mates in dict.fromkeys(core_mates(share.system, share.plan)):
        mine = [names[mate] for mate in mates]
        # What runs beside the tasks stands on every processor of the core, and runs there once.
        whole_ns = sum(by_tasks[name] for name in mine) + max(by_others[name] for name in mine)
        if mine[0] not in share.counted and window_ns - whole_ns < loss.lost_ns:
            return f"tasks on {', '.join(mine)} may leave others less than what the kernel then takes: {loss.why}"
    return ""


def with_publisher(system: System, plan: Plan, publisher: Publisher) -> tuple[System, Plan]:
    """System and plan with the publisher on the processors of its core, more urgent than all others there."""
    name, takes = "samples published", publisher.reservation
    return _with_process(system, plan, publisher.processor, name, publisher.wakeups, takes)


def _with_process(
    system: System, plan: Plan, index: int, name: str, wakeups: Sequence[Wakeups], takes: Reservation | None
) -> tuple[System, Plan]:
    """As one task that may take its whole reservation; without one as a task for each kind of its wake-ups. So on every
    processor of its core.
    """
    elements = {(device.name, one.name): one for device in system.devices for one in device.processing_elements}
    whole_ns = sum(one.cost_ns for one in wakeups)
    for mate in core_mates(system, plan)[index]:
        processor, called = plan.processors[mate], _called(plan, index, mate, name)
        if takes is not None:
            switch_ns = elements[processor.device, processor.pe].switch_cost_ns
            system, plan = _with_task(system, plan, mate, called, with_switches(takes, wakeups, switch_ns))
            continue
        for one in wakeups:
            deadline_ns = one.jitter_ns + LATE_TIMES * whole_ns
            one_of = Reservation(one.cost_ns, deadline_ns, one.period_ns)
            system, plan = _with_task(system, plan, mate, f"{called}: {one.name}", one_of, jitter_ns=one.jitter_ns)
    return system, plan


def _called(plan: Plan, index: int, mate: int, name: str) -> str:
    """On its own processor and on others of its core."""
    return name if mate == index else f"{name} on the core of {plan.processors[mate].name}"


def with_supervisor(system: System, plan: Plan, supervisor: Supervision) -> tuple[System, Plan]:
    """System and plan with a supervisor on the processors of all cores that it may run on, above all tasks."""
    mates = core_mates(system, plan)
    for processor in sorted({mate for index in supervisor.processors for mate in mates[index]}):
        for one in supervisor.wakeups:
            name = f"supervisor of {supervisor.device}: {one.name} on {plan.processors[processor].name}"
            takes, why = Reservation(one.cost_ns, one.period_ns, one.period_ns), "to look after a device"
            system, plan = _with_task(system, plan, processor, name, takes, why, jitter_ns=one.jitter_ns)
    return system, plan


def with_watch(system: System, plan: Plan, watch: HealthOrder) -> tuple[System, Plan]:
    """System and plan with the watch over sensors as a task of every processor of its core, below all others."""
    takes = Reservation(watch.cycle_wcet_ns, watch.period_ns, watch.period_ns)
    for mate in core_mates(system, plan)[watch.processor]:
        level = max((one.level for one in plan.placements if one.processor == mate), default=0) + 1
        name = _called(plan, watch.processor, mate, "sensors watched")
        system, plan = _with_task(system, plan, mate, name, takes, "to watch the sensors", level)
    return system, plan


def with_supply_loss(system: System, plan: Plan, loss: SupplyLoss, processor: str) -> tuple[System, Plan]:
    """System and plan with the loss as a task of that processor, after all others and more urgent than they.

    It may come at the end of one period and at the begin of the next: a deferred server that has once begun goes on
    without deferring (Linux, kernel/sched/deadline.c, `dl_defer_running`).
    """
    index = next(index for index, one in enumerate(plan.processors) if one.name == processor)
    lent = Reservation(loss.lost_ns, loss.period_ns, loss.period_ns)
    late_ns = loss.period_ns - loss.lost_ns
    return _with_task(system, plan, index, f"{processor} lent to others", lent, loss.why, jitter_ns=late_ns)


def _with_task(
    system: System,
    plan: Plan,
    index: int,
    name: str,
    takes: Reservation,
    why: str = "to carry messages",
    level: int | None = None,
    jitter_ns: int = 0,
) -> tuple[System, Plan]:
    """`level`: above all others of its processor, unless given. `jitter_ns`: by which it may come late."""
    processor = plan.processors[index]
    task = Task(
        name=name,
        stage="",
        parameters=(),
        pe=(processor.device, processor.pe),
        activation=Sporadic(takes.period_ns, jitter_ns=jitter_ns),
        inputs=(),
        execution=ExecutionTime(1, takes.runtime_ns, (), why),
        deadline_ns=takes.deadline_ns,
        separation_ns=takes.period_ns,
        core=processor.core,
    )
    placement = Placement(name, index, _above_all(plan.placements, index) if level is None else level)
    return (
        dataclasses.replace(system, tasks=(*system.tasks, task)),
        dataclasses.replace(plan, placements=(*plan.placements, placement)),
    )


def _above_all(placements: Sequence[Placement], processor: int) -> int:
    return min((one.level for one in placements if one.processor == processor), default=0) - 1
