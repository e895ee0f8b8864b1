"""Views of slots that can tell whether anything still refers to them."""

from __future__ import annotations

import weakref

import numpy as np


class SlotView:
    """`data`: a memoryview of `part`, uint8[n], which nothing else than `data` may keep alive.

    `np.frombuffer(data)` and the like make arrays that outlive `data.release()`. They all keep `part` alive.
    """

    __slots__ = ("_part", "data")

    def __init__(self, part: np.ndarray) -> None:
        self.data = part.data
        self._part = weakref.ref(part)

    def end(self) -> bool:
        """Makes `data` unusable. Whether by now nothing refers to the slot any more; asked again later if not."""
        try:
            self.data.release()
        except BufferError:
            return False
        return self._part() is None
