"""Pixels out of recorded images, with OpenCV."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import CameraImage, EncodedImage
from sensors.image_headers import BYTES_PER_PIXEL, compressed_size

#: Larger than any camera's frame; what states more is damaged.
MAX_PIXELS = 2**27


#: By how much a jpeg can be reduced while it is decoded, and OpenCV's names for that.
_REDUCTIONS = ((8, "IMREAD_REDUCED_COLOR_8"), (4, "IMREAD_REDUCED_COLOR_4"), (2, "IMREAD_REDUCED_COLOR_2"))


def recorded_size(image: EncodedImage) -> tuple[int, int]:
    """(height, width) in pixels of the frame as recorded; raises DataError where it has none."""
    compressed = image.encoding in ("jpeg", "png")
    height, width = compressed_size(image.encoding, image.data) if compressed else (image.height, image.width)
    _check_size(height, width)
    return height, width


def decode_bgr(image: EncodedImage, *, at_least: tuple[int, int] | None = None) -> CameraImage:
    """The frame as blue, green, red bytes; raises DataError with the reason where it has none.

    `at_least`: the height and width in pixels that the caller needs. A jpeg is then decoded at 1/2, 1/4 or 1/8 of its
    size where neither side becomes shorter than that, which saves most of the time; `recorded_height` and
    `recorded_width` keep the full size. 16 bit samples keep their upper byte. EXIF rotation is not applied: the
    calibration belongs to the sensor as mounted.
    """
    height, width = recorded_size(image)
    if image.encoding in ("jpeg", "png"):
        bgr = _decode_compressed(image, reduction(height, width, at_least) if image.encoding == "jpeg" else 1)
    else:
        bgr = _decode_raw(image)
    bgr.flags.writeable = False
    return CameraImage(image.capture_time_ns, image.frame_id, bgr, height, width)


def reduction(height: int, width: int, at_least: tuple[int, int] | None) -> int:
    """1, 2, 4 or 8: by how much a jpeg of this size may shrink and still have `at_least` (height, width) pixels."""
    if at_least is None:
        return 1
    fits = (factor for factor, _ in _REDUCTIONS if height >= factor * at_least[0] and width >= factor * at_least[1])
    return next(fits, 1)


def _check_size(height: int, width: int) -> None:
    if height <= 0 or width <= 0:
        raise DataError(f"image of size {width} x {height} has no pixels")
    if height * width > MAX_PIXELS:
        raise DataError(f"image claims {width} x {height} pixels; at most {MAX_PIXELS} are read")


def _decode_compressed(image: EncodedImage, factor: int) -> npt.NDArray[np.uint8]:
    import cv2

    flags = cv2.IMREAD_COLOR if factor == 1 else getattr(cv2, dict(_REDUCTIONS)[factor])
    try:
        decoded = cv2.imdecode(np.frombuffer(image.data, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:
        raise DataError(f"{image.encoding} image cannot be decoded: {error.err}") from None
    if decoded is None:
        raise DataError(f"{image.encoding} image of {len(image.data)} bytes cannot be decoded")
    return np.asarray(decoded, np.uint8)


def _decode_raw(image: EncodedImage) -> npt.NDArray[np.uint8]:
    import cv2

    if image.encoding not in BYTES_PER_PIXEL:
        raise DataError(f"image encoding {image.encoding!r} is not read; read are {', '.join(BYTES_PER_PIXEL)}")
    pixel_bytes = BYTES_PER_PIXEL[image.encoding]
    if image.row_bytes < image.width * pixel_bytes or len(image.data) < image.height * image.row_bytes:
        raise DataError(f"image data of {len(image.data)} bytes is short of {image.height} rows")
    rows = np.frombuffer(image.data, np.uint8, image.height * image.row_bytes).reshape(image.height, image.row_bytes)
    packed = np.ascontiguousarray(rows[:, : image.width * pixel_bytes])
    wide = image.encoding.endswith("16")
    if wide:
        packed = packed[:, (0 if image.big_endian else 1) :: 2]
    channels = pixel_bytes // 2 if wide else pixel_bytes
    samples = np.ascontiguousarray(packed).reshape(image.height, image.width, channels)
    base = image.encoding[:-2] if wide else image.encoding.removesuffix("8")
    if base == "bgr":
        return samples.copy()
    # OpenCV names a Bayer pattern by the pixels at (1, 1) and (1, 2), ROS by those at (0, 0) and (0, 1).
    conversion = {
        "mono": cv2.COLOR_GRAY2BGR,
        "rgb": cv2.COLOR_RGB2BGR,
        "bgra": cv2.COLOR_BGRA2BGR,
        "rgba": cv2.COLOR_RGBA2BGR,
        "bayer_rggb": cv2.COLOR_BayerBG2BGR,
        "bayer_bggr": cv2.COLOR_BayerRG2BGR,
        "bayer_gbrg": cv2.COLOR_BayerGR2BGR,
        "bayer_grbg": cv2.COLOR_BayerGB2BGR,
        "yuv422": cv2.COLOR_YUV2BGR_UYVY,
        "yuv422_yuy2": cv2.COLOR_YUV2BGR_YUY2,
    }[base]
    try:
        return np.asarray(cv2.cvtColor(samples, conversion), np.uint8)
    except cv2.error as error:
        raise DataError(
            f"{image.width} x {image.height} {image.encoding} image cannot be decoded: {error.err}"
        ) from None
