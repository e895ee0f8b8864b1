"""A recorded picture in grey, at a size that the backup path can afford."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.messages.sensor import EncodedImage
from rt_sched.ports.stage import Rejected

#: Pictures are halved while they stay at least this wide.
LEAST_WIDTH = 560

#: OpenCV's names of what turns a raw encoding into grey, and the bytes per pixel.
_RAW = {
    "mono8": (None, 1),
    "bgr8": ("COLOR_BGR2GRAY", 3),
    "rgb8": ("COLOR_RGB2GRAY", 3),
    "bgra8": ("COLOR_BGRA2GRAY", 4),
    "rgba8": ("COLOR_RGBA2GRAY", 4),
}

#: Markers that begin a frame header: all SOFn, between which lie DHT, JPG and DAC.
_FRAME_HEADERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def grey(image: EncodedImage, cv2: Any) -> npt.NDArray[np.uint8]:
    """uint8[rows, columns], as large as recorded or smaller; a large JPEG is decoded at reduced size.

    Raises Rejected for what is no picture, and for an encoding that is not read.
    """
    if image.encoding in ("jpeg", "png"):
        return _halved(_decoded(image, cv2), cv2)
    if image.encoding not in _RAW:
        valid = ", ".join(["jpeg", "png", *_RAW])
        raise Rejected(f"the encoding {image.encoding} is not read by the backup path; valid: {valid}")
    conversion, size = _RAW[image.encoding]
    rows, columns, step = image.height, image.width, image.row_bytes
    if rows < 1 or columns < 1 or step < columns * size or len(image.data) < rows * step:
        raise Rejected(f"{len(image.data)} bytes are no {columns} x {rows} picture of {image.encoding}")
    plane = np.frombuffer(image.data, np.uint8, rows * step).reshape(rows, step)[:, : columns * size]
    pixels = np.ascontiguousarray(plane) if size == 1 else np.ascontiguousarray(plane).reshape(rows, columns, size)
    return _halved(pixels if conversion is None else cv2.cvtColor(pixels, getattr(cv2, conversion)), cv2)


def _decoded(image: EncodedImage, cv2: Any) -> npt.NDArray[np.uint8]:
    width = jpeg_width(image.data) if image.encoding == "jpeg" else None
    factor = 1
    while width is not None and factor < 8 and width // (2 * factor) >= LEAST_WIDTH:
        factor *= 2
    flag = cv2.IMREAD_GRAYSCALE if factor == 1 else getattr(cv2, f"IMREAD_REDUCED_GRAYSCALE_{factor}")
    data = np.frombuffer(image.data, np.uint8)
    decoded = cv2.imdecode(data, flag | cv2.IMREAD_IGNORE_ORIENTATION) if len(data) else None
    if decoded is None:
        raise Rejected(f"the {image.encoding} picture cannot be decoded")
    return np.asarray(decoded, np.uint8)


def jpeg_width(data: bytes | memoryview) -> int | None:
    """Columns that the frame header of a JPEG states (ITU-T T.81, B.2.2); None where there is none."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAME_HEADERS:
            return int.from_bytes(data[at + 7 : at + 9], "big")
        # A marker may be preceded by fill bytes; every other segment before the frame header states its length.
        at += 1 if marker == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _halved(pixels: npt.NDArray[np.uint8], cv2: Any) -> npt.NDArray[np.uint8]:
    while pixels.shape[1] // 2 >= LEAST_WIDTH and pixels.shape[0] >= 2:
        pixels = cv2.resize(pixels, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return pixels
