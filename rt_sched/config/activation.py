"""What makes the jobs of a task arrive, and with it how messages wait on its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched.config import fields, quantities
from rt_sched.config.edges import InputDraft
from rt_sched.config.problems import Problems, lacking, listed
from rt_sched.config.table import Choice, Key, Spec, Table
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Activation, Edge, EdgeKind, Join, OnMessage, Periodic, Sporadic
from rt_sched.units import format_ns

_FORMS = ("rate", "period", "min_separation", "on", "join")
_FORMS_SHOWN = "{rate: 30Hz}, {period: 33ms}, {on: INPUT}, {join: any} or {join: all, tolerance: 20ms}"
_STAND_IN_RATE_HZ = Fraction(1)

ACTIVATION = Spec(
    "activation",
    "an activation",
    (
        Key("rate", quantities.rate, "Periodic, at an exact rate.", _STAND_IN_RATE_HZ),
        Key("period", quantities.period_as_rate, "Periodic, at an exact period.", _STAND_IN_RATE_HZ),
        Key("offset", quantities.time_up_or_zero, "First arrival, on the device's clock.", 0, "0ns"),
        Key("on", fields.text, "The input whose messages activate; the others are read."),
        Key(
            "join",
            fields.one_of((Join.ANY.value, Join.ALL.value), "join"),
            "Each message of any queue activates, or those of all queues that are paired by capture stamp.",
        ),
        Key("tolerance", quantities.time_up_or_zero, "Largest difference of stamps that join: all pairs.", 0),
        Key("min_separation", quantities.time_down, "Sporadic: the least distance of arrivals.", 1),
        Key(
            "max_separation", quantities.time_down, "Sporadic: the largest distance.", default_text="as dense as may be"
        ),
        Key("jitter", quantities.time_up_or_zero, "Largest delay from arrival to release.", 0, "0ns"),
    ),
    (Choice(_FORMS, required=True),),
)


def read_activation(
    node: Node | None, inputs: Sequence[InputDraft], task_key: Node, problems: Problems
) -> Activation | None:
    """The activation as written, or the only possible one; None after a problem."""
    if node is None:
        return _activation_by_default(inputs, task_key, 0, problems)
    table = Table(node, ACTIVATION, problems)
    form = table.chosen(*_FORMS)
    jitter_ns: int = table.read("jitter")
    if form is None:
        if table.get("jitter") is not None and len(table.node.entries) == 1:
            return _activation_by_default(inputs, task_key, jitter_ns, problems)
        if table.is_mapping:
            problems.add(node, f"say what makes jobs arrive: {_FORMS_SHOWN}")
        return None
    if form != "min_separation":
        table.refuse("max_separation", "a largest separation belongs to min_separation")
    if form != "join":
        table.refuse("tolerance", "a tolerance belongs to join: all")
    if form in ("rate", "period"):
        return Periodic(table.read(form), table.read("offset"), jitter_ns)
    if form == "min_separation":
        return _read_sporadic(table, jitter_ns)
    table.refuse("offset", "an offset belongs to a rate or a period; messages set their own time")
    return _read_on(table, inputs, jitter_ns) if form == "on" else _read_join(table, jitter_ns)


def _activation_by_default(
    inputs: Sequence[InputDraft], task_key: Node, jitter_ns: int, problems: Problems
) -> OnMessage | None:
    candidates = [draft for draft in inputs if draft.required] or list(inputs)
    if len(candidates) == 1:
        return OnMessage(Join.LATEST, candidates[0].name, jitter_ns=jitter_ns)
    found = "has no input" if not inputs else f"has {len(candidates)} inputs that could activate it"
    problems.add(task_key, f"the task {found}; add 'activation': {_FORMS_SHOWN}")
    return None


def _read_sporadic(table: Table, jitter_ns: int) -> Sporadic:
    least: int = table.read("min_separation")
    largest: int | None = table.read("max_separation")
    node = table.get("max_separation")
    if node is not None and largest is not None and largest < least:
        table.problems.add(node, f"the largest separation {node.shown} is below the least, {format_ns(least)}")
    return Sporadic(least, largest, table.read("offset"), jitter_ns)


def _read_on(table: Table, inputs: Sequence[InputDraft], jitter_ns: int) -> OnMessage | None:
    names = [draft.name for draft in inputs]
    primary: str | None = table.read("on")
    node = table.get("on")
    if primary is None or node is None:
        return None
    if primary not in names:
        table.problems.add(node, lacking("this task", "input", primary, names))
        return None
    return OnMessage(Join.LATEST, primary, jitter_ns=jitter_ns)


def _read_join(table: Table, jitter_ns: int) -> OnMessage | None:
    word: str | None = table.read("join")
    if word is None:
        return None
    join = Join(word)
    if join is Join.ANY:
        table.refuse("tolerance", "a tolerance belongs to join: all")
        return OnMessage(join, jitter_ns=jitter_ns)
    table.need("tolerance", "tolerance: 20ms, the largest difference of capture stamps that it pairs")
    return OnMessage(join, tolerance_ns=table.read("tolerance"), jitter_ns=jitter_ns)


def choose_edges(
    activation: Activation | None, inputs: Sequence[InputDraft], task_key: Node, problems: Problems
) -> dict[str, Edge]:
    """Input name -> edge: as written, else a queue of one where messages activate and a register elsewhere."""
    edges = {draft.name: draft.edge or _default_edge(activation, draft) for draft in inputs}
    if not isinstance(activation, OnMessage):
        return edges
    for draft in inputs:
        is_queue = edges[draft.name].kind is EdgeKind.QUEUE
        if draft.name == activation.primary and not is_queue:
            problems.add(draft.edge_node or draft.key, "this input activates the task, so it needs a queue: {queue: 1}")
        if activation.join is Join.ALL and is_queue and not draft.required:
            problems.add(
                draft.edge_node or draft.key, "join: all waits for each queue; make it required or edge: latest"
            )
    queued = [name for name, edge in edges.items() if edge.kind is EdgeKind.QUEUE]
    needed = {Join.ALL: 2, Join.ANY: 1, Join.LATEST: 0}[activation.join]
    if len(queued) < needed:
        count = f"{needed} input{'s' if needed > 1 else ''} with a queue"
        message = f"join: {activation.join.value} needs at least {count}; this task has: {listed(queued)}"
        problems.add(task_key, message)
    return edges


def _default_edge(activation: Activation | None, draft: InputDraft) -> Edge:
    activates = isinstance(activation, OnMessage) and (
        activation.primary == draft.name
        or activation.join is Join.ANY
        or (activation.join is Join.ALL and draft.required)
    )
    return Edge(EdgeKind.QUEUE) if activates else Edge(EdgeKind.LATEST)


def activating_sources(
    activation: Activation | None, inputs: Sequence[InputDraft], edges: Mapping[str, Edge]
) -> list[str]:
    """The sensors and tasks whose messages make jobs arrive, in file order, each once per input."""
    if not isinstance(activation, OnMessage):
        return []
    if activation.join is Join.LATEST:
        return [draft.source for draft in inputs if draft.name == activation.primary]
    return [draft.source for draft in inputs if edges[draft.name].kind is EdgeKind.QUEUE]
