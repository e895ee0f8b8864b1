"""All margins of one mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from rt_sched.analysis.loads.resolve import ModeLoad
from rt_sched.analysis.methods import Method
from rt_sched.analysis.sensitivity.execution import (
    ChainMargin,
    Scaling,
    TaskMargin,
    chain_margin,
    critical_scaling,
    task_margin,
)
from rt_sched.analysis.sensitivity.frequencies import (
    FrequencyMargin,
    elements_with_frequency,
    frequency_margin,
)
from rt_sched.analysis.sensitivity.promises import Promises
from rt_sched.analysis.sensitivity.rates import RateMargin, rate_groups, rate_margin

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Margins of one mode. `broken`: a promise that is not kept as things are, None when all are.

    `tasks`, `chains`, `rates`: () when one is broken. `frequencies`: of elements that have one.
    """

    mode: str
    broken: str | None
    scaling: Scaling
    tasks: tuple[TaskMargin, ...]
    chains: tuple[ChainMargin, ...]
    frequencies: tuple[FrequencyMargin, ...]
    rates: tuple[RateMargin, ...]


def sensitivity(
    mode: ModeLoad, methods: Sequence[Method], progress: Callable[[int, int], None] = lambda _done, _all: None
) -> Sensitivity:
    """By how much tasks, chains, frequencies and sensor rates may change, one at a time, over all processors together.

    A margin keeps every promise: all deadlines and all limits. Searches by bisection, which is right because
    bounds only grow with execution times and with arrivals: the methods are sustainable (Baruah, Burns 2006), and so
    are the propagation of jitter and the sums of chains. `progress` is told how many searches are done.
    """
    promises = Promises(mode, methods)
    kept = promises.broken_now is None
    tasks = sorted(promises.bounds) if kept else []
    chains = list(promises.chains) if kept else []
    elements = elements_with_frequency(mode)
    groups = rate_groups(mode) if kept else []
    of = 1 + len(tasks) + len(chains) + len(elements) + len(groups)
    done = count(1)

    def told(found: _Found) -> _Found:
        progress(next(done), of)
        return found

    margins = tuple(told(task_margin(mode, promises, index)) for index in tasks)
    return Sensitivity(
        mode.name,
        promises.broken_now,
        told(critical_scaling(mode, promises, margins)),
        margins,
        tuple(told(chain_margin(mode, promises, chain, margins)) for chain in chains),
        tuple(told(frequency_margin(mode, promises, device, pe, margins)) for device, pe in elements),
        tuple(told(rate_margin(mode, promises, name, mine)) for name, mine in groups),
    )
