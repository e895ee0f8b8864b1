"""When a search has to end: after its time, or when somebody asks it to."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """Ends searches `limit_s` from now, or as soon as `ask` was called."""

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end_s = clock() + limit_s
        self.asked = False
        self._hooks: list[Callable[[], object]] = []

    @property
    def left_s(self) -> float:
        """Seconds left; 0 when it is over."""
        return 0.0 if self.asked else max(0.0, self._end_s - self._clock())

    @property
    def over(self) -> bool:
        """Whether a search has to end now."""
        return self.left_s <= 0

    def ask(self) -> None:
        """Ends all searches now, those too that only end from outside."""
        self.asked = True
        for hook in tuple(self._hooks):
            hook()

    @contextmanager
    def ending(self, hook: Callable[[], object]) -> Iterator[None]:
        """While this lasts, `ask` calls `hook`."""
        self._hooks.append(hook)
        try:
            yield
        finally:
            self._hooks.remove(hook)

    def run(self, work: Callable[[], object]) -> None:
        """Does work that hears no signals in a thread of its own, so that this one hears them."""
        failure: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # handed on below
                failure.append(error)

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(timeout=0.05)
        if failure:
            raise failure[0]


@contextmanager
def interruptible(stop: Stop) -> Iterator[None]:
    """While this lasts, the first Ctrl-C asks searches to end with the best so far; a second one interrupts."""

    def heard(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop.ask()

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
