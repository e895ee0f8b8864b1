"""Pictures in which nothing can be seen: black, saturated, or without any sharp edge."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from rt_sched.messages.sensor import EncodedImage
from rt_sched.ports.stage import Rejected
from safety.grey_picture import grey
from safety.monitors.delivery import Delivery, Pace

#: Grey levels up to this one are black, from this one on saturated.
BLACK, SATURATED = 12, 250
#: Share of such pixels, in percent, that makes a picture useless. Night has lit road, a low sun leaves shadow.
USELESS_PERCENT = 97
#: A picture whose edges have less than this share of their usual energy is blurred: num / den.
BLURRED = (1, 5)
#: Pictures whose median is the usual energy, and how many there must be.
USUAL_OVER, USUAL_LEAST = 30, 5
#: So many in a row, so that a bridge or a flash of light is no fault.
CONFIRMED = 2


class Greys:
    """The pixels of the picture that was asked for last, so that monitors which share this decode it once."""

    def __init__(self) -> None:
        self._image: EncodedImage | None = None
        self._pixels: npt.NDArray[np.uint8] | None = None

    def of(self, image: EncodedImage) -> npt.NDArray[np.uint8] | None:
        """uint8[rows, columns], None where the picture cannot be decoded."""
        import cv2

        if image is not self._image:
            self._image = image
            try:
                self._pixels = grey(image, cv2)
            except Rejected:
                self._pixels = None  # for the monitor of payloads
        return self._pixels


class Pictures:
    """One kind of useless picture, `name`: "black", "saturated" or "blurred"; `CONFIRMED` in a row make a finding."""

    def __init__(self, name: str, pace: Pace, greys: Greys) -> None:
        self.name = name
        self._greys = greys
        self.worst_case_ns = pace.within_ns(CONFIRMED)
        self._in_a_row = 0
        self._energies: deque[float] = deque(maxlen=USUAL_OVER)

    def see(self, delivery: Delivery) -> str | None:
        """What is wrong with this picture and the one before it."""
        if not isinstance(delivery.message, EncodedImage):
            return None
        pixels = self._greys.of(delivery.message)
        wrong = None if pixels is None else self._wrong(pixels)
        self._in_a_row = self._in_a_row + 1 if wrong else 0
        return str(wrong) if self._in_a_row >= CONFIRMED else None

    def _wrong(self, pixels: npt.NDArray[np.uint8]) -> str | None:
        black, saturated = _percent(pixels <= BLACK), _percent(pixels >= SATURATED)
        if self.name == "black":
            return f"{black} % of its pixels are black" if black >= USELESS_PERCENT else None
        if self.name == "saturated":
            return f"{saturated} % of its pixels are saturated" if saturated >= USELESS_PERCENT else None
        if max(black, saturated) >= USELESS_PERCENT:
            return None  # it has no edges, for another reason
        return self._blurred(pixels)

    def _blurred(self, pixels: npt.NDArray[np.uint8]) -> str | None:
        """Variance of the Laplacian (Pech-Pacheco and others 2000), against that of the pictures before."""
        import cv2

        energy = float(cv2.Laplacian(pixels, cv2.CV_32F).var())
        usual = float(np.median(self._energies)) if len(self._energies) >= USUAL_LEAST else 0.0
        if energy * BLURRED[1] < usual * BLURRED[0]:
            return f"its edges have {100 * energy / usual:.0f} % of their usual energy"
        self._energies.append(energy)
        return None


def _percent(chosen: npt.NDArray[np.bool_]) -> int:
    return 100 * int(np.count_nonzero(chosen)) // max(chosen.size, 1)
