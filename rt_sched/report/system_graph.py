"""The system as a graph: sensors and tasks in layers along the flow of data, chains on top, as plain rows.

`graph_drawing` draws the rows; they hold all of its words, so that a page can be made from a document alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rt_sched.model import CauseEffectChain, EdgeKind, Input, OnMessage, Periodic, Sensor, Sporadic, System, Task
from rt_sched.report.graph_drawing import draw_graph
from rt_sched.report.layered import layered_layout
from rt_sched.units import format_ns, format_rate

Row = dict[str, Any]

_LONGEST_NAME, _LONGEST_DETAIL = 23, 28


def system_graph(system: System) -> str:
    """An SVG document that follows the viewer's light or dark scheme."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{draw_graph(graph_rows(system))}\n'


def graph_rows(system: System) -> Row:
    """Nodes with their layer and row, edges with their bends as (layer, row), chains as numbers of edges.

    `back`: edges that lead to an earlier layer. `label`: what fits into a box; `more`: what a viewer sees on pointing.
    """
    names = [sensor.name for sensor in system.sensors] + [task.name for task in system.tasks]
    index = {name: position for position, name in enumerate(names)}
    inputs = [(task, given) for task in system.tasks for given in task.inputs]
    layout = layered_layout(len(names), [(index[given.source], index[task.name]) for task, given in inputs])
    nodes = [*(_sensor(one) for one in system.sensors), *(_task(one) for one in system.tasks)]
    number_of = {(given.source, task.name): number for number, (task, given) in enumerate(inputs)}
    return {
        "name": system.name,
        "layers": layout.layers,
        "rows": layout.rows,
        "devices": [device.name for device in system.devices],
        "nodes": [
            {**node, "layer": layer, "row": row}
            for node, layer, row in zip(nodes, layout.layer, layout.row, strict=True)
        ],
        "edges": [
            {
                **_edge(task, given),
                "bends": [list(bend) for bend in layout.bends[number]],
                "back": number in layout.reversed_edges or given.source == task.name,
            }
            for number, (task, given) in enumerate(inputs)
        ],
        "chains": [_chain(chain, number_of) for chain in system.chains],
    }


def _sensor(sensor: Sensor) -> Row:
    detail = f"{sensor.kind.value} {format_rate(sensor.rate_hz)}"
    attached = ", ".join(sensor.attached_to) + (f"; trigger {sensor.trigger}" if sensor.trigger else "")
    return _node("sensor", sensor.name, sensor.attached_to[0], detail, f"attached to {attached}")


def _task(task: Task) -> Row:
    times = (
        f"{format_ns(task.execution.bcet_ns)} to {format_ns(task.execution.wcet_ns)}, due {format_ns(task.deadline_ns)}"
    )
    return _node("task", task.name, task.pe[0], f"{'.'.join(task.pe)} {_activation(task)}", times)


def _node(kind: str, name: str, device: str, detail: str, more: str) -> Row:
    return {
        "kind": kind,
        "name": name,
        "device": device,
        "label": _shortened(name, _LONGEST_NAME),
        "detail": _shortened(detail, _LONGEST_DETAIL),
        "more": f"{name}: {detail}, {more}",
    }


def _activation(task: Task) -> str:
    activation = task.activation
    if isinstance(activation, Periodic):
        return format_rate(activation.rate_hz)
    if isinstance(activation, Sporadic):
        return f"≥ {format_ns(activation.min_separation_ns)} apart"
    return f"on {activation.primary}" if activation.primary else f"join {activation.join.value}"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _edge(task: Task, given: Input) -> Row:
    activates = isinstance(task.activation, OnMessage) and given.edge.kind is EdgeKind.QUEUE
    kind = "latest" if given.edge.kind is EdgeKind.LATEST else f"queue {given.edge.depth}"
    words = [kind, *(["activates"] if activates else []), *([] if given.required else ["optional"])]
    if given.link is not None:
        words.append(f"{given.size_bytes} bytes over {given.link}")
    return {
        "source": given.source,
        "target": task.name,
        "latest": given.edge.kind is EdgeKind.LATEST,
        "more": f"{given.source} to {task.name}.{given.name}: {', '.join(words)}",
    }


def _chain(chain: CauseEffectChain, number_of: Mapping[tuple[str, str], int]) -> Row:
    limits = [
        f"{word} {format_ns(limit)}"
        for word, limit in (
            ("reaction", chain.max_reaction_ns),
            ("latency", chain.max_latency_ns),
            ("data age", chain.max_data_age_ns),
        )
        if limit is not None
    ]
    return {
        "name": chain.name,
        "path": list(chain.path),
        "edges": [number_of[step] for step in pairwise(chain.path)],
        "more": f"{chain.name}: at most {', '.join(limits)}" if limits else chain.name,
    }
