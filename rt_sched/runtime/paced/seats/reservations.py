"""Reservations of the tier `deadline`: one for each task and one for the publisher, and whether a core has room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.analysis.methods.reservations import Reservation
from rt_sched.errors import DeploymentError
from rt_sched.model import Plan, System
from rt_sched.runtime.host.scheduling import Scheduling
from rt_sched.runtime.host.tiers import Tier
from rt_sched.runtime.paced.seats.density import waking_flows
from rt_sched.runtime.paced.seats.wakeups import Wakeups, demand_ns
from rt_sched.units import NS_PER_US, ceil_int, floor_int

#: The period of a reservation as a part of the least distance of arrivals.
SHORTER = Fraction(19, 20)
#: To wake up for a message that sets off no job, and to see that.
LOOK_NS = 200 * NS_PER_US


def task_reservations(system: System, plan: Plan) -> dict[int, Reservation]:
    """By the index of the task: what a job may take with its switches, in each least distance of arrivals.

    What a job may take is its budget where that is enforced, else its WCET. Jobs of tasks that messages activate are
    as far apart as what sets them off, before all delays. Periods are a little shorter than that: else one job that was
    late, or only woken late, would make all later ones as late, since each waits for a period after the one before.
    Tasks that wake up for messages without a job, as these do not count yet or wait for their partners, have what
    `reserved_with_looks` says.
    """
    found = {}
    mode = mode_loads(system, plan)[0]
    for load in mode.loads:
        for task in load.tasks:
            period_ns = max(task.cost_ns, floor_int(system.tasks[task.index].separation_ns * SHORTER), 1)
            deadline_ns = min(task.deadline_ns, period_ns)
            found[task.index] = Reservation(task.cost_ns, deadline_ns, period_ns)
            if woken := waking_flows(system, mode.setup, task.index):
                look_ns = LOOK_NS + 2 * load.row.switch_ns
                looks = [Wakeups(name, look_ns, flow.period_ns, flow.jitter_ns) for name, flow in woken]
                found[task.index] = reserved_with_looks(task.cost_ns, deadline_ns, looks)
    return found


def reserved_with_looks(cost_ns: int, deadline_ns: int, looks: Sequence[Wakeups]) -> Reservation:
    """For one job in each `deadline_ns` at most, and all `looks` at messages that may come in it.

    They come at any distance before the job, so the deadline is the period (`rt_sched.runtime.paced.seats.wakeups`).
    """
    return Reservation(cost_ns + demand_ns(looks, deadline_ns), deadline_ns, deadline_ns)


def as_scheduling(one: Reservation, rate: Fraction) -> Scheduling:
    """On the host's clock, on which run time passes at `rate`. Raises DeploymentError where it is none."""
    runtime_ns = ceil_int(one.runtime_ns / rate)
    deadline_ns, period_ns = floor_int(one.deadline_ns / rate), floor_int(one.period_ns / rate)
    try:
        return Scheduling.deadline(runtime_ns, deadline_ns, period_ns)
    except ValueError as error:
        raise DeploymentError(f"no reservation: {error}") from error


def class_beside(reserved: Reservation | None, priority: int, tier: Tier, rate: Fraction) -> Scheduling | None:
    """Of a process above all tasks: its reservation, where it has one, or a priority; None in the tier `user`."""
    if tier is Tier.USER:
        return None
    return Scheduling.fifo(priority) if reserved is None else as_scheduling(reserved, rate)


def check_room(
    system: System,
    plan: Plan,
    reservations: Mapping[int, Reservation],
    cores: Sequence[int],
    beside: Sequence[tuple[str, int, Reservation]],
    share: Fraction,
) -> None:
    """Raises DeploymentError with every core that has less room than its reservations take.

    `cores`: of each processor of the plan; `beside`: further reservations, with whose they are and of which core;
    `share`: what the kernel admits.
    """
    taken: dict[int, Fraction] = {}
    for core, one in [
        *((core, one) for _, core, one in beside),
        *((cores[plan.placements[index].processor], one) for index, one in reservations.items()),
    ]:
        taken[core] = taken.get(core, Fraction(0)) + _part(one)
    full = [
        f"the reservations on core {core} take {float(part):.1%} of it{_of_which(core, beside)}, "
        f"and the kernel admits {float(share):.1%}"
        for core, part in sorted(taken.items())
        if part > share
    ]
    full += [
        f"{system.tasks[index].name} may take {one.runtime_ns} ns with its switches, more than its deadline or period"
        for index, one in reservations.items()
        if one.runtime_ns > one.deadline_ns
    ]
    if full:
        raise DeploymentError(f"the tier deadline: {'; '.join(full)}")


def _of_which(core: int, beside: Sequence[tuple[str, int, Reservation]]) -> str:
    parts = [f"{float(_part(one)):.1%} for {name}" for name, where, one in beside if where == core]
    return f" ({', '.join(parts)})" if parts else ""


def _part(one: Reservation) -> Fraction:
    return Fraction(one.runtime_ns, one.period_ns)
