"""Draws the graph of a system from the rows of `system_graph`: boxes in columns, edges and chains as smooth lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from rt_sched.report.svg import element, joined

Row = Mapping[str, Any]
#: The place of a sensor, task or chain on a page, from its kind and name.
Anchor = Callable[[str, str], str]

_BOX_WIDTH, _BOX_HEIGHT = 176, 40
_COLUMN, _ROW = 246, 54
_MARGIN = 24
_LEGEND_ROW = 20
#: Colours of devices, and again those of chains, chosen to differ also for the colour-blind (Okabe, Ito 2008).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
#: Chains differ in their dashes, too.
_DASHES = (None, "14 5", "3 4", "14 4 3 4", "22 4", "7 4", "3 9", "14 4 3 4 3 4")

_STYLE = """
.system-graph { font: 12px system-ui, sans-serif; }
.system-graph { --ink: #1c1c1e; --paper: #ffffff; --box: #f4f4f6; --soft: #6b6b70; --line: #b4b4ba; --mark: #b8860b; }
@media (prefers-color-scheme: dark) {
  .system-graph { --ink: #ececf0; --paper: #17171a; --box: #26262b; --soft: #a0a0a8; --line: #5c5c66; --mark: #f0c14b; }
}
@media print { .system-graph { --ink: #000; --paper: #fff; --box: #fff; --soft: #444; --line: #888; } }
.system-graph .paper { fill: var(--paper); } .system-graph .box { fill: var(--box); stroke: var(--line); }
.system-graph .sensor { rx: 20px; } .system-graph text { fill: var(--ink); }
.system-graph .soft { fill: var(--soft); font-size: 10.5px; } .system-graph .name { font-weight: 600; }
.system-graph .edge { fill: none; stroke: var(--line); stroke-width: 1.4; }
.system-graph .latest { stroke-dasharray: 5 4; } .system-graph .tip { fill: var(--line); }
.system-graph .chain { fill: none; stroke-width: 3; stroke-opacity: .75; }
.system-graph .halo { fill: none; stroke: none; }
.system-graph .linked .box, .system-graph a:focus-visible .box { stroke: var(--mark); stroke-width: 3; }
.system-graph .linked .halo { stroke: var(--mark); stroke-width: 3; }
.system-graph .linked .chain { stroke-opacity: 1; stroke-width: 6; }
.system-graph a:hover .name { text-decoration: underline; }
"""


def draw_graph(graph: Row, anchor: Anchor | None = None) -> Markup:
    """One SVG element that follows the viewer's light or dark scheme; with `anchor` boxes and chains are links."""
    place = {node["name"]: (_x(node["layer"]), _y(node["row"])) for node in graph["nodes"]}
    colour = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(graph["devices"])}
    height_of_graph = graph["rows"] * _ROW
    width = max(graph["layers"] * _COLUMN - (_COLUMN - _BOX_WIDTH) + 2 * _MARGIN, 520)
    height = height_of_graph + 3 * _MARGIN + _LEGEND_ROW * (2 + len(graph["chains"]))
    return element(
        "svg",
        element("title", f"{graph['name']}: sensors, tasks and chains"),
        Markup(f"<style>{_STYLE}</style>"),  # noqa: S704  (a literal)
        Markup(
            '<defs><marker id="graph-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path class="tip" d="M0 0L8 4L0 8Z"/></marker></defs>'
        ),
        element("rect", x=0, y=0, width=width, height=height, class_="paper"),
        *(_edge(edge, place) for edge in graph["edges"]),
        *_chains(graph, place, named=anchor is not None),
        *(_linked(_box(node, place[node["name"]], colour[node["device"]]), node, anchor) for node in graph["nodes"]),
        _legend(graph, colour, _MARGIN + height_of_graph + _MARGIN, anchor),
        xmlns="http://www.w3.org/2000/svg",
        view_box=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img" if anchor is None else "group",
        class_="system-graph",
        aria_label=None if anchor is None else f"{graph['name']}: sensors, tasks and chains",
    )


def _x(layer: int) -> float:
    return _MARGIN + layer * _COLUMN


def _y(row: int) -> float:
    return _MARGIN + row * _ROW


def _linked(shape: Markup, row: Row, anchor: Anchor | None) -> Markup:
    """The shape as a link to its place on the page; with its name, so that other mentions can be marked with it."""
    if anchor is None:
        return shape
    kind = row.get("kind", "chain")
    return element("a", shape, href=f"#{anchor(kind, row['name'])}", **{f"data_{kind}": row["name"]})


def _box(node: Row, place: tuple[float, float], colour: str) -> Markup:
    x, y = place
    return element(
        "g",
        element("title", node["more"]),
        element(
            "rect",
            x=x,
            y=y,
            width=_BOX_WIDTH,
            height=_BOX_HEIGHT,
            rx=6,
            class_="box sensor" if node["kind"] == "sensor" else "box",
        ),
        element("rect", x=x, y=y + 8, width=5, height=_BOX_HEIGHT - 16, fill=colour),
        element("text", node["label"], x=x + 13, y=y + 17, class_="name"),
        element("text", node["detail"], x=x + 13, y=y + 31, class_="soft"),
    )


def _path(edge: Row, place: Mapping[str, tuple[float, float]]) -> str:
    """A smooth line from the right side of one box, through its bends, to the left side of the other."""
    middle = _BOX_HEIGHT / 2
    (x0, y0), (x1, y1) = place[edge["source"]], place[edge["target"]]
    bends = [(_x(layer), _y(row) + middle) for layer, row in edge["bends"]]
    if edge["back"]:
        points = [(x0 + _BOX_WIDTH / 2, y0 + _BOX_HEIGHT)]
        points += [(left + _BOX_WIDTH / 2, level) for left, level in bends]
        points.append((x1 + _BOX_WIDTH / 2, y1 + _BOX_HEIGHT))
        parts = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
        for (xa, ya), (xb, yb) in pairwise(points):
            parts.append(f"C{xa:.0f} {ya + 24:.0f} {xb:.0f} {yb + 24:.0f} {xb:.0f} {yb:.0f}")
        return "".join(parts)
    parts = [f"M{x0 + _BOX_WIDTH:.0f} {y0 + middle:.0f}"]
    x, y = x0 + _BOX_WIDTH, y0 + middle
    for left, level in bends:
        reach = (left - x) / 2
        parts.append(f"C{x + reach:.0f} {y:.0f} {left - reach:.0f} {level:.0f} {left:.0f} {level:.0f}")
        parts.append(f"H{left + _BOX_WIDTH:.0f}")
        x, y = left + _BOX_WIDTH, level
    reach = (x1 - x) / 2
    parts.append(f"C{x + reach:.0f} {y:.0f} {x1 - reach:.0f} {y1 + middle:.0f} {x1:.0f} {y1 + middle:.0f}")
    return "".join(parts)


def _edge(edge: Row, place: Mapping[str, tuple[float, float]]) -> Markup:
    return element(
        "path",
        element("title", edge["more"]),
        d=_path(edge, place),
        class_="edge latest" if edge["latest"] else "edge",
        marker_end="url(#graph-tip)",
    )


def _chains(graph: Row, place: Mapping[str, tuple[float, float]], *, named: bool) -> list[Markup]:
    """A group a chain: one line per step, those that share an edge beside each other; a frame around each of its boxes.

    `named`: the group carries the name of its chain; frames show where that is marked.
    """
    used: dict[int, int] = {}
    groups = []
    for position, chain in enumerate(graph["chains"]):
        lines: list[Markup] = []
        for number in chain["edges"]:
            beside = used.get(number, 0)
            used[number] = beside + 1
            lines.append(
                element(
                    "path",
                    element("title", f"chain {chain['name']}"),
                    d=_path(graph["edges"][number], place),
                    **_stroke(position),
                    transform=f"translate(0 {4 * beside})" if beside else None,
                )
            )
        frames = [_frame(*place[name]) for name in chain["path"]] if named else []
        groups.append(element("g", *lines, *frames, data_chain=chain["name"] if named else None))
    return groups


def _frame(x: float, y: float) -> Markup:
    return element("rect", x=x - 4, y=y - 4, width=_BOX_WIDTH + 8, height=_BOX_HEIGHT + 8, rx=9, class_="halo")


def _stroke(position: int) -> dict[str, str | int | float | None]:
    return {
        "class_": "chain",
        "stroke": _COLOURS[position % len(_COLOURS)],
        "stroke_dasharray": _DASHES[position % len(_DASHES)],
    }


def _legend(graph: Row, colour: Mapping[str, str], top: float, anchor: Anchor | None) -> Markup:
    parts: list[Markup] = []
    x = float(_MARGIN)
    for name in graph["devices"]:
        parts.append(element("rect", x=x, y=top, width=5, height=14, fill=colour[name]))
        parts.append(element("text", name, x=x + 10, y=top + 11))
        x += 24 + 7.2 * len(name)
    chains: Sequence[Row] = graph["chains"]
    for position, chain in enumerate(chains):
        y = top + (position + 1) * _LEGEND_ROW
        shown = joined(
            [
                element("path", d=f"M{_MARGIN} {y + 8:.0f}H{_MARGIN + 26}", **_stroke(position)),
                element("text", chain["more"], x=_MARGIN + 34, y=y + 12),
            ]
        )
        parts.append(_linked(shown, chain, anchor))
    y = top + (1 + len(chains)) * _LEGEND_ROW
    parts.append(element("path", d=f"M{_MARGIN} {y + 8:.0f}H{_MARGIN + 26}", class_="edge"))
    parts.append(element("text", "queue", x=_MARGIN + 34, y=y + 12, class_="soft"))
    parts.append(element("path", d=f"M{_MARGIN + 84} {y + 8:.0f}H{_MARGIN + 110}", class_="edge latest"))
    parts.append(element("text", "register (latest)", x=_MARGIN + 118, y=y + 12, class_="soft"))
    return joined(parts)
