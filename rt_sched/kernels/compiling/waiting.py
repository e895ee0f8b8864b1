"""Who is told that a process has to wait for the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_tellers: list[Callable[[bool], None]] = []


@contextmanager
def told_before_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """In its block, `tell` is called once, before the first kernel that no cache holds is compiled, if one is; with
    whether compiled kernels are kept.
    """
    _tellers.append(tell)
    try:
        yield
    finally:
        if tell in _tellers:
            _tellers.remove(tell)


def tell_once(*, kept: bool) -> None:
    """Tells everybody who has not been told yet."""
    while _tellers:
        _tellers.pop()(kept)
