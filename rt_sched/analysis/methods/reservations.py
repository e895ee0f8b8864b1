"""Response times where every task has a reservation of its own on its core, as under SCHED_DEADLINE.

A reservation (Q, D, P) gives its task Q of processor time in every P, each within D, by EDF among all reservations of
the core: a hard constant-bandwidth server. A job that comes earlier than P after the one before waits for the next Q,
even when the core is idle. So arrivals with jitter are evened out, and no task delays others by its jitter, nor by jobs
that take longer than declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rt_sched.analysis.batch import Status, edf_response_times
from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods.method import (
    BOUNDED_BLOCKING,
    FEW_TASKS,
    NO_SUSPENSION,
    ONE_CORE,
    Found,
    Method,
    Need,
    first_task,
    refusal_by,
)
from rt_sched.analysis.methods.rows import why_none
from rt_sched.analysis.result import Bound, Term, TermKind
from rt_sched.model import Policy

NAME = "reservation_response_time"
SOURCE = "Abeni, Buttazzo 1998 (constant-bandwidth servers); Spuri 1996 (EDF among them)"


@dataclass(frozen=True, slots=True)
class Reservation:
    """`runtime_ns` of processor time in every `period_ns`, each time within `deadline_ns`, which is not longer."""

    runtime_ns: int
    deadline_ns: int
    period_ns: int


def reservation_method(reservations: Mapping[int, Reservation]) -> Method:
    """The analysis of tasks under `reservations`, by their index in the system.

    Job k of a task arrives at most J after a point of a grid whose points are at least T >= P apart, and takes at most
    Q. The instant from which it has its Q is its arrival, or P after that of the job before, whichever is later: so by
    induction at most J after the point, and at most `waited_ns` after its arrival. From there it ends within R, the
    response time of sporadic tasks (Q, D, P) without jitter under EDF.

    Source: Abeni, Buttazzo 1998, and Linux, kernel/sched/deadline.c (a reservation with D < P that wakes up between
    the two waits for P).
    """
    return Method(
        NAME,
        SOURCE,
        (Policy.EDF,),
        refusal_by(NAME, (FEW_TASKS, ONE_CORE, NO_SUSPENSION, BOUNDED_BLOCKING, *_needs(reservations))),
        lambda load: _respond(load, reservations),
    )


def _needs(reservations: Mapping[int, Reservation]) -> tuple[Need, ...]:
    return (
        Need(lambda load: None if load.row.preemptive else "jobs are not preempted, and wait for each other", None),
        Need(
            lambda load: first_task(
                load, lambda t: t.index not in reservations, lambda t: f"task {t.name} has no reservation"
            ),
            None,
        ),
        Need(
            lambda load: first_task(
                load, lambda t: len(t.streams) != 1, lambda t: f"several streams activate {t.name}"
            ),
            None,
        ),
        Need(
            lambda load: first_task(
                load,
                lambda t: t.cost_ns > reservations[t.index].runtime_ns,
                lambda t: f"a job of {t.name} may need more than its reservation has in one period",
            ),
            None,
        ),
        Need(
            lambda load: first_task(
                load,
                lambda t: t.streams[0].period_ns < reservations[t.index].period_ns,
                lambda t: f"jobs of {t.name} come more often than its reservation has a period",
            ),
            None,
        ),
    )


def _respond(load: ProcessorLoad, reservations: Mapping[int, Reservation]) -> list[Found]:
    mine = [reservations[task.index] for task in load.tasks]
    result = edf_response_times(
        [[one.runtime_ns for one in mine]],
        [[one.period_ns for one in mine]],
        [[one.deadline_ns for one in mine]],
    )
    for place, one in enumerate(mine):
        status = Status(int(result.status[0, place]))
        if status is not Status.OK:
            return [why_none(status)] * len(mine)
        if int(result.response_ns[0, place]) > one.deadline_ns:
            late = f"the reservation of {load.tasks[place].name} may not have its runtime by its deadline"
            return [Found(None, f"{late}, and then none of the core is sure of its own")] * len(mine)
    return [
        _found(task, one, int(result.response_ns[0, place]))
        for place, (task, one) in enumerate(zip(load.tasks, mine, strict=True))
    ]


def waited_ns(jitter_ns: int, separation_ns: int, period_ns: int) -> int:
    """How long a job waits for its reservation at most, whose period is at most the separation of the grid.

    Some job before it came as late as it could and had its runtime at once; all between them had to wait. Of j jobs
    later the instant is j periods after, and the arrival at least j separations less the jitter.
    """
    most = jitter_ns // separation_ns + 1
    return max(j * period_ns - max(0, j * separation_ns - jitter_ns) for j in {0, most - 1, most})


def _found(task: LoadTask, one: Reservation, served_ns: int) -> Found:
    """`served_ns`: from the instant at which a job has its runtime to its end, at most."""
    jitter_ns = task.streams[0].jitter_ns + task.release_jitter_ns
    wait_ns = waited_ns(jitter_ns, task.streams[0].period_ns, one.period_ns)
    terms = [
        Term(TermKind.OWN_EXECUTION, task.wcet_ns, task.name, 1, task.wcet_ns),
        Term(TermKind.OVERHEAD, task.overhead_ns + task.spin_ns, task.name),
        Term(TermKind.INTERFERENCE, served_ns - task.cost_ns, "the reservations of the core"),
        Term(TermKind.SUPPLY, wait_ns, "its reservation, which evens out its arrivals"),
    ]
    value_ns = served_ns + wait_ns
    bound = Bound(value_ns, tuple(term for term in terms if term.value_ns), NAME, SOURCE, exact=False)
    return Found(bound, ends_ns=(task.bcet_ns, served_ns + jitter_ns))
