"""Bisection for the last value at which everything still holds."""

from __future__ import annotations

from collections.abc import Callable

#: The first step from a value that holds is this part of it.
_FIRST_STRIDE = 8


class Search:
    """The values that were tried, and what each of them breaks.

    `broken(value)`: what no longer holds at a value, None when everything does. It has to stay broken once it is,
    towards larger values for `largest`, towards smaller ones for `smallest`. Whatever it does in between, the value
    that is found was tried itself and holds, and its neighbour was tried and does not. `guess`: where it may well be.
    """

    def __init__(self, broken: Callable[[int], str | None]) -> None:
        self._broken = broken
        self._tried: dict[int, str | None] = {}

    def holds(self, value: int) -> bool:
        """Whether nothing is broken at a value."""
        return self.reason(value) is None

    def reason(self, value: int) -> str | None:
        """What a value breaks."""
        if value not in self._tried:
            self._tried[value] = self._broken(value)
        return self._tried[value]

    def largest(self, least: int, most: int, guess: int | None = None) -> int:
        """The largest value in [least, most] that holds, given that `least` does."""
        return self._last(least, most, least if guess is None else min(most, max(least, guess)))

    def smallest(self, least: int, most: int, guess: int | None = None) -> int:
        """The smallest value in [least, most] that holds, given that `most` does."""
        return self._last(most, least, most if guess is None else min(most, max(least, guess)))

    def _last(self, good: int, end: int, guess: int) -> int:
        """The last value that holds on the way from `good`, which does, to `end`."""
        step = 1 if end > good else -1
        if guess != good:
            if not self.holds(guess):
                return self._between(good, guess)
            good = guess
            if good == end or not self.holds(good + step):
                return good
            good += step
        # Far beyond what holds, processors are asked for so much that their analysis takes long: go there in growing
        # steps only.
        stride = max(1, abs(good) // _FIRST_STRIDE)
        while good != end:
            ahead = min(good + stride, end) if step > 0 else max(good - stride, end)
            if not self.holds(ahead):
                return self._between(good, ahead)
            good, stride = ahead, 2 * stride
        return good

    def _between(self, good: int, bad: int) -> int:
        """The last value that holds from `good`, which does, towards `bad`, which does not."""
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            if self.holds(middle):
                good = middle
            else:
                bad = middle
        return good
