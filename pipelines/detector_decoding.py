"""From a detector's output arrays to candidate boxes in pixels of its input; see `detector_layouts` for the forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.detector_layouts import OutputLayout, grid_cells

Float32 = npt.NDArray[np.float32]

#: Ways to write the four numbers of a box.
BOX_FORMATS = ("yxyx", "xyxy", "cxcywh", "xywh")

#: Scores up to this are 1, but for rounding; boxes that all reach beyond this are no fractions of the picture.
_HIGHEST_SCORE = 1.001
_FARTHEST_FRACTION = 4.0

#: What boxes are counted in.
BOX_UNITS = ("fraction", "pixels")

#: What turns a model's score columns into scores in 0..1.
ACTIVATIONS = ("none", "sigmoid", "softmax")

#: Column that means "no object".
BACKGROUNDS = ("none", "first", "last")

#: Box format and unit of a form where the system file says nothing else.
DEFAULT_BOXES: Mapping[str, tuple[str, str]] = {
    "ssd": ("yxyx", "fraction"),
    "ssd_nms": ("yxyx", "fraction"),
    "yolov5": ("cxcywh", "pixels"),
    "yolox": ("cxcywh", "pixels"),
    "yolov8": ("cxcywh", "pixels"),
    "end2end": ("xyxy", "pixels"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """How the numbers of a form are meant. `first_class`: the class number of the first name, where the model hands
    out numbers. `background`: see `BACKGROUNDS`; only for forms with a column per class. `strides`: of YOLOX grids."""

    box_format: str
    box_units: str
    activation: str = "none"
    background: str = "none"
    first_class: int = 0
    strides: tuple[int, ...] = (8, 16, 32)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Boxes before suppression, in the network's own order.

    `boxes_px`: float64[n, 4] as x_min, y_min, x_max, y_max in pixels of the network's input; empty where a value is
    not finite. `scores`: float32[n]; `classes`: int64[n], place in the class list.
    """

    boxes_px: npt.NDArray[np.float64]
    scores: Float32
    classes: npt.NDArray[np.int64]


class UnexpectedOutput(ValueError):
    """The arrays are not what the form says."""


class InfiniteScore(ValueError):
    """The network has given no number for one picture."""


def read_candidates(
    layout: OutputLayout,
    arrays: Mapping[str, npt.NDArray[np.generic]],
    reading: Reading,
    *,
    classes: int,
    network_size: tuple[int, int],
    min_score: float,
) -> Candidates:
    """Boxes whose best class scores at least `min_score`.

    `arrays`: output name -> array. `classes`: length of the class list. `network_size`: height and width in pixels of
    the network's input. Raises UnexpectedOutput with the shapes or values when they do not fit, InfiniteScore.
    """
    held = {role: arrays[name] for role, name in layout.outputs.items()}
    if layout.name == "ssd":
        raw, scores, best = _ssd(held, reading, classes, min_score)
    elif layout.name == "ssd_nms":
        raw, scores, best = _ssd_nms(held, reading, min_score)
    elif layout.name == "end2end":
        table = _table(held["table"], 6, columns_first=False)
        rows = np.flatnonzero(table[:, 4] >= min_score)
        raw, scores = table[rows, :4], table[rows, 4]
        best = _numbers(table[rows, 5], reading)
    else:
        raw, scores, best = _yolo(layout, held["table"], reading, classes, network_size, min_score)
    inside = (best >= 0) & (best < classes)
    numbers, scores = raw[inside].astype(np.float64), scores[inside].astype(np.float32, copy=False)
    _check_values(numbers, scores, layout, reading)
    return Candidates(_corners(numbers, reading, network_size), np.minimum(scores, np.float32(1.0)), best[inside])


def _check_values(raw: npt.NDArray[np.float64], scores: Float32, layout: OutputLayout, reading: Reading) -> None:
    """Raises where the numbers cannot be meant as the reading takes them."""
    if not np.isfinite(scores).all():
        raise InfiniteScore("the network's output holds a score that is infinite")
    highest = float(scores.max(initial=0.0))
    if highest > _HIGHEST_SCORE:
        swapped = "; or outputs, where scores and class numbers are swapped" if layout.name == "ssd_nms" else ""
        raise UnexpectedOutput(
            f"scores reach {highest:.4g}, and 1 is the most that they may be; set score_activation to sigmoid or "
            f"softmax for a network that hands out logits{swapped}"
        )
    farthest = np.abs(np.nan_to_num(raw, nan=0.0, posinf=0.0, neginf=0.0)).max(axis=1, initial=0.0)
    if reading.box_units == "fraction" and len(raw) and float(farthest.min()) > _FARTHEST_FRACTION:
        raise UnexpectedOutput(
            f"boxes reach {float(farthest.max()):.4g}, which is no fraction of the picture; set box_units: pixels"
        )


def _ssd(
    held: Mapping[str, npt.NDArray[np.generic]], reading: Reading, classes: int, min_score: float
) -> tuple[Float32, Float32, npt.NDArray[np.int64]]:
    boxes, scores = held["boxes"], held["scores"]
    count = scores.shape[1] if scores.ndim == 3 else -1
    columns = classes + (reading.background != "none")
    if scores.shape != (1, count, columns) or boxes.shape not in ((1, count, 4), (1, count, 1, 4)):
        raise UnexpectedOutput(
            f"boxes {list(boxes.shape)} and scores {list(scores.shape)} are not boxes [1, n, 4] or [1, n, 1, 4] and "
            f"scores [1, n, {columns}] of {classes} classes"
            f"{'' if reading.background == 'none' else ' and the background'}"
        )
    activated = _activated(scores[0].astype(np.float32, copy=False), reading.activation)
    first = reading.background == "first"
    activated = activated[:, int(first) : classes + int(first)]
    rows = np.flatnonzero(activated.max(axis=1) >= min_score)
    best = activated[rows].argmax(axis=1)
    return boxes.reshape(count, 4)[rows].astype(np.float32, copy=False), activated[rows, best], best


def _ssd_nms(
    held: Mapping[str, npt.NDArray[np.generic]], reading: Reading, min_score: float
) -> tuple[Float32, Float32, npt.NDArray[np.int64]]:
    boxes, scores, numbers = held["boxes"], held["scores"], held["classes"]
    count = scores.size
    if boxes.size != 4 * count or numbers.size != count or boxes.shape[-1] != 4:
        raise UnexpectedOutput(
            f"boxes {list(boxes.shape)}, scores {list(scores.shape)} and class numbers {list(numbers.shape)} are not "
            "those of as many objects each"
        )
    if "count" in held:
        stated = held["count"].astype(np.float64).ravel()
        count = int(np.clip(np.nan_to_num(stated[0]), 0, count)) if stated.size else 0
    flat = _activated(scores.reshape(-1, 1).astype(np.float32)[:count], reading.activation)[:, 0]
    rows = np.flatnonzero(flat >= min_score)
    best = _numbers(numbers.reshape(-1)[rows].astype(np.float64), reading)
    return boxes.reshape(-1, 4)[rows].astype(np.float32), flat[rows], best


def _yolo(
    layout: OutputLayout,
    array: npt.NDArray[np.generic],
    reading: Reading,
    classes: int,
    network_size: tuple[int, int],
    min_score: float,
) -> tuple[Float32, Float32, npt.NDArray[np.int64]]:
    first = 4 if layout.name == "yolov8" else 5
    table = _table(array, first + classes, layout.columns_first)
    columns = _activated(table[:, first:], reading.activation)
    best = columns.argmax(axis=1)
    scores = columns[np.arange(len(table)), best]
    if first == 5:
        objectness = table[:, 4:5]
        scores = scores * _activated(objectness, "none" if reading.activation == "none" else "sigmoid")[:, 0]
    rows = np.flatnonzero(scores >= min_score)
    boxes = table[rows, :4]
    if layout.name == "yolox":
        cells = grid_cells(network_size, reading.strides)
        if len(table) != cells:
            raise UnexpectedOutput(
                f"a table of {len(table)} boxes; an input of {network_size[1]} x {network_size[0]} pixels has {cells} "
                f"cells of strides {', '.join(map(str, reading.strides))}"
            )
        boxes = _off_the_grid(boxes, rows, network_size, reading.strides)
    return boxes, scores[rows], best[rows]


def _off_the_grid(
    boxes: Float32, rows: npt.NDArray[np.intp], network_size: tuple[int, int], strides: Sequence[int]
) -> Float32:
    """Centre = (cell + offset) * stride, size = exp(value) * stride (Ge et al. 2021, section 2). In pixels."""
    height, width = network_size
    corners, steps = [], []
    for stride in strides:
        y, x = np.divmod(np.arange((height // stride) * (width // stride)), width // stride)
        corners.append(np.stack((x, y), axis=1))
        steps.append(np.full(len(x), stride))
    corner, step = np.concatenate(corners)[rows], np.concatenate(steps)[rows][:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        placed = np.concatenate(((boxes[:, :2] + corner) * step, np.exp(boxes[:, 2:]) * step), axis=1)
    return placed.astype(np.float32)


def _table(array: npt.NDArray[np.generic], columns: int, columns_first: bool) -> Float32:
    """float32[n, columns]."""
    axis = 1 if columns_first else 2
    if array.ndim != 3 or array.shape[0] != 1 or array.shape[axis] != columns:
        expected = f"[1, {columns}, n]" if columns_first else f"[1, n, {columns}]"
        raise UnexpectedOutput(f"a table {list(array.shape)}; expected is {expected}")
    table = array[0].astype(np.float32, copy=False)
    return np.ascontiguousarray(table.T) if columns_first else table


def _activated(values: Float32, activation: str) -> Float32:
    """Scores out of `values`: float32[n, columns]; numbers that are none never win."""
    values = np.where(np.isnan(values), np.float32(-np.inf), values) if np.isnan(values).any() else values
    if activation == "none" or not values.size:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if activation == "sigmoid":
            return (1.0 / (1.0 + np.exp(-values))).astype(np.float32)
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        shares: Float32 = np.nan_to_num(powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares


def _numbers(values: npt.NDArray[np.floating], reading: Reading) -> npt.NDArray[np.int64]:
    """Place in the class list of each class number; -1 for what is no number."""
    whole = np.where(np.isfinite(values), np.rint(np.nan_to_num(values)), -1e6)
    places: npt.NDArray[np.int64] = np.clip(whole - reading.first_class, -1, 1e6).astype(np.int64)
    return places


def _corners(raw: npt.NDArray[np.float64], reading: Reading, network_size: tuple[int, int]) -> npt.NDArray[np.float64]:
    """x_min, y_min, x_max, y_max in pixels of the network's input; zeros where a value is not finite."""
    raw = np.where(np.isfinite(raw).all(axis=1, keepdims=True), raw, 0.0)
    if reading.box_format == "yxyx":
        boxes = raw[:, [1, 0, 3, 2]]
    elif reading.box_format == "xyxy":
        boxes = raw
    elif reading.box_format == "cxcywh":
        boxes = np.concatenate((raw[:, :2] - raw[:, 2:] / 2.0, raw[:, :2] + raw[:, 2:] / 2.0), axis=1)
    else:
        boxes = np.concatenate((raw[:, :2], raw[:, :2] + raw[:, 2:]), axis=1)
    height, width = network_size
    return boxes * np.array([width, height] * 2, np.float64) if reading.box_units == "fraction" else boxes
