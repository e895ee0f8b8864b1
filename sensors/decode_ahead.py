"""Camera frames are decoded on the run's pool before the jobs that read them, once for all of them.

A frame is decoded when the schedule has given it to a job, never for one that was lost on its way. What is decoded
waits in a `FrameStore` of bounded size; a frame that had to leave it, or that nobody asked for in advance, is decoded
by the job that reads it. So the pixels never depend on the store, nor on the number of threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
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


@dataclass(frozen=True, slots=True, eq=False)
class ReadyImage(EncodedImage):
    """A frame that carries its pixels: `ready` holds uint8[height, width, 3] in bgr by reduction."""

    ready: tuple[tuple[int, npt.NDArray[np.uint8]], ...] = ()


def decoded_with_pixels(decoded: Any, needs: Sequence[PixelsNeeded]) -> Any:
    """A decoded message; a camera frame with the pixels that its readers need, where they can be had.

    For runs in which another process reads them than decodes them.
    """
    if not needs or not isinstance(decoded, EncodedImage):
        return decoded
    try:
        ready = tuple((factor, bgr) for factor, _, bgr in _all_pixels(decoded, needs))
    except DataError:
        return decoded
    return ReadyImage(**_as_recorded(decoded), ready=ready)


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
            for factor, readers, bgr in _all_pixels(decoded, needs):
                self.store.add((number, factor), bgr, readers)
        except DataError:
            return decoded
        return StoredImage(**_as_recorded(decoded), store=self.store, number=number)


def _all_pixels(image: EncodedImage, needs: Sequence[PixelsNeeded]) -> Iterator[tuple[int, int, npt.NDArray[np.uint8]]]:
    """Each reduction that readers need, how many of them need it, and its pixels; raises DataError."""
    height, width = recorded_size(image)
    wanted = [needed(height, width) for needed in needs]
    factors = [_factor(image, height, width, least) for least in wanted]
    for factor in sorted(set(factors)):
        yield factor, factors.count(factor), decode_bgr(image, at_least=wanted[factors.index(factor)]).bgr


def _as_recorded(image: EncodedImage) -> dict[str, Any]:
    return {field.name: getattr(image, field.name) for field in fields(EncodedImage)}


def frame_pixels(image: EncodedImage, needed: PixelsNeeded) -> CameraImage:
    """The frame with the pixels that a reader needs, as `decode_bgr` gives them; raises DataError."""
    height, width = recorded_size(image)
    least = needed(height, width)
    if isinstance(image, ReadyImage):
        found = dict(image.ready).get(_factor(image, height, width, least))
        if found is not None:
            return CameraImage(image.capture_time_ns, image.frame_id, found, height, width)
    if isinstance(image, StoredImage) and image.store is not None:
        bgr = image.store.take((image.number, _factor(image, height, width, least)))
        if bgr is not None:
            return CameraImage(image.capture_time_ns, image.frame_id, bgr, height, width)
    return decode_bgr(image, at_least=least)


def _factor(image: EncodedImage, height: int, width: int, least: tuple[int, int]) -> int:
    return reduction(height, width, least) if image.encoding == "jpeg" else 1
