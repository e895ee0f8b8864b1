"""How near bounds were come to, counted in steps of a hundredth, and what a block of random systems showed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Shares are counted in so many steps; the last one is a share of 1.
STEPS = 100


@dataclass(frozen=True)
class Block:
    """What the systems [first, first + count) showed; `shares`: by method, how many bounds came how near."""

    first: int
    count: int
    violations: list[str]
    counts: dict[str, int]
    shares: dict[str, list[int]]


def look(first: int, count: int, *checks: Callable[[int], Any]) -> Block:
    """Every check on each of these systems."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    shares: dict[str, list[int]] = {}
    for seed in range(first, first + count):
        for check in checks:
            outcome = check(seed)
            counts.update(outcome.counts)
            violations += outcome.violations
            for name, found in outcome.tightness.items():
                add(shares, name, found)
    return Block(first, count, violations, dict(counts), shares)


def add(steps: dict[str, list[int]], name: str, shares: Iterable[float]) -> None:
    """Count shares under `name`."""
    into = steps.setdefault(name, [0] * (STEPS + 1))
    for share in shares:
        into[min(STEPS, int(share * STEPS))] += 1


def together(parts: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """The counts of all parts by name."""
    sums: dict[str, list[int]] = {}
    for part in parts:
        for name, steps in part.items():
            known = sums.setdefault(name, [0] * (STEPS + 1))
            sums[name] = [a + b for a, b in zip(known, steps, strict=True)]
    return sums


def median_share(steps: list[int]) -> float:
    """The share of its bound that the worst response of half of the tasks reached at least, rounded down."""
    half, seen = sum(steps) / 2, 0
    for step, count in enumerate(steps):
        seen += count
        if seen >= half:
            return step / STEPS
    return 1.0
