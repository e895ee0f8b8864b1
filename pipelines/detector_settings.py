"""How a detector's output is to be read and what of it is kept: the parameters, checked and resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.class_lists import BUILT_IN_LISTS, ClassList, checked_class_map, checked_class_names, load_class_list
from pipelines.detector_decoding import ACTIVATIONS, BACKGROUNDS, BOX_FORMATS, BOX_UNITS, DEFAULT_BOXES, Reading
from pipelines.detector_layouts import LAYOUTS, ROLES, NoLayout, OutputLayout, find_layout
from pipelines.onnx_session import TensorSignature
from pipelines.parameters import checked_choice, checked_integer, checked_names, checked_number, nearest
from rt_sched.errors import DeploymentError

#: A score that no box reaches: the class is not kept.
_NEVER = np.float32(np.inf)


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """Checked parameters of `pipelines.detector.Postprocess`, which explains them."""

    output_layout: str
    outputs: Mapping[str, str]
    box_format: str | None
    box_units: str | None
    activation: str
    background: str
    first_class: int
    strides: tuple[int, ...]
    class_names: tuple[str, ...] | str | None
    class_map: Mapping[str, str]
    classes: tuple[str, ...] | None
    score_threshold: float
    score_thresholds: Mapping[str, float]

    @staticmethod
    def checked(
        *,
        output_layout: str,
        outputs: Any,
        box_format: str | None,
        box_units: str | None,
        score_activation: str,
        background: str,
        first_class: int,
        strides: Any,
        class_names: Any,
        class_map: Any,
        classes: Any,
        score_threshold: float,
        score_thresholds: Any,
    ) -> DetectorSettings:
        """Raises ValueError for a value out of range, and for a class that is none where the list is known by now."""
        settings = DetectorSettings(
            output_layout=checked_choice("output_layout", output_layout, ("auto", *LAYOUTS)),
            outputs=_checked_outputs(outputs),
            box_format=None if box_format is None else checked_choice("box_format", box_format, BOX_FORMATS),
            box_units=None if box_units is None else checked_choice("box_units", box_units, BOX_UNITS),
            activation=checked_choice("score_activation", score_activation, ACTIVATIONS),
            background=checked_choice("background", background, BACKGROUNDS),
            first_class=checked_integer("first_class", first_class, low=0, high=10_000),
            strides=_checked_strides(strides),
            class_names=checked_class_names(class_names),
            class_map=checked_class_map(class_map),
            classes=checked_names("classes", classes),
            score_threshold=checked_number("score_threshold", score_threshold, low=0.0, high=1.0),
            score_thresholds=_checked_thresholds(score_thresholds),
        )
        names = settings.class_names
        if names is None or names in BUILT_IN_LISTS or not isinstance(names, str):
            try:
                known = load_class_list(names, settings.class_map, default="coco91", base_dir=Path())
            except DeploymentError as error:
                raise ValueError(str(error)) from error
            settings.thresholds(known)
        return settings

    def resolve(
        self, outputs: Sequence[TensorSignature], network_size: tuple[int, int] | None, base_dir: Path
    ) -> tuple[OutputLayout, ClassList, npt.NDArray[np.float32]]:
        """Layout, classes and each class's least score for a model with these `outputs`.

        Raises NoLayout when they do not fit, DeploymentError for a class list or a class that is none.
        """
        several = len(self.outputs) > 1 or (not self.outputs and sum(len(output.shape) < 5 for output in outputs) > 1)
        is_ssd = self.output_layout.startswith("ssd") or (self.output_layout == "auto" and several)
        known = load_class_list(
            self.class_names, self.class_map, default="coco91" if is_ssd else "coco80", base_dir=base_dir
        )
        layout = find_layout(
            outputs,
            wanted=self.output_layout,
            roles=self.outputs,
            classes=len(known),
            network_size=network_size,
            strides=self.strides,
        )
        if layout.name == "ssd":
            self._check_columns(outputs, layout, len(known))
        if layout.name in ("ssd", "ssd_nms"):
            _check_counts(outputs, layout)
        try:
            return layout, known, self.thresholds(known)
        except ValueError as error:
            raise DeploymentError(str(error)) from error

    def reading(self, layout: OutputLayout) -> Reading:
        """How the numbers of a model with this layout are meant."""
        box_format, box_units = DEFAULT_BOXES[layout.name]
        return Reading(
            box_format=self.box_format or box_format,
            box_units=self.box_units or box_units,
            activation=self.activation,
            background=self.background if layout.name == "ssd" else "none",
            first_class=self.first_class,
            strides=self.strides,
        )

    def thresholds(self, known: ClassList) -> npt.NDArray[np.float32]:
        """float32[classes]: least score by class number, infinite for one that is not kept; raises ValueError."""
        for name, wanted in (("classes", self.classes or ()), ("score_thresholds", self.score_thresholds)):
            for item in wanted:
                if item not in known.known:
                    raise ValueError(f"{name}: {item!r} is not known; {nearest(item, known.known)}")
        kept = set(self.classes or known.default_kept())
        least = [
            self.score_thresholds.get(name, self.score_threshold) if name in kept else _NEVER
            for name in known.published
        ]
        return np.array(least, np.float32)

    def _check_columns(self, outputs: Sequence[TensorSignature], layout: OutputLayout, classes: int) -> None:
        scores = next(output for output in outputs if output.name == layout.outputs["scores"])
        columns = scores.shape[-1]
        expected = classes + (self.background != "none")
        if columns not in (None, expected):
            hint = "; set background to first or last" if columns == classes + 1 and self.background == "none" else ""
            raise NoLayout(f"{scores} has {columns} score columns; {classes} classes make {expected}{hint}")


def _check_counts(outputs: Sequence[TensorSignature], layout: OutputLayout) -> None:
    """Raises NoLayout where the signature states different numbers of boxes for the outputs of one detector."""
    held = {role: next(output for output in outputs if output.name == name) for role, name in layout.outputs.items()}
    counts = {role: _count_of(output, role, layout.name) for role, output in held.items() if role != "count"}
    if len({count for count in counts.values() if count is not None}) > 1:
        stated = "; ".join(f"{held[role]}" for role in counts)
        raise NoLayout(f"the outputs are not of the same number of boxes ({stated})")


def _count_of(output: TensorSignature, role: str, form: str) -> int | None:
    if role == "boxes":
        return output.shape[1] if len(output.shape) > 2 else output.shape[0]
    return output.shape[1] if form == "ssd" else (output.shape[-1] if output.shape else 1)


def _checked_outputs(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) and name for name in value.values()):
        raise ValueError(f"outputs: {value!r} is not a mapping such as {{boxes: NAME, scores: NAME}}")
    roles = (*ROLES["ssd_nms"], "table")
    for role in value:
        checked_choice("outputs", role, roles)
    if len(set(value.values())) != len(value):
        raise ValueError(f"outputs: {value!r} names one output twice")
    return dict(value)


def _checked_strides(value: Any) -> tuple[int, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(f"strides: {value!r} is not a list of pixels, such as [8, 16, 32]")
    return tuple(checked_integer("strides", stride, low=1, high=1024, unit="pixels") for stride in value)


def _checked_thresholds(value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"score_thresholds: {value!r} is not a mapping such as {{person: 0.5}}")
    return {name: checked_number("score_thresholds", score, low=0.0, high=1.0) for name, score in value.items()}
