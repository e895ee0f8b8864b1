"""The same worst case with as few unusual choices as a few runs can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rt_sched.search.candidates import Candidate, longest, put, run
from rt_sched.search.goals import Goal, Seen, seen_in
from rt_sched.search.space import Space
from rt_sched.trace.records import Trace

#: Makes one part of a candidate usual.
_Part = Callable[[Candidate], Candidate]


def simplified(space: Space, goal: Goal, candidate: Candidate, most_runs: int) -> tuple[Candidate, Trace, Seen]:
    """A candidate that shows at least as much, with its trace; parts that do not matter are as usual in it.

    The candidate has shown a value of the goal. With one run it is the candidate itself.
    """
    trace = run(space, candidate)
    seen = seen_in(trace, [goal])[0]
    if seen is None:
        raise ValueError(f"no {goal.quantity} of {goal.name} in this run")
    best, left = (candidate, trace, seen), most_runs - 1
    waiting: list[Sequence[_Part]] = [_unusual(space, candidate)]
    while waiting and left > 0:
        parts = waiting.pop(0)
        if not parts:
            continue
        trial = best[0]
        for part in parts:
            trial = part(trial)
        trace, left = run(space, trial), left - 1
        found = seen_in(trace, [goal])[0]
        if found is not None and found.value_ns >= best[2].value_ns:
            best = (trial, trace, found)
        elif len(parts) > 1:
            half = len(parts) // 2
            waiting += [parts[:half], parts[half:]]
    return best


def _unusual(space: Space, candidate: Candidate) -> list[_Part]:
    """One for every list that is not as usual; arrivals of sporadic tasks and phases stay."""
    usual = longest(space)
    parts: list[_Part] = []
    for name in ("demands", "waits", "jitters", "off"):
        for place, (mine, other) in enumerate(zip(getattr(candidate, name), getattr(usual, name), strict=True)):
            if mine is not None and not np.array_equal(mine, other):
                parts.append(partial(_as_usual, name=name, place=place, usual=usual))
    if candidate.clocks != usual.clocks:
        parts.append(lambda one: replace(one, clocks=usual.clocks))
    return parts


def _as_usual(candidate: Candidate, name: str, place: int, usual: Candidate) -> Candidate:
    values = put(getattr(candidate, name), place, getattr(usual, name)[place])
    return replace(candidate, **{name: values})
