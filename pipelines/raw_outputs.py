"""What a network has put out, as the message between inference and postprocessing carries it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipelines.detector_decoding import UnexpectedOutput
from pipelines.detector_layouts import OutputLayout
from pipelines.onnx_session import TensorSignature
from rt_sched.messages import Tensor


def signatures_of(raw: Tensor) -> list[TensorSignature]:
    """Name, element type and shape of every output."""
    return [
        TensorSignature(name, array.dtype.name, array.shape) for name, array in zip(raw.names, raw.arrays, strict=True)
    ]


def named_arrays(layout: OutputLayout, raw: Tensor) -> dict[str, npt.NDArray[np.generic]]:
    """The outputs by name. Raises UnexpectedOutput where one that `layout` reads is not there."""
    arrays = dict(zip(raw.names, raw.arrays, strict=True))
    for name in layout.outputs.values():
        if name not in arrays:
            raise UnexpectedOutput(f"the inference does not deliver the output {name!r}")
    return arrays


def listed(raw: Tensor) -> str:
    """The outputs in words, for errors."""
    return "; ".join(f"{name} {list(array.shape)}" for name, array in zip(raw.names, raw.arrays, strict=True))


def recorded_pixels(boxes_px: npt.NDArray[np.float64], raw: Tensor) -> npt.NDArray[np.float32]:
    """float32[n, 4]: boxes in pixels of the network's input -> recorded pixels, clipped to the frame."""
    offset, scale = np.array(raw.offset_xy * 2), np.array(raw.scale_xy * 2)
    limits = np.array([raw.recorded_width, raw.recorded_height] * 2, np.float64)
    clipped: npt.NDArray[np.float32] = np.clip((boxes_px - offset) / scale, 0.0, limits).astype(np.float32)
    return clipped
