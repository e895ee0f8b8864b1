"""What makes the jobs of a task arrive, and with it how messages wait on its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rt_sched.config import fields
from rt_sched.config.edges import InputDraft
from rt_sched.config.fields import Table
from rt_sched.config.problems import Problems, lacking, listed
from rt_sched.config.yaml_nodes import Node
from rt_sched.model import Edge, EdgeKind, Join, OnMessage, Periodic

_ACTIVATION_KEYS = ("rate", "period", "offset", "on", "join", "tolerance")
_FORMS = ("rate", "period", "on", "join")
_FORMS_SHOWN = "{rate: 30Hz}, {period: 33ms}, {on: INPUT}, {join: any} or {join: all, tolerance: 20ms}"
_STAND_IN_RATE_HZ = Fraction(1)


def read_activation(
    node: Node | None, inputs: Sequence[InputDraft], task_key: Node, problems: Problems
) -> Periodic | OnMessage | None:
    """The activation as written, or the only possible one; None after a problem."""
    if node is None:
        return _activation_by_default(inputs, task_key, problems)
    table = Table(node, "an activation", _ACTIVATION_KEYS, problems)
    present = table.exclusive(_FORMS)
    if not present:
        if table.is_mapping:
            problems.add(node, f"say what makes jobs arrive: {_FORMS_SHOWN}")
        return None
    form = present[0]
    if form in ("rate", "period"):
        _refuse(table, "tolerance", "a tolerance belongs to join: all")
        reader = fields.rate if form == "rate" else fields.period_as_rate
        rate_hz = table.read(form, reader, _STAND_IN_RATE_HZ)
        return Periodic(rate_hz, table.read("offset", fields.time_up_or_zero, 0))
    _refuse(table, "offset", "an offset belongs to a rate or a period; messages set their own time")
    return _read_on(table, inputs) if form == "on" else _read_join(table)


def _activation_by_default(inputs: Sequence[InputDraft], task_key: Node, problems: Problems) -> OnMessage | None:
    candidates = [draft for draft in inputs if draft.required] or list(inputs)
    if len(candidates) == 1:
        return OnMessage(Join.LATEST, candidates[0].name)
    found = "has no input" if not inputs else f"has {len(candidates)} inputs that could activate it"
    problems.add(task_key, f"the task {found}; add 'activation': {_FORMS_SHOWN}")
    return None


def _read_on(table: Table, inputs: Sequence[InputDraft]) -> OnMessage | None:
    _refuse(table, "tolerance", "a tolerance belongs to join: all")
    names = [draft.name for draft in inputs]
    primary = table.read("on", fields.text, None)
    node = table.get("on")
    if primary is None or node is None:
        return None
    if primary not in names:
        table.problems.add(node, lacking("this task", "input", primary, names))
        return None
    return OnMessage(Join.LATEST, primary)


def _read_join(table: Table) -> OnMessage | None:
    word = table.read("join", fields.one_of((Join.ANY.value, Join.ALL.value), "join"), None)
    if word is None:
        return None
    join = Join(word)
    if join is Join.ANY:
        _refuse(table, "tolerance", "a tolerance belongs to join: all")
        return OnMessage(join)
    table.need("tolerance", "tolerance: 20ms, the largest difference of capture stamps that it pairs")
    return OnMessage(join, tolerance_ns=table.read("tolerance", fields.time_up_or_zero, 0))


def _refuse(table: Table, key: str, reason: str) -> None:
    if table.get(key) is not None:
        table.problems.add(table.key(key), reason)


def choose_edges(
    activation: Periodic | OnMessage | None, inputs: Sequence[InputDraft], task_key: Node, problems: Problems
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


def _default_edge(activation: Periodic | OnMessage | None, draft: InputDraft) -> Edge:
    activates = isinstance(activation, OnMessage) and (
        activation.primary == draft.name
        or activation.join is Join.ANY
        or (activation.join is Join.ALL and draft.required)
    )
    return Edge(EdgeKind.QUEUE) if activates else Edge(EdgeKind.LATEST)


def activating_sources(
    activation: Periodic | OnMessage | None, inputs: Sequence[InputDraft], edges: Mapping[str, Edge]
) -> list[str]:
    """The sensors and tasks whose messages make jobs arrive, in file order, each once per input."""
    if not isinstance(activation, OnMessage):
        return []
    if activation.join is Join.LATEST:
        return [draft.source for draft in inputs if draft.name == activation.primary]
    return [draft.source for draft in inputs if edges[draft.name].kind is EdgeKind.QUEUE]
