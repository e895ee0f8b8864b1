"""Injected faults as part of a schedulability report: who noticed them, how soon beside what is declared.

The documents are what `rt-sched faults run --json` and `rt-sched faults campaign --json` print, and what
`benchmarks/evidence/single_faults.py --json` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rt_sched.app.faults.document import CAMPAIGN_SCHEMA, RUN_SCHEMA
from rt_sched.app.inputs.documents import read_document
from rt_sched.app.runs.manifest import file_sha256
from rt_sched.errors import DataError
from rt_sched.faults.kinds import KINDS
from rt_sched.faults.outcomes import Verdict
from rt_sched.faults.spread import UPPER_QUANTILE, by_kind

Row = dict[str, Any]

SINGLE_SCHEMA = "rt-sched/single-faults/1"
_VERDICTS = tuple(verdict.value for verdict in Verdict)
_SPREADS = ("detected_ns", "reacted_ns", "recovered_ns")
_KEYS = ("kind", "runs", *_VERDICTS, "worst_case_max_ns", *_SPREADS, "detected_histogram")
_OF_FAULTS = ("kind", "verdict", "detected_after_ns", "worst_case_ns", "reaction")
_OF_ALL = ("system", "system_sha256", "recording", "clock", "status")


def injected_section(files: Sequence[Path], system: str, system_sha256: str) -> list[Row]:
    """One row per file. Raises DataError for a file that is no such document, and for one of another system file."""
    return [_section(file, system, system_sha256) for file in files]


def _section(file: Path, system: str, system_sha256: str) -> Row:
    document = read_document(file)
    schema = document.get("schema")
    if schema not in (RUN_SCHEMA, CAMPAIGN_SCHEMA, SINGLE_SCHEMA):
        raise DataError(
            f"{file}: is no document on faults, as rt-sched faults run --json or rt-sched faults campaign --json prints"
        )
    part, needed = ("faults", _OF_FAULTS) if schema == RUN_SCHEMA else ("kinds", _KEYS)
    rows = document.get(part)
    if not isinstance(rows, list) or not all(isinstance(one, dict) and set(needed) <= one.keys() for one in rows):
        raise DataError(f"{file}: its {part} lack some of {', '.join(needed)}")
    if missing := [key for key in _OF_ALL if key not in document]:
        raise DataError(f"{file}: lacks {', '.join(missing)}; make it again with this version")
    if document["system_sha256"] != system_sha256:
        raise DataError(
            f"{file}: is about faults in {document['system']} as another system file has it, and the report is on "
            f"{system} as it is now"
        )
    kinds = by_kind(rows) if schema == RUN_SCHEMA else rows
    return {
        "file": str(file),
        "sha256": file_sha256(file),
        "recording": document["recording"],
        "clock": document["clock"],
        "status": document["status"],
        "instants": document.get("instants"),
        "upper_quantile": UPPER_QUANTILE,
        "runs": sum(one["runs"] for one in kinds),
        **{name: sum(one[name] for one in kinds) for name in _VERDICTS},
        "kinds": [{key: one[key] for key in _KEYS} for one in kinds],
        "targets": [{key: one[key] for key in ("target", *_KEYS)} for one in document.get("targets", ())],
        "not_struck": list(document.get("not_struck", ())),
        "kinds_not_struck": [kind.name for kind in KINDS if kind.name not in {one["kind"] for one in kinds}],
    }
