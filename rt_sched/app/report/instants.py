"""Recoveries measured at many instants of the cycle, as part of a schedulability report.

The document is what `benchmarks/failover.py --json` writes: for every loss of a plan the spread of detection and
recovery over runs without stage code, and the bounds that it was compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rt_sched.app.inputs.documents import read_document
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.errors import DataError

Row = dict[str, Any]

SCHEMA = "rt-sched/failover/1"
_COUNTS = ("loss", "instants", "over_bound", "not_recovered", "detection_bound_ns", "recovery_bound_ns", "limit_ns")
_QUANTITIES = ("detected_ns", "recovered_ns")
_SPREAD = ("min", "p50", "p99", "max")


def instants_section(file: Path, faults: Sequence[Row]) -> Row:
    """The spreads of every loss that the report bounds. `faults`: rows of the report.

    Raises DataError for a file that is no such document, and for one whose bounds are not those of the report: it is of
    another system or plan.
    """
    document = _read(file)
    rows = {one["takeover"]["losses"][0]: one for one in faults if one["takeover"] is not None}
    found = []
    for one in document["losses"]:
        row = rows.get(one["loss"])
        if row is None:
            raise DataError(
                f"{file}: tells of the loss of {one['loss']}, which no takeover of the report answers; give the plan "
                "that it was made with by --plan"
            )
        for key, bound_ns in (
            ("recovery_bound_ns", row["recovered_ns"]),
            ("detection_bound_ns", row["handling"]["detection_ns"]),
        ):
            if one[key] != bound_ns:
                raise DataError(
                    f"{file}: the {key.replace('_bound_ns', '')} from the loss of {one['loss']} was bounded by "
                    f"{one[key]} ns there, and is by {bound_ns} ns here: it is of another system or plan"
                )
        found.append({"fault": row["fault"], **_loss(one)})
    run = document.get("run", {})
    return {
        "file": str(file),
        "sha256": file_sha256(file),
        "commit": run.get("commit"),
        "made": run.get("made"),
        "upper_quantile": "99th percentile",
        "losses": found,
    }


def _loss(one: Row) -> Row:
    return {
        **{key: one[key] for key in _COUNTS},
        **{key: None if one[key] is None else {f"{q}_ns": one[key][q] for q in _SPREAD} for key in _QUANTITIES},
    }


def _read(file: Path) -> Row:
    document = read_document(file)
    if document.get("schema") != SCHEMA:
        raise DataError(f"{file}: is no document {SCHEMA}, as benchmarks/failover.py --json writes it")
    needed = {*_COUNTS, *_QUANTITIES}
    losses = document.get("losses")
    if not isinstance(losses, list) or not all(isinstance(one, dict) and needed <= one.keys() for one in losses):
        raise DataError(f"{file}: its losses lack some of {', '.join(sorted(needed))}")
    return document
