"""Image formats as recorded: encodings, and what the first bytes of compressed data say. No pixel is decoded here."""

from __future__ import annotations

from rt_sched.errors import DataError

#: Bytes per pixel of the raw encodings that are read (sensor_msgs/image_encodings).
BYTES_PER_PIXEL = {
    "mono8": 1,
    "mono16": 2,
    "bgr8": 3,
    "rgb8": 3,
    "bgra8": 4,
    "rgba8": 4,
    "bgr16": 6,
    "rgb16": 6,
    "bgra16": 8,
    "rgba16": 8,
    "bayer_rggb8": 1,
    "bayer_bggr8": 1,
    "bayer_gbrg8": 1,
    "bayer_grbg8": 1,
    "bayer_rggb16": 2,
    "bayer_bggr16": 2,
    "bayer_gbrg16": 2,
    "bayer_grbg16": 2,
    "yuv422": 2,
    "yuv422_yuy2": 2,
}
_ALIASES = {"8UC1": "mono8", "8UC3": "bgr8", "8UC4": "bgra8", "uyvy": "yuv422", "yuyv": "yuv422_yuy2"}
_JPEG_START, _JPEG_END = b"\xff\xd8\xff", b"\xff\xd9"
_PNG_START, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND"
#: Recorders pad compressed data to their own block sizes; the end mark is looked for in this many last bytes.
_TAIL_BYTES = 4096
_JPEG_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})


def raw_encoding(name: str) -> str:
    """The ROS name of a raw encoding; raises DataError for one that is not read."""
    encoding = _ALIASES.get(name.strip(), name.strip())
    if encoding not in BYTES_PER_PIXEL:
        raise DataError(f"image encoding {name!r} is not read; read are {', '.join(BYTES_PER_PIXEL)}")
    return encoding


def compressed_encoding(format_text: str, data: memoryview) -> str:
    """ "jpeg" or "png", by the data's own first bytes: the format text of recorders varies and is often wrong.

    Raises DataError for empty, cut off or other data.
    """
    if "compressedDepth" in format_text:
        raise DataError(f"compressed depth image (format {format_text!r}) is not read; jpeg and png are")
    if len(data) == 0:
        raise DataError("compressed image without data")
    head, tail = bytes(data[: len(_PNG_START)]), bytes(data[-_TAIL_BYTES:])
    if head.startswith(_JPEG_START):
        encoding, complete = "jpeg", _JPEG_END in tail
    elif head == _PNG_START:
        encoding, complete = "png", _PNG_END in tail
    else:
        raise DataError(
            f"compressed image (format {format_text!r}) is neither jpeg nor png: begins with {head.hex(' ')}"
        )
    if not complete:
        raise DataError(f"{encoding} data of {len(data)} bytes is cut off: its end mark is missing")
    return encoding


def compressed_size(encoding: str, data: bytes | memoryview) -> tuple[int, int]:
    """(height, width) in pixels as the header of jpeg or png data states; raises DataError."""
    if encoding == "png":
        head = bytes(data[:24])
        if len(head) == 24:
            return int.from_bytes(head[20:24]), int.from_bytes(head[16:20])
        raise DataError("png data without a complete header")
    position = 2
    while position + 9 <= len(data):
        if data[position] != 0xFF:
            break
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
        elif marker in _JPEG_BARE_MARKERS:
            position += 2
        elif marker in _JPEG_FRAME_MARKERS:
            height = int.from_bytes(data[position + 5 : position + 7])
            return height, int.from_bytes(data[position + 7 : position + 9])
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4])
    raise DataError(f"jpeg data of {len(data)} bytes has no frame header")
