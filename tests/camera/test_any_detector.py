"""Detectors that the product has never seen work through configuration alone, or are refused at start with reasons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_models import COLOURS, patch_finder

from pipelines.camera import Preprocess
from pipelines.detector import Infer, Postprocess
from pipelines.image_detector import ImageDetector
from rt_sched.errors import DeploymentError
from rt_sched.messages import Detections2D
from rt_sched.ports import Feeder, StageContext

#: Patches in a frame of 300 rows and 500 columns: colour -> x_min, y_min, x_max, y_max.
PATCHES = {"red": (40, 60, 140, 180), "green": (200, 20, 320, 120), "blue": (330, 170, 480, 290)}
PAINT = {"red": (0, 0, 255), "green": (0, 255, 0), "blue": (255, 0, 0)}


def frame() -> np.ndarray:
    bgr = np.full((300, 500, 3), 128, np.uint8)
    for colour, (left, top, right, bottom) in PATCHES.items():
        bgr[top:bottom, left:right] = PAINT[colour]
    return bgr


def detector(model: Path, **parameters: Any) -> ImageDetector:
    limits = {"max_detections": 10_000, "max_candidates": 10_000, "score_threshold": 0.9}
    return ImageDetector(model.name, base_dir=model.parent, class_names=COLOURS, **limits, **parameters)


def assert_patches_found(found: Detections2D) -> None:
    """Each patch is covered by boxes of its own class, and nothing else is found."""
    assert set(found.class_names) == set(COLOURS)
    for colour, (left, top, right, bottom) in PATCHES.items():
        boxes = found.boxes_px[[name == colour for name in found.class_names]]
        covered = np.zeros((300, 500), bool)
        for x_min, y_min, x_max, y_max in boxes.round().astype(int):
            covered[y_min:y_max, x_min:x_max] = True
        patch = np.zeros_like(covered)
        patch[top:bottom, left:right] = True
        assert (covered & patch).sum() > 0.6 * patch.sum(), colour
        assert (covered & ~patch).sum() < 0.1 * patch.sum(), colour


@pytest.mark.parametrize(
    ("form", "model", "parameters"),
    [
        ("yolox", {}, {"output_layout": "yolox"}),
        ("yolox", {"size": (640, 640)}, {"output_layout": "yolox"}),
        ("yolox", {"size": (416, 640)}, {"output_layout": "yolox"}),
        ("yolox", {"open_batch": True}, {"output_layout": "yolox"}),
        (
            "yolox",
            {"strides": (8, 16, 32, 64), "size": (448, 640)},
            {"output_layout": "yolox", "strides": [8, 16, 32, 64]},
        ),
        (
            "yolox",
            {"open_size": True, "size": (352, 608)},
            {"output_layout": "yolox", "input_width": 608, "input_height": 352},
        ),
        ("yolov5", {"size": (640, 640), "per_cell": 3}, {}),
        ("yolov5", {"size": (320, 480), "per_cell": 3}, {}),
        ("yolov5", {"size": (640, 640)}, {"output_layout": "yolov5"}),
        ("yolov8", {"size": (640, 640)}, {}),
        ("yolov8", {"size": (384, 640)}, {}),
        ("yolov8", {"size": (416, 416), "rows": True}, {"output_layout": "yolov8"}),
        ("yolov8", {"size": (640, 640), "dtype": "float16"}, {}),
        ("yolov8", {"open_outputs": True}, {"output_layout": "yolov8"}),
        ("yolov8", {"open_outputs": True, "rows": True}, {"output_layout": "yolov8"}),
        ("yolov5", {"size": (320, 320), "per_cell": 3, "raw_grids": True}, {}),
        ("yolox", {"open_outputs": True}, {"output_layout": "yolox"}),
        ("end2end", {"strides": (16,)}, {}),
        ("ssd", {"size": (304, 304)}, {}),
        ("ssd", {"size": (304, 304), "boxes_first": False}, {}),
        ("ssd", {"size": (304, 304), "flat_boxes": False}, {}),
        ("ssd", {"size": (304, 304), "interleaved": True, "dtype": "uint8"}, {}),
        ("ssd", {"size": (304, 304), "background": "first"}, {"background": "first"}),
        ("ssd", {"size": (304, 304), "background": "last"}, {"background": "last"}),
        ("ssd", {"size": (304, 304), "logits": True}, {"score_activation": "sigmoid"}),
        (
            "ssd",
            {"size": (304, 304), "names": {"boxes": "a", "scores": "b"}},
            {"outputs": {"boxes": "a", "scores": "b"}},
        ),
        ("ssd_nms", {"size": (304, 304)}, {}),
        ("ssd_nms", {"size": (304, 304), "boxes_first": False}, {}),
        ("ssd_nms", {"size": (304, 304), "count": False}, {}),
        ("ssd_nms", {"size": (304, 304), "interleaved": True}, {}),
    ],
)
def test_finds_what_is_there(
    tmp_path: Path, form: str, model: Mapping[str, Any], parameters: Mapping[str, Any]
) -> None:
    with detector(patch_finder(tmp_path / "m.onnx", form, **model), **parameters) as found:
        assert_patches_found(found(frame()))


def test_parameters_outdo_what_is_usual(tmp_path: Path) -> None:
    """The same network fed in another way than its form's custom: said in the file, it finds the same."""
    path = patch_finder(tmp_path / "m.onnx", "yolov8", size=(416, 416))
    with detector(path, resize="stretch", mean=[0.0, 0.0, 0.0], std=[1.0, 1.0, 1.0]) as found:
        assert_patches_found(found(frame()))
    with detector(path, padding="corner", padding_value=0) as found:
        assert_patches_found(found(frame()))
    with detector(path, channels="bgr") as found:
        swapped = found(frame())
    boxes = swapped.boxes_px[[name == "blue" for name in swapped.class_names]]
    assert boxes[:, 0].min() < 60, "red patches look blue to a network that is fed the wrong way round"


def test_scores_and_classes_are_kept_by_class(tmp_path: Path) -> None:
    path = patch_finder(tmp_path / "m.onnx", "yolov8", size=(416, 416))
    with detector(path, classes=["red", "blue"], score_thresholds={"blue": 0.999}) as found:
        detections = found(frame())
    scores = {name: detections.scores[[n == name for n in detections.class_names]] for name in COLOURS}
    assert scores["green"].size == 0
    assert scores["red"].min() < 0.999
    assert scores["blue"].min() >= 0.999


@pytest.mark.parametrize("suffix", ["txt", "yaml", "json"])
def test_class_list_from_a_file(tmp_path: Path, suffix: str) -> None:
    text = {
        "txt": "Pedestrian\n\nVan\n",
        "yaml": "names:\n  0: Pedestrian\n  2: Van\n",
        "json": '["Pedestrian", "", "Van"]',
    }[suffix]
    (tmp_path / f"classes.{suffix}").write_text(text)
    path = patch_finder(tmp_path / "m.onnx", "yolov8", size=(416, 416))
    with ImageDetector("m.onnx", base_dir=tmp_path, class_names=f"classes.{suffix}", max_detections=5000) as found:
        detections = found(frame())
    assert set(detections.class_names) == {"person", "car"}
    assert set(detections.class_ids.tolist()) == {1, 3}
    assert path.exists()


def context(base_dir: Path, **feeders: Feeder) -> StageContext:
    return StageContext("front", base_dir, {}, feeders=feeders)


class TestRefusedAtStart:
    """Every refusal shows the model's own signature."""

    @staticmethod
    def refusal(tmp_path: Path, **parameters: Any) -> str:
        with pytest.raises(DeploymentError) as caught, detector(tmp_path / "m.onnx", **parameters):
            pass
        assert "picture float32[1, 3, 416, 416]" in str(caught.value)
        return str(caught.value)

    def test_grids_that_may_be_raw_or_decoded(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolox")
        message = self.refusal(tmp_path)
        assert "table float32[1, 3549, 8] may be yolov5 or yolov8 or yolox; set output_layout" in message

    def test_another_class_list(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        with pytest.raises(DeploymentError, match="does not fit a list of 80 classes") as caught:
            ImageDetector("m.onnx", base_dir=tmp_path).start()
        assert "table float32[1, 7, 3549]" in str(caught.value)

    def test_another_layout(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        assert "does not fit a list of 3 classes (yolov5 and yolox: [1, n, 8]" in self.refusal(
            tmp_path, output_layout="yolox"
        )
        assert "the outputs are not ssd" in self.refusal(tmp_path, output_layout="ssd")

    def test_a_yolox_of_other_strides(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolox", strides=(8, 16))
        message = self.refusal(tmp_path, output_layout="yolox")
        assert "fits 3 classes as yolox, but not its number of boxes" in message
        assert "416 x 416 pixels has 3549 cells of strides 8, 16, 32; set strides; it has" in message

    def test_another_size(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        assert "takes pictures of another size than input_width: 320" in self.refusal(tmp_path, input_width=320)

    def test_another_type_or_order(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        assert "takes float32, not dtype: uint8" in self.refusal(tmp_path, dtype="uint8")
        assert "does not take a picture of three colours as nhwc" in self.refusal(tmp_path, layout="nhwc")

    def test_a_background_that_nobody_named(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "ssd", background="first")
        assert "3 classes make 3; set background to first or last" in self.refusal(tmp_path)

    def test_outputs_that_look_alike(self, tmp_path: Path) -> None:
        names = {"boxes": "a", "scores": "b", "classes": "c", "count": "d"}
        patch_finder(tmp_path / "m.onnx", "ssd_nms", names=names, interleaved=False)
        with detector(tmp_path / "m.onnx", outputs=names) as found:
            assert_patches_found(found(frame()))
        assert "there is no output 'e'" in self.refusal(tmp_path, outputs={**names, "boxes": "e"})

    def test_an_open_size(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolox", open_size=True)
        with pytest.raises(DeploymentError, match="leaves the size of its input open; set input_height") as caught:
            detector(tmp_path / "m.onnx", output_layout="yolox").start()
        assert "picture float32[1, 3, ?, ?]" in str(caught.value)

    def test_preprocessing_of_another_model(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        stage = Infer(model="m.onnx")
        feeder = Feeder("pre_front", "pipelines.camera:Preprocess", {})
        with pytest.raises(DeploymentError, match=r"does not take one float32\[1, 3, 300, 300\] tensor") as caught:
            stage.start(context(tmp_path, tensor=feeder))
        assert "task pre_front makes; it has inputs: picture float32[1, 3, 416, 416]" in str(caught.value)

    def test_postprocessing_of_another_model(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "yolov8")
        feeder = Feeder("infer_front", "pipelines.detector:Infer", {"model": "m.onnx"})
        with pytest.raises(DeploymentError, match="does not fit a list of 80 classes"):
            Postprocess().start(context(tmp_path, raw=feeder))
        with pytest.raises(DeploymentError, match=r"'n\.onnx' is not the one of task infer_front, 'm\.onnx'"):
            Postprocess(model="n.onnx").start(context(tmp_path, raw=feeder))

    def test_an_output_that_is_not_delivered(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "ssd")
        feeder = Feeder("infer_front", "pipelines.detector:Infer", {"model": "m.onnx", "output_names": ["boxes"]})
        with pytest.raises(DeploymentError, match="does not fit"):
            Postprocess(class_names=COLOURS).start(context(tmp_path, raw=feeder))

    def test_a_model_without_a_picture(self, tmp_path: Path) -> None:
        patch_finder(tmp_path / "m.onnx", "ssd", interleaved=True)
        with pytest.raises(DeploymentError, match="does not take a picture of three colours as nchw"):
            Preprocess(model="m.onnx", layout="nchw").start(context(tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory; built in are coco80, coco91"),
        (b"\xff\xfe\x00", "is not a text file"),
        (b"\n\n", "no entry of the list has a name"),
    ],
)
def test_a_class_list_that_is_none(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "classes.txt").write_bytes(content)
    patch_finder(tmp_path / "m.onnx", "yolov8")
    with pytest.raises(DeploymentError) as caught:
        ImageDetector("m.onnx", base_dir=tmp_path, class_names="classes.txt").start()
    assert message in str(caught.value)
