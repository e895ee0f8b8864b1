"""The system as a drawing: sensors and tasks in layers along the flow of data, chains on top, one file."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from rt_sched.model import EdgeKind, Input, OnMessage, Periodic, Sensor, Sporadic, System, Task
from rt_sched.report.layered import Layout, layered_layout
from rt_sched.report.svg import element, joined
from rt_sched.units import format_ns, format_rate

_BOX_WIDTH, _BOX_HEIGHT = 176, 40
_COLUMN, _ROW = 246, 54
_MARGIN = 24
_LEGEND_ROW = 20
#: Colours of devices, and again those of chains, chosen to differ also for the colour-blind (Okabe, Ito 2008).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")

_STYLE = """
svg { font: 12px system-ui, sans-serif; }
svg { --ink: #1c1c1e; --paper: #ffffff; --box: #f4f4f6; --soft: #6b6b70; --line: #b4b4ba; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #ececf0; --paper: #17171a; --box: #26262b; --soft: #a0a0a8; --line: #5c5c66; }
}
.paper { fill: var(--paper); } .box { fill: var(--box); stroke: var(--line); } .sensor { rx: 20px; }
text { fill: var(--ink); } .soft { fill: var(--soft); font-size: 10.5px; } .name { font-weight: 600; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.4; } .latest { stroke-dasharray: 5 4; }
.chain { fill: none; stroke-width: 3; stroke-opacity: .75; } .tip { fill: var(--line); }
"""


def system_graph(system: System) -> str:
    """An SVG document that follows the viewer's light or dark scheme."""
    names = [sensor.name for sensor in system.sensors] + [task.name for task in system.tasks]
    index = {name: position for position, name in enumerate(names)}
    inputs = [(task, given) for task in system.tasks for given in task.inputs]
    layout = layered_layout(len(names), [(index[given.source], index[task.name]) for task, given in inputs])
    colour = {device.name: _COLOURS[i % len(_COLOURS)] for i, device in enumerate(system.devices)}
    height_of_graph = layout.rows * _ROW
    legend = _legend(system, colour, _MARGIN + height_of_graph + _MARGIN)
    width = max(layout.layers * _COLUMN - (_COLUMN - _BOX_WIDTH) + 2 * _MARGIN, 520)
    height = height_of_graph + 3 * _MARGIN + _LEGEND_ROW * (2 + len(system.chains))
    drawn = element(
        "svg",
        element("title", f"{system.name}: sensors, tasks and chains"),
        Markup(f"<style>{_STYLE}</style>"),  # noqa: S704  (a literal)
        Markup(
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="tip" d="M0 0L8 4L0 8Z"/></marker></defs>'
        ),
        element("rect", x=0, y=0, width=width, height=height, class_="paper"),
        *(_edge(number, task, given, index, layout) for number, (task, given) in enumerate(inputs)),
        *_chain_lines(system, inputs, index, layout),
        *(_sensor_box(sensor, _place(layout, i), colour) for i, sensor in enumerate(system.sensors)),
        *(
            _task_box(task, _place(layout, len(system.sensors) + i), colour[task.pe[0]])
            for i, task in enumerate(system.tasks)
        ),
        legend,
        xmlns="http://www.w3.org/2000/svg",
        view_box=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


def _x(layer: int) -> float:
    return _MARGIN + layer * _COLUMN


def _y(row: int) -> float:
    return _MARGIN + row * _ROW


def _place(layout: Layout, node: int) -> tuple[float, float]:
    return _x(layout.layer[node]), _y(layout.row[node])


def _sensor_box(sensor: Sensor, place: tuple[float, float], colour: dict[str, str]) -> Markup:
    detail = f"{sensor.kind.value} {format_rate(sensor.rate_hz)}"
    attached = ", ".join(sensor.attached_to) + (f"; trigger {sensor.trigger}" if sensor.trigger else "")
    return _box(sensor.name, detail, f"attached to {attached}", place, colour[sensor.attached_to[0]], "box sensor")


def _task_box(task: Task, place: tuple[float, float], colour: str) -> Markup:
    detail = f"{'.'.join(task.pe)} {_activation(task)}"
    times = (
        f"{format_ns(task.execution.bcet_ns)} to {format_ns(task.execution.wcet_ns)}, due {format_ns(task.deadline_ns)}"
    )
    return _box(task.name, detail, times, place, colour, "box")


def _activation(task: Task) -> str:
    activation = task.activation
    if isinstance(activation, Periodic):
        return format_rate(activation.rate_hz)
    if isinstance(activation, Sporadic):
        return f"≥ {format_ns(activation.min_separation_ns)} apart"
    return f"on {activation.primary}" if activation.primary else f"join {activation.join.value}"


def _box(name: str, detail: str, hover: str, place: tuple[float, float], colour: str, class_: str) -> Markup:
    x, y = place
    return element(
        "g",
        element("title", f"{name}: {detail}, {hover}"),
        element("rect", x=x, y=y, width=_BOX_WIDTH, height=_BOX_HEIGHT, rx=6, class_=class_),
        element("rect", x=x, y=y + 8, width=5, height=_BOX_HEIGHT - 16, fill=colour),
        element("text", _shortened(name, 23), x=x + 13, y=y + 17, class_="name"),
        element("text", _shortened(detail, 28), x=x + 13, y=y + 31, class_="soft"),
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _path(number: int, start: int, end: int, layout: Layout) -> str:
    """A smooth line from the right side of one box, through its bends, to the left side of the other."""
    middle = _BOX_HEIGHT / 2
    (x0, y0), (x1, y1) = _place(layout, start), _place(layout, end)
    if number in layout.reversed_edges or start == end:
        points = [(x0 + _BOX_WIDTH / 2, y0 + _BOX_HEIGHT)]
        points += [(_x(layer) + _BOX_WIDTH / 2, _y(row) + middle) for layer, row in layout.bends[number]]
        points.append((x1 + _BOX_WIDTH / 2, y1 + _BOX_HEIGHT))
        parts = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
        for (xa, ya), (xb, yb) in pairwise(points):
            parts.append(f"C{xa:.0f} {ya + 24:.0f} {xb:.0f} {yb + 24:.0f} {xb:.0f} {yb:.0f}")
        return "".join(parts)
    parts = [f"M{x0 + _BOX_WIDTH:.0f} {y0 + middle:.0f}"]
    x, y = x0 + _BOX_WIDTH, y0 + middle
    for layer, row in layout.bends[number]:
        left, level = _x(layer), _y(row) + middle
        reach = (left - x) / 2
        parts.append(f"C{x + reach:.0f} {y:.0f} {left - reach:.0f} {level:.0f} {left:.0f} {level:.0f}")
        parts.append(f"H{left + _BOX_WIDTH:.0f}")
        x, y = left + _BOX_WIDTH, level
    reach = (x1 - x) / 2
    parts.append(f"C{x + reach:.0f} {y:.0f} {x1 - reach:.0f} {y1 + middle:.0f} {x1:.0f} {y1 + middle:.0f}")
    return "".join(parts)


def _edge(number: int, task: Task, given: Input, index: dict[str, int], layout: Layout) -> Markup:
    start, end = index[given.source], index[task.name]
    activates = isinstance(task.activation, OnMessage) and given.edge.kind is EdgeKind.QUEUE
    kind = "latest" if given.edge.kind is EdgeKind.LATEST else f"queue {given.edge.depth}"
    words = [kind, *(["activates"] if activates else []), *([] if given.required else ["optional"])]
    if given.link is not None:
        words.append(f"{given.size_bytes} bytes over {given.link}")
    return element(
        "path",
        element("title", f"{given.source} to {task.name}.{given.name}: {', '.join(words)}"),
        d=_path(number, start, end, layout),
        class_="edge latest" if given.edge.kind is EdgeKind.LATEST else "edge",
        marker_end="url(#tip)",
    )


def _chain_lines(
    system: System, inputs: list[tuple[Task, Input]], index: dict[str, int], layout: Layout
) -> list[Markup]:
    """One line per step of each chain; those that share an edge lie beside each other."""
    number_of = {(given.source, task.name): number for number, (task, given) in enumerate(inputs)}
    used: dict[int, int] = {}
    lines = []
    for position, chain in enumerate(system.chains):
        for start, end in pairwise(chain.path):
            number = number_of[start, end]
            beside = used.get(number, 0)
            used[number] = beside + 1
            lines.append(
                element(
                    "path",
                    element("title", f"chain {chain.name}"),
                    d=_path(number, index[start], index[end], layout),
                    class_="chain",
                    stroke=_COLOURS[position % len(_COLOURS)],
                    transform=f"translate(0 {4 * beside})" if beside else None,
                )
            )
    return lines


def _legend(system: System, colour: dict[str, str], top: float) -> Markup:
    parts: list[Markup] = []
    x = float(_MARGIN)
    for device in system.devices:
        parts.append(element("rect", x=x, y=top, width=5, height=14, fill=colour[device.name]))
        parts.append(element("text", device.name, x=x + 10, y=top + 11))
        x += 24 + 7.2 * len(device.name)
    for row, chain in enumerate(system.chains, start=1):
        y = top + row * _LEGEND_ROW
        limits = [
            f"{word} {format_ns(limit)}"
            for word, limit in (
                ("reaction", chain.max_reaction_ns),
                ("latency", chain.max_latency_ns),
                ("data age", chain.max_data_age_ns),
            )
            if limit is not None
        ]
        stroke = _COLOURS[(row - 1) % len(_COLOURS)]
        parts.append(element("path", d=f"M{_MARGIN} {y + 8:.0f}H{_MARGIN + 26}", class_="chain", stroke=stroke))
        said = f"{chain.name}: at most {', '.join(limits)}" if limits else chain.name
        parts.append(element("text", said, x=_MARGIN + 34, y=y + 12))
    y = top + (1 + len(system.chains)) * _LEGEND_ROW
    parts.append(element("path", d=f"M{_MARGIN} {y + 8:.0f}H{_MARGIN + 26}", class_="edge"))
    parts.append(element("text", "queue", x=_MARGIN + 34, y=y + 12, class_="soft"))
    parts.append(element("path", d=f"M{_MARGIN + 84} {y + 8:.0f}H{_MARGIN + 110}", class_="edge latest"))
    parts.append(element("text", "register (latest)", x=_MARGIN + 118, y=y + 12, class_="soft"))
    return joined(parts)
