"""The report's section on the safety path: what both ways to brake depend on, what the E2E checks found, and what the
actuators' side did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rt_sched.report.text import plural, time_with_unit

#: Counts of E2E states in the order of their columns, and whether more than none of them is a finding.
E2E_COLUMNS = (
    ("ok", "OK", False),
    ("no_new_data", "No new data", False),
    ("repeated", "Repeated", True),
    ("wrong_sequence", "Wrong sequence", True),
    ("error", "Error", True),
)

_KINDS = {
    "message_types": "Message types",
    "sensors": "Sensors",
    "tasks": "Tasks",
    "stages": "Stages",
    "modules": "Modules of code",
    "elements": "Processing elements",
    "devices": "Devices",
    "links": "Links",
    "resources": "Shared resources",
}


@dataclass(frozen=True, slots=True)
class SafetyPathView:
    """`shared`: (kind, names) that primary and backup path have in common. `checks`: (from, to, counts) per input.

    `actuators`: sentences.
    """

    shared: tuple[tuple[str, tuple[str, ...]], ...]
    checks: tuple[tuple[str, str, tuple[tuple[int, bool], ...]], ...]
    actuators: tuple[str, ...] = ()


def safety_path_view(summary: Mapping[str, Any]) -> SafetyPathView | None:
    """The section's content, None when the summary says nothing of it."""
    path = summary.get("safety_path") or {}
    shared, checks = path.get("shared") or {}, path.get("e2e") or ()
    actuators = tuple(_of_actuators(summary.get("actuator") or {}))
    if not shared and not checks and not actuators:
        return None
    return SafetyPathView(
        shared=tuple((title, tuple(shared.get(kind) or ())) for kind, title in _KINDS.items() if shared),
        checks=tuple(
            (
                str(row["source"]),
                f"{row['task']}.{row['input']}",
                tuple((int(row.get(key) or 0), finding) for key, _, finding in E2E_COLUMNS),
            )
            for row in checks
        ),
        actuators=actuators,
    )


def _of_actuators(record: Mapping[str, Any]) -> list[str]:
    """What was applied over the run; nothing for a run without an arbiter."""
    if not record:
        return []
    gap, oldest = record.get("longest_gap_ns"), record.get("oldest_command_ns")
    apart = record.get("looks_apart_max_ns") or record["cycle_ns"]
    late = "" if apart <= record["cycle_ns"] else f" and once {time_with_unit(apart)} apart"
    found = [
        f"The actuators' side looked {plural(record['cycles'], 'time')}, every {time_with_unit(record['cycle_ns'])}"
        f"{late}, and took {plural(record['commands'], 'command')}"
        + ("" if gap is None else f", at most {time_with_unit(gap)} apart")
        + ("" if oldest is None else f"; the oldest one that it applied was {time_with_unit(oldest)} old")
        + "."
    ]
    if record["refused"]:
        found.append(f"It refused {plural(record['refused'], 'message')}: {'; '.join(record['refusals'])}.")
    limit, bound = time_with_unit(record["command_age_limit_ns"]), time_with_unit(record["bound_ns"])
    found += [
        f"MINIMAL_RISK from {time_with_unit(one['since_ns'])} on, {time_with_unit(one['after_ns'])} after the last "
        f"command was sent: the limit is {limit}, the bound {bound}. {_ended(one)}"
        for one in record["minimal_risk"]
    ]
    if record.get("releases_refused"):
        reasons = "; ".join(record["release_refusals"])
        found.append(f"It refused {plural(record['releases_refused'], 'request')} for a release: {reasons}.")
    return found


def _ended(risk: Mapping[str, Any]) -> str:
    if risk.get("released_ns") is None:
        return "Nothing released it."
    return f"A request released it at {time_with_unit(risk['released_ns'])}."
