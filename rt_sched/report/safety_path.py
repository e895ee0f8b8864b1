"""The report's section on the safety path: what both ways to brake depend on, and what the E2E checks found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """`shared`: (kind, names) that primary and backup path have in common. `checks`: (from, to, counts) per input."""

    shared: tuple[tuple[str, tuple[str, ...]], ...]
    checks: tuple[tuple[str, str, tuple[tuple[int, bool], ...]], ...]


def safety_path_view(summary: Mapping[str, Any]) -> SafetyPathView | None:
    """The section's content, None when the summary says nothing of it."""
    path = summary.get("safety_path") or {}
    shared, checks = path.get("shared") or {}, path.get("e2e") or ()
    if not shared and not checks:
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
    )
