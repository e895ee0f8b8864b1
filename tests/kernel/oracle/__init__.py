"""A schedule computed tick by tick in plain Python, written from the scheduling semantics and not from the kernel.

One tick is one nanosecond; use small numbers. `simulate` returns plain rows, so that a difference is easy to read.
"""

from oracle.run import simulate
from oracle.state import Result

__all__ = ["Result", "simulate"]
