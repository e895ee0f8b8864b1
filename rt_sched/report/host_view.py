"""The report's section on the host of a paced run: who ran in which class, how late jobs began, what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rt_sched.report.text import plural, time_with_unit

#: Alerts that are told one by one.
_MOST_TOLD = 8
_MECHANISMS = {
    "inheritance": "a mutex with inheritance",
    "ceiling": "a mutex below a raised priority",
    "plain": "a plain mutex",
}


@dataclass(frozen=True, slots=True)
class HostView:
    """`lead`: sentences. `workers`: rows of the summary, each with the start lateness of its task under `lateness`.

    `losses`, `held`, `degraded`: rows of the summary. `resources`: one sentence for each.
    """

    lead: tuple[str, ...]
    workers: tuple[Mapping[str, Any], ...]
    losses: tuple[Mapping[str, Any], ...]
    resources: tuple[str, ...] = ()
    held: tuple[Mapping[str, Any], ...] = ()
    degraded: tuple[Mapping[str, Any], ...] = ()


def host_view(summary: Mapping[str, Any]) -> HostView | None:
    """The section's content, None for runs that no clock of a host drove."""
    if summary.get("clock") != "paced":
        return None
    sections = summary.get("sections") or {}
    lateness = {row["task"]: row for row in summary.get("start_lateness") or ()}
    return HostView(
        lead=tuple(_lead(summary)),
        workers=tuple({**row, "lateness": lateness.get(row["task"], {})} for row in summary.get("workers") or ()),
        losses=tuple(summary.get("losses") or ()),
        resources=tuple(_of_resource(row) for row in sections.get("resources") or ()),
        held=tuple(sections.get("held") or ()),
        degraded=tuple(summary.get("degraded") or ()),
    )


def _lead(summary: Mapping[str, Any]) -> list[str]:
    rate, feed, loss = str(summary.get("rate", "1")), summary.get("feed") or {}, summary.get("supply_loss")
    found = [
        f"Tier {summary.get('tier')}, {rate} ns of run time per ns of this host. Arrivals, starts, ends and CPU times "
        "of jobs are measured; slices in the schedule are derived: of the jobs of a core that had begun and not ended, "
        "the most urgent one is taken for the one that ran."
    ]
    if feed:
        late = plural(feed["late"], "sample")
        found.append(
            f"{plural(feed['published'], 'sample')} were published, at most {time_with_unit(feed['max_ns'])} after "
            f"their instant; {late} later than {time_with_unit(feed['late_above_ns'])}."
        )
    found += [
        f"The {one['kind']} link {one['link']} took {plural(one['messages'], 'message')} and delivered "
        f"{one['delivered']}, at most {time_with_unit(one['late_max_ns'])} later than it is modelled."
        for one in summary.get("links") or ()
        if one["delivered"]
    ]
    alerts = summary.get("alerts") or ()
    if alerts:
        told = (f"{one['monitor']} of {one['task']} at {time_with_unit(one['time_ns'])}" for one in alerts[:_MOST_TOLD])
        more = f" and {len(alerts) - _MOST_TOLD} more" if len(alerts) > _MOST_TOLD else ""
        found.append(f"Supervisors noticed: {', '.join(told)}{more}.")
    waits = (summary.get("sections") or {}).get("long_waits") or ()
    if waits:
        told = (
            f"job {one['job']} of {one['task']} for {one['resource']} at {time_with_unit(one['time_ns'])}"
            for one in waits[:_MOST_TOLD]
        )
        more = f" and {len(waits) - _MOST_TOLD} more" if len(waits) > _MOST_TOLD else ""
        found.append(f"Waited until the deadline could not be met any more: {', '.join(told)}{more}.")
    found += [_of_waits(row) for row in summary.get("suspensions") or () if row["jobs"]]
    if summary.get("health"):
        found.append(_of_health(summary["health"]))
    if loss:
        found.append(_of_supply(loss))
    return found


def _of_resource(row: Mapping[str, Any]) -> str:
    """How a resource was guarded, and who left it half-written."""
    lead = f"{row['resource']}: {row['protocol']}, by {_MECHANISMS.get(row['mechanism'], row['mechanism'])}"
    owners = row.get("abandoned") or ()
    if not owners:
        return f"{lead}; no owner was lost."
    told = (_of_owner(one) for one in owners[:_MOST_TOLD])
    more = f" and {len(owners) - _MOST_TOLD} more" if len(owners) > _MOST_TOLD else ""
    return f"{lead}; {plural(len(owners), 'owner')} lost in a section: {', '.join(told)}{more}."


def _of_owner(one: Mapping[str, Any]) -> str:
    who = f"process {one['pid']}" if one["task"] is None else f"{one['task']} (process {one['pid']})"
    if one["found_by"] is None:
        return f"{who}, and nobody asked afterwards"
    return f"{who}, found by {one['found_by']} at {time_with_unit(one['found_ns'])}"


def _of_waits(row: Mapping[str, Any]) -> str:
    """What jobs waited of their own accord, beside what they declare."""
    broken = row["longer"] or row["more_often"]
    more = f": {row['longer']} longer, {row['more_often']} more often" if broken else ""
    waits = plural(row["declared_waits"], "wait")
    return (
        f"Jobs of {row['task']} waited for at most {time_with_unit(row['max_ns'])} of their own accord, where "
        f"{time_with_unit(row['declared_ns'])} in {waits} are declared{more}."
    )


def _of_health(health: Mapping[str, Any]) -> str:
    """Who watched the sensors, what was found, and whether the watch itself lived."""
    found = health["findings"]
    told = (f"{one['monitor']} of {one['sensor']} at {time_with_unit(one['time_ns'])}" for one in found[:_MOST_TOLD])
    more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    what = f"monitors found {', '.join(told)}{more}" if found else "no monitor found anything"
    losses = f"; the watch itself was lost {plural(len(health['losses']), 'time')}" if health["losses"] else ""
    unwatched = [_of_unwatched(one) for one in health["losses"] if one.get("unwatched_ns") is not None]
    losses += f", and no sensor was watched for {', '.join(unwatched)}" if unwatched else ""
    names, period = ", ".join(health["sensors"]), time_with_unit(health["period_ns"])
    return f"{names} were watched while the run went on, every {period}: {what}{losses}."


def _of_unwatched(loss: Mapping[str, Any]) -> str:
    within = loss["within_ns"]
    return time_with_unit(loss["unwatched_ns"]) + ("" if within is None else f" (at most {time_with_unit(within)})")


def _of_supply(loss: Mapping[str, Any]) -> str:
    """Summaries of earlier versions count the loss on every processor."""
    lost, period = time_with_unit(loss["lost_ns"]), time_with_unit(loss["period_ns"])
    if loss.get("counted", True):
        on = f" on {', '.join(loss['counted'])}" if loss.get("counted") else ""
        return f"The bounds allow for {lost} in every {period} that the kernel may take{on}: {loss['why']}."
    spare = time_with_unit(min(loss["spare_ns"].values()))
    return (
        f"The kernel sees to it that others have {lost} in every {period} ({loss['why']}). Tasks leave them {spare} at "
        "least, so it takes nothing, and the bounds count nothing for it."
    )
