"""The slots of a channel as one process sees them, given out in views that can be told to have come back."""

from __future__ import annotations

import weakref

import numpy as np


class SlotViews:
    """Views of the slots in `memory`, uint8[slots * stride].

    `np.frombuffer(view)` and the like make arrays that outlive `view.release()`. They all keep the array alive that the
    view is of. So each slot has an array of its own, which is made anew when its views have come back.
    """

    def __init__(self, memory: np.ndarray, stride: int) -> None:
        self._memory = memory
        self._stride = stride
        count = len(memory) // stride
        self._whole: list[memoryview] = [memoryview(b"")] * count
        self._arrays: list[weakref.ref[np.ndarray]] = [weakref.ref(memory)] * count
        self._out = [0] * count
        for slot in range(count):
            self._prepare(slot)

    def give(self, slot: int, size: int) -> memoryview:
        """The first `size` bytes of the slot."""
        self._out[slot] += 1
        return self._whole[slot][:size]

    def end(self, slot: int, view: memoryview) -> bool:
        """Makes a view unusable. Whether nothing refers to it any more; asked again later if not.

        Of several views of one slot, what refers to any is found with the last.
        """
        try:
            view.release()
        except BufferError:
            return False
        if self._out[slot] == 1:
            self._whole[slot].release()
            if self._arrays[slot]() is not None:
                return False
            self._prepare(slot)
        self._out[slot] -= 1
        return True

    def _prepare(self, slot: int) -> None:
        array = self._memory[slot * self._stride : (slot + 1) * self._stride]
        self._whole[slot] = array.data
        self._arrays[slot] = weakref.ref(array)
