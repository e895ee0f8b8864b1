"""From a recorded camera frame to a network's input tensor: decode, resize, reorder, normalise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines import onnx_session
from pipelines.detector_layouts import LAYOUTS, SeveralLayouts
from pipelines.model_input import (
    CUSTOMS,
    INPUT_DTYPES,
    PLACES,
    RESIZES,
    Custom,
    PictureShape,
    custom_of_model,
    shape_of_model,
    value_tables,
)
from pipelines.parameters import checked_choice, checked_integer, checked_path
from rt_sched.errors import DataError, DeploymentError
from rt_sched.messages import CameraImage, EncodedImage, Tensor
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext

#: Size in pixels of the shipped detector's input, which is taken when neither a model nor a size is stated.
_DEFAULT_SIZE = 300


class Preprocess(StageBase):
    """Camera frame -> network input. Input `image`: EncodedImage; output `tensor`: Tensor.

    The frame is decoded in `preprocess`, which runs ahead of the job; `process` does the rest. A jpeg is decoded at
    1/2, 1/4 or 1/8 of its size where that still gives the pixels that the network's input needs.

    Parameters, each taken from the model where it is not given, or from the custom of networks with its form of
    output (docs/perception/camera.md lists both):
        model: the network's file, relative to the system file; the shipped detector when not given.
        output_layout: form of the network's output, "auto" where the model's signature tells; the postprocessing takes
            it from here.
        input_width, input_height: size of the network's input in pixels; needed where the model leaves it open.
        resize: "stretch" fills the input and changes the aspect; "letterbox" keeps the aspect and pads.
        padding: "center" puts a letterboxed frame in the middle, "corner" at the upper left.
        padding_value: of the free pixels, 0..255 before normalisation.
        layout: "nchw" or "nhwc". channels: order of the colours, "rgb" or "bgr".
        dtype: "float32", "float16", or "uint8" for networks that normalise by themselves.
        value_range: what pixel values 0 and 255 become. mean, std: three numbers each, in the tensor's channel order;
            the mean is then taken off and the rest divided by std. Not for uint8.

    Raises ValueError for parameters out of range, DeploymentError with the model's signature for a model that takes
    no such picture, Rejected for a frame that cannot be decoded.
    """

    inputs: ClassVar[Mapping[str, type]] = {"image": EncodedImage}
    outputs: ClassVar[Mapping[str, type]] = {"tensor": Tensor}

    def __init__(
        self,
        *,
        model: str | None = None,
        output_layout: str = "auto",
        input_width: int | None = None,
        input_height: int | None = None,
        resize: str | None = None,
        padding: str | None = None,
        padding_value: int = 114,
        layout: str | None = None,
        channels: str | None = None,
        dtype: str | None = None,
        value_range: Sequence[float] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
    ) -> None:
        self.model = checked_path("model", model)
        self.output_layout = checked_choice("output_layout", output_layout, ("auto", *LAYOUTS))
        self._sizes = (
            _optional_size("input_width", input_width),
            _optional_size("input_height", input_height),
        )
        self._resize = _optional_choice("resize", resize, RESIZES)
        self._place = _optional_choice("padding", padding, PLACES)
        self._padding_value = checked_integer("padding_value", padding_value, low=0, high=255)
        self._layout = _optional_choice("layout", layout, ("nchw", "nhwc"))
        self._channels = _optional_choice("channels", channels, ("rgb", "bgr"))
        self._dtype = _optional_choice("dtype", dtype, INPUT_DTYPES)
        self._values = (value_range, mean, std)
        value_tables(*self._values, CUSTOMS["other"].value_range)
        if dtype == "uint8":
            self._refuse_values()
        self._session: onnx_session.ModelSession | None = None
        self._shape = PictureShape(_DEFAULT_SIZE, _DEFAULT_SIZE, True, "float32")
        self._custom = CUSTOMS["ssd"]
        self._rgb, self._keep_aspect, self._centered = True, False, True
        self._tables: npt.NDArray[np.floating] | None = None

    def start(self, context: StageContext) -> None:
        """Settles what the network takes. Keeps OpenCV to the calling thread: its own pool would take cores that the
        schedule gave to other tasks."""
        import cv2

        cv2.setNumThreads(1)
        self._shape, self._custom = self.picture(context.base_dir)
        custom = self._custom
        self._rgb = (self._channels or custom.channels) == "rgb"
        self._keep_aspect = (self._resize or custom.resize) == "letterbox"
        self._centered = (self._place or custom.place) == "center"
        self._tables = None
        if self._shape.dtype != "uint8":
            self._tables = value_tables(*self._values, custom.value_range).astype(self._shape.dtype)

    def picture(self, base_dir: Path) -> tuple[PictureShape, Custom]:
        """The picture that this stage makes, and the custom of the network; raises DeploymentError."""
        width, height = self._sizes
        if self.model is None:
            form = "ssd" if self.output_layout == "auto" else self.output_layout
            planar, dtype = self._layout != "nhwc", self._dtype or "float32"
            return PictureShape(height or _DEFAULT_SIZE, width or _DEFAULT_SIZE, planar, dtype), CUSTOMS[form]
        if self._session is None:
            self._session = onnx_session.acquire(base_dir / self.model)
        signature = self._session.signature
        try:
            shape = shape_of_model(signature, width=width, height=height, layout=self._layout, dtype=self._dtype)
            if shape.dtype == "uint8":
                self._refuse_values()
            return shape, self._custom_of(signature, shape)
        except (DeploymentError, ValueError) as error:
            path = self._session.path
            self.stop()
            raise DeploymentError(f"model {path}: {error}; it has {signature}") from error

    def _custom_of(self, signature: onnx_session.ModelSignature, shape: PictureShape) -> Custom:
        try:
            return custom_of_model(signature, shape, self.output_layout)
        except SeveralLayouts:
            if self.follows_no_custom(shape):
                return CUSTOMS["other"]
            raise

    def follows_no_custom(self, shape: PictureShape) -> bool:
        """Whether the file says itself how frames are to be resized and what pixel values become."""
        valued = shape.dtype == "uint8" or any(value is not None for value in self._values)
        return bool(self._resize and self._channels and valued)

    def stop(self) -> None:
        """Gives the model back."""
        if self._session is not None:
            onnx_session.release(self._session)
            self._session = None

    def pixels_needed(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of a frame of this size inside the network's input, in pixels."""
        placed_width, placed_height, _, _ = self._placement(width, height)
        return placed_height, placed_width

    def preprocess(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Decodes the frame, at reduced size where the network's input is much smaller."""
        from sensors.decode_ahead import frame_pixels

        try:
            return {"image": frame_pixels(inputs["image"], self.pixels_needed)}
        except DataError as error:
            raise Rejected(str(error)) from error

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        image: CameraImage = inputs["image"]
        if min(image.bgr.shape[:2]) < 1:
            raise Rejected(f"camera frame {image.frame_id} has no pixels")
        width, height, left, top = self._placement(image.recorded_width, image.recorded_height)
        canvas = resized(image.bgr, width, height)
        shape = self._shape
        if (width, height) != (shape.width, shape.height):
            padded = np.full((shape.height, shape.width, 3), self._padding_value, np.uint8)
            padded[top : top + height, left : left + width] = canvas
            canvas = padded
        return {
            "tensor": Tensor(
                capture_time_ns=image.capture_time_ns,
                frame_id=image.frame_id,
                names=("image",),
                arrays=(self._normalised(canvas),),
                recorded_height=image.recorded_height,
                recorded_width=image.recorded_width,
                scale_xy=(width / image.recorded_width, height / image.recorded_height),
                offset_xy=(float(left), float(top)),
                network_height=shape.height,
                network_width=shape.width,
            )
        }

    def _placement(self, recorded_width: int, recorded_height: int) -> tuple[int, int, int, int]:
        """Width, height, left and top of the frame inside the network's input, in pixels."""
        full_width, full_height = self._shape.width, self._shape.height
        if not self._keep_aspect:
            return full_width, full_height, 0, 0
        scale = min(full_width / recorded_width, full_height / recorded_height)
        width = min(full_width, max(1, round(recorded_width * scale)))
        height = min(full_height, max(1, round(recorded_height * scale)))
        if not self._centered:
            return width, height, 0, 0
        return width, height, (full_width - width) // 2, (full_height - height) // 2

    def _normalised(self, bgr: npt.NDArray[np.uint8]) -> npt.NDArray[np.generic]:
        """uint8[h, w, 3] -> [1, 3, h, w] or [1, h, w, 3] in the wanted order, type and value range."""
        import cv2

        ordered = [np.asarray(plane, np.uint8) for plane in cv2.split(bgr)[:: -1 if self._rgb else 1]]
        planes: Sequence[npt.NDArray[np.generic]] = ordered
        if self._tables is not None:
            planes = [_looked_up(plane, table) for plane, table in zip(ordered, self._tables, strict=True)]
        return np.stack(planes, axis=0 if self._shape.planar else -1)[np.newaxis]

    def _refuse_values(self) -> None:
        for name, value in zip(("value_range", "mean", "std"), self._values, strict=True):
            if value is not None:
                raise ValueError(f"{name}: a uint8 tensor keeps the pixel values; drop it or set dtype to float32")


def resized(bgr: npt.NDArray[np.uint8], width: int, height: int) -> npt.NDArray[np.uint8]:
    """uint8[height, width, 3]. Area averaging where both sides shrink to less than half (linear sampling would alias),
    else linear."""
    import cv2

    rows, columns = bgr.shape[:2]
    if (columns, rows) == (width, height):
        return bgr
    area = columns > 2 * width and rows > 2 * height
    done = cv2.resize(bgr, (width, height), interpolation=cv2.INTER_AREA if area else cv2.INTER_LINEAR)
    return np.asarray(done, np.uint8)


def _looked_up(plane: npt.NDArray[np.uint8], table: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """table[plane]; OpenCV is quicker where it knows the type."""
    import cv2

    if table.dtype == np.float32:
        return np.asarray(cv2.LUT(plane, table), np.float32)
    return np.asarray(table[plane])


def _optional_size(name: str, value: int | None) -> int | None:
    return None if value is None else checked_integer(name, value, low=8, high=8192, unit="pixels")


def _optional_choice(name: str, value: str | None, choices: Sequence[str]) -> str | None:
    return None if value is None else checked_choice(name, value, choices)
