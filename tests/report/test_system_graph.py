"""The drawing of a system: layers along the edges, nothing on top of anything else, every name there."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.config import load_system
from rt_sched.model import System
from rt_sched.report.layered import Layout, layered_layout
from rt_sched.report.system_graph import system_graph

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def _places(layout: Layout) -> list[tuple[int, int]]:
    return [*zip(layout.layer, layout.row, strict=True), *(bend for bends in layout.bends for bend in bends)]


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24))
    )
)
def test_every_layout_is_layered_and_nothing_shares_a_place(graph: tuple[int, list[tuple[int, int]]]) -> None:
    nodes, edges = graph
    layout = layered_layout(nodes, edges)
    assert layout == layered_layout(nodes, edges)
    places = _places(layout)
    assert len(set(places)) == len(places)
    assert all(0 <= layer < layout.layers and 0 <= row < layout.rows for layer, row in places)
    for number, (start, end) in enumerate(edges):
        if start == end:
            assert layout.bends[number] == ()
            continue
        stops = [layout.layer[start], *(layer for layer, _ in layout.bends[number]), layout.layer[end]]
        step = -1 if number in layout.reversed_edges else 1
        assert all(after - before == step for before, after in pairwise(stops))


@given(st.integers(0, 90), st.integers(0, 5))
def test_what_nothing_joins_takes_rows_of_its_own_and_no_tower(alone: int, chain: int) -> None:
    layout = layered_layout(alone + chain, list(pairwise(range(chain))))
    joined = chain if chain > 1 else 0
    assert layout.rows == (joined > 0) + -(-(alone + chain - joined) // layout.layers)
    assert layout.layers == max(joined, min(6, alone + chain - joined), 1)
    assert all(row == 0 for row in layout.row[:joined])
    assert all(row >= (joined > 0) for row in layout.row[joined:])


def test_edges_without_circles_are_not_reversed() -> None:
    assert layered_layout(4, [(0, 1), (1, 2), (0, 2), (3, 2)]).reversed_edges == frozenset()
    assert len(layered_layout(3, [(0, 1), (1, 2), (2, 0)]).reversed_edges) == 1


def test_crossings_are_removed_where_that_is_easy() -> None:
    layout = layered_layout(4, [(0, 3), (1, 2)])
    assert (layout.row[0] < layout.row[1]) == (layout.row[3] < layout.row[2])


def _drawn(system: System) -> ElementTree.Element:
    return ElementTree.fromstring(system_graph(system))  # noqa: S314  (our own drawing)


@pytest.fixture(scope="module")
def quad() -> System:
    return load_system(ROOT / "examples" / "quad_orin.yaml", stages=ImportedStages())


def test_a_drawing_shows_every_part_once(quad: System) -> None:
    root = _drawn(quad)
    words = [element.text for element in root.iter(f"{SVG}text")]
    for name in [*(sensor.name for sensor in quad.sensors), *(task.name for task in quad.tasks)]:
        assert words.count(name) == 1
    for device in quad.devices:
        assert device.name in words
    for chain in quad.chains:
        assert any(word and word.startswith(f"{chain.name}: at most") for word in words)
    edges = [path for path in root.iter(f"{SVG}path") if path.get("class", "").startswith("edge")]
    inputs = [given for task in quad.tasks for given in task.inputs]
    assert len(edges) == len(inputs) + 2, "and one of each kind in the legend"
    steps = sum(len(chain.path) - 1 for chain in quad.chains)
    assert sum(path.get("class") == "chain" for path in root.iter(f"{SVG}path")) == steps + len(quad.chains)


def test_everything_lies_inside_the_drawing(quad: System) -> None:
    root = _drawn(quad)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width", 0)) <= width
        assert float(box.get("y", 0)) + float(box.get("height", 0)) <= height
    assert "prefers-color-scheme: dark" in system_graph(quad)


def test_circles_of_registers_are_drawn(tmp_path: Path) -> None:
    file = tmp_path / "circle.yaml"
    file.write_text(
        "rt_sched: 1\nname: circle\ndevices: {d: {processing_elements: {cpu: {kind: cpu}}}}\ntasks:\n"
        "  a: {runs_on: d.cpu, activation: {rate: 1Hz}, inputs: {x: b}, execution: {wcet: 1ms}}\n"
        "  b: {runs_on: d.cpu, activation: {rate: 1Hz}, inputs: {x: a, y: b}, execution: {wcet: 1ms}}\n"
    )
    root = _drawn(load_system(file, stages=ImportedStages()))
    assert {title.text for title in root.iter(f"{SVG}title")} >= {
        "b to a.x: latest",
        "a to b.x: latest",
        "b to b.y: latest",
    }
