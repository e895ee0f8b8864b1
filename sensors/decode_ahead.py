"""Camera frames are decoded on the run's pool before the jobs that read them, once for all of them.

A frame is decoded when the schedule has given it to a job, never for one that was lost on its way. What is decoded
waits in a `FrameStore` of bounded size; a frame that had to leave it, or that nobody asked for in advance, is decoded
by the job that reads it. So the pixels never depend on the store, nor on the number of threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from rt_sched.errors import DataError
from rt_sched.messages import CameraImage, EncodedImage
from rt_sched.ports import RecordedMessage
from sensors.pixels import decode_bgr, recorded_size, reduction

#: Height and width in pixels that a reader needs of a frame, by the height and width that it was recorded with.
PixelsNeeded = Callable[[int, int], tuple[int, int]]

#: Decoded pixels that wait for their jobs, at most; about forty frames of 1920 x 1080.
MAX_BYTES = 256 * 2**20

_Key = tuple[int, int]


class FrameStore:
    """Decoded pixels by frame and reduction, at most `max_bytes` of them; the oldest leave first.

    May be used from several threads. `decoded`: how many frames were decoded through it, `taken`: how many readers
    found theirs ready.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._ready: OrderedDict[_Key, tuple[npt.NDArray[np.uint8], int]] = OrderedDict()
        self._lock = threading.Lock()
        self.decoded = 0
        self.taken = 0

    @property
    def held_bytes(self) -> int:
        """Size of the pixels that wait."""
        return self._bytes

    def add(self, key: _Key, bgr: npt.NDArray[np.uint8], readers: int) -> None:
        """Keeps `bgr` for so many readers."""
        with self._lock:
            self.decoded += 1
            if bgr.nbytes > self._max_bytes:
                return
            self._ready[key] = (bgr, readers)
            self._bytes += bgr.nbytes
            while self._bytes > self._max_bytes:
                _, (oldest, _) = self._ready.popitem(last=False)
                self._bytes -= oldest.nbytes

    def take(self, key: _Key) -> npt.NDArray[np.uint8] | None:
        """The pixels, if they wait; the last reader takes them away."""
        with self._lock:
            found = self._ready.get(key)
            if found is None:
                return None
            bgr, readers = found
            self.taken += 1
            if readers > 1:
                self._ready[key] = (bgr, readers - 1)
            else:
                del self._ready[key]
                self._bytes -= bgr.nbytes
            return bgr


@dataclass(frozen=True, slots=True, eq=False)
class StoredImage(EncodedImage):
    """A frame whose pixels may wait in `store` under `number`."""

    store: FrameStore | None = None
    number: int = 0


class DecodeAhead:
    """Decodes recorded messages as `decode` does, and the pixels of camera frames for their readers with them.

    `needs`: topic -> what each of its readers needs. A frame whose pixels cannot be decoded is handed on as it is: its
    readers find out for themselves and say why.
    """

    def __init__(
        self,
        decode: Callable[[RecordedMessage], Any],
        needs: Mapping[str, Sequence[PixelsNeeded]],
        store: FrameStore | None = None,
    ) -> None:
        self._decode = decode
        self._needs = needs
        self._numbers = count()
        self.store = store or FrameStore()

    def __call__(self, message: RecordedMessage) -> Any:
        """The message as decoded; raises DataError."""
        decoded = self._decode(message)
        needs = self._needs.get(message.topic)
        if not needs or not isinstance(decoded, EncodedImage):
            return decoded
        number = next(self._numbers)
        try:
            height, width = recorded_size(decoded)
            wanted = [needed(height, width) for needed in needs]
            factors = [_factor(decoded, height, width, least) for least in wanted]
            for factor in sorted(set(factors)):
                pixels = decode_bgr(decoded, at_least=wanted[factors.index(factor)])
                self.store.add((number, factor), pixels.bgr, factors.count(factor))
        except DataError:
            return decoded
        values = {field.name: getattr(decoded, field.name) for field in fields(EncodedImage)}
        return StoredImage(**values, store=self.store, number=number)


def frame_pixels(image: EncodedImage, needed: PixelsNeeded) -> CameraImage:
    """The frame with the pixels that a reader needs, as `decode_bgr` gives them; raises DataError."""
    height, width = recorded_size(image)
    least = needed(height, width)
    if isinstance(image, StoredImage) and image.store is not None:
        bgr = image.store.take((image.number, _factor(image, height, width, least)))
        if bgr is not None:
            return CameraImage(image.capture_time_ns, image.frame_id, bgr, height, width)
    return decode_bgr(image, at_least=least)


def _factor(image: EncodedImage, height: int, width: int, least: tuple[int, int]) -> int:
    return reduction(height, width, least) if image.encoding == "jpeg" else 1
