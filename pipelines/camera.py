"""From a recorded camera frame to a network's input tensor: decode, resize, reorder, normalise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pipelines.parameters import checked_choice, checked_integer, checked_number
from rt_sched.errors import DataError
from rt_sched.messages import CameraImage, EncodedImage, Tensor
from rt_sched.ports import JobContext, Rejected, StageBase, StageContext

#: Pixel values 0 and 255 become these numbers in a float32 tensor unless the system file says otherwise.
DEFAULT_VALUE_RANGE = (-1.0, 1.0)

#: Network input pixels that a letterboxed frame leaves free get this value.
_PADDING_VALUE = 114


class Preprocess(StageBase):
    """Camera frame -> network input. Input `image`: EncodedImage; output `tensor`: Tensor.

    The frame is decoded in `preprocess`, which may run ahead of the job; `process` does the rest.

    Parameters:
        input_width, input_height: size of the network's input in pixels.
        resize: "stretch" fills the input and changes the aspect; "letterbox" keeps the aspect and pads.
        layout: "nchw" or "nhwc".
        channels: order of the colours, "rgb" or "bgr".
        dtype: "float32", or "uint8" for networks that normalise by themselves.
        value_range: what pixel values 0 and 255 become, float32 only; [-1, 1] when not given.

    Raises ValueError for parameters out of range, Rejected for a frame that cannot be decoded.
    """

    inputs: ClassVar[Mapping[str, type]] = {"image": EncodedImage}
    outputs: ClassVar[Mapping[str, type]] = {"tensor": Tensor}

    def __init__(
        self,
        *,
        input_width: int = 300,
        input_height: int = 300,
        resize: str = "stretch",
        layout: str = "nchw",
        channels: str = "rgb",
        dtype: str = "float32",
        value_range: Sequence[float] | None = None,
    ) -> None:
        self._width = checked_integer("input_width", input_width, low=8, high=8192, unit="pixels")
        self._height = checked_integer("input_height", input_height, low=8, high=8192, unit="pixels")
        self._keep_aspect = checked_choice("resize", resize, ("stretch", "letterbox")) == "letterbox"
        self._planar = checked_choice("layout", layout, ("nchw", "nhwc")) == "nchw"
        self._rgb = checked_choice("channels", channels, ("rgb", "bgr")) == "rgb"
        self._table = _value_table(checked_choice("dtype", dtype, ("float32", "uint8")), value_range)

    def start(self, context: StageContext) -> None:
        """Keeps OpenCV to the calling thread: its own pool would take cores that the schedule gave to other tasks."""
        import cv2

        cv2.setNumThreads(1)

    def preprocess(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Decodes the frame, at reduced size where the network's input is much smaller."""
        from sensors.pixels import decode_bgr

        try:
            return {"image": decode_bgr(inputs["image"], max_side=max(self._width, self._height))}
        except DataError as error:
            raise Rejected(str(error)) from error

    def process(self, job: JobContext, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        image: CameraImage = inputs["image"]
        if min(image.bgr.shape[:2]) < 1:
            raise Rejected(f"camera frame {image.frame_id} has no pixels")
        width, height, left, top = self._placement(image.recorded_width, image.recorded_height)
        canvas = _resized(image.bgr, width, height)
        if (width, height) != (self._width, self._height):
            padded = np.full((self._height, self._width, 3), _PADDING_VALUE, np.uint8)
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
                network_height=self._height,
                network_width=self._width,
            )
        }

    def _placement(self, recorded_width: int, recorded_height: int) -> tuple[int, int, int, int]:
        """Width, height, left and top of the frame inside the network's input, in pixels."""
        if not self._keep_aspect:
            return self._width, self._height, 0, 0
        scale = min(self._width / recorded_width, self._height / recorded_height)
        width = min(self._width, max(1, round(recorded_width * scale)))
        height = min(self._height, max(1, round(recorded_height * scale)))
        return width, height, (self._width - width) // 2, (self._height - height) // 2

    def _normalised(self, bgr: npt.NDArray[np.uint8]) -> npt.NDArray[np.generic]:
        """uint8[h, w, 3] -> [1, 3, h, w] or [1, h, w, 3] in the wanted order, type and value range."""
        import cv2

        if not self._planar:
            ordered = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB) if self._rgb else bgr
            return np.ascontiguousarray(ordered if self._table is None else cv2.LUT(ordered, self._table))[np.newaxis]
        planes = cv2.split(bgr)
        if self._rgb:
            planes = planes[::-1]
        if self._table is None:
            return np.stack(planes)[np.newaxis]
        return np.stack([cv2.LUT(plane, self._table) for plane in planes])[np.newaxis]


def _value_table(dtype: str, value_range: Sequence[float] | None) -> npt.NDArray[np.float32] | None:
    """float32[256]: what each pixel value becomes; None when pixels stay uint8."""
    if dtype == "uint8":
        if value_range is not None:
            raise ValueError("value_range: a uint8 tensor keeps the pixel values; drop it or set dtype to float32")
        return None
    bounds = DEFAULT_VALUE_RANGE if value_range is None else value_range
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ValueError(f"value_range: {value_range!r} is not a pair; valid: [value for 0, value for 255]")
    low, high = (checked_number("value_range", bound, low=-1e6, high=1e6) for bound in bounds)
    if low == high:
        raise ValueError(f"value_range: {value_range!r} maps all pixels to one value; valid: two different numbers")
    return (np.arange(256) * ((high - low) / 255.0) + low).astype(np.float32)


def _resized(bgr: npt.NDArray[np.uint8], width: int, height: int) -> npt.NDArray[np.uint8]:
    """Area averaging where both sides shrink to less than half (linear sampling would alias), else linear."""
    import cv2

    rows, columns = bgr.shape[:2]
    if (columns, rows) == (width, height):
        return bgr
    area = columns > 2 * width and rows > 2 * height
    resized = cv2.resize(bgr, (width, height), interpolation=cv2.INTER_AREA if area else cv2.INTER_LINEAR)
    return np.asarray(resized, np.uint8)
