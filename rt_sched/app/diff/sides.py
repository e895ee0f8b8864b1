"""What can be compared: system files, plan files, documents of the analysis, schedulability reports, runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from rt_sched.app.diff.verdicts import Item, analysis_items, run_items
from rt_sched.app.inputs.documents import read_document
from rt_sched.app.inputs.shipped import resolve
from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import MAX_FILE_BYTES, Node, parse
from rt_sched.errors import DataError

Row = dict[str, Any]


class SideKind(str, Enum):
    """What one side of a comparison is."""

    SYSTEM = "a system file"
    PLAN = "a plan file"
    ANALYSIS = "an analysis document"
    REPORT = "a schedulability report"
    RUN = "a run"


#: Schemas by the part before their version.
_SCHEMAS = {
    "rt-sched/analysis/": SideKind.ANALYSIS,
    "rt-sched/schedulability-report/": SideKind.REPORT,
    "rt-sched/run-summary/": SideKind.RUN,
}
_VERSION = "1"
#: The key that a plan file begins with.
PLAN_KEY = "rt_sched_plan"
#: Kinds that carry verdicts of the analysis, and can be compared with each other.
ANALYSED = (SideKind.SYSTEM, SideKind.ANALYSIS, SideKind.REPORT)


@dataclass(frozen=True, slots=True)
class Side:
    """`inputs`: what was declared or decided, as plain data; `items`: what it came to. `verdict`: of the whole."""

    kind: SideKind
    file: str
    inputs: Row
    items: tuple[Item, ...]
    verdict: str | None


def kind_of(argument: str) -> tuple[SideKind, Path]:
    """What an argument names, and the file to read. Raises ConfigError or DataError where it is nothing of all that."""
    path = resolve(argument)
    if path.is_dir():
        if not (path / "summary.json").exists():
            raise DataError(f"{path}: is a folder without summary.json; give a run folder")
        return SideKind.RUN, path / "summary.json"
    if path.suffix == ".json" or _begins_as_json(path):
        return _kind_of_document(read_document(path), path), path
    return _kind_of_yaml(path), path


def _begins_as_json(path: Path) -> bool:
    """Whether a file begins as the documents do that commands print; system files in flow style have no such key."""
    try:
        with path.open("rb") as stream:
            return re.match(rb"\s*\{\s*\"schema\"\s*:", stream.read(256)) is not None
    except OSError:
        return False


def _kind_of_document(document: Mapping[str, Any], path: Path) -> SideKind:
    schema = document.get("schema")
    for start, kind in _SCHEMAS.items():
        if isinstance(schema, str) and schema.startswith(start):
            if schema != start + _VERSION:
                raise DataError(f"{path}: holds {schema}; this version reads {start}{_VERSION}")
            return kind
    known = ", ".join(start + _VERSION for start in _SCHEMAS)
    raise DataError(f"{path}: holds {schema or 'no schema'}; documents that can be compared: {known}")


def _kind_of_yaml(path: Path) -> SideKind:
    """A plan file says so in its first key; all else is for the loader of systems to judge."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError:
        return SideKind.SYSTEM
    root = parse(data, Problems(str(path)), "file")
    return SideKind.PLAN if root is not None and root.is_mapping and PLAN_KEY in root.entries else SideKind.SYSTEM


def document_side(kind: SideKind, path: Path) -> Side:
    """A document as it is. Raises DataError where its rows are not those of its schema."""
    document = read_document(path)
    try:
        if kind is SideKind.RUN:
            items = run_items(document, str(path))
            return Side(kind, str(path), _run_inputs(document, path), items, _text(document, "status"))
        items = analysis_items(document, str(path))
        return Side(kind, str(path), _analysis_inputs(document, kind), items, _text(document, "verdict"))
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: is damaged ({type(error).__name__}: {error})") from error


def system_side(argument: str) -> Side:
    """A system file, analysed under its own policy, with its faults and changes of mode where it declares any.

    Raises ConfigError with every problem of the file.
    """
    from rt_sched.app.analyze.job import analysed_system, analysis_document
    from rt_sched.app.show.job import shown_system

    inputs = shown_system(argument, None)
    several = inputs["faults"] or len(inputs["modes"]) > 1 or any(task["miss_limit"] for task in inputs["tasks"])
    document = analysis_document(analysed_system(argument, None, None, faults="all" if several else None))
    return Side(
        SideKind.SYSTEM, document["file"], inputs, analysis_items(document, document["file"]), document["verdict"]
    )


def plan_side(path: Path, system_argument: str | None) -> Side:
    """A plan file; analysed where the system that it is for is named.

    Raises ConfigError with every problem of the file, or of the plan where it does not fit the system.
    """
    problems = Problems(str(path))
    root = parse(path.read_bytes(), problems, "plan file")
    if root is None:
        raise problems.error()
    inputs = _plan_inputs(root)
    if system_argument is None:
        return Side(SideKind.PLAN, str(path), inputs, (), None)
    from rt_sched.analysis.analyze import analyze
    from rt_sched.app.analyze.job import Analysed, analysis_document
    from rt_sched.app.inputs.plan_files import plan_for
    from rt_sched.app.inputs.stages import ImportedStages
    from rt_sched.config import load_system
    from rt_sched.lowering.merging import with_merged

    system_path = resolve(system_argument)
    system = load_system(system_path, stages=ImportedStages())
    plan, _ = plan_for(system, path, None)
    system = with_merged(system, plan.merged)
    elements = {one.name: f"{one.device}.{one.pe}" for one in plan.processors}
    document = analysis_document(Analysed(analyze(system, plan), str(system_path), elements))
    return Side(SideKind.PLAN, str(path), inputs, analysis_items(document, str(path)), document["verdict"])


def _plan_inputs(root: Node) -> Row:
    """The plan as plain data; takeovers by what is lost."""
    plain: Row = _plain(root)
    plain.pop("system_sha256", None)
    takeovers = plain.get("takeovers")
    if isinstance(takeovers, list):
        plain["takeovers"] = [
            {"name": ", ".join(map(str, row.get("losses") or ())), **row} if isinstance(row, dict) else row
            for row in takeovers
        ]
    return plain


def _plain(node: Node) -> Any:
    """Scalars as they are written."""
    if node.is_mapping:
        return {key: _plain(entry.value) for key, entry in node.entries.items()}
    if node.is_sequence:
        return [_plain(item) for item in node.items]
    return None if node.is_null else node.text


def _text(document: Mapping[str, Any], key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) else None


def _analysis_inputs(document: Mapping[str, Any], kind: SideKind) -> Row:
    """What an analysis document says of the system: of a report the whole of it, else what stands beside bounds."""
    model = document.get("model")
    if kind is SideKind.REPORT and isinstance(model, dict):
        return {key: value for key, value in model.items() if key not in ("drawing", "graph", "notes", "file")}
    seen: dict[str, Row] = {}
    for row in document.get("tasks") or ():
        seen.setdefault(row["name"], _some(row, ("name", "pe", "processor", "deadline_ns", "miss_limit")))
    chains: dict[str, Row] = {}
    limits = tuple(f"{quantity}_limit_ns" for quantity in ("reaction", "latency", "data_age"))
    for row in document.get("chains") or ():
        chains.setdefault(row["name"], _some(row, ("name", "path", *limits)))
    return {
        **_some(document, ("system", "policy")),
        "modes": [_some(row, ("name",)) for row in document.get("modes") or ()],
        "tasks": list(seen.values()),
        "chains": list(chains.values()),
        "assumptions": [{"name": row.get("key"), "text": row.get("text")} for row in document.get("assumptions") or ()],
    }


def _run_inputs(document: Mapping[str, Any], path: Path) -> Row:
    """What a run was made of: what its manifest says, where that lies beside the summary, and its summary."""
    limits = tuple(f"{quantity}_limit_ns" for quantity in ("reaction", "latency", "data_age"))
    inputs: Row = {
        **_some(document, ("system", "policy", "recording", "clock", "tier")),
        "tasks": [_some(row, ("name", "stage", "pe", "deadline_ns")) for row in document.get("tasks") or ()],
        "chains": [_some(row, ("name", "path", *limits)) for row in document.get("chains") or ()],
        "faults": [{"name": row.get("fault"), "time_ns": row.get("time_ns")} for row in document.get("faults") or ()],
    }
    manifest = path.parent / "manifest.json"
    if path.name == "summary.json" and manifest.exists():
        found = read_document(manifest)
        inputs["seed"] = found.get("seed")
        inputs["versions"] = found.get("versions")
        inputs["inputs"] = [{"name": row.get("path"), "sha256": row.get("sha256")} for row in found.get("inputs") or ()]
    return inputs


def _some(row: Mapping[str, Any], keys: tuple[str, ...]) -> Row:
    return {key: row[key] for key in keys if key in row}
