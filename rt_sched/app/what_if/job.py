"""`what-if`: a system file analysed as it is and with changes, and both verdicts beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rt_sched.analysis.analyze import analyze
from rt_sched.app.analyze.job import Analysed, analysis_document
from rt_sched.app.inputs.plan_files import plan_for
from rt_sched.app.inputs.shipped import resolve
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.what_if.changes import Change, Told, changed_tree, option_of
from rt_sched.app.what_if.rows import chain_rows, disparity_rows, mode_rows, processor_rows, task_rows
from rt_sched.config import load_system
from rt_sched.config.loader import load_system_tree, system_tree
from rt_sched.config.problems import Problems
from rt_sched.config.yaml_nodes import Node
from rt_sched.errors import ConfigError, Problem
from rt_sched.lowering.merging import with_merged
from rt_sched.model import Plan, System

WHAT_IF_SCHEMA = "rt-sched/what-if/1"


@dataclass(frozen=True, slots=True)
class WhatIfRequest:
    """A system file, and what is to be different. All changes apply together: cameras, removals, then values.

    `plan`: a plan file for the system as it is and as changed; without one `policy` decides.
    """

    system: str
    add_cameras: tuple[str, ...] = ()
    removals: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    policy: str | None = None
    plan: Path | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """In the order in which they are made."""
        return (
            *(Change("--add-camera", one) for one in self.add_cameras),
            *(Change("--remove", one) for one in self.removals),
            *(Change("--set", one) for one in self.settings),
        )


def what_if(request: WhatIfRequest) -> dict[str, Any]:
    """The document with both analyses, what differs first.

    Raises ConfigError with every problem of the file as it is, of the call, of the file as changed (those of a value
    that was set name its option), or of a plan that does not fit both.
    """
    path = resolve(request.system)
    system = load_system(path, stages=ImportedStages())
    changed, told = changed_system(path, request.changes, _kinds(system))
    (plan, note), (changed_plan, _) = (plan_for(one, request.plan, request.policy) for one in (system, changed))
    system, changed = with_merged(system, plan.merged), with_merged(changed, changed_plan.merged)
    before, after = _document(path, system, plan), _document(path, changed, changed_plan)
    return _compared(before, after, told) | {"plan": None if request.plan is None else str(request.plan), "note": note}


def changed_system(path: Path, changes: Sequence[Change], kinds: Mapping[str, str]) -> tuple[System, tuple[Told, ...]]:
    """The system of the file with the changes, and what each did; raises ConfigError as `what_if` does.

    `kinds`: of tasks, the kind of element that each runs on.
    """
    tree, told = changed_tree(system_tree(path), changes, kinds)
    try:
        return _loaded(tree, path), told
    except ConfigError as error:
        raise ConfigError([_at_its_option(one, changes) for one in error.problems]) from None


def _kinds(system: System) -> dict[str, str]:
    elements = {(device.name, pe.name): pe for device in system.devices for pe in device.processing_elements}
    return {task.name: elements[task.pe].kind.value for task in system.tasks}


def _loaded(tree: Node, path: Path) -> System:
    return load_system_tree(tree, Problems(str(path)), path.resolve().parent, ImportedStages())


def _at_its_option(problem: Problem, changes: Sequence[Change]) -> Problem:
    change = option_of(problem.line, changes)
    return problem if change is None else replace(problem, file=str(change), line=0, column=0)


def _document(path: Path, system: System, plan: Plan) -> dict[str, Any]:
    elements = {one.name: f"{one.device}.{one.pe}" for one in plan.processors}
    return analysis_document(Analysed(analyze(system, plan), str(path), elements))


def _compared(before: Mapping[str, Any], after: Mapping[str, Any], told: Sequence[Told]) -> dict[str, Any]:
    return {
        "schema": WHAT_IF_SCHEMA,
        "system": before["system"],
        "file": before["file"],
        "policy": {"old": before["policy"], "new": after["policy"]},
        "verdict": after["verdict"],
        "old_verdict": before["verdict"],
        "changes": [
            {"option": one.change.option, "argument": one.change.argument, "did": list(one.did)} for one in told
        ],
        "modes": mode_rows(before, after),
        "tasks": task_rows(before, after),
        "chains": chain_rows(before, after),
        "disparities": disparity_rows(before, after),
        "processors": processor_rows(before, after),
        "assumptions": after["assumptions"],
    }
