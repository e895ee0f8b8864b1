"""The section `tasks`, in two passes: each task as written, then all of them connected to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rt_sched.config import fields, quantities
from rt_sched.config.activation import ACTIVATION, activating_sources, choose_edges, read_activation
from rt_sched.config.devices import Devices
from rt_sched.config.edges import (
    INPUTS_SCHEMA,
    InputDraft,
    Producer,
    connect,
    mandatory_inputs,
    read_inputs,
    task_outputs,
)
from rt_sched.config.execution import (
    BUDGET_SCHEMA,
    EXECUTION_SCHEMA,
    SUSPENSION,
    execution_on,
    miss_limit,
    read_budget,
    read_executions,
    read_preemption_points,
    read_suspensions,
)
from rt_sched.config.placement import read_candidates, read_core, read_pe
from rt_sched.config.problems import Problems, listed
from rt_sched.config.rates import Activated, derive_rates, find_circles, separation_ns
from rt_sched.config.resources import SECTIONS_SCHEMA, SectionUse, read_sections
from rt_sched.config.stages import STAGE_SCHEMA, read_parameters, read_stage
from rt_sched.config.table import Key, Spec, Table, named_entries
from rt_sched.config.value import list_of
from rt_sched.config.variants import VARIANTS_SCHEMA, Usual, read_variants
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import (
    Activation,
    Communication,
    Criticality,
    CriticalityLevel,
    DeadlineAction,
    Edge,
    ExecutionTime,
    Input,
    PEKind,
    Periodic,
    Policy,
    Sensor,
    SharedResource,
    Task,
)
from rt_sched.ports import StageCatalogue, StageDescription

MAX_PRIORITY = 1_000_000

TASK = Spec(
    "task",
    "a task",
    (
        Key("stage", STAGE_SCHEMA, "The code it runs, module:Class.", default_text="none: the task is only modelled"),
        Key("runs_on", fields.WORD, "Its processing element, device.element.", required=True),
        Key("core", {"type": "integer", "minimum": 0}, "A fixed core.", default_text="the planner's choice"),
        Key("candidates", fields.texts, "Further elements that a plan may move it to.", default_text="none"),
        Key("activation", {"$spec": ACTIVATION}, "What makes jobs arrive.", default_text="messages on the only input"),
        Key("inputs", INPUTS_SCHEMA, "What it reads, by the names of its inputs."),
        Key(
            "execution",
            EXECUTION_SCHEMA,
            "How long jobs take.",
            required=True,
            example="execution: {bcet: 1ms, wcet: 3ms}",
        ),
        Key("deadline", quantities.time_down, "From arrival.", default_text="the separation of arrivals"),
        Key("priority", fields.integer(0, MAX_PRIORITY), "Rank before all tasks without one; lower is more urgent."),
        Key("budget", BUDGET_SCHEMA, "Execution time that is watched or enforced.", default_text="none"),
        Key(
            "on_deadline",
            fields.choice(DeadlineAction, "deadline action"),
            "What happens to a job at its deadline.",
            DeadlineAction.CONTINUE,
            "continue",
        ),
        Key(
            "criticality",
            fields.choice(Criticality, "criticality"),
            "Integrity level of ISO 26262.",
            Criticality.QM,
            "QM",
        ),
        Key(
            "level",
            fields.choice(CriticalityLevel, "criticality level"),
            "Mixed-criticality level.",
            default_text="HI for C and D, else LO",
        ),
        Key(
            "suspensions", list_of({"$spec": SUSPENSION}), "Where jobs wait for something outside.", default_text="none"
        ),
        Key("critical_sections", SECTIONS_SCHEMA, "When jobs hold shared resources.", default_text="none"),
        Key(
            "preemption_points",
            list_of(quantities.POSITIVE_TIME),
            "Executed times for preemption: at_points.",
            default_text="none: not preempted there",
        ),
        Key(
            "communication",
            fields.choice(Communication, "communication"),
            "When jobs read and publish.",
            default_text="that of its chains, else implicit",
        ),
        Key("miss_limit", miss_limit, "Weakly hard: misses allowed among consecutive jobs.", default_text="0 of 1"),
        Key("start_latency", quantities.time_up_or_zero, "From a change to its mode to the first arrival.", 0, "0ns"),
        Key("output_size", quantities.size_bytes, "Size of an output message on a link."),
        Key("max_disparity", quantities.time_up_or_zero, "Largest difference of capture stamps read by a job."),
        Key("parameters", {"type": "object"}, "Parameters of the stage."),
        Key("variants", VARIANTS_SCHEMA, "Cheaper ways to do its work, for when capacity is short.", (), "none"),
        Key("memory", quantities.size_bytes, "What it occupies on its device, running or ready to take over."),
    ),
)
_STAND_IN_RATE_HZ = Fraction(1)
_STAND_IN_EXECUTION = ExecutionTime(1, 1, (1, 1))


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """One task as written. `key`: its name's place in the file. `description` is None when the stage is not known.

    `is_readable`: False when the whole task is no mapping, so that nothing more is known of it. `details`: the fields
    of `Task` that depend on no other task.
    """

    name: str
    key: Node
    is_readable: bool
    description: StageDescription | None
    pe: tuple[str, str]
    inputs: tuple[InputDraft, ...]
    activation: Activation | None
    edges: Mapping[str, Edge]
    deadline_ns: int | None
    output_bytes: int | None
    uses: tuple[SectionUse, ...]
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a task may name: devices, resources, stages, sensors (with their kind, None where it is not known)."""

    devices: Devices
    resources: Mapping[str, SharedResource]
    stages: StageCatalogue
    sensors: Mapping[str, str | None]


def read_tasks(node: Node | None, around: Surroundings, problems: Problems) -> dict[str, TaskDraft]:
    """First pass: name -> what the file says about the task, in file order."""
    if node is None:
        return {}
    if node.is_mapping and not node.entries:
        problems.add(node, "there is no task; write at least one")
    example = {"runs_on": f"runs_on: {next(iter(around.devices.every_pe), 'orin-1.cpu')}"}
    descriptions: dict[str, StageDescription | str] = {}
    drafts = {}
    for name, entry in named_entries(node, "tasks", problems):
        table = Table(entry.value, TASK, problems, example)
        drafts[name] = _read_task(name, entry.key, table, around, descriptions)
    return drafts


def _read_task(
    name: str, key: Node, table: Table, around: Surroundings, descriptions: dict[str, StageDescription | str]
) -> TaskDraft:
    problems = table.problems
    stage, description = read_stage(table, around.stages, descriptions)
    pe = read_pe(table.get("runs_on"), around.devices, problems)
    element = around.devices.element(pe)
    inputs = read_inputs(table.get("inputs"), problems)
    # Where no input is written though the stage needs some, the missing inputs are the mistake, not the activation.
    lacks_inputs = not inputs and description is not None and bool(mandatory_inputs(description))
    activation_node = table.get("activation")
    activation = None
    if activation_node is not None or (table.is_mapping and not lacks_inputs):
        activation = read_activation(activation_node, inputs, key, problems)
    execution_node = table.get("execution")
    times = {} if execution_node is None else read_executions(execution_node, problems)
    execution = execution_on(element.kind if element else None, times)
    wcet_ns = execution.wcet_ns if execution else None
    suspensions = read_suspensions(table.get("suspensions"), wcet_ns, around.devices, problems)
    sections = read_sections(table.get("critical_sections"), around.resources, suspensions, wcet_ns, problems)
    candidates, candidate_nodes = read_candidates(table, pe, around.devices)
    if execution_node is not None and times:
        places = {pe: execution_node, **candidate_nodes} if element else dict(candidate_nodes)
        _check_kinds(places, times, around.devices, problems)
    budget_ns, budget = read_budget(
        table.get("budget"), element is not None and element.policy is Policy.TABLE, problems
    )
    parameters = read_parameters(table, stage, description, around.stages, around.sensors)
    usual = Usual(stage, description, parameters, element.kind if element else None, times)
    details = {
        "stage": stage,
        "parameters": parameters,
        "execution": execution or _STAND_IN_EXECUTION,
        "core": read_core(table, element),
        "priority": table.read("priority"),
        "budget_ns": budget_ns,
        "budget": budget,
        "deadline_action": table.read("on_deadline"),
        "criticality": table.read("criticality"),
        "candidates": candidates,
        "execution_by_kind": tuple((kind, time) for kind, time in times.items() if kind is not None),
        "miss_limit": table.read("miss_limit"),
        "level": table.read("level"),
        "suspensions": suspensions,
        "sections": tuple(section for section, _ in sections),
        "preemption_points_ns": read_preemption_points(table.get("preemption_points"), wcet_ns, problems),
        "communication": table.read("communication"),
        "start_latency_ns": table.read("start_latency"),
        "max_disparity_ns": table.read("max_disparity"),
        "variants": read_variants(table, usual, around.stages, around.sensors),
        "memory_bytes": table.read("memory"),
    }
    _check_level(table, execution, details)
    kind = element.kind if element else None
    return TaskDraft(
        name=name,
        key=key,
        is_readable=table.is_mapping,
        description=description,
        pe=pe,
        inputs=inputs,
        activation=activation,
        edges=choose_edges(activation, inputs, key, problems),
        deadline_ns=table.read("deadline"),
        output_bytes=table.read("output_size"),
        uses=tuple(SectionUse(name, pe, kind, section.resource, node) for section, node in sections),
        details=details,
    )


def _check_kinds(
    places: Mapping[tuple[str, str], Node],
    times: Mapping[PEKind | None, ExecutionTime],
    devices: Devices,
    problems: Problems,
) -> None:
    """Report elements for whose kind no execution time is declared."""
    for pe, node in places.items():
        element = devices.element(pe)
        if element is not None and execution_on(element.kind, times) is None:
            known = listed(kind.value for kind in times if kind is not None)
            problems.add(node, f"{'.'.join(pe)} is a {element.kind.value}; there are execution times for: {known}")


def _check_level(table: Table, execution: ExecutionTime | None, details: Mapping[str, Any]) -> None:
    level, criticality = details["level"], details["criticality"]
    if level is None and table.get("level") is not None:
        return
    is_high = level is CriticalityLevel.HI if level else criticality in (Criticality.C, Criticality.D)
    node = table.get("execution")
    if execution is not None and execution.wcet_lo_ns is not None and not is_high and node is not None:
        message = "wcet_lo belongs to a HI task; this one is LO: raise its criticality to C or D, or write level: HI"
        table.problems.add(node, message)


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
        _build_task(draft, ports[draft.name], rates.get(draft.name, _STAND_IN_RATE_HZ), drafts, sensors)
        for draft in drafts.values()
    )


def _build_task(
    draft: TaskDraft,
    ports: Mapping[str, str | None],
    rate_hz: Fraction,
    drafts: Mapping[str, TaskDraft],
    sensors: Mapping[str, Sensor],
) -> Task:
    separation = separation_ns(rate_hz)
    return Task(
        name=draft.name,
        pe=draft.pe,
        activation=draft.activation or Periodic(rate_hz),
        inputs=tuple(
            Input(
                item.name,
                item.source,
                ports[item.name],
                draft.edges[item.name],
                item.required,
                item.link,
                message_bytes(item, drafts, sensors),
            )
            for item in draft.inputs
        ),
        deadline_ns=separation if draft.deadline_ns is None else draft.deadline_ns,
        separation_ns=separation,
        **draft.details,
    )


def message_bytes(item: InputDraft, drafts: Mapping[str, TaskDraft], sensors: Mapping[str, Sensor]) -> int | None:
    """Size of a message on an input: its own, else its producer's."""
    if item.size_bytes is not None:
        return item.size_bytes
    if item.source in sensors:
        return sensors[item.source].frame_bytes
    return drafts[item.source].output_bytes if item.source in drafts else None


def task_producers(drafts: Mapping[str, TaskDraft]) -> dict[str, Producer]:
    """What each task offers to others."""
    return {name: task_outputs(draft.description) for name, draft in drafts.items()}
