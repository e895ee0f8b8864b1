"""`report`: everything that is known of a system as one document, from which the schedulability report is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rt_sched.analysis.analyze import analyze
from rt_sched.analysis.chains.bounds import SOURCES as CHAIN_SOURCES
from rt_sched.analysis.loads.resolve import mode_loads
from rt_sched.app.analyze.faults import fault_section, scenario_names
from rt_sched.app.analyze.job import Analysed, analysis_document, load_and_plan, method_names
from rt_sched.app.analyze.margins import margin_rows
from rt_sched.app.report.assumptions import assumption_rows, numbers_of
from rt_sched.app.report.bounds import with_derivations
from rt_sched.app.report.chains import chain_rows
from rt_sched.app.report.critical import critical_runs
from rt_sched.app.report.evidence import evidence, system_file_of, with_observed
from rt_sched.app.report.faults import MOST_TASKS, faults_of
from rt_sched.app.report.injected import injected_section
from rt_sched.app.report.instants import instants_section
from rt_sched.app.report.requirements import requirement_section
from rt_sched.app.report.resources import resource_section
from rt_sched.app.report.safety import safety_section
from rt_sched.app.report.scope import iso_26262, scope
from rt_sched.app.report.search import search_section
from rt_sched.app.report.summary import findings, load_ppm, summary, verdict_with
from rt_sched.app.report.validation import validation_section
from rt_sched.app.runs.manifest import file_sha256, machine, versions
from rt_sched.app.show.job import system_document
from rt_sched.model import Plan, System
from rt_sched.report.schedulability.schema import TITLE
from rt_sched.report.system_graph import graph_rows

Row = dict[str, Any]

REPORT_SCHEMA = TITLE
#: Systems with more tasks have their margins searched only when asked: the search takes minutes then.
MOST_TASKS_SEARCHED = 60
_TOLD_EVERY = 20


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What is reported on. `system`: None for the system file that the runs name; `runs`: run folders.

    `margins`: whether they are searched, None for what suits the size of the system. `plan`: file of the plan, None for
    the one that `policy` makes. `search`: what `rt-sched search` found; `instants`: measured recoveries of losses at
    many instants; `injected`: what became of injected faults. `command`: the call, as a shell would take it.
    """

    system: str | None = None
    runs: tuple[Path, ...] = ()
    policy: str | None = None
    methods: str | None = None
    margins: bool | None = None
    plan: Path | None = None
    search: Path | None = None
    instants: Path | None = None
    injected: tuple[Path, ...] = ()
    command: str = "rt-sched report"


def report_document(request: ReportRequest, tell: Callable[[str], None], analysed: Analysed | None = None) -> Row:
    """The document; `tell` is told what is being done. `analysed`: what was asked for, where that is done already.

    Raises ConfigError with every problem of the system file, DataError for run folders that are none or belong to
    another system, AnalysisNotApplicable for an unknown policy or method.
    """
    named = request.system if request.system is not None else system_file_of(request.runs[0])
    names = method_names(request.methods)
    if analysed is not None and analysed.ground is not None:
        (path, system, plan), report = analysed.ground, analysed.report
    else:
        path, system, plan = load_and_plan(named, request.policy, request.plan, tell)
        tell("bounding responses and chains")
        report = analyze(system, plan, methods=names)
    modes = mode_loads(system, plan)
    declared = None
    if system.fault_scenarios or len(system.modes) > 1 or any(task.miss_limit is not None for task in system.tasks):
        tell("analysing faults and changes of mode")
        declared = fault_section(system, plan, report, names, scenario_names(system, "all"))
    elements = {one.name: f"{one.device}.{one.pe}" for one in plan.processors}
    analysis = analysis_document(Analysed(report, str(path), elements, None, declared))
    if len(system.tasks) <= MOST_TASKS:
        tell("losing what no scenario loses")
    faults = faults_of(system, plan, report, declared)
    if request.instants is not None:
        faults["instants"] = instants_section(request.instants, faults["rows"])
    margins = _margins(request, system, plan, names, tell)
    tell("reading runs" if request.runs else "playing worst-case runs")
    system_sha256 = file_sha256(path)
    faults["injected"] = injected_section(request.injected, system.name, system_sha256)
    runs = evidence(request.runs, system, system_sha256, analysis["tasks"])
    first = system.modes[0].name if system.modes else None
    tasks = with_observed(with_derivations(analysis["tasks"], system, report, modes), runs, first)
    document: Row = {
        "schema": REPORT_SCHEMA,
        "system": system.name,
        "file": str(path),
        "policy": analysis["policy"],
        "verdict": analysis["verdict"],
        "summary": {},
        "modes": analysis["modes"],
        "model": _model(system, plan, str(path)),
        "assumptions": assumption_rows(system, plan, report, runs, faults=bool(faults["rows"])),
        "processors": [{**row, "load_ppm": load_ppm(row["load"])} for row in analysis["processors"]],
        "tasks": tasks,
        "critical_runs": critical_runs(modes, report.modes),
        "chains": chain_rows(analysis["chains"], tasks, runs),
        "disparities": analysis["disparities"],
        "resources": resource_section(system, plan, tasks),
        "faults": faults,
        "evidence": {"runs": runs, "search": None},
        "margins": margins,
    }
    if request.search is not None:
        document["evidence"]["search"] = search_section(request.search, system.name, tasks, document["chains"])
    document["safety_path"] = safety_section(system, document)
    document["requirements"] = requirement_section(system, document)
    numbers = numbers_of(document["assumptions"])
    for row in tasks:
        row["assumption_numbers"] = [numbers[key] for key in row["assumptions"] if key in numbers]
    document["reproduction"] = _reproduction(request, named, system_sha256, document)
    document["not_shown"] = scope(document)
    document["iso_26262"] = iso_26262()
    document["verdict"] = verdict_with(document["verdict"], findings(document))
    document["summary"] = summary(document)
    return document


def _margins(
    request: ReportRequest, system: System, plan: Plan, names: Sequence[str] | None, tell: Callable[[str], None]
) -> Row | None:
    """None where they were not searched."""
    wanted = len(system.tasks) <= MOST_TASKS_SEARCHED if request.margins is None else request.margins
    if not wanted:
        return None
    tell("searching margins")
    searches = 0

    def progress(done: int, of: int) -> None:
        nonlocal searches
        searches += 1
        if done % _TOLD_EVERY == 0 and done < of:
            tell(f"searching margins: {done} of {of}")

    modes = margin_rows(system, plan, names, progress)
    return {"searches": searches, "modes": modes}


def _model(system: System, plan: Plan, file: str) -> Row:
    """The system with every default filled in, and where the plan puts each task."""
    document = system_document(system, file)
    placed = {one.task: one for one in plan.placements}
    return {
        **{key: value for key, value in document.items() if key not in ("schema", "shared_by_paths")},
        "tasks": [
            {
                **row,
                "processor": plan.processors[placed[row["name"]].processor].name,
                "level": placed[row["name"]].level,
            }
            for row in document["tasks"]
        ],
        "processors": [
            {
                "name": one.name,
                "device": one.device,
                "pe": one.pe,
                "policy": one.policy.value,
                "preemptive": one.preemptive,
                "cores": one.cores,
            }
            for one in plan.processors
        ],
        "graph": graph_rows(system),
    }


def _reproduction(request: ReportRequest, named: str, system_sha256: str, document: Row) -> Row:
    sources = {(row["method"], row["source"]) for row in _first_of_each_method(document["tasks"])}
    sources |= {(method, CHAIN_SOURCES[method]) for row in document["chains"] for method in row["methods"].values()}
    sources |= {(row["method"], row["source"]) for row in document["disparities"] if row["method"] is not None}
    return {
        "command": request.command,
        "inputs": [{"path": named, "sha256": system_sha256}]
        + [
            {"path": str(file), "sha256": file_sha256(file)}
            for file in (request.plan, request.search, request.instants, *request.injected)
            if file is not None
        ],
        "runs": [
            {key: run[key] for key in ("name", "command", "seed", "schedule_sha256")}
            for run in document["evidence"]["runs"]
        ],
        "versions": versions(),
        "machine": machine(),
        "methods": [list(one) for one in sorted(sources)],
        "validation": validation_section({method for method, _ in sources}),
    }


def _first_of_each_method(tasks: Sequence[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    for row in tasks:
        if row["method"] is not None:
            found.setdefault(row["method"], row)
    return list(found.values())
