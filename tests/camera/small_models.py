"""Small ONNX networks that really look at the picture: they find patches of pure red, green and blue.

Each grid cell scores the share of its pixels that are of a class's colour, so that what is found tells whether colour
order, value range, size and place of the picture were right. A box is as large as its cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLOURS = ("red", "green", "blue")

#: Colours in the tensor's order and what 0 and 255 became, as networks of a form are usually trained.
CUSTOMS = {
    "yolox": ("bgr", 0.0, 255.0),
    "yolov5": ("rgb", 0.0, 1.0),
    "yolov8": ("rgb", 0.0, 1.0),
    "end2end": ("rgb", 0.0, 1.0),
    "ssd": ("rgb", -1.0, 1.0),
    "ssd_nms": ("rgb", -1.0, 1.0),
}


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: object) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name


def cells(size: tuple[int, int], strides: Sequence[int]) -> np.ndarray:
    """float32[n, 4]: centre x, centre y, width, height of every cell in pixels, grid after grid, row after row."""
    found = []
    for stride in strides:
        y, x = np.mgrid[0 : size[0] // stride, 0 : size[1] // stride]
        side = np.full(x.size, stride)
        found.append(np.stack([(x.ravel() + 0.5) * stride, (y.ravel() + 0.5) * stride, side, side], axis=1))
    return np.concatenate(found).astype(np.float32)


def patch_finder(
    path: Path,
    form: str,
    *,
    size: tuple[int, int] = (416, 416),
    strides: Sequence[int] = (8, 16, 32),
    per_cell: int = 1,
    rows: bool = False,
    interleaved: bool = False,
    dtype: str = "float32",
    open_size: bool = False,
    open_batch: bool = False,
    boxes_first: bool = True,
    flat_boxes: bool = True,
    background: str = "none",
    names: dict[str, str] | None = None,
    count: bool = True,
    logits: bool = False,
    open_outputs: bool = False,
    raw_grids: bool = False,
) -> Path:
    """Writes a network of the output form `form` for inputs of height and width `size` and returns its path."""
    names = names or {}
    order, low, high = CUSTOMS[form]
    graph = _Graph()
    picture = "picture"
    if interleaved:
        picture = graph.node("Transpose", picture, perm=[0, 3, 1, 2])
    if dtype != "float32":
        picture = graph.node("Cast", picture, to=TensorProto.FLOAT)
        low, high = (0.0, 255.0) if dtype == "uint8" else (low, high)
    share = graph.node(
        "Mul",
        graph.node("Sub", picture, graph.constant(np.float32(low))),
        graph.constant(np.float32(1.0 / (high - low))),
    )
    weights = np.full((3, 3), -1.0, np.float32)
    for place, colour in enumerate(COLOURS):
        weights[place, "rgb".index(colour[0]) if order == "rgb" else "bgr".index(colour[0])] = 1.0
    pure = graph.node("Relu", graph.node("Conv", share, graph.constant(weights.reshape(3, 3, 1, 1))))
    grids = [
        graph.node(
            "Reshape",
            graph.node("AveragePool", pure, kernel_shape=[stride, stride], strides=[stride, stride]),
            graph.constant(np.array([1, 3, -1], np.int64)),
        )
        for stride in strides
    ]
    scores = graph.node("Concat", *grids * per_cell, axis=2)  # [1, 3, n]
    by_row = graph.node("Transpose", scores, perm=[0, 2, 1])
    boxes = np.tile(cells(size, strides), (per_cell, 1))
    results = _HEADS[form](
        graph,
        by_row,
        boxes,
        size,
        rows=rows,
        flat_boxes=flat_boxes,
        background=background,
        count=count,
        logits=logits,
        strides=strides,
    )
    ordered = list(results.items()) if boxes_first else list(results.items())[::-1]
    outputs = []
    for role, (made, kind, shape) in ordered:
        graph.node("Identity", made, output=names.get(role, role))
        stated = [None] * len(shape) if open_outputs else shape
        outputs.append(helper.make_tensor_value_info(names.get(role, role), kind, stated))
    if raw_grids:
        sizes = [1, 1, 3, size[0] // strides[0], size[1] // strides[0]]
        shape_of_grid = graph.constant(np.array(sizes, np.int64))
        graph.node("Reshape", grids[0], shape_of_grid, output="grid")
        outputs.append(helper.make_tensor_value_info("grid", TensorProto.FLOAT, sizes))
    height, width = ("height", "width") if open_size else size
    shape = [1, height, width, 3] if interleaved else [1, 3, height, width]
    if open_batch:
        shape[0] = "batch"
    kinds = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}
    wanted = helper.make_tensor_value_info("picture", kinds[dtype], shape)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "patches", [wanted], outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


Result = dict[str, tuple[str, int, list[int | str | None]]]


def _like(graph: _Graph, scores: str, columns: int, value: float) -> str:
    """[1, n, columns] of one value, whatever n is."""
    one = graph.node("ReduceMax", scores, axes=[2], keepdims=1)
    flat = graph.node("Add", graph.node("Mul", one, graph.constant(np.float32(0))), graph.constant(np.float32(value)))
    return graph.node("Concat", *[flat] * columns, axis=2)


def _yolox(graph: _Graph, scores: str, boxes: np.ndarray, size: tuple[int, int], **_: object) -> Result:
    parts = (_like(graph, scores, 2, 0.5), _like(graph, scores, 2, 0.0), _like(graph, scores, 1, 1.0), scores)
    table = graph.node("Concat", *parts, axis=2)
    return {"table": (table, TensorProto.FLOAT, [1, len(boxes), 8])}


def _yolov5(graph: _Graph, scores: str, boxes: np.ndarray, size: tuple[int, int], **_: object) -> Result:
    table = graph.node("Concat", graph.constant(boxes[None]), _like(graph, scores, 1, 1.0), scores, axis=2)
    return {"table": (table, TensorProto.FLOAT, [1, len(boxes), 8])}


def _yolov8(graph: _Graph, scores: str, boxes: np.ndarray, size: tuple[int, int], *, rows: bool, **_: object) -> Result:
    table = graph.node("Concat", graph.constant(boxes[None]), scores, axis=2)
    if rows:
        return {"table": (table, TensorProto.FLOAT, [1, len(boxes), 7])}
    return {"table": (graph.node("Transpose", table, perm=[0, 2, 1]), TensorProto.FLOAT, [1, 7, len(boxes)])}


def _corners(boxes: np.ndarray) -> np.ndarray:
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)


def _fractions(boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    return (_corners(boxes) / np.array([size[1], size[0]] * 2))[:, [1, 0, 3, 2]].astype(np.float32)


def _best(graph: _Graph, scores: str, kind: int) -> tuple[str, str]:
    number = graph.node("Cast", graph.node("ArgMax", scores, axis=2, keepdims=0), to=kind)
    return graph.node("ReduceMax", scores, axes=[2], keepdims=0), number


def _end2end(graph: _Graph, scores: str, boxes: np.ndarray, size: tuple[int, int], **_: object) -> Result:
    score, number = _best(graph, scores, TensorProto.FLOAT)
    columns = [graph.node("Unsqueeze", part, graph.constant(np.array([2], np.int64))) for part in (score, number)]
    table = graph.node("Concat", graph.constant(_corners(boxes)[None].astype(np.float32)), *columns, axis=2)
    return {"table": (table, TensorProto.FLOAT, [1, len(boxes), 6])}


def _ssd(
    graph: _Graph,
    scores: str,
    boxes: np.ndarray,
    size: tuple[int, int],
    *,
    flat_boxes: bool,
    background: str,
    logits: bool,
    **_: object,
) -> Result:
    fractions = _fractions(boxes, size)[None]
    if not flat_boxes:
        fractions = fractions[:, :, None]
    if background != "none":
        empty = graph.node("Sub", _like(graph, scores, 1, 1.0), graph.node("ReduceMax", scores, axes=[2], keepdims=1))
        scores = graph.node("Concat", *((empty, scores) if background == "first" else (scores, empty)), axis=2)
    if logits:
        ends = (graph.constant(np.float32(1e-4)), graph.constant(np.float32(1 - 1e-4)))
        inside = graph.node("Clip", scores, *ends)
        scores = graph.node("Log", graph.node("Div", inside, graph.node("Sub", graph.constant(np.float32(1)), inside)))
    held = graph.node("Identity", graph.constant(fractions))
    columns = 3 + (background != "none")
    return {
        "boxes": (held, TensorProto.FLOAT, list(fractions.shape)),
        "scores": (scores, TensorProto.FLOAT, [1, len(boxes), columns]),
    }


def _ssd_nms(
    graph: _Graph, scores: str, boxes: np.ndarray, size: tuple[int, int], *, count: bool, **_: object
) -> Result:
    score, number = _best(graph, scores, TensorProto.INT64)
    results: Result = {
        "boxes": (graph.constant(_fractions(boxes, size)[None]), TensorProto.FLOAT, [1, len(boxes), 4]),
        "scores": (score, TensorProto.FLOAT, [1, len(boxes)]),
        "classes": (number, TensorProto.INT64, [1, len(boxes)]),
    }
    if count:
        results["count"] = (graph.constant(np.array([len(boxes)], np.float32)), TensorProto.FLOAT, [1])
    return results


_HEADS = {
    "yolox": _yolox,
    "yolov5": _yolov5,
    "yolov8": _yolov8,
    "end2end": _end2end,
    "ssd": _ssd,
    "ssd_nms": _ssd_nms,
}
