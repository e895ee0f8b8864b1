"""Tasks of one detector that contradict each other, or its numbers, are refused, whichever parameter says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import COLOURS, patch_finder

from pipelines.camera import Preprocess
from pipelines.detector import Infer, Postprocess
from pipelines.detector_decoding import InfiniteScore, Reading, UnexpectedOutput, read_candidates
from pipelines.detector_layouts import LAYOUTS, NoLayout, OutputLayout, find_layout
from pipelines.detector_settings import DetectorSettings
from pipelines.model_input import CUSTOMS
from pipelines.onnx_session import TensorSignature
from rt_sched.app.inputs.stages import ImportedStages
from rt_sched.app.inputs.systems import stage_context
from rt_sched.config import load_system_text
from rt_sched.errors import DeploymentError

SYSTEM = """
rt_sched: 1
name: detector
devices: {{orin: {{soc: agx-orin}}}}
sensors: {{front: {{kind: camera, rate: 30Hz, attached_to: [orin], topic: /front}}}}
tasks:
  pre_front: {{stage: "pipelines.camera:Preprocess", runs_on: orin.cpu, inputs: {{image: front}},
    execution: {{wcet: 1ms}}, parameters: {pre}}}
  infer_front: {{stage: "pipelines.detector:Infer", runs_on: orin.gpu, inputs: {{tensor: pre_front}},
    execution: {{wcet: 1ms}}, parameters: {infer}}}
  post_front: {{stage: "pipelines.detector:Postprocess", runs_on: orin.cpu, inputs: {{raw: infer_front}},
    execution: {{wcet: 1ms}}, parameters: {post}}}
"""


def start(folder: Path, pre: Mapping[str, Any], infer: Mapping[str, Any], post: Mapping[str, Any]) -> None:
    """The three stages as a replay starts them."""
    catalogue = ImportedStages()
    post = {"class_names": list(COLOURS), **post}
    text = SYSTEM.format(pre=dict(pre), infer=dict(infer), post=post)
    system = load_system_text(text, file_name="s.yaml", base_dir=folder, stages=catalogue)
    begun: list[Any] = []
    try:
        for task in system.tasks:
            stage = catalogue.create(task)
            stage.start(stage_context(system, task, authenticator=None))
            begun.append(stage)
    finally:
        for stage in begun:
            stage.stop()


def refusal(folder: Path, pre: Mapping[str, Any], infer: Mapping[str, Any], post: Mapping[str, Any]) -> str:
    with pytest.raises(DeploymentError) as caught:
        start(folder, pre, infer, post)
    return str(caught.value)


@pytest.mark.parametrize("named_before", LAYOUTS)
@pytest.mark.parametrize("named_after", LAYOUTS)
def test_two_layouts_of_one_network_are_refused_with_both_tasks(
    tmp_path: Path, named_before: str, named_after: str
) -> None:
    patch_finder(tmp_path / "m.onnx", "yolox")
    model = {"model": "m.onnx"}
    parameters = ({**model, "output_layout": named_before}, model, {"output_layout": named_after})
    if named_before == named_after == "yolox" or named_before == named_after == "yolov5":
        start(tmp_path, *parameters)
        return
    message = refusal(tmp_path, *parameters)
    if named_before != named_after:
        words = f"task post_front: output_layout '{named_after}' contradicts that of task pre_front, '{named_before}'"
        assert words in message


@pytest.mark.parametrize("form", ["yolox", "yolov5"])
def test_the_layout_named_in_the_preprocessing_is_enough(tmp_path: Path, form: str) -> None:
    patch_finder(tmp_path / "m.onnx", form)
    start(tmp_path, {"model": "m.onnx", "output_layout": form}, {"model": "m.onnx"}, {})
    message = refusal(tmp_path, {"model": "m.onnx"}, {"model": "m.onnx"}, {"output_layout": form})
    assert "set output_layout to the one that it is, in the preprocessing: the postprocessing takes it" in message


@pytest.mark.parametrize("open_outputs", [False, True])
def test_pictures_made_for_another_form_are_refused_unless_the_file_says_how(
    tmp_path: Path, open_outputs: bool
) -> None:
    """Without a model the preprocessing makes what the shipped detector wants."""
    patch_finder(tmp_path / "m.onnx", "yolov8", size=(416, 416), open_outputs=open_outputs)
    pre = {"input_width": 416, "input_height": 416}
    post = {"output_layout": "yolov8"}
    said = {"resize": "letterbox", "channels": "rgb", "value_range": [0, 1]}
    start(tmp_path, {**pre, **said}, {"model": "m.onnx"}, post)
    if not open_outputs:  # else the first tensor tells
        message = refusal(tmp_path, pre, {"model": "m.onnx"}, post)
        assert "task post_front reads the network's output as yolov8, but task pre_front makes pictures" in message


def test_another_model_in_the_preprocessing_is_refused_even_where_its_input_is_alike(tmp_path: Path) -> None:
    for name in ("m.onnx", "n.onnx"):
        patch_finder(tmp_path / name, "yolov8")
    message = refusal(tmp_path, {"model": "n.onnx"}, {"model": "m.onnx"}, {})
    assert "task infer_front: model 'm.onnx' is not the one of task pre_front, 'n.onnx'" in message
    start(tmp_path, {"model": "./m.onnx"}, {"model": "m.onnx"}, {})


def test_every_form_has_a_custom() -> None:
    assert set(LAYOUTS) <= set(CUSTOMS)
    assert {Preprocess, Infer, Postprocess}


SIZE = (416, 416)


def layout_of(name: str) -> tuple[OutputLayout, Reading]:
    roles = {"ssd": ("boxes", "scores"), "ssd_nms": ("boxes", "scores", "classes")}.get(name, ("table",))
    box_format, units = ("yxyx", "fraction") if name.startswith("ssd") else ("xyxy", "pixels")
    return OutputLayout(name, {role: role for role in roles}), Reading(box_format, units)


def arrays_of(name: str, score: float, reach: float = 0.5) -> dict[str, np.ndarray]:
    """One object of class 1 out of three."""
    box = np.array([0.1, 0.1, reach, reach])
    if name == "ssd":
        return {"boxes": box[None, None].astype(np.float32), "scores": np.array([[[0, score, 0]]], np.float32)}
    if name == "ssd_nms":
        return {
            "boxes": box[None, None].astype(np.float32),
            "scores": np.array([[score]], np.float32),
            "classes": np.array([[1]], np.float32),
        }
    if name == "end2end":
        return {"table": np.array([[[*box, score, 1]]], np.float32)}
    objectness = [] if name == "yolov8" else [1.0]
    return {"table": np.array([[[*box, *objectness, 0, score, 0]]], np.float32)}


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "yolox"])
def test_scores_that_are_none_are_refused_in_every_form(name: str) -> None:
    layout, reading = layout_of(name)

    def read(score: float) -> np.ndarray:
        arrays = arrays_of(name, score)
        return read_candidates(layout, arrays, reading, classes=3, network_size=SIZE, min_score=0.3).scores

    for fine in (0.5, 1.0):
        assert read(fine).tolist() == [fine]
    assert read(1.0005).tolist() == [1.0]
    assert read(float("nan")).size == 0
    for score in (1.01, 4.0, 1e30):
        with pytest.raises(UnexpectedOutput, match=r"scores reach .*; set score_activation to sigmoid or softmax"):
            read(score)
    with pytest.raises(InfiniteScore):
        read(float("inf"))


@pytest.mark.parametrize("name", ["ssd", "ssd_nms"])
def test_boxes_in_pixels_that_are_read_as_fractions_are_refused(name: str) -> None:
    layout, reading = layout_of(name)
    with pytest.raises(UnexpectedOutput, match="boxes reach 150, which is no fraction of the picture; set box_units"):
        read_candidates(layout, arrays_of(name, 0.9, 150.0), reading, classes=3, network_size=SIZE, min_score=0.3)
    # One that reaches a little out of the picture is one.
    found = read_candidates(layout, arrays_of(name, 0.9, 1.4), reading, classes=3, network_size=SIZE, min_score=0.3)
    assert len(found.scores) == 1


@pytest.mark.parametrize(
    ("shape", "wanted", "words"),
    [
        ((1, 9, 1000), "auto", "fits 5 classes as yolov8, but not its number of boxes: an input of 416 x 416 pixels"),
        ((1, 10, 1001), "auto", "does not fit a list of 5 classes"),
        ((1, 1001, 10), "auto", "fits 5 classes as yolov5 or yolox, but not its number of boxes"),
        ((1, 1001, 10), "yolox", "has 3549 cells of strides 8, 16, 32; set strides"),
        ((2, 9, 3549), "auto", "is of 2 pictures at once, and one is read; export the model with a batch of 1"),
        ((4, 3549, 10), "yolox", "is of 4 pictures at once"),
    ],
)
def test_a_table_that_does_not_fit_is_told_why(shape: tuple[int, ...], wanted: str, words: str) -> None:
    table = TensorSignature("table", "float32", shape)
    with pytest.raises(NoLayout) as caught:
        find_layout([table], wanted=wanted, classes=5, network_size=SIZE)
    assert words in str(caught.value)


@pytest.mark.parametrize(("boxes", "scores"), [(200, 150), (1, 2)])
def test_outputs_of_different_numbers_of_boxes_are_refused_at_start(boxes: int, scores: int) -> None:
    settings = Postprocess(class_names=["a", "b", "c"])._stated
    assert isinstance(settings, DetectorSettings)
    held = [TensorSignature("boxes", "float32", (1, boxes, 4)), TensorSignature("scores", "float32", (1, scores, 3))]
    with pytest.raises(NoLayout, match=r"not of the same number of boxes \(boxes float32"):
        settings.resolve(held, SIZE, Path())
    after_nms = [
        TensorSignature("boxes", "float32", (1, boxes, 4)),
        TensorSignature("scores", "float32", (1, scores)),
        TensorSignature("classes", "int64", (1, scores)),
    ]
    with pytest.raises(NoLayout, match="not of the same number of boxes"):
        settings.resolve(after_nms, SIZE, Path())
