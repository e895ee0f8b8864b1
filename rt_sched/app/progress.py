"""How a job tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Where a long job says how far it is."""

    def step(self, text: str) -> None: ...
    def advance(self, done_ns: int, total_ns: int) -> None: ...


class Quiet:
    """Nobody wants to know."""

    def step(self, text: str) -> None:
        """Says nothing."""

    def advance(self, done_ns: int, total_ns: int) -> None:
        """Says nothing."""
