"""What a search for bad cases found, as part of a schedulability report: how near legal runs come to the bounds.

The document is what `rt-sched search --json` prints: for every task and chain the longest time that a run was seen to
take, the bound that it was held against, how it was found, and the scenario that plays it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

from rt_sched.app.inputs.documents import read_document
from rt_sched.app.report.bounds import share_ppm
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.errors import DataError

Row = dict[str, Any]

SCHEMA = "rt-sched/search/1"
_KEYS = ("name", "kind", "quantity", "value_ns", "bound_ns", "limit_ns", "strategy", "run", "seed", "job", "scenario")
_OF_ALL = ("status", "reason", "seed", "runs", "interrupted", "targets", "system")


def search_section(file: Path, system: str, tasks: Sequence[Row], chains: Sequence[Row]) -> Row:
    """The targets of a search with their tightness. `tasks`, `chains`: those of the report.

    Raises DataError for a file that is no such document, and for one of another system, state of it, or plan.
    """
    document = _read(file)
    if document["system"] != system:
        raise DataError(f"{file}: is a search in {document['system']}, and the report is on {system}")
    bounds = _bounds(tasks, chains)
    targets = [{**{key: one[key] for key in _KEYS}, "tightness_ppm": _tightness(one)} for one in document["targets"]]
    for one in targets:
        key = (one["kind"], one["name"], one["quantity"])
        if key not in bounds or bounds[key] != one["bound_ns"]:
            raise DataError(
                f"{file}: holds the {one['quantity'].replace('_', ' ')} of {one['name']} against {one['bound_ns']} ns, "
                f"and its bound here is {bounds.get(key)}: it is of another system, state of it, or plan"
            )
    known = [one["tightness_ppm"] for one in targets if one["tightness_ppm"] is not None]
    return {
        "file": str(file),
        "sha256": file_sha256(file),
        **{key: document[key] for key in ("status", "reason", "seed", "runs", "interrupted")},
        "median_tightness_ppm": median_low(known) if known else None,
        "command": document.get("command"),
        "targets": targets,
    }


def _tightness(target: Row) -> int | None:
    return None if target["value_ns"] is None else share_ppm(target["value_ns"], target["bound_ns"])


def _bounds(tasks: Sequence[Row], chains: Sequence[Row]) -> dict[tuple[str, str, str], int | None]:
    """By kind, name and quantity, of the mode in which a run begins."""
    found: dict[tuple[str, str, str], int | None] = {}
    for row in tasks:
        found.setdefault(("task", row["name"], "response"), row["response_bound_ns"])
    for row in chains:
        for quantity in ("reaction", "latency", "data_age"):
            found.setdefault(("chain", row["name"], quantity), row[f"{quantity}_bound_ns"])
    return found


def _read(file: Path) -> Row:
    document = read_document(file)
    if document.get("schema") != SCHEMA:
        raise DataError(f"{file}: is no document {SCHEMA}, as rt-sched search --json prints it")
    targets = document.get("targets")
    rows = targets if isinstance(targets, list) else [None]
    if not set(_OF_ALL) <= document.keys() or not all(
        isinstance(one, dict) and set(_KEYS) <= one.keys() for one in rows
    ):
        raise DataError(f"{file}: lacks some of {', '.join((*_OF_ALL, *_KEYS))}")
    return document
