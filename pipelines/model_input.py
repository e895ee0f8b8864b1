"""What picture a network wants: size, order of its numbers, and what pixel values become.

Each part is taken from the system file where that states it, else from the model's signature, else from the custom of
networks with that form of output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.detector_layouts import NoLayout, SeveralLayouts, find_layout
from pipelines.onnx_session import ModelSignature
from pipelines.parameters import checked_number
from rt_sched.errors import DeploymentError

#: Element types that a network's input may have.
INPUT_DTYPES = ("float32", "float16", "uint8")

#: Ways to bring a frame to the input's size, and where a letterboxed one lies.
RESIZES, PLACES = ("stretch", "letterbox"), ("center", "corner")


@dataclass(frozen=True, slots=True)
class Custom:
    """What networks with one form of output usually want. `value_range`: what pixel values 0 and 255 become."""

    resize: str
    place: str
    channels: str
    value_range: tuple[float, float]


_ULTRALYTICS = Custom("letterbox", "center", "rgb", (0.0, 1.0))
#: By the form of the output; "other" for what is no detector.
CUSTOMS: Mapping[str, Custom] = {
    "ssd": Custom("stretch", "center", "rgb", (-1.0, 1.0)),
    "ssd_nms": Custom("stretch", "center", "rgb", (-1.0, 1.0)),
    "yolov5": _ULTRALYTICS,
    "yolov8": _ULTRALYTICS,
    "end2end": _ULTRALYTICS,
    "yolox": Custom("letterbox", "corner", "bgr", (0.0, 255.0)),
    "other": Custom("stretch", "center", "rgb", (0.0, 1.0)),
}


@dataclass(frozen=True, slots=True)
class PictureShape:
    """Height and width in pixels, whether colours are planes (NCHW) or interleaved (NHWC), and the element type."""

    height: int
    width: int
    planar: bool
    dtype: str

    @property
    def tensor_shape(self) -> tuple[int, int, int, int]:
        """Of one frame."""
        return (1, 3, self.height, self.width) if self.planar else (1, self.height, self.width, 3)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.tensor_shape)}"


def shape_of_model(
    signature: ModelSignature,
    *,
    width: int | None = None,
    height: int | None = None,
    layout: str | None = None,
    dtype: str | None = None,
) -> PictureShape:
    """The picture that a model takes. Sizes that the signature leaves open must be given.

    Raises DeploymentError without a path or the signature in its text, which the caller adds.
    """
    if len(signature.inputs) != 1:
        raise DeploymentError(f"has {len(signature.inputs)} inputs, and a camera frame is one")
    wanted = signature.inputs[0]
    if wanted.dtype not in INPUT_DTYPES:
        raise DeploymentError(f"takes {wanted.dtype}; frames can be {', '.join(INPUT_DTYPES)}")
    if dtype not in (None, wanted.dtype):
        raise DeploymentError(f"takes {wanted.dtype}, not dtype: {dtype}")
    if len(wanted.shape) != 4 or wanted.shape[0] not in (1, None):
        raise DeploymentError("does not take one picture [1, 3, height, width] or [1, height, width, 3]")
    planar, interleaved = wanted.shape[1] in (3, None), wanted.shape[3] in (3, None)
    if layout is not None:
        planar, interleaved = planar and layout == "nchw", interleaved and layout == "nhwc"
    elif planar and interleaved:
        planar, interleaved = wanted.shape[1] == 3, wanted.shape[3] == 3
    if planar == interleaved:
        if planar:
            raise DeploymentError("leaves open which axis holds the three colours; set layout to nchw or nhwc")
        raise DeploymentError(f"does not take a picture of three colours{f' as {layout}' if layout else ''}")
    model_height, model_width = wanted.shape[2:] if planar else wanted.shape[1:3]
    sizes = []
    for name, own, given in (("input_height", model_height, height), ("input_width", model_width, width)):
        if own is None and given is None:
            raise DeploymentError(f"leaves the size of its input open; set {name}")
        if own is not None and given not in (None, own):
            raise DeploymentError(f"takes pictures of another size than {name}: {given}")
        sizes.append(own if own is not None else given or 0)
    return PictureShape(sizes[0], sizes[1], planar, wanted.dtype)


def custom_of_model(signature: ModelSignature, shape: PictureShape, output_layout: str) -> Custom:
    """What networks with this form of output usually want; raises SeveralLayouts when "auto" finds several."""
    if output_layout != "auto":
        return CUSTOMS[output_layout]
    outputs = signature.outputs
    if len(outputs) == 1 and (len(outputs[0].shape) != 3 or not outputs[0].dtype.startswith("float")):
        return CUSTOMS["other"]
    if len(outputs) > 1 and any(len(output.shape) in (3, 4) and output.shape[-1] == 4 for output in outputs):
        return CUSTOMS["ssd"]
    try:
        return CUSTOMS[find_layout(outputs, network_size=(shape.height, shape.width)).name]
    except SeveralLayouts:
        raise
    except NoLayout:
        return CUSTOMS["other"]


def value_tables(
    value_range: Sequence[float] | None,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    default_range: tuple[float, float],
) -> npt.NDArray[np.float32]:
    """float32[3, 256]: what each pixel value of each channel, in the tensor's order, becomes.

    Pixel values 0 and 255 become the two numbers of `value_range`; then `mean` is taken off and the rest divided by
    `std`. With a mean or a deviation the range is 0 to 1 unless it is stated. Raises ValueError.
    """
    default = default_range if mean is None and std is None else (0.0, 1.0)
    bounds = default if value_range is None else value_range
    if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ValueError(f"value_range: {value_range!r} is not a pair; valid: [value for 0, value for 255]")
    low, high = (checked_number("value_range", bound, low=-1e6, high=1e6) for bound in bounds)
    if low == high:
        raise ValueError(f"value_range: {value_range!r} maps all pixels to one value; valid: two different numbers")
    scaled = np.arange(256) * ((high - low) / 255.0) + low
    means = _three("mean", mean, 0.0, low=-1e6)
    deviations = _three("std", std, 1.0, low=1e-6)
    return ((scaled[None, :] - means[:, None]) / deviations[:, None]).astype(np.float32)


def _three(name: str, value: Sequence[float] | None, default: float, *, low: float) -> npt.NDArray[np.float64]:
    if value is None:
        return np.full(3, default)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 3:
        raise ValueError(f"{name}: {value!r} is not three numbers, one for each channel in the tensor's order")
    return np.array([checked_number(name, number, low=low, high=1e6) for number in value])
