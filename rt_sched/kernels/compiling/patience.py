"""How long a process lets Python carry out kernels before it loads numba."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: About half of what importing numba and loading a kernel take.
_MOST_NS = 200_000_000


class Patience:
    """Lasts until numba is loaded anyway, or Python has computed for as long as loading it would take about half of."""

    def __init__(self) -> None:
        self._left_ns = _MOST_NS

    @property
    def lasts(self) -> bool:
        """Whether the next kernel should be tried by Python."""
        return self._left_ns > 0 and "numba" not in sys.modules

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Around what Python carries out."""
        began_ns = time.perf_counter_ns()
        yield
        self._left_ns -= time.perf_counter_ns() - began_ns

    def end(self) -> None:
        """From now on everything is compiled."""
        self._left_ns = 0
