"""What a schedulability report does not show, and which questions of ISO 26262-6 its sections help to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]

_NEVER_SHOWN = (
    "that the software computes the right thing: only when results come, never whether they are correct",
    "that the declared worst-case execution times are safe: they come from the system file, which names "
    "where they are from",
    "what happens under two faults at once",
    "hardware failure rates, and diagnostic coverage",
    "conformance to any standard: a report is one piece of evidence in an argument that people make",
)

#: Section of the report, place in the edition of 2018, what is asked there, what the section brings.
_ISO = (
    ("system", "part 6, clause 7", "architectural design of the software, its dynamic aspects", "tasks and placement"),
    ("bounds", "part 6, clause 7", "upper estimation of required resources, execution time among them", "bounds"),
    ("chains", "part 6, clause 6", "software safety requirements, those on timing among them", "limits and bounds"),
    ("resources", "part 6, annex D", "freedom from interference: timing and execution", "who delays whom, how long"),
    ("faults", "part 1, 3.55 to 3.61", "time to detect, to react, to handle; tolerant time", "the time, split"),
    ("safety-path", "part 9, clause 7", "analysis of dependent failures", "what primary and backup share"),
    (
        "safety-path",
        "part 9, clause 5",
        "decomposition of requirements to elements of lower levels",
        "levels, both paths",
    ),
    ("evidence", "part 6, clause 10", "integration and verification of the software", "execution times of runs"),
    ("requirements", "part 8, clause 6", "management of safety requirements, traceability", "requirement to evidence"),
    ("reproduction", "part 8, clause 11", "confidence in the use of software tools", "versions, hashes, validation"),
)


def scope(document: Mapping[str, Any]) -> list[str]:
    """What this report does not show, its own gaps first."""
    runs = document["evidence"]["runs"]
    found = []
    if not runs:
        found.append("any measurement: no run is part of this report")
    elif all(run["modelled"] for run in runs):
        found.append("how long the software really takes: the durations of all runs are modelled")
    undeclared = [row["fault"] for row in document["faults"]["rows"] if not row["declared"]]
    if undeclared:
        found.append(f"that losing {_some(undeclared)} is handled in time: no scenario is declared for it")
    named = document["faults"]["not_analysed"]
    if named:
        found.append(f"what losing {_some(named)} takes away: no scenario is declared for it, and the system is large")
    if document["faults"]["rows"] and not document["faults"]["planned"] and len(document["model"]["devices"]) > 1:
        found.append("what takeovers would save: the report rests on no plan that has any")
    if any(row["key"] == "transport" for row in document["assumptions"]):
        found.append("how long messages take between devices: inputs read over no declared link")
    if document["faults"]["rows"]:
        found.append(
            "how old what commands rest on becomes while a fault is being handled: chains are bounded before and after"
        )
    if document["margins"] is None:
        found.append("by how much the system may change: margins were not searched")
    open_tasks = sorted({row["name"] for row in document["tasks"] if row["verdict"] == "inconclusive"})
    if open_tasks:
        found.append(f"whether {_some(open_tasks)} is in time")
    missing = document["requirements"]["limits_without_requirement"]
    if missing:
        found.append(f"why {len(missing)} limits are what they are: no requirement is stated for them")
    return [*found, *_NEVER_SHOWN]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:6])
    return shown if len(names) <= 6 else f"{shown} and {len(names) - 6} more"


def iso_26262() -> Row:
    """Sections beside the clauses that they help with; none of them claims conformance."""
    return {
        "text": "Topics of ISO 26262:2018 with a bearing on timing, where they stand, and the section that brings some "
        "evidence. Places are those that public sources name. This is no claim of conformance, and no replacement for "
        "the text of the standard.",
        "rows": [
            {"section": section, "clause": clause, "asks": asks, "brings": brings}
            for section, clause, asks, brings in _ISO
        ],
    }
