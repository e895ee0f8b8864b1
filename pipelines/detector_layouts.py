"""The forms in which detectors hand out what they found, recognised from a model's outputs.

    ssd      boxes [1, n, 4] or [1, n, 1, 4] and scores [1, n, classes], in any order
    ssd_nms  boxes, scores and class numbers of n objects that the model has already told apart, [1, n, 4] or [n, 4] and
             [1, n] or [n]; optionally how many of them count
    yolov5   [1, n, 5 + classes]: centre x, centre y, width, height in pixels, objectness, class scores
    yolox    the same, with centres and sizes relative to the grid cells of strides 8, 16 and 32
    yolov8   [1, 4 + classes, n] or [1, n, 4 + classes]: as yolov5, without objectness
    end2end  [1, n, 6]: x_min, y_min, x_max, y_max in pixels, score, class number

Sources of the forms: Liu et al. 2016 (SSD), Redmon and Farhadi 2018 (objectness and grids), Ge et al. 2021 (YOLOX).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from pipelines.onnx_session import TensorSignature

#: Every form, see above.
LAYOUTS = ("ssd", "ssd_nms", "yolov5", "yolox", "yolov8", "end2end")

#: Outputs that a form has, by what they hold. Only `count` may be missing.
ROLES: Mapping[str, tuple[str, ...]] = {
    "ssd": ("boxes", "scores"),
    "ssd_nms": ("boxes", "scores", "classes", "count"),
    **dict.fromkeys(("yolov5", "yolox", "yolov8", "end2end"), ("table",)),
}

#: Columns of a table beside the class scores.
_BOX_COLUMNS = {"yolov5": 5, "yolox": 5, "yolov8": 4}

#: Boxes per grid cell that the networks of a form have.
_BOXES_PER_CELL = {"yolov5": (1, 3), "yolox": (1,), "yolov8": (1,)}

_AXES_OF_RAW_GRIDS = 5

#: Boxes that a model hands out at most after it has told objects apart.
_MOST_OBJECTS = 1000

_HINTS = (("boxes", "box"), ("classes", "class|label"), ("count", "num|count"), ("scores", "score|conf|prob"))

Shape = tuple[int | None, ...]


class NoLayout(ValueError):
    """The outputs are of no known form, or of several; the text says what to do."""


class SeveralLayouts(NoLayout):
    """The outputs may be of several forms."""


class OpenLayout(NoLayout):
    """The signature leaves open what the outputs' real shapes will tell."""


@dataclass(frozen=True, slots=True)
class OutputLayout:
    """`name`: one of `LAYOUTS`. `outputs`: what an output holds -> its name. `columns_first`: a table is [1, c, n]."""

    name: str
    outputs: Mapping[str, str]
    columns_first: bool = False


def find_layout(
    outputs: Sequence[TensorSignature],
    *,
    wanted: str = "auto",
    roles: Mapping[str, str] | None = None,
    classes: int | None = None,
    network_size: tuple[int, int] | None = None,
    strides: Sequence[int] = (8, 16, 32),
) -> OutputLayout:
    """The form of a model's `outputs`; raises NoLayout when it is none, or not the `wanted` one, or not clear.

    `roles`: what an output holds -> its name, for outputs whose shapes and names do not tell. `classes`: how many the
    detector knows, None when that is not known. `network_size`: height and width of its input in pixels, which tell
    how many boxes a grid has; None when open. `strides`: of the grids, in pixels.
    """
    usable = _selected(outputs, roles or {})
    if wanted in ("ssd", "ssd_nms") or (wanted == "auto" and len(usable) > 1):
        return _find_ssd(usable, wanted, roles or {})
    if len(usable) != 1:
        raise NoLayout(f"{wanted} is one table, but there are {len(usable)} outputs; name it: outputs: {{table: ...}}")
    table = usable[0]
    fits = _tables(table, wanted, classes, network_size, strides)
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NoLayout(_why_no_table(table, wanted, classes, network_size, strides))
    names = sorted({fit.name for fit in fits})
    if len(names) == 1:
        kind = OpenLayout if None in table.shape[1:] else NoLayout
        raise kind(f"{table} may be {names[0]} along either axis")
    raise SeveralLayouts(
        f"{table} may be {' or '.join(names)}; set output_layout to the one that it is, in the "
        "preprocessing: the postprocessing takes it from there"
    )


def grid_cells(network_size: tuple[int, int], strides: Sequence[int]) -> int:
    """Cells of all grids over an input of height and width `network_size` in pixels."""
    return sum((network_size[0] // stride) * (network_size[1] // stride) for stride in strides)


def _selected(outputs: Sequence[TensorSignature], roles: Mapping[str, str]) -> list[TensorSignature]:
    """The outputs that `roles` names, or all that a form may have."""
    known = [output.name for output in outputs]
    for role, name in roles.items():
        if name not in known:
            raise NoLayout(f"outputs: {role}: there is no output {name!r}")
    if roles:
        return [output for output in outputs if output.name in roles.values()]
    # Raw grids of five axes come beside a table in some exports; no form has them.
    return [output for output in outputs if len(output.shape) < _AXES_OF_RAW_GRIDS]


def _tables(
    table: TensorSignature,
    wanted: str,
    classes: int | None,
    network_size: tuple[int, int] | None,
    strides: Sequence[int],
) -> list[OutputLayout]:
    """Every reading of one output as a table; `wanted` admits more counts of boxes than can be recognised."""
    if not table.dtype.startswith("float") or len(table.shape) != 3 or table.shape[0] not in (1, None):
        return []
    found = []
    for columns_first in (False, True):
        boxes, columns = table.shape[1:] if not columns_first else table.shape[:0:-1]
        if boxes is not None and columns is not None and classes is None and columns > boxes:
            continue
        for name, extra in _BOX_COLUMNS.items():
            if columns_first and name != "yolov8":
                continue
            if wanted not in ("auto", name) or not _columns_fit(columns, extra, classes, wanted):
                continue
            if _count_fits(name, boxes, network_size, strides, strict=wanted == "auto" or name == "yolox"):
                found.append(OutputLayout(name, {"table": table.name}, columns_first))
    boxes, columns = table.shape[1:]
    recognised = wanted == "auto" and columns == 6 and (boxes is None or boxes <= _MOST_OBJECTS) and not found
    if recognised or (wanted == "end2end" and columns in (6, None)):
        found.append(OutputLayout("end2end", {"table": table.name}))
    return found


def _columns_fit(columns: int | None, extra: int, classes: int | None, wanted: str) -> bool:
    if columns is None:
        return wanted != "auto"
    return columns > extra if classes is None else columns == extra + classes


def _count_fits(
    name: str, boxes: int | None, network_size: tuple[int, int] | None, strides: Sequence[int], *, strict: bool
) -> bool:
    if boxes is None or network_size is None or not strict:
        return True
    grids = [strides] if name == "yolox" else [strides, [*strides, 2 * strides[-1]]]
    return any(
        boxes == per_cell * grid_cells(network_size, grid) for grid in grids for per_cell in _BOXES_PER_CELL[name]
    )


def _why_no_table(
    table: TensorSignature,
    wanted: str,
    classes: int | None,
    network_size: tuple[int, int] | None,
    strides: Sequence[int],
) -> str:
    if len(table.shape) == 3 and table.shape[0] not in (1, None):
        return f"{table} is of {table.shape[0]} pictures at once, and one is read; export the model with a batch of 1"
    if classes is None:
        return f"{table} is not a table of boxes ({wanted})"
    any_count = sorted({fit.name for fit in _tables(table, wanted, classes, None, strides)})
    if any_count and network_size is not None:
        grids = ", ".join(map(str, strides))
        return (
            f"{table} fits {classes} classes as {' or '.join(any_count)}, but not its number of boxes: an input of "
            f"{network_size[1]} x {network_size[0]} pixels has {grid_cells(network_size, strides)} cells of strides "
            f"{grids}; set strides" + ("" if wanted == "yolox" else ", or output_layout where boxes come otherwise")
        )
    known = {
        "yolov5": f"yolov5 and yolox: [1, n, {5 + classes}]",
        "yolov8": f"yolov8: [1, {4 + classes}, n] or [1, n, {4 + classes}]",
        "end2end": "end2end: [1, n, 6]",
    }
    known["yolox"] = known["yolov5"] + " with a box per cell of the grids that `strides` says"
    expected = [known[wanted]] if wanted in known else [known["yolov5"], known["yolov8"], known["end2end"]]
    return (
        f"{table} does not fit a list of {classes} classes ({'; '.join(expected)}); "
        "set class_names to the model's own, or output_layout"
    )


def _find_ssd(outputs: Sequence[TensorSignature], wanted: str, roles: Mapping[str, str]) -> OutputLayout:
    """Each output's role by name where told, else by shape and type, else by what its name contains."""
    possible = {output.name: _possible_roles(output) for output in outputs}
    for role, name in roles.items():
        if role in ROLES["ssd_nms"]:
            possible = {other: roles_ - {role} for other, roles_ in possible.items()} | {name: {role}}
    for output in outputs:
        if len(possible[output.name]) > 1:
            hinted = {role for role, word in _HINTS if re.search(word, output.name.lower())} & possible[output.name]
            possible[output.name] = hinted if len(hinted) == 1 else possible[output.name]
    for _ in outputs:  # what one output surely is, no other one is
        sure = {next(iter(found)) for found in possible.values() if len(found) == 1}
        possible = {name: found - sure if len(found) > 1 else found for name, found in possible.items()}
    by_role: dict[str, list[str]] = {role: [] for role in ROLES["ssd_nms"]}
    for name, found in possible.items():
        for role in found:
            by_role[role].append(name)
    unclear = [f"{role}: {' or '.join(names)}" for role, names in by_role.items() if len(names) > 1]
    if unclear:
        raise NoLayout(
            f"which output holds what is unclear ({'; '.join(unclear)}); set outputs, such as {{boxes: NAME}}"
        )
    held = {role: names[0] for role, names in by_role.items() if names and len(possible[names[0]]) == 1}
    scores = next((output for output in outputs if output.name == held.get("scores")), None)
    name = "ssd" if "classes" not in held else "ssd_nms"
    missing = [role for role in ROLES[name] if role not in held and role != "count"]
    matrix = scores is not None and len(scores.shape) == 3
    if missing or wanted not in ("auto", name) or matrix != (name == "ssd"):
        raise NoLayout(
            f"the outputs are not {wanted if wanted != 'auto' else 'those of an SSD'}: boxes [1, n, 4] or "
            "[1, n, 1, 4] and scores [1, n, classes], or boxes, scores [1, n] and class numbers [1, n]"
        )
    return OutputLayout(name, {role: held[role] for role in ROLES[name] if role in held})


def _possible_roles(output: TensorSignature) -> set[str]:
    shape = output.shape
    number = output.dtype.startswith(("int", "uint"))
    if len(shape) in (3, 4) and shape[0] in (1, None):
        roles = set()
        if shape[-1] in (4, None) and (len(shape) == 3 or shape[2] in (1, None)) and not number:
            roles.add("boxes")
        if len(shape) == 3 and not number:
            roles.add("scores")
        return roles
    if len(shape) == 2 and shape[1] == 4 and shape[0] != 1 and not number:
        return {"boxes"}
    if len(shape) > 2:
        return set()
    single = all(size is not None for size in shape) and prod(size or 0 for size in shape) == 1
    if single:
        return {"count", "classes"} if number else {"count", "scores", "classes"}
    if not shape:
        return {"count"}
    return (
        {"classes", "count"} if number else {"scores", "classes", "count"} if None in shape else {"scores", "classes"}
    )
