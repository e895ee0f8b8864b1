"""Object detection in camera frames: the network itself, and what turns its raw output into boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines import onnx_session
from pipelines.coco import COCO_IDS, COCO_NAMES, ROAD_USERS
from pipelines.parameters import checked_choice, checked_integer, checked_number, nearest
from rt_sched.errors import DeploymentError
from rt_sched.messages import Detections2D, Tensor
from rt_sched.ports import JobContext, StageBase, StageContext

#: The detector that ships: SSD-Lite with MobileNetV2, trained on COCO, INT8.
SHIPPED_MODEL = Path(__file__).parent / "models" / "coco_ssd_300_int8.onnx"


class Infer(StageBase):
    """Runs an ONNX model with one input on the CPU. Input `tensor`: Tensor; output `raw`: Tensor.

    Parameters:
        model: the model's file, relative to the system file; the shipped detector when not given.
        input_shape, input_dtype: what the preprocessing delivers; checked against the model at start.
        output_names: outputs to deliver, in this order; all of the model's when not given.

    Raises DeploymentError, naming the model's inputs and outputs, for a model or a tensor that does not fit.
    """

    inputs: ClassVar[Mapping[str, type]] = {"tensor": Tensor}
    outputs: ClassVar[Mapping[str, type]] = {"raw": Tensor}

    def __init__(
        self,
        *,
        model: str | None = None,
        input_shape: Sequence[int] = (1, 3, 300, 300),
        input_dtype: str = "float32",
        output_names: Sequence[str] | None = None,
    ) -> None:
        if model is not None and (not isinstance(model, str) or not model):
            raise ValueError(f"model: {model!r} is not the path of a file")
        if isinstance(input_shape, str) or not isinstance(input_shape, Sequence) or not input_shape:
            raise ValueError(f"input_shape: {input_shape!r} is not a list of sizes, such as [1, 3, 300, 300]")
        self._model = model
        self._shape = tuple(checked_integer("input_shape", size, low=1, high=1 << 20) for size in input_shape)
        self._dtype = checked_choice("input_dtype", input_dtype, ("float32", "uint8"))
        self._wanted = _checked_names("output_names", output_names)
        self._names: tuple[str, ...] = ()
        self._session: onnx_session.ModelSession | None = None

    def start(self, context: StageContext) -> None:
        """Loads the model and runs it once, so that no job pays for the first run's allocations."""
        path = SHIPPED_MODEL if self._model is None else context.base_dir / self._model
        session = onnx_session.acquire(path)
        try:
            self._names = self._fitting_outputs(session)
            session.run(np.zeros(self._shape, self._dtype), self._names)
        except BaseException:
            onnx_session.release(session)
            raise
        self._session = session

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        tensor: Tensor = inputs["tensor"]
        session = self._session
        if session is None:
            raise DeploymentError(f"task {job.task}: the detector was not started")
        array = tensor.arrays[0]
        if not session.signature.inputs[0].accepts(array.shape, array.dtype.name):
            raise DeploymentError(
                f"task {job.task}: the tensor {array.dtype.name}{list(array.shape)} does not fit the model "
                f"{session.path} ({session.signature}); set the preprocessing's input_width, input_height, layout "
                "and dtype accordingly"
            )
        return {
            "raw": Tensor(
                capture_time_ns=tensor.capture_time_ns,
                frame_id=tensor.frame_id,
                names=self._names,
                arrays=session.run(array, self._names),
                recorded_height=tensor.recorded_height,
                recorded_width=tensor.recorded_width,
                scale_xy=tensor.scale_xy,
                offset_xy=tensor.offset_xy,
                network_height=tensor.network_height,
                network_width=tensor.network_width,
            )
        }

    def stop(self) -> None:
        """Gives the model back; the last stage that uses it frees it."""
        if self._session is not None:
            onnx_session.release(self._session)
            self._session = None

    def _fitting_outputs(self, session: onnx_session.ModelSession) -> tuple[str, ...]:
        signature = session.signature
        if len(signature.inputs) != 1 or not signature.inputs[0].accepts(self._shape, self._dtype):
            raise DeploymentError(
                f"model {session.path} does not take one {self._dtype}{list(self._shape)} tensor; it has {signature}"
            )
        names = tuple(output.name for output in signature.outputs)
        for name in self._wanted or ():
            if name not in names:
                raise DeploymentError(f"model {session.path} has no output {name!r}; {nearest(name, names)}")
        return self._wanted or names


class Postprocess(StageBase):
    """Raw SSD output -> boxes in recorded pixels. Input `raw`: Tensor; output `detections`: Detections2D.

    The tensor holds boxes [1, n, 1, 4] or [1, n, 4] (y_min, x_min, y_max, x_max as fractions of the network's input)
    and scores [1, n, classes] for COCO's identifiers from 1 on, in this order. A box gets its best class.
    Detections are ordered by falling score, ties by the network's own order.

    Parameters:
        camera: sensor that the boxes belong to; found in the task's name when not given.
        score_threshold: least score, 0..1. iou_threshold: overlap above which the weaker box of a class goes, 0..1.
        classes: COCO names to keep; road users when not given. max_detections: most boxes per frame.
    """

    inputs: ClassVar[Mapping[str, type]] = {"raw": Tensor}
    outputs: ClassVar[Mapping[str, type]] = {"detections": Detections2D}

    def __init__(
        self,
        *,
        camera: str | None = None,
        score_threshold: float = 0.35,
        iou_threshold: float = 0.5,
        classes: Sequence[str] = ROAD_USERS,
        max_detections: int = 100,
    ) -> None:
        if camera is not None and (not isinstance(camera, str) or not camera):
            raise ValueError(f"camera: {camera!r} is not the name of a sensor")
        self._wanted_camera = camera
        self._camera = camera or ""
        self._score_threshold = checked_number("score_threshold", score_threshold, low=0.0, high=1.0)
        self._iou_threshold = checked_number("iou_threshold", iou_threshold, low=0.0, high=1.0)
        self._max_detections = checked_integer("max_detections", max_detections, low=1, high=10_000)
        names = _checked_names("classes", classes)
        for name in names or ():
            checked_choice("classes", name, COCO_IDS)
        self._class_ids = np.array(sorted({COCO_IDS[name] for name in names or ()}), np.int32)

    def start(self, context: StageContext) -> None:
        """Settles which camera the boxes belong to. Raises DeploymentError when that is unknown."""
        self._camera = _camera_of(context, self._wanted_camera)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raw: Tensor = inputs["raw"]
        boxes, scores = _ssd_outputs(raw, job.task)
        candidates = np.flatnonzero(scores.max(axis=1) >= self._score_threshold)
        best = scores[candidates].argmax(axis=1)
        class_ids = (best + 1).astype(np.int32)
        boxes_px = _recorded_pixels(boxes[candidates], raw)
        usable = (
            np.isin(class_ids, self._class_ids) & (boxes_px[:, 2] > boxes_px[:, 0]) & (boxes_px[:, 3] > boxes_px[:, 1])
        )
        boxes_px, class_ids = boxes_px[usable], class_ids[usable]
        kept_scores = scores[candidates, best][usable]
        keep = suppress_overlaps(boxes_px, kept_scores, class_ids, self._iou_threshold)[: self._max_detections]
        return {
            "detections": Detections2D(
                capture_time_ns=raw.capture_time_ns,
                frame_id=raw.frame_id,
                camera=self._camera,
                image_height=raw.recorded_height,
                image_width=raw.recorded_width,
                boxes_px=boxes_px[keep],
                scores=kept_scores[keep].astype(np.float32),
                class_ids=class_ids[keep],
                class_names=tuple(COCO_NAMES[int(i)] for i in class_ids[keep]),
            )
        }


def suppress_overlaps(
    boxes_px: npt.NDArray[np.float32],
    scores: npt.NDArray[np.float32],
    class_ids: npt.NDArray[np.int32],
    iou_threshold: float,
) -> npt.NDArray[np.intp]:
    """Class-wise non-maximum suppression: indices of the boxes that stay, by falling score.

    `boxes_px`: float32[n, 4] as x_min, y_min, x_max, y_max; `scores`: float32[n]; `class_ids`: int32[n].
    A box goes when a stronger one of its class that stays overlaps it with more than `iou_threshold` (intersection
    over union). Of equal scores the earlier box is the stronger.
    """
    order = np.argsort(-scores, kind="stable")
    boxes, classes = boxes_px[order].astype(np.float64), class_ids[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    alive = np.ones(len(order), np.bool_)
    for index in range(len(order)):
        if not alive[index]:
            continue
        weaker = index + 1 + np.flatnonzero(alive[index + 1 :] & (classes[index + 1 :] == classes[index]))
        corner_min = np.maximum(boxes[index, :2], boxes[weaker, :2])
        corner_max = np.minimum(boxes[index, 2:], boxes[weaker, 2:])
        common = np.prod(np.clip(corner_max - corner_min, 0.0, None), axis=1)
        alive[weaker[common > iou_threshold * (areas[index] + areas[weaker] - common)]] = False
    return order[alive]


def _recorded_pixels(fractions: npt.NDArray[np.float32], raw: Tensor) -> npt.NDArray[np.float32]:
    """float32[n, 4] y_min, x_min, y_max, x_max of the network's input -> x_min, y_min, x_max, y_max, clipped.

    Boxes with a value that is not finite come out empty.
    """
    size = np.array([raw.network_width, raw.network_height] * 2, np.float64)
    offset, scale = np.array(raw.offset_xy * 2), np.array(raw.scale_xy * 2)
    limits = np.array([raw.recorded_width, raw.recorded_height] * 2, np.float64)
    fractions = np.where(np.isfinite(fractions).all(axis=1, keepdims=True), fractions, 0.0)
    pixels = (fractions[:, [1, 0, 3, 2]] * size - offset) / scale
    clipped: npt.NDArray[np.float32] = np.clip(pixels, 0.0, limits).astype(np.float32)
    return clipped


def _ssd_outputs(raw: Tensor, task: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Boxes float32[n, 4] and scores float32[n, classes]; raises DeploymentError when the tensor holds no such pair."""
    shapes = [array.shape for array in raw.arrays]
    if len(shapes) == 2 and raw.network_height > 0 and len(shapes[0]) >= 3 and len(shapes[1]) == 3:
        boxes_shape, scores_shape = shapes
        anchors, classes = scores_shape[1:]
        if boxes_shape in ((1, anchors, 1, 4), (1, anchors, 4)) and 1 <= classes <= max(COCO_NAMES):
            boxes, scores = raw.arrays
            return (
                boxes.reshape(anchors, 4).astype(np.float32, copy=False),
                scores[0].astype(np.float32, copy=False),
            )
    listed = "; ".join(f"{name} {list(shape)}" for name, shape in zip(raw.names, shapes, strict=True))
    raise DeploymentError(
        f"task {task}: SSD output is boxes [1, n, 1, 4] and scores [1, n, 1..90] of an image network; got {listed}"
    )


def _camera_of(context: StageContext, wanted: str | None) -> str:
    """The parameter, else the camera with the longest name that the task's name contains, else the only camera."""
    cameras = sorted(name for name, sensor in context.sensors.items() if sensor.kind == "camera")
    if wanted is not None:
        if context.sensors and wanted not in cameras:
            raise DeploymentError(f"task {context.task}: camera {wanted!r} is not a camera; {nearest(wanted, cameras)}")
        return wanted
    if not context.sensors:
        return context.task
    named = sorted((name for name in cameras if name in context.task), key=len)
    if named:
        return named[-1]
    if len(cameras) == 1:
        return cameras[0]
    raise DeploymentError(
        f"task {context.task}: which camera its boxes belong to is unclear; set the parameter camera to one of: "
        f"{', '.join(cameras) if cameras else '(the system has no camera)'}"
    )


def _checked_names(name: str, value: Sequence[str] | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise ValueError(f"{name}: {value!r} is not a list of names")
    for item in value:
        if not isinstance(item, str):
            raise ValueError(f"{name}: {item!r} is not a name")
    return tuple(value)
