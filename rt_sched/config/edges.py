"""The inputs of tasks: what the file says, then what each is connected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rt_sched.config import fields, quantities
from rt_sched.config.problems import Problems, closest, lacking, listed, unknown
from rt_sched.config.table import Key, Spec, Table, mapping_of, named_entries
from rt_sched.config.yaml_nodes import Node
from rt_sched.messages import EncodedImage, ImuSample, PointCloud
from rt_sched.model import Edge, EdgeKind, Overflow, SensorKind
from rt_sched.ports import StageDescription

MAX_QUEUE_DEPTH = 65_536

QUEUE = Spec(
    "queue_edge",
    "an edge",
    (
        Key(
            "queue",
            fields.integer(1, MAX_QUEUE_DEPTH),
            "Messages that may wait.",
            1,
            required=True,
            example="queue: 2; a register is written edge: latest",
        ),
        Key(
            "overflow",
            fields.choice(Overflow, "overflow rule"),
            "What a full queue loses.",
            Overflow.DROP_OLDEST,
            "drop_oldest",
        ),
    ),
)
INPUT = Spec(
    "input",
    "an input",
    (
        Key(
            "from",
            fields.WORD,
            "A sensor or task, or its output as task.output.",
            required=True,
            example="from: front_wide",
        ),
        Key(
            "edge",
            {"anyOf": [{"enum": [kind.value for kind in EdgeKind]}, {"$spec": QUEUE}]},
            "How messages wait: in a register or a queue.",
            default_text="a queue of one where messages activate, else latest",
        ),
        Key("required", fields.boolean, "Whether a job without a message is skipped.", True, "true"),
        Key("link", fields.WORD, "The link that carries the messages.", default_text="none: visible at once"),
        Key("size", quantities.size_bytes, "Size of a message on the link.", default_text="that of the producer"),
    ),
)
INPUTS_SCHEMA = mapping_of({"anyOf": [fields.WORD, {"$spec": INPUT}]})

#: What each kind of sensor delivers.
SENSOR_MESSAGES: Mapping[SensorKind, type] = {
    SensorKind.CAMERA: EncodedImage,
    SensorKind.LIDAR: PointCloud,
    SensorKind.IMU: ImuSample,
}


@dataclass(frozen=True, slots=True)
class Producer:
    """What can stand behind an input. `outputs`: port -> message type; None when the stage is not known.

    A sensor has the one output "".
    """

    is_sensor: bool
    outputs: Mapping[str, type] | None


@dataclass(frozen=True, slots=True)
class InputDraft:
    """One input as written. `source` "" when unreadable; `edge` None when the file leaves it to the activation."""

    name: str
    key: Node
    source: str
    port: str | None
    source_node: Node
    edge: Edge | None
    edge_node: Node | None
    required: bool
    link: str | None = None
    link_node: Node | None = None
    size_bytes: int | None = None
    size_node: Node | None = None


def read_inputs(node: Node | None, problems: Problems) -> tuple[InputDraft, ...]:
    """The inputs of one task in file order."""
    if node is None:
        return ()
    named = named_entries(node, "inputs", problems)
    return tuple(_read_input(name, entry.key, entry.value, problems) for name, entry in named)


def _read_input(name: str, key: Node, node: Node, problems: Problems) -> InputDraft:
    if not node.is_mapping:
        if node.is_sequence:
            problems.add(node, "an input is the name of a sensor or task, not a list; such as image: front_wide")
            return InputDraft(name, key, "", None, node, None, None, required=True)
        source, port = _read_source(node, problems)
        return InputDraft(name, key, source, port, node, None, None, required=True)
    table = Table(node, INPUT, problems)
    source_node, edge_node, link_node = table.get("from"), table.get("edge"), table.get("link")
    source, port = ("", None) if source_node is None else _read_source(source_node, problems)
    return InputDraft(
        name,
        key,
        source,
        port,
        source_node or node,
        None if edge_node is None else _read_edge(edge_node, problems),
        edge_node,
        table.read("required"),
        None if link_node is None else fields.text(link_node, problems),
        link_node,
        table.read("size"),
        table.get("size"),
    )


def _read_source(node: Node, problems: Problems) -> tuple[str, str | None]:
    """Name and port of a producer as written; the name is empty when unreadable."""
    source, dot, port = (fields.text(node, problems) or "").partition(".")
    return source, port if dot else None


def _read_edge(node: Node, problems: Problems) -> Edge | None:
    if node.is_mapping:
        table = Table(node, QUEUE, problems)
        return Edge(EdgeKind.QUEUE, table.read("queue"), table.read("overflow"))
    kind = fields.choice(EdgeKind, "edge")(node, problems)
    return None if kind is None else Edge(kind)


def connect(
    inputs: Sequence[InputDraft],
    description: StageDescription | None,
    producers: Mapping[str, Producer],
    task_key: Node,
    problems: Problems,
) -> dict[str, str | None]:
    """Input name -> the producer's port (None: a sensor, or not known), after checking names, ports and types."""
    if description is not None:
        _check_names(inputs, description, task_key, problems)
    return {draft.name: _connect_one(draft, description, producers, problems) for draft in inputs}


def _check_names(
    inputs: Sequence[InputDraft], description: StageDescription, task_key: Node, problems: Problems
) -> None:
    declared = description.inputs
    present: set[str | None] = {draft.name for draft in inputs}
    for draft in inputs:
        if _declared_type(draft.name, declared) is None:
            problems.add(draft.key, lacking("this stage", "input", draft.name, declared))
            present.add(closest(draft.name, declared))
    for name in mandatory_inputs(description):
        if name not in present:
            kind = declared[name].__name__
            problems.add(task_key, f"the stage needs the input {name!r} ({kind}); add it to 'inputs'")


def mandatory_inputs(description: StageDescription) -> list[str]:
    """The inputs that a task with this stage must connect."""
    return [name for name in description.inputs if not name.endswith("*") and name not in description.optional_inputs]


def _declared_type(name: str, declared: Mapping[str, type]) -> type | None:
    if name in declared and not name.endswith("*"):
        return declared[name]
    patterns = [p for p in declared if p.endswith("*") and name.startswith(p[:-1]) and len(name) >= len(p)]
    return declared[max(patterns, key=len)] if patterns else None


def _connect_one(
    draft: InputDraft,
    description: StageDescription | None,
    producers: Mapping[str, Producer],
    problems: Problems,
) -> str | None:
    if not draft.source:
        return None
    producer = producers.get(draft.source)
    if producer is None:
        problems.add(draft.source_node, unknown("sensor or task", draft.source, producers))
        return None
    port = _find_port(draft, producer, problems)
    if port is None or producer.outputs is None or description is None:
        return port or None
    expected = _declared_type(draft.name, description.inputs)
    produced = producer.outputs[port]
    if expected is not None and not issubclass(produced, expected):
        origin = f"{draft.source}.{port}" if port else draft.source
        fitting = [_full_name(name, p) for name, other in producers.items() for p in _fitting_ports(other, expected)]
        problems.add(
            draft.source_node,
            f"{origin} gives {produced.__name__}, but the input {draft.name!r} takes {expected.__name__}; "
            f"that comes from: {listed(fitting)}",
        )
    return port or None


def _find_port(draft: InputDraft, producer: Producer, problems: Problems) -> str | None:
    """The port that the input reads, "" for a sensor, None after reporting why there is none."""
    if producer.is_sensor:
        if draft.port is not None:
            problems.add(draft.source_node, f"{draft.source} is a sensor and has no ports; write {draft.source!r}")
            return None
        return ""
    if producer.outputs is None:
        return draft.port
    if draft.port is not None:
        if draft.port not in producer.outputs:
            problems.add(draft.source_node, lacking(draft.source, "output", draft.port, producer.outputs))
            return None
        return draft.port
    if len(producer.outputs) != 1:
        choices = listed(_full_name(draft.source, port) for port in producer.outputs)
        problems.add(draft.source_node, f"{draft.source} has {len(producer.outputs)} outputs; write one of: {choices}")
        return None
    return next(iter(producer.outputs))


def _fitting_ports(producer: Producer, expected: type) -> list[str]:
    return [port for port, produced in (producer.outputs or {}).items() if issubclass(produced, expected)]


def _full_name(name: str, port: str) -> str:
    return f"{name}.{port}" if port else name


def sensor_outputs(kind: SensorKind | None) -> Producer:
    """The producer that a sensor of this kind is; None where the kind is not known."""
    return Producer(is_sensor=True, outputs=None if kind is None else {"": SENSOR_MESSAGES[kind]})


def task_outputs(description: StageDescription | None) -> Producer:
    """The producer that a task with this stage is."""
    return Producer(is_sensor=False, outputs=None if description is None else description.outputs)
