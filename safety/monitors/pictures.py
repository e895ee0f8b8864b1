"""Pictures in which nothing can be seen: black, saturated, or without any sharp edge."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Look:
    """What can be seen in a picture: shares of its pixels in percent, and the energy of its edges.

    The energy is the variance of the Laplacian (Pech-Pacheco and others 2000).
    """

    black: int
    saturated: int
    energy: float


LookAt = Callable[[EncodedImage], Look | None]


def look_at(image: EncodedImage) -> Look | None:
    """None where the picture cannot be decoded, which is for the monitor of payloads."""
    import cv2

    try:
        pixels = grey(image, cv2)
    except Rejected:
        return None
    energy = float(cv2.Laplacian(pixels, cv2.CV_32F).var())
    return Look(_percent(pixels <= BLACK), _percent(pixels >= SATURATED), energy)


class Looks:
    """The look of the picture that was asked for last, so that monitors which share this decode it once."""

    def __init__(self, look: LookAt = look_at) -> None:
        self._look_at = look
        self._image: EncodedImage | None = None
        self._look: Look | None = None

    def of(self, image: EncodedImage) -> Look | None:
        """None where the picture cannot be decoded."""
        if image is not self._image:
            self._image, self._look = image, self._look_at(image)
        return self._look


class Pictures:
    """One kind of useless picture, `name`: "black", "saturated" or "blurred"; `CONFIRMED` in a row make a finding."""

    def __init__(self, name: str, pace: Pace, looks: Looks) -> None:
        self.name = name
        self._looks = looks
        self.worst_case_ns = pace.within_ns(CONFIRMED)
        self._in_a_row = 0
        self._energies: deque[float] = deque(maxlen=USUAL_OVER)

    def see(self, delivery: Delivery) -> str | None:
        """What is wrong with this picture and the one before it."""
        if not isinstance(delivery.message, EncodedImage):
            return None
        look = self._looks.of(delivery.message)
        wrong = None if look is None else self._wrong(look)
        self._in_a_row = self._in_a_row + 1 if wrong else 0
        return str(wrong) if self._in_a_row >= CONFIRMED else None

    def _wrong(self, look: Look) -> str | None:
        if self.name == "black":
            return f"{look.black} % of its pixels are black" if look.black >= USELESS_PERCENT else None
        if self.name == "saturated":
            return f"{look.saturated} % of its pixels are saturated" if look.saturated >= USELESS_PERCENT else None
        if max(look.black, look.saturated) >= USELESS_PERCENT:
            return None  # it has no edges, for another reason
        return self._blurred(look.energy)

    def _blurred(self, energy: float) -> str | None:
        """Against the energies of the pictures before."""
        usual = float(np.median(self._energies)) if len(self._energies) >= USUAL_LEAST else 0.0
        if energy * BLURRED[1] < usual * BLURRED[0]:
            return f"its edges have {100 * energy / usual:.0f} % of their usual energy"
        self._energies.append(energy)
        return None


def _percent(chosen: npt.NDArray[np.bool_]) -> int:
    return 100 * int(np.count_nonzero(chosen)) // max(chosen.size, 1)
