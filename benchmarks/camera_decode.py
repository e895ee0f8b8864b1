"""What the camera's decoding costs: full and reduced size, and shared by readers.

    python benchmarks/camera_decode.py [--frames 40] [--json]

CPU times of one thread, medians over frames; a synthetic 1920 x 1080 road as jpeg of quality 90, made on the spot.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import cv2
import numpy as np

from rt_sched.messages import EncodedImage
from rt_sched.ports import RecordedMessage
from sensors.decode_ahead import DecodeAhead, FrameStore, frame_pixels
from sensors.pixels import decode_bgr, reduction

SIZE = (1080, 1920)
#: What networks need of such a frame: name -> height, width.
NEEDS = {
    "full size": SIZE,
    "SSD 300, stretched": (300, 300),
    "YOLO 640, letterboxed": (360, 640),
    "YOLOX 416, letterboxed": (234, 416),
    "lane markings": (1, 640),
}


def frame(number: int) -> EncodedImage:
    """A road with markings under a sky, and the grain of a camera."""
    rng = np.random.default_rng(number)
    picture = np.full((*SIZE, 3), 120, np.float32)
    picture[: SIZE[0] // 2] = np.linspace(230, 180, SIZE[0] // 2)[:, None, None]
    corners = np.array([(0, 1080), (900, 540), (1020, 540), (1920, 1080)], np.int32)
    cv2.fillPoly(picture, [corners], (92, 90, 88))
    cv2.line(picture, (300 + number, 1080), (930, 545), (220, 220, 220), 12)
    cv2.line(picture, (1650 - number, 1080), (990, 545), (220, 220, 220), 12)
    grain = cv2.resize(rng.normal(0, 12, (SIZE[0] // 2, SIZE[1] // 2, 3)).astype(np.float32), SIZE[::-1])
    data = cv2.imencode(".jpg", np.clip(picture + grain, 0, 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 90])[1]
    return EncodedImage(number, "front", "jpeg", data.tobytes())


def cpu_ms(work: Callable[[EncodedImage], Any], frames: list[EncodedImage]) -> float:
    """Median CPU time of `work` per frame."""
    times = []
    for image in frames:
        began = time.thread_time_ns()
        work(image)
        times.append(time.thread_time_ns() - began)
    return median(times) / 1e6


def readers_ms(frames: list[EncodedImage], readers: int, *, shared: bool) -> float:
    """Median CPU time per frame when so many readers need it at the same size, decoded ahead for all or by each."""

    def needed(*_: int) -> tuple[int, int]:
        return NEEDS["SSD 300, stretched"]

    ahead = DecodeAhead(lambda message: message.payload, {"/front": [needed] * readers}, FrameStore())

    def work(image: EncodedImage) -> None:
        given = ahead(RecordedMessage("/front", 0, 0, 0, image)) if shared else image
        for _ in range(readers):
            frame_pixels(given, needed)

    return cpu_ms(work, frames)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    frames = [frame(number) for number in range(arguments.frames)]
    decode_bgr(frames[0])
    rows = [
        {
            "need": name,
            "reduction": reduction(*SIZE, least),
            "cpu_ms": cpu_ms(lambda image, least=least: decode_bgr(image, at_least=least), frames),
        }
        for name, least in NEEDS.items()
    ]
    shared = [
        {
            "readers": readers,
            "each_cpu_ms": readers_ms(frames, readers, shared=False),
            "ahead_cpu_ms": readers_ms(frames, readers, shared=True),
        }
        for readers in (1, 2, 3)
    ]
    if arguments.json:
        print(json.dumps({"schema": "rt-sched/camera-decode/1", "decode": rows, "readers": shared}, indent=2))
        return
    print(f"{'1920 x 1080 jpeg':26}{'reduced to':>12}{'CPU ms':>9}")
    for row in rows:
        print(f"{row['need']:26}{'1/' + str(row['reduction']):>12}{row['cpu_ms']:9.2f}")
    print(f"\n{'readers of one frame':26}{'each decodes':>14}{'decoded ahead':>15}   CPU ms")
    for row in shared:
        print(f"{row['readers']:<26}{row['each_cpu_ms']:14.2f}{row['ahead_cpu_ms']:15.2f}")


if __name__ == "__main__":
    main()
