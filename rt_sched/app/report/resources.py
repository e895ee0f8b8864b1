"""Shared resources in a schedulability report: who may block whom, for how long, and what the protocol is good for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rt_sched.app.report.inversion import inversion_examples, waits
from rt_sched.model import Plan, Protocol, System

Row = dict[str, Any]

_BLOCKING = ("blocking", "non_preemptive_region", "spin")

_EFFECT = {
    Protocol.NONE: "nothing bounds how long a job waits: a job of medium urgency may run in front of the holder",
    Protocol.PRIORITY_INHERITANCE: "the holder runs with the urgency of whoever waits, so no job of medium urgency "
    "comes between; one section of each less urgent task or resource may block",
    Protocol.PRIORITY_CEILING: "the holder runs with the ceiling of the resource; a job is blocked at most once, by "
    "one section, before it starts",
    Protocol.MSRP: "jobs spin in order of request without being preempted; waiting is bounded by one section of every "
    "other processor",
}


def resource_section(system: System, plan: Plan, tasks: Sequence[Row]) -> Row:
    """Every resource with its sections, and every wait for less urgent work in the bounds. `tasks`: of the report."""
    return {
        "resources": [
            {**_resource(system, one.name, one.protocol), "waits": waits(system, plan, one, tasks)}
            for one in system.resources
        ],
        "examples": inversion_examples(system, plan),
        "blocking": [
            {
                "mode": row["mode"],
                "task": row["name"],
                "processor": row["processor"],
                "kind": term["kind"],
                "by": term["by"],
                "value_ns": term["value_ns"],
                "response_bound_ns": row["response_bound_ns"],
            }
            for row in tasks
            for term in row["terms"]
            if term["kind"] in _BLOCKING and term["value_ns"] > 0
        ],
        "unbounded": [
            {"mode": row["mode"], "task": row["name"], "reason": reason}
            for row in tasks
            if row["response_bound_ns"] is None
            for reason in _lock_reasons(system, row)
        ],
    }


def _resource(system: System, name: str, protocol: Protocol) -> Row:
    sections = [
        {
            "task": task.name,
            "pe": ".".join(task.pe),
            "from_ns": section.start_ns,
            "to_ns": section.end_ns,
            "length_ns": section.end_ns - section.start_ns,
        }
        for task in system.tasks
        for section in task.sections
        if section.resource == name
    ]
    return {
        "name": name,
        "protocol": protocol.value,
        "effect": _EFFECT[protocol],
        "sections": sections,
        "inversion": _inversion(system, name, protocol),
    }


def _inversion(system: System, name: str, protocol: Protocol) -> str:
    """What becomes of the resource without a protocol, in words."""
    users = [task for task in system.tasks if any(section.resource == name for section in task.sections)]
    if len(users) < 2:
        return "one task alone uses it: there is no inversion, with or without a protocol"
    if protocol is Protocol.NONE:
        return "no protocol is declared: no wait for it is bounded"
    places = {user.pe for user in users}
    if len(places) > 1:
        return "its users run on several elements: without the protocol no wait for it is bounded"
    return "without the protocol a holder keeps its own urgency, and whatever is more urgent runs before it goes on"


def _lock_reasons(system: System, row: Row) -> list[str]:
    names = {resource.name for resource in system.resources}
    reasons = {refusal["reason"] for refusal in row["refusals"]}
    return sorted(reason for reason in reasons if any(reason.startswith(f"{name}:") for name in names))
