"""Pixels out of recorded images, with OpenCV."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import CameraImage, EncodedImage
from sensors.image_headers import BYTES_PER_PIXEL, compressed_size

#: Larger than any camera's frame; what states more is damaged.
MAX_PIXELS = 2**27


def decode_bgr(image: EncodedImage, *, max_side: int | None = None) -> CameraImage:
    """The frame as blue, green, red bytes; raises DataError with the reason where it has none.

    `max_side`: the longer side in pixels that the caller needs. A jpeg is then decoded at 1/2, 1/4 or 1/8 of its
    size where both sides stay at least that long, which saves most of the time; `recorded_height` and
    `recorded_width` keep the full size. 16 bit samples keep their upper byte. EXIF rotation is not applied: the
    calibration belongs to the sensor as mounted.
    """
    if image.encoding in ("jpeg", "png"):
        height, width = compressed_size(image.encoding, image.data)
        _check_size(height, width)
        bgr = _decode_compressed(image, height, width, max_side)
    else:
        height, width = image.height, image.width
        _check_size(height, width)
        bgr = _decode_raw(image)
    bgr.flags.writeable = False
    return CameraImage(image.capture_time_ns, image.frame_id, bgr, height, width)


def _check_size(height: int, width: int) -> None:
    if height <= 0 or width <= 0:
        raise DataError(f"image of size {width} x {height} has no pixels")
    if height * width > MAX_PIXELS:
        raise DataError(f"image claims {width} x {height} pixels; at most {MAX_PIXELS} are read")


def _decode_compressed(image: EncodedImage, height: int, width: int, max_side: int | None) -> npt.NDArray[np.uint8]:
    import cv2

    flags = cv2.IMREAD_COLOR
    if image.encoding == "jpeg" and max_side is not None:
        for factor, reduced in (
            (8, cv2.IMREAD_REDUCED_COLOR_8),
            (4, cv2.IMREAD_REDUCED_COLOR_4),
            (2, cv2.IMREAD_REDUCED_COLOR_2),
        ):
            if min(height, width) >= factor * max_side:
                flags = reduced
                break
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
