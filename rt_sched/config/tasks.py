"""The section `tasks`, in two passes: each task as written, then all of them connected to each other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rt_sched.config import fields
from rt_sched.config.activation import activating_sources, choose_edges, read_activation
from rt_sched.config.edges import InputDraft, Producer, connect, mandatory_inputs, read_inputs, task_outputs
from rt_sched.config.execution import read_execution
from rt_sched.config.fields import Table
from rt_sched.config.problems import Problems, lacking, listed, quoted, unknown
from rt_sched.config.rates import Activated, derive_rates, find_circles, separation_ns
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import (
    Criticality,
    DeadlineAction,
    Device,
    Edge,
    ExecutionTime,
    Input,
    OnMessage,
    Periodic,
    Sensor,
    Task,
)
from rt_sched.ports import StageCatalogue, StageDescription

MAX_PRIORITY = 1_000_000

_TASK_KEYS = (
    "stage",
    "runs_on",
    "core",
    "activation",
    "inputs",
    "execution",
    "deadline",
    "priority",
    "budget",
    "on_deadline",
    "criticality",
    "parameters",
)
_STAND_IN_RATE_HZ = Fraction(1)
_STAND_IN_EXECUTION = ExecutionTime(1, 1, (1, 1))


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """One task as written. `key`: its name's place in the file. `description` is None when the stage is not known.

    `is_readable`: False when the whole task is no mapping, so that nothing more is known of it.
    """

    name: str
    key: Node
    is_readable: bool
    stage: str
    description: StageDescription | None
    parameters: tuple[tuple[str, Any], ...]
    pe: tuple[str, str]
    core: int | None
    inputs: tuple[InputDraft, ...]
    activation: Periodic | OnMessage | None
    edges: Mapping[str, Edge]
    execution: ExecutionTime
    deadline_ns: int | None
    priority: int | None
    budget_ns: int | None
    deadline_action: DeadlineAction
    criticality: Criticality


def read_tasks(
    node: Node | None, devices: Mapping[str, Device], stages: StageCatalogue, problems: Problems
) -> dict[str, TaskDraft]:
    """First pass: name -> what the file says about the task, in file order."""
    if node is None:
        return {}
    if node.is_mapping and not node.entries:
        problems.add(node, "there is no task; write at least one")
    descriptions: dict[str, StageDescription | str] = {}
    drafts = {}
    for name, entry in fields.named_entries(node, "tasks", problems):
        table = Table(entry.value, "a task", _TASK_KEYS, problems)
        drafts[name] = _read_task(name, entry.key, table, devices, stages, descriptions)
    return drafts


def _read_task(
    name: str,
    key: Node,
    table: Table,
    devices: Mapping[str, Device],
    stages: StageCatalogue,
    descriptions: dict[str, StageDescription | str],
) -> TaskDraft:
    problems = table.problems
    stage, description = _read_stage(table, stages, descriptions)
    pe = _read_pe(table, devices)
    inputs = read_inputs(table.get("inputs"), problems)
    # Where no input is written though the stage needs some, the missing inputs are the mistake, not the activation.
    lacks_inputs = not inputs and description is not None and bool(mandatory_inputs(description))
    activation_node = table.get("activation")
    activation = None
    if activation_node is not None or (table.is_mapping and not lacks_inputs):
        activation = read_activation(activation_node, inputs, key, problems)
    execution_node = table.need("execution", "execution: {bcet: 1ms, wcet: 3ms}")
    execution = read_execution(execution_node, problems) if execution_node else None
    return TaskDraft(
        name=name,
        key=key,
        is_readable=table.is_mapping,
        stage=stage,
        description=description,
        parameters=_read_parameters(table, stage, description, stages),
        pe=pe,
        core=_read_core(table, pe, devices),
        inputs=inputs,
        activation=activation,
        edges=choose_edges(activation, inputs, key, problems),
        execution=execution or _STAND_IN_EXECUTION,
        deadline_ns=table.read("deadline", fields.time_down, None),
        priority=table.read("priority", fields.integer(0, MAX_PRIORITY), None),
        budget_ns=table.read("budget", fields.time_down, None),
        deadline_action=table.read(
            "on_deadline", fields.choice(DeadlineAction, "deadline action"), DeadlineAction.CONTINUE
        ),
        criticality=table.read("criticality", fields.choice(Criticality, "criticality"), Criticality.QM),
    )


def _read_stage(
    table: Table, stages: StageCatalogue, descriptions: dict[str, StageDescription | str]
) -> tuple[str, StageDescription | None]:
    node = table.need("stage", 'stage: "pipelines.camera:Preprocess"')
    stage = fields.text(node, table.problems) if node else None
    if node is None or stage is None:
        return "", None
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", stage, re.ASCII) is None:
        message = f"{quoted(stage)} does not name a stage; write module:Class, such as pipelines.camera:Preprocess"
        table.problems.add(node, message)
        return stage, None
    if stage not in descriptions:
        descriptions[stage] = stages.describe(stage)
    description = descriptions[stage]
    if isinstance(description, str):
        table.problems.add(node, description)
        return stage, None
    return stage, description


def _read_pe(table: Table, devices: Mapping[str, Device]) -> tuple[str, str]:
    every_pe = [f"{device.name}.{pe.name}" for device in devices.values() for pe in device.processing_elements]
    node = table.need("runs_on", f"runs_on: {next(iter(every_pe), 'orin-1.cpu')}")
    text = fields.text(node, table.problems) if node else None
    if node is None or text is None:
        return "", ""
    device_name, dot, pe_name = text.partition(".")
    device = devices.get(device_name)
    if device is None:
        table.problems.add(node, unknown("device", device_name, devices))
    elif device.processing_elements and pe_name not in {pe.name for pe in device.processing_elements}:
        own = [f"{device_name}.{pe.name}" for pe in device.processing_elements]
        if dot:
            table.problems.add(node, unknown("processing element", text, own))
        else:
            table.problems.add(node, f"{text!r} is a whole device; write one of {listed(own)}")
    return device_name, pe_name


def _read_core(table: Table, pe: tuple[str, str], devices: Mapping[str, Device]) -> int | None:
    device = devices.get(pe[0])
    cores = {element.name: element.cores for element in device.processing_elements} if device else {}
    if pe[1] not in cores:
        return None
    return table.read("core", fields.integer(0, cores[pe[1]] - 1), None)


def _read_parameters(
    table: Table, stage: str, description: StageDescription | None, stages: StageCatalogue
) -> tuple[tuple[str, Any], ...]:
    node = table.get("parameters")
    entries = {} if node is None else fields.mapping_entries(node, "parameters", table.problems)
    values = {key: fields.plain_value(entry.value, table.problems) for key, entry in entries.items()}
    if description is not None and (node is None or node.is_mapping):
        place = node or table.node
        complaints = _parameter_name_complaints(values, description)
        for key, message in complaints:
            table.problems.add(entries[key].key if key in entries else place, message)
        refusal = None if complaints else stages.check_parameters(stage, values)
        if refusal is not None:
            named = re.match(r"(\w+): (.*)", refusal, re.DOTALL)
            if named and named[1] in entries:
                table.problems.add(entries[named[1]].value, named[2])
            else:
                table.problems.add(place, f"{stage} refuses its parameters: {refusal}")
    return tuple(sorted(values.items()))


def _parameter_name_complaints(values: Mapping[str, Any], description: StageDescription) -> list[tuple[str, str]]:
    known = description.parameters
    misspelt = [] if description.open_parameters else [key for key in values if key not in known]
    missing = [key for key, parameter in known.items() if parameter.required and key not in values]
    return [
        *((key, lacking("this stage", "parameter", key, known)) for key in misspelt),
        *((key, f"the stage needs the parameter {key!r}") for key in missing),
    ]


def connect_tasks(
    drafts: Mapping[str, TaskDraft],
    sensors: Mapping[str, Sensor],
    producers: Mapping[str, Producer],
    problems: Problems,
) -> tuple[Task, ...]:
    """Second pass: sources and ports resolved, types checked, rates derived. `producers`: sensors and tasks by name."""
    ports = {
        draft.name: connect(
            draft.inputs, draft.description if draft.is_readable else None, producers, draft.key, problems
        )
        for draft in drafts.values()
    }
    activated = {
        draft.name: Activated(draft.activation, activating_sources(draft.activation, draft.inputs, draft.edges))
        for draft in drafts.values()
    }
    for circle in find_circles({name: task for name, task in activated.items() if name not in sensors}):
        shown = " -> ".join((*circle, circle[0]))
        problems.add(
            drafts[circle[0]].key,
            f"these tasks activate each other in a circle, so none ever starts: {shown}; give one of them a rate",
        )
    rates = derive_rates({sensor.name: sensor.rate_hz for sensor in sensors.values()}, activated)
    return tuple(
        _build_task(draft, ports[draft.name], rates.get(draft.name, _STAND_IN_RATE_HZ)) for draft in drafts.values()
    )


def _build_task(draft: TaskDraft, ports: Mapping[str, str | None], rate_hz: Fraction) -> Task:
    separation = separation_ns(rate_hz)
    return Task(
        name=draft.name,
        stage=draft.stage,
        parameters=draft.parameters,
        pe=draft.pe,
        activation=draft.activation or Periodic(rate_hz),
        inputs=tuple(
            Input(item.name, item.source, ports[item.name], draft.edges[item.name], item.required)
            for item in draft.inputs
        ),
        execution=draft.execution,
        deadline_ns=separation if draft.deadline_ns is None else draft.deadline_ns,
        separation_ns=separation,
        core=draft.core,
        priority=draft.priority,
        budget_ns=draft.budget_ns,
        deadline_action=draft.deadline_action,
        criticality=draft.criticality,
    )


def task_producers(drafts: Mapping[str, TaskDraft]) -> dict[str, Producer]:
    """What each task offers to others."""
    return {name: task_outputs(draft.description) for name, draft in drafts.items()}
