"""Object detection in camera frames: the network itself, and what turns its raw output into boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines import onnx_session
from pipelines.cameras import camera_of
from pipelines.class_lists import ClassList
from pipelines.connected_preprocessing import agreed_settings, made_picture, refuse_other_custom, refuse_other_model
from pipelines.detector_decoding import Candidates, InfiniteScore, UnexpectedOutput, read_candidates
from pipelines.detector_layouts import NoLayout, OpenLayout, OutputLayout
from pipelines.detector_settings import DetectorSettings
from pipelines.model_input import INPUT_DTYPES, shape_of_model
from pipelines.parameters import checked_choice, checked_integer, checked_names, checked_number, checked_path, nearest
from pipelines.raw_outputs import listed, named_arrays, recorded_pixels, signatures_of
from pipelines.suppression import suppress_overlaps
from rt_sched.errors import DeploymentError
from rt_sched.messages import Detections2D, Tensor
from rt_sched.ports import Feeder, JobContext, Rejected, StageBase, StageContext

#: The detector that ships: SSD-Lite with MobileNetV2, trained on COCO, INT8.
SHIPPED_MODEL = Path(__file__).parent / "models" / "coco_ssd_300_int8.onnx"

_INFER = "pipelines.detector:Infer"


class Infer(StageBase):
    """Runs an ONNX model with one input on the CPU. Input `tensor`: Tensor; output `raw`: Tensor.

    Any network of one picture: a detector, a segmentation. What the preprocessing delivers is checked at start.

    Parameters:
        model: the model's file, relative to the system file; the shipped detector when not given.
        input_shape, input_dtype: what the preprocessing delivers, where another stage than `pipelines.camera` does;
            else the model's own shape.
        output_names: outputs to deliver, in this order; all of the model's when not given.

    Raises DeploymentError, naming the model's inputs and outputs, for a model or a tensor that does not fit.
    """

    inputs: ClassVar[Mapping[str, type]] = {"tensor": Tensor}
    outputs: ClassVar[Mapping[str, type]] = {"raw": Tensor}

    def __init__(
        self,
        *,
        model: str | None = None,
        input_shape: Sequence[int] | None = None,
        input_dtype: str | None = None,
        output_names: Sequence[str] | None = None,
    ) -> None:
        self.model = checked_path("model", model)
        if input_shape is not None and (
            isinstance(input_shape, str) or not isinstance(input_shape, Sequence) or not input_shape
        ):
            raise ValueError(f"input_shape: {input_shape!r} is not a list of sizes, such as [1, 3, 300, 300]")
        self._shape = (
            None
            if input_shape is None
            else tuple(checked_integer("input_shape", size, low=1, high=1 << 20) for size in input_shape)
        )
        self._dtype = None if input_dtype is None else checked_choice("input_dtype", input_dtype, INPUT_DTYPES)
        self.output_names = checked_names("output_names", output_names)
        self._names: tuple[str, ...] = ()
        self._session: onnx_session.ModelSession | None = None
        self._running: Any = None

    def start(self, context: StageContext) -> None:
        """Loads the model and runs it once, so that no job pays for the first run's allocations."""
        session = acquire_model(context.base_dir, self.model)
        try:
            shape, dtype = self._delivered(session, context)
            self._names = self._fitting_outputs(session, shape, dtype)
            session.run(np.zeros(shape, dtype), self._names)
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
                f"{session.path} ({session.signature}); set the preprocessing's model, or its input_width, "
                "input_height, layout and dtype accordingly"
            )
        self._running = options = onnx_session.run_options()
        return {
            "raw": Tensor(
                capture_time_ns=tensor.capture_time_ns,
                frame_id=tensor.frame_id,
                names=self._names,
                arrays=session.run(array, self._names, options),
                recorded_height=tensor.recorded_height,
                recorded_width=tensor.recorded_width,
                scale_xy=tensor.scale_xy,
                offset_xy=tensor.offset_xy,
                network_height=tensor.network_height,
                network_width=tensor.network_width,
            )
        }

    def stop_job(self) -> None:
        """Ends the network early, from another thread."""
        if self._running is not None:
            self._running.terminate = True

    def stop(self) -> None:
        """Gives the model back; the last stage that uses it frees it."""
        if self._session is not None:
            onnx_session.release(self._session)
            self._session = None

    def _delivered(self, session: onnx_session.ModelSession, context: StageContext) -> tuple[tuple[int, ...], str]:
        """Shape and type of the tensors to come: as stated, else as the preprocessing makes them, else as the model
        wants them."""
        if self._shape is not None:
            return self._shape, self._dtype or "float32"
        refuse_other_model(context, self.model, shipped=SHIPPED_MODEL)
        made = made_picture(context.feeders.get("tensor"), context.base_dir)
        if made is not None:
            if len(session.signature.inputs) != 1 or not session.signature.inputs[0].accepts(
                made.tensor_shape, made.dtype
            ):
                raise DeploymentError(
                    f"model {session.path} does not take one {made} tensor, which task "
                    f"{context.feeders['tensor'].task} makes; it has {session.signature}; set model there too, or "
                    "input_width, input_height, layout and dtype"
                )
            return made.tensor_shape, made.dtype
        try:
            shape = shape_of_model(session.signature, dtype=self._dtype)
        except DeploymentError as error:
            raise DeploymentError(
                f"model {session.path}: {error}; it has {session.signature}; set input_shape to what is delivered"
            ) from error
        return shape.tensor_shape, shape.dtype

    def _fitting_outputs(
        self, session: onnx_session.ModelSession, shape: tuple[int, ...], dtype: str
    ) -> tuple[str, ...]:
        signature = session.signature
        if len(signature.inputs) != 1 or not signature.inputs[0].accepts(shape, dtype):
            raise DeploymentError(
                f"model {session.path} does not take one {dtype}{list(shape)} tensor; it has {signature}"
            )
        names = tuple(output.name for output in signature.outputs)
        for name in self.output_names or ():
            if name not in names:
                raise DeploymentError(f"model {session.path} has no output {name!r}; {nearest(name, names)}")
        return self.output_names or names


class Postprocess(StageBase):
    """Raw detector output -> boxes in recorded pixels. Input `raw`: Tensor; output `detections`: Detections2D.

    A box gets its best class. Detections are ordered by falling score, ties by the network's own order.

    Parameters:
        camera: sensor that the boxes belong to; found in the task's name when not given.
        model: whose output this is; that of the inference before it when not given. Its outputs are checked at start.
        output_layout: see `pipelines.detector_layouts`; "auto" where the outputs tell, or what the preprocessing says.
            outputs: what an output holds
            (boxes, scores, classes, count, table) -> its name, where neither shape nor name tell.
        box_format: "yxyx", "xyxy", "cxcywh" or "xywh"; box_units: "fraction" of the network's input, or "pixels".
        score_activation: "none", "sigmoid" or "softmax", for networks that hand out logits.
        background: "none", or the "first" or "last" score column means no object. first_class: number of the first
            class, for layouts with class numbers. strides: of YOLOX grids, in pixels.
        class_names: list of names by the model's class number, a built-in list ("coco80", "coco91") or a file; that
            of the layout's usual training when not given. class_map: the model's name -> the published one.
        classes: published names to keep; when not given, road users, or all of a list without any.
        score_threshold: least score, 0..1. score_thresholds: published name -> its own least score.
        iou_threshold: overlap above which the weaker box of a class goes, 0..1.
        max_detections: most boxes per frame. max_candidates: most boxes that are compared with each other.

    Raises ValueError for parameters out of range, DeploymentError, naming the model's outputs, for one that
    does not fit.
    """

    inputs: ClassVar[Mapping[str, type]] = {"raw": Tensor}
    outputs: ClassVar[Mapping[str, type]] = {"detections": Detections2D}
    sensor_parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {"camera": ("camera",)}

    def __init__(
        self,
        *,
        camera: str | None = None,
        model: str | None = None,
        output_layout: str = "auto",
        outputs: Mapping[str, str] | None = None,
        box_format: str | None = None,
        box_units: str | None = None,
        score_activation: str = "none",
        background: str = "none",
        first_class: int = 0,
        strides: Sequence[int] = (8, 16, 32),
        class_names: Sequence[str] | str | None = None,
        class_map: Mapping[str, str] | None = None,
        classes: Sequence[str] | None = None,
        score_threshold: float = 0.35,
        score_thresholds: Mapping[str, float] | None = None,
        iou_threshold: float = 0.5,
        max_detections: int = 100,
        max_candidates: int = 1000,
    ) -> None:
        if camera is not None and (not isinstance(camera, str) or not camera):
            raise ValueError(f"camera: {camera!r} is not the name of a sensor")
        self._wanted_camera = camera
        self._camera = camera or ""
        self.model = checked_path("model", model)
        self._stated = DetectorSettings.checked(
            output_layout=output_layout,
            outputs=outputs,
            box_format=box_format,
            box_units=box_units,
            score_activation=score_activation,
            background=background,
            first_class=first_class,
            strides=strides,
            class_names=class_names,
            class_map=class_map,
            classes=classes,
            score_threshold=score_threshold,
            score_thresholds=score_thresholds,
        )
        self._iou_threshold = checked_number("iou_threshold", iou_threshold, low=0.0, high=1.0)
        self._max_detections = checked_integer("max_detections", max_detections, low=1, high=10_000)
        self._max_candidates = checked_integer("max_candidates", max_candidates, low=1, high=10_000)
        self._settings = self._stated
        self._preprocessing: Feeder | None = None
        self._base_dir = Path()
        self._resolved: tuple[OutputLayout, ClassList, npt.NDArray[np.float32]] | None = None

    def start(self, context: StageContext) -> None:
        """Settles camera, layout and classes. Raises DeploymentError when one is unknown or the model does not fit."""
        self._camera = camera_of(context, self._wanted_camera)
        self._base_dir = context.base_dir
        self._resolved = None
        feeder = context.feeders.get("raw")
        infer = Infer(**feeder.parameters) if feeder is not None and feeder.stage == _INFER else None
        self._preprocessing = None if infer is None or feeder is None else feeder.feeders.get("tensor")
        self._settings = agreed_settings(self._stated, self._preprocessing, context.task)
        model = self.model or (infer.model if infer else None)
        if infer is not None and self.model and infer.model != self.model:
            raise DeploymentError(
                f"task {context.task}: model {self.model!r} is not the one of task {feeder.task if feeder else ''}, "
                f"{infer.model or 'the shipped one'!r}"
            )
        if model is None and infer is None:
            return  # what comes is told by the first tensor
        session = acquire_model(context.base_dir, model)
        try:
            signature = session.signature
            delivered = infer.output_names if infer else None
            known = [output for output in signature.outputs if delivered is None or output.name in delivered]
            size = _network_size(signature)
            resolved = self._settings.resolve(known, size, context.base_dir)
            refuse_other_custom(self._preprocessing, context.base_dir, resolved[0], context.task)
            self._resolved = resolved
        except OpenLayout:
            self._resolved = None  # the first tensor tells
        except (NoLayout, DeploymentError) as error:
            raise DeploymentError(
                f"task {context.task}: model {session.path}: {error}; it has {session.signature}"
            ) from error
        finally:
            onnx_session.release(session)

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raw: Tensor = inputs["raw"]
        try:
            if raw.network_height < 1 or raw.network_width < 1:
                raise UnexpectedOutput("the output of a network whose input is no picture")
            if self._resolved is None:
                self._resolved = self._settings.resolve(
                    signatures_of(raw), (raw.network_height, raw.network_width), self._base_dir
                )
                refuse_other_custom(self._preprocessing, self._base_dir, self._resolved[0], job.task)
            layout, known, thresholds = self._resolved
            candidates = read_candidates(
                layout,
                named_arrays(layout, raw),
                self._settings.reading(layout),
                classes=len(known),
                network_size=(raw.network_height, raw.network_width),
                min_score=float(thresholds.min()),
            )
        except InfiniteScore as error:
            raise Rejected(str(error)) from error
        except (UnexpectedOutput, NoLayout) as error:
            raise DeploymentError(f"task {job.task}: {error}; what came is {listed(raw)}") from error
        return {"detections": self._detections(raw, candidates, known, thresholds)}

    def _detections(
        self, raw: Tensor, found: Candidates, known: ClassList, thresholds: npt.NDArray[np.float32]
    ) -> Detections2D:
        boxes_px = recorded_pixels(found.boxes_px, raw)
        usable = np.flatnonzero(
            (found.scores >= thresholds[found.classes])
            & (boxes_px[:, 2] > boxes_px[:, 0])
            & (boxes_px[:, 3] > boxes_px[:, 1])
        )
        if len(usable) > self._max_candidates:
            usable = usable[np.argsort(-found.scores[usable], kind="stable")[: self._max_candidates]]
        ids = known.ids[found.classes[usable]]
        keep = suppress_overlaps(boxes_px[usable], found.scores[usable], ids, self._iou_threshold)
        kept = usable[keep[: self._max_detections]]
        return Detections2D(
            capture_time_ns=raw.capture_time_ns,
            frame_id=raw.frame_id,
            camera=self._camera,
            image_height=raw.recorded_height,
            image_width=raw.recorded_width,
            boxes_px=boxes_px[kept],
            scores=found.scores[kept],
            class_ids=known.ids[found.classes[kept]],
            class_names=tuple(known.published[number] for number in found.classes[kept]),
        )


def acquire_model(base_dir: Path, model: str | None) -> onnx_session.ModelSession:
    """The session of a stage's parameter `model`; the shipped detector's for None. To be released."""
    return onnx_session.acquire(SHIPPED_MODEL if model is None else base_dir / model)


def feeding_model(feeder: Feeder | None) -> str | None:
    """The parameter `model` of a connected inference."""
    if feeder is None or feeder.stage != _INFER:
        return None
    return Infer(**feeder.parameters).model


def _network_size(signature: onnx_session.ModelSignature) -> tuple[int, int] | None:
    """Height and width of the model's input where its signature states them."""
    try:
        shape = shape_of_model(signature)
    except DeploymentError:
        return None
    return shape.height, shape.width
