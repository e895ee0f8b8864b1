"""Camera frames with the boxes of a detector drawn over them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import Detections2D

#: Longest side of a frame in the report. Beyond this a page of frames grows without showing more.
MAX_SIDE_PX = 640
JPEG_QUALITY = 78

#: Blue, green, red; told apart with every common kind of colour vision, and always beside the class in words.
_COLOURS_BGR = ((0, 159, 230), (233, 180, 86), (115, 158, 0), (66, 228, 240), (167, 121, 204), (0, 94, 213))


def annotate(image_bgr: npt.NDArray[np.uint8], detections: Detections2D, caption: str) -> bytes:
    """A JPEG of the frame with a box, class and score per detection, and `caption` along the lower edge.

    `image_bgr`: uint8[height, width, 3]; it is not changed, and shrunk to `MAX_SIDE_PX` if it is larger.
    `detections`: boxes in pixels of an image of `detections.image_width` x `detections.image_height`.
    OpenCV's font has Latin letters only, so other characters of the caption are drawn as "?".
    Raises DataError when the array is not an image or cannot be encoded.
    """
    import cv2

    if image_bgr.ndim != 3 or image_bgr.shape[2] != 3 or image_bgr.dtype != np.uint8 or image_bgr.size == 0:
        raise DataError(f"cannot draw on an array of shape {image_bgr.shape}, {image_bgr.dtype}; need uint8[h, w, 3]")
    shrink = min(1.0, MAX_SIDE_PX / max(image_bgr.shape[:2]))
    width, height = max(1, round(image_bgr.shape[1] * shrink)), max(1, round(image_bgr.shape[0] * shrink))
    canvas: npt.NDArray[np.uint8] = image_bgr.copy()
    if shrink < 1:
        canvas = np.asarray(cv2.resize(image_bgr, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    unit = max(width, height) / MAX_SIDE_PX
    line = max(1, round(2 * unit))
    scale = max(0.35, 0.45 * unit)

    to_canvas = np.array(
        [width / max(detections.image_width, 1), height / max(detections.image_height, 1)] * 2, dtype=np.float64
    )
    boxes = np.asarray(detections.boxes_px, dtype=np.float64).reshape(-1, 4) * to_canvas
    boxes = np.clip(np.nan_to_num(boxes), 0, [width - 1, height - 1] * 2).round().astype(int)
    # The surest detection is drawn last, so that its label is the one that stays legible where boxes overlap.
    for index in np.argsort(detections.scores, kind="stable"):
        colour = _COLOURS_BGR[int(detections.class_ids[index]) % len(_COLOURS_BGR)]
        x0, y0, x1, y1 = (int(v) for v in boxes[index])
        cv2.rectangle(canvas, (x0, y0), (x1, y1), (0, 0, 0), line + 2, cv2.LINE_AA)
        cv2.rectangle(canvas, (x0, y0), (x1, y1), colour, line, cv2.LINE_AA)
        label = f"{detections.class_names[index]} {float(detections.scores[index]):.2f}"
        if detections.tracks is not None and detections.tracks.ids[index]:
            label += f" #{detections.tracks.ids[index]}"
        _label(canvas, label, x0, y0, colour, scale)
    if caption:
        _caption(canvas, caption, scale)
    written, data = cv2.imencode(".jpg", canvas, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    if not written:
        raise DataError(f"frame of {width} x {height} px could not be encoded as JPEG")
    return bytes(data.tobytes())


def _latin(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _label(
    canvas: npt.NDArray[np.uint8], text: str, x: int, y: int, colour: tuple[int, int, int], scale: float
) -> None:
    """A filled tag above the box, below its upper edge where there is no room, and inside the frame always."""
    import cv2

    (text_width, text_height), base = cv2.getTextSize(_latin(text), cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
    height, width = canvas.shape[:2]
    tag_height = text_height + base + 2
    left = max(0, min(x, width - text_width - 6))
    top = y - tag_height if y >= tag_height else min(y, max(0, height - tag_height))
    cv2.rectangle(canvas, (left, top), (left + text_width + 6, top + tag_height), colour, cv2.FILLED)
    place = (left + 3, top + text_height + 1)
    cv2.putText(canvas, _latin(text), place, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), 1, cv2.LINE_AA)


def _caption(canvas: npt.NDArray[np.uint8], text: str, scale: float) -> None:
    """White text on a darkened strip along the lower edge, cut to the frame's width."""
    import cv2

    line = _latin(text)
    (text_width, text_height), base = cv2.getTextSize(line, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
    while text_width > canvas.shape[1] - 8 and len(line) > 1:
        line = line[:-1]
        (text_width, text_height), base = cv2.getTextSize(line, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)
    strip = canvas[-(text_height + base + 6) :]
    np.copyto(strip, (strip * 0.35).astype(np.uint8))
    place = (4, canvas.shape[0] - base - 2)
    cv2.putText(canvas, line, place, cv2.FONT_HERSHEY_SIMPLEX, scale, (255, 255, 255), 1, cv2.LINE_AA)
