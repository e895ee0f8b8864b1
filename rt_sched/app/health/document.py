"""What the watch over sensors found in a run, and for how long nobody watched."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from rt_sched.faults.declared import watch_return_ns
from rt_sched.runtime.health_order import HealthOrder, HealthRecord
from rt_sched.units import ceil_int, format_ns


def health_document(record: HealthRecord | None, end_ns: int, rate: Fraction = Fraction(1)) -> dict[str, Any] | None:
    """The key `health` of the summary. Times of the run, which ended at `end_ns`; what CPU time and ages say is
    measured. `rate`: run time per host time.
    """
    if record is None:
        return None
    order = record.order
    return {
        "is_ordinary": order.is_ordinary,
        "sensors": [one.name for one in order.sensors],
        "arbiter": order.reader,
        "period_ns": order.period_ns,
        "delay_ns": order.delay_ns,
        "age_limit_ns": order.age_limit_ns,
        "good_samples": order.good_samples,
        "cycle_wcet_ns": order.cycle_wcet_ns,
        "cycles": record.cycles,
        "late": record.late,
        "cycle_max_ns": record.cycle_max_ns,
        "cycle_cpu_max_ns": record.cycle_cpu_max_ns,
        "cpu_ns": record.cpu_ns,
        "samples": record.samples,
        "missed": record.missed,
        "findings": [
            {
                "time_ns": one.time_ns,
                "message_ns": one.arrival_ns,
                "sensor": one.sensor,
                "monitor": one.monitor,
                "worst_case_ns": one.worst_case_ns + order.delay_ns,
                "reason": one.reason,
            }
            for one in record.noticed
        ],
        "trust": [
            {"time_ns": one.time_ns, "sensor": one.sensor, "trusted": one.trusted, "monitor": one.monitor}
            for one in record.changes
        ],
        "losses": [_loss(record, number, end_ns, rate) for number in range(len(record.losses))],
    }


def _loss(record: HealthRecord, number: int, end_ns: int, rate: Fraction) -> dict[str, Any]:
    """A loss of the watch: for how long no sensor was watched, and the bound, where it had reported since the loss
    before and did so again before the next.
    """
    losses = record.losses
    one = losses[number]
    until_ns = end_ns if one.back_ns is None and number + 1 == len(losses) else one.back_ns
    has_bound = until_ns is not None and (number == 0 or losses[number - 1].back_ns is not None)
    return {
        "noticed_ns": one.noticed_ns,
        "by": "still" if one.still else "exit",
        "back_ns": one.back_ns,
        "unwatched_ns": None if until_ns is None else until_ns - one.last_ns,
        "within_ns": unwatched_within_ns(record.order, rate, is_killed=not one.still) if has_bound else None,
    }


def unwatched_within_ns(order: HealthOrder, rate: Fraction, *, is_killed: bool) -> int:
    """For how long no sensor is watched in a run at `rate`: what the host takes is more of a run that is faster."""
    return ceil_int(watch_return_ns(order.age_limit_ns, order.delay_ns, is_killed=is_killed) * max(rate, Fraction(1)))


def unwatched_too_long(health: Mapping[str, Any] | None) -> str | None:
    """Where the watch took longer to return than is declared: for how long, in words; `health`: of a summary."""
    losses = [one for one in (health or {}).get("losses", ()) if one["within_ns"] is not None]
    late = [one for one in losses if one["unwatched_ns"] > one["within_ns"]]
    if not late:
        return None
    worst = max(late, key=lambda one: int(one["unwatched_ns"] - one["within_ns"]))
    return (
        f"no sensor was watched for {format_ns(worst['unwatched_ns'])}, longer than the "
        f"{format_ns(worst['within_ns'])} within which the watch returns"
    )
