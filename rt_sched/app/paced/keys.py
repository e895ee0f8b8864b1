"""Keys that are pressed while a run goes on, read one by one without waiting for the end of a line."""

from __future__ import annotations

import os
import sys
import termios
import tty
from types import TracebackType
from typing import Any

from rt_sched.runtime.host.polling import comes

_MOST_BYTES = 64


class Keys:
    """As a context: the terminal on stdin gives keys at once, and is afterwards as it was. Elsewhere there are none."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        self._descriptor = -1

    def __enter__(self) -> Keys:
        if sys.stdin is not None and sys.stdin.isatty():
            self._descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    @property
    def there(self) -> bool:
        """Whether anybody can press one; nobody can once the terminal has gone away."""
        return self._before is not None

    def pressed(self) -> str:
        """Those since the last time, in order."""
        if self._before is None or not comes(self._descriptor, 0):
            return ""
        try:
            data = os.read(self._descriptor, _MOST_BYTES)
        except OSError:
            data = b""
        if not data:
            self._before = None
        return data.decode("utf-8", "replace")
