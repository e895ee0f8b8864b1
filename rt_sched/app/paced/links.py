"""Links of a paced run: what its summary tells of them, and what analyses beside it allow for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rt_sched.model import Fault, FaultKind, OnMessage, System, Task
from rt_sched.runtime.paced.jobs.journal import NONE
from rt_sched.runtime.paced.links.seat import LinkSeat, seat_of
from rt_sched.runtime.paced.order import PacedOrder, PacedOutcome
from rt_sched.runtime.signs_of_life import Notice
from rt_sched.trace.statistics import spread_of


def with_lateness(system: System, seats: Sequence[LinkSeat]) -> System:
    """The system with the latency of every link as late as its process may be; the monitor `links` holds it to that.

    Messages may also be in time, so jobs that they activate come by as much less regularly.
    """
    late_ns = {seat.name: seat.late_ns for seat in seats}
    links = tuple(
        dataclasses.replace(link, latency_ns=link.latency_ns + late_ns.get(link.name, 0)) for link in system.links
    )
    return dataclasses.replace(system, links=links, tasks=tuple(_less_regular(task, late_ns) for task in system.tasks))


def _less_regular(task: Task, late_ns: Mapping[str, int]) -> Task:
    jitter_ns = max((late_ns.get(one.link, 0) for one in task.inputs if one.link is not None), default=0)
    if not jitter_ns or not isinstance(task.activation, OnMessage):
        return task
    activation = dataclasses.replace(task.activation, jitter_ns=task.activation.jitter_ns + jitter_ns)
    return dataclasses.replace(task, activation=activation)


def link_losses(order: PacedOrder, outcome: PacedOutcome) -> tuple[Fault, ...]:
    """The losses of links, as they were."""
    return tuple(
        Fault(
            FaultKind.LINK,
            blow.link,
            landed.time_ns,
            None if blow.lasts_ns is None else landed.time_ns + blow.lasts_ns,
        )
        for blow, landed in zip(order.blows, outcome.landed, strict=False)
        if blow.link is not None and landed.time_ns is not None
    )


def link_notices(outcome: PacedOutcome) -> tuple[Notice, ...]:
    """Those of links that were lost, as the watch over them noticed it."""
    return tuple(
        Notice(one.noticed_ns, f"{FaultKind.LINK.value}:{name}", True, "heartbeat")
        for name, one in outcome.link_notices
    )


def links_document(outcome: PacedOutcome, seats: Sequence[LinkSeat]) -> list[dict[str, Any]]:
    """What went over each link, and how much later than the link is modelled it was delivered."""
    return [
        {
            **_row(course.name, course.kind, course.transfers, seat_of(seats, course.name)),
            "notices": [
                {"noticed_ns": one.noticed_ns, "last_sign_ns": one.last_sign_ns}
                for name, one in outcome.link_notices
                if name == course.name
            ],
        }
        for course in outcome.links
    ]


def _row(name: str, kind: str, transfers: Any, seat: LinkSeat | None) -> dict[str, Any]:
    delivered = transfers[transfers["delivered_ns"] != NONE]
    late = spread_of(np.asarray(delivered["delivered_ns"] - delivered["due_ns"], np.int64))
    return {
        "link": name,
        "kind": kind,
        "messages": len(transfers),
        "delivered": len(delivered),
        "late_p50_ns": late.p50_ns,
        "late_p99_ns": late.p99_ns,
        "late_max_ns": late.max_ns,
        "allowed_ns": None if seat is None else seat.late_ns,
    }
