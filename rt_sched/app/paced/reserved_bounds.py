"""Bounds of tasks that wake up more often than jobs of theirs arrive, under reservations with room for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from rt_sched.analysis.loads.load import LoadTask, ProcessorLoad
from rt_sched.analysis.methods import Method
from rt_sched.analysis.methods.method import Found
from rt_sched.analysis.methods.reservations import Reservation, reservation_method
from rt_sched.analysis.result import Term, TermKind


def reserved_method(reservations: Mapping[int, Reservation], woken: Collection[int]) -> Method:
    """`reservation_method`, but for tasks in `woken`, by index.

    Each of these may have begun a period with a look at a message that sets off no job, so its job ends within a
    period of its arrival (`rt_sched.runtime.paced.seats.wakeups`), and perhaps no sooner.
    """
    method = reservation_method(reservations)

    def respond(load: ProcessorLoad) -> list[Found]:
        return [
            _within_a_period(one, task, reservations[task.index].period_ns) if task.index in woken else one
            for one, task in zip(method.respond(load), load.tasks, strict=True)
        ]

    return dataclasses.replace(method, respond=respond)


def _within_a_period(one: Found, task: LoadTask, period_ns: int) -> Found:
    if one.bound is None or one.ends_ns is None:
        return one
    jitter_ns = task.streams[0].jitter_ns + task.release_jitter_ns
    best_ns, latest_ns = one.ends_ns
    longer_ns = max(0, period_ns + jitter_ns - latest_ns)
    if not longer_ns:
        return one
    term = Term(TermKind.SUPPLY, longer_ns, "its reservation, of which looks at other messages take a part")
    bound = dataclasses.replace(one.bound, value_ns=one.bound.value_ns + longer_ns, terms=(*one.bound.terms, term))
    return dataclasses.replace(one, bound=bound, ends_ns=(best_ns, latest_ns + longer_ns))
