"""Bisection for the last value at which everything still holds."""

from __future__ import annotations

from collections.abc import Callable


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
        if self.holds(end):
            return end
        bad, step = end, 1 if end > good else -1
        if guess != end and self.holds(guess):
            good = guess
            if not self.holds(good + step):
                return good
            good += step
        elif guess != good:
            bad = guess
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            if self.holds(middle):
                good = middle
            else:
                bad = middle
        return good
